package proxy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// TestKeys: the client's keys reach the upstream, and nothing else.
func TestKeys(t *testing.T) {
	key := "sk-" + strings.Repeat("Ab3", 12)
	r := newRig(t, proxy.Config{}, plays("application/json", []byte(silent)))
	r.post(chatPath+"?key="+key, chatRequest(t, text(provider.RoleUser, "hi")),
		"Authorization", "Bearer "+key, "X-Api-Key", key, "Connection", "X-Private", "X-Private", "1", "Proxy-Authorization", "Bearer x")
	sent := r.up.asked()[0]
	if sent.header.Get("Authorization") != "Bearer "+key || sent.header.Get("X-Api-Key") != key || !strings.HasSuffix(sent.path, key) {
		t.Errorf("sent %v", sent.header)
	}
	if sent.header.Get("X-Private") != "" || sent.header.Get("Proxy-Authorization") != "" {
		t.Errorf("hop-by-hop headers were passed on: %v", sent.header)
	}
	if want := strings.TrimPrefix(r.up.URL, "http://"); sent.host != want {
		t.Errorf("host %s, want %s", sent.host, want)
	}
	r.up.Close() // now nothing answers
	resp, got := r.post(chatPath+"?key="+key, chatRequest(t, text(provider.RoleUser, "ho")))
	if resp.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d", resp.StatusCode)
	}
	for _, f := range append(r.end(), got, []byte(strings.Join(r.noted(), "\n"))) {
		if bytes.Contains(f, []byte(key)) || bytes.Contains(f, []byte(r.up.Listener.Addr().String())) {
			t.Errorf("a key or an address stands in %s", f)
		}
	}
}

func TestAdmission(t *testing.T) {
	for _, row := range []struct {
		name       string
		cfg        proxy.Config
		host       string
		header     []string
		wantStatus int
	}{
		{name: "localhost", host: "localhost:99", wantStatus: 200},
		{name: "loopback", host: "[::1]:99", wantStatus: 200},
		{name: "another name", host: "evil.example:99", wantStatus: 403},
		{name: "another address", host: "10.0.0.1", wantStatus: 403},
		{name: "own name", cfg: proxy.Config{Hosts: []string{"rax.internal"}}, host: "RAX.internal:1", wantStatus: 200},
		{name: "no token", cfg: proxy.Config{Token: "t0"}, host: "localhost", wantStatus: 407},
		{name: "wrong token", cfg: proxy.Config{Token: "t0"}, host: "localhost", header: []string{proxy.HeaderToken, "t1"}, wantStatus: 407},
		{name: "token", cfg: proxy.Config{Token: "t0"}, host: "localhost", header: []string{proxy.HeaderToken, "t0"}, wantStatus: 200},
		{name: "proxy token", cfg: proxy.Config{Token: "t0"}, host: "localhost", header: []string{"Proxy-Authorization", "bearer t0"}, wantStatus: 200},
		{name: "remote", cfg: proxy.Config{Token: "t0", Remote: true}, host: "rax.example", header: []string{proxy.HeaderToken, "t0"}, wantStatus: 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, row.cfg, plays("application/json", []byte(final)))
			req := httptest.NewRequest(http.MethodGet, "http://"+row.host+"/v1/models", nil)
			for i := 0; i+1 < len(row.header); i += 2 {
				req.Header.Set(row.header[i], row.header[i+1])
			}
			w := httptest.NewRecorder()
			r.proxy.ServeHTTP(w, req)
			if w.Code != row.wantStatus {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			for _, sent := range r.up.asked() {
				if sent.header.Get(proxy.HeaderToken) != "" || sent.header.Get("Proxy-Authorization") != "" {
					t.Error("the token was passed on")
				}
			}
		})
	}
}

func TestConfig(t *testing.T) {
	at, err := url.Parse("https://api.example/v1")
	if err != nil {
		t.Fatal(err)
	}
	ups := []proxy.Upstream{{Name: "openai", URL: at}}
	userinfo := *at
	userinfo.User = url.UserPassword("u", "p")
	record := func(string) (*trace.Writer, error) { return nil, errors.New("none") }
	id := func() (string, error) { return "", errors.New("none") }
	for _, row := range []struct {
		cfg  proxy.Config
		want string
	}{
		{proxy.Config{Trace: record, NewID: id}, "no upstreams"},
		{proxy.Config{Upstreams: ups, Mode: "loud", Trace: record, NewID: id}, "unknown proxy mode"},
		{proxy.Config{Upstreams: ups}, "nothing to record"},
		{proxy.Config{Upstreams: ups, Trace: record, NewID: id, Remote: true}, "needs a token"},
		{proxy.Config{Upstreams: append(ups, ups...), Trace: record, NewID: id}, "named twice"},
		{proxy.Config{Upstreams: []proxy.Upstream{{Name: "a/b", URL: at}}, Mode: proxy.ModeOff}, "not a name"},
		{proxy.Config{Upstreams: []proxy.Upstream{{Name: "a", URL: &url.URL{Scheme: "ftp", Host: "x"}}}, Mode: proxy.ModeOff}, "not an address"},
		{proxy.Config{Upstreams: []proxy.Upstream{{Name: "a", URL: &userinfo}}, Mode: proxy.ModeOff}, "more than host and path"},
	} {
		if _, err := proxy.New(row.cfg); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %q", err, row.want)
		}
	}
	if _, err := proxy.New(proxy.Config{Upstreams: ups, Mode: proxy.ModeOff}); err != nil {
		t.Error(err)
	}
}

// TestServe: only listeners of this machine, and a shutdown that ends.
func TestServe(t *testing.T) {
	r := newRig(t, proxy.Config{}, plays("application/json", []byte(final)))
	all, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Skip(err)
	}
	if err := r.proxy.Serve(all); err == nil || !strings.Contains(err.Error(), "this machine alone") {
		t.Errorf("served on all addresses: %v", err)
	}
	l, err := proxy.Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.proxy.Serve(l) }()
	resp, err := http.Post("http://"+l.Addr().String()+chatPath, "application/json", strings.NewReader(chatRequest(t, text(provider.RoleUser, "hi"))))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := r.proxy.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, proxy.ErrClosed) {
		t.Error(err)
	}
	if d := debriefOf(t, r.files[r.order[0]].bytes()); d.Verdict == nil {
		t.Error("the run was not ended")
	}
}

// streaming plays a stream event by event; gate, where it is set, is waited for
// before each.
func streaming(events int, gate func(i int, w http.ResponseWriter, r *http.Request) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		for i := range events {
			if gate != nil && !gate(i, w, r) {
				return
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"}}]}\n\n", i)
			_ = flush.Flush()
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}
}

// TestFlush: every event reaches the client before the next one is sent.
func TestFlush(t *testing.T) {
	next := make(chan bool)
	r := newRig(t, proxy.Config{}, streaming(5, func(int, http.ResponseWriter, *http.Request) bool { return <-next }))
	go func() { next <- true }()
	resp, err := http.Post(r.front.URL+chatPath, "application/json", strings.NewReader(chatRequest(t, text(provider.RoleUser, "hi"))))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for n := 0; lines.Scan(); {
		if strings.Contains(lines.Text(), fmt.Sprintf("word %d ", n)) {
			if n++; n < 5 {
				next <- true
			}
		}
	}
}

// TestUpstreamKilled: a stream that breaks off breaks off for the client too,
// and the trace says so.
func TestUpstreamKilled(t *testing.T) {
	r := newRig(t, proxy.Config{}, streaming(5, func(i int, _ http.ResponseWriter, _ *http.Request) bool {
		if i == 3 {
			panic(http.ErrAbortHandler)
		}
		return true
	}), plays("application/json", []byte(final)))
	resp, err := http.Post(r.front.URL+chatPath, "application/json", strings.NewReader(chatRequest(t, text(provider.RoleUser, "hi"))))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil || !bytes.Contains(got, []byte("word 2")) {
		t.Errorf("the client read %q, %v", got, err)
	}
	r.post(chatPath, chatRequest(t, text(provider.RoleUser, "other"))) // others go on
	all := events(t, r.end()[0])
	if x := of[*trace.LLMExchange](all); len(x) != 1 || !x[0].Cut || !bytes.Contains(x[0].Response, []byte("word 2")) {
		t.Errorf("exchange %+v", x)
	}
}

// TestClientGone: when the client goes the upstream is let go too.
func TestClientGone(t *testing.T) {
	gone := make(chan struct{})
	r := newRig(t, proxy.Config{}, streaming(2, func(i int, _ http.ResponseWriter, req *http.Request) bool {
		if i == 1 {
			<-req.Context().Done()
			close(gone)
			return false
		}
		return true
	}))
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.front.URL+chatPath, strings.NewReader(chatRequest(t, text(provider.RoleUser, "hi"))))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	<-gone
	r.front.Close() // waits for the handlers
	if x := of[*trace.LLMExchange](events(t, r.end()[0])); len(x) != 1 || !x[0].Cut {
		t.Errorf("exchange %+v", x)
	}
}

// TestSlowClient: one that takes nothing is given up, and holds nobody up.
func TestSlowClient(t *testing.T) {
	let := make(chan struct{})
	r := newRig(t, proxy.Config{Limits: proxy.Limits{Stall: 200 * time.Millisecond}}, func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Slow") == "" {
			plays("application/json", []byte(final))(w, req)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event := []byte("data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 30_000) + "\"}}]}\n\n")
		for {
			if _, err := w.Write(event); err != nil || req.Context().Err() != nil {
				close(let)
				return
			}
		}
	})
	conn, err := net.Dial("tcp", r.front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := chatRequest(t, text(provider.RoleUser, "hi"))
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nX-Slow: 1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", chatPath, len(body), body)
	if resp, _ := r.post(chatPath, chatRequest(t, text(provider.RoleUser, "other"))); resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
	<-let
}

// TestBigRequest: a request over the limit passes as it is, without being held
// in memory, and one over the hard limit is refused.
func TestBigRequest(t *testing.T) {
	const size = 50 << 20
	var got int64
	r := newRig(t, proxy.Config{Limits: proxy.Limits{Edited: 1 << 20, Request: 60 << 20}}, plays("application/json", []byte(silent)))
	r.up.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got, _ = io.Copy(io.Discard, req.Body)
		plays("application/json", []byte(silent))(w, req)
	})
	send := func(size int64, known bool) *http.Response {
		body := io.LimitReader(endless{}, size)
		req, err := http.NewRequest(http.MethodPost, r.front.URL+chatPath, body)
		if err != nil {
			t.Fatal(err)
		}
		if known {
			req.ContentLength = size
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, known := range []bool{true, false} {
		if resp := send(size, known); resp.StatusCode != http.StatusOK || got != size {
			t.Errorf("%d, %d bytes arrived", resp.StatusCode, got)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 {
		t.Errorf("%d MiB allocated", n>>20)
	}
	if len(r.noted()) != 2 {
		t.Errorf("notes %q", r.noted())
	}
	if resp := send(61<<20, false); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestManyStreams runs 200 streams at once; none waits for another.
func TestManyStreams(t *testing.T) {
	const streams, words = 200, 20
	var arrived sync.WaitGroup
	arrived.Add(streams)
	r := newRig(t, proxy.Config{}, streaming(words, func(i int, _ http.ResponseWriter, _ *http.Request) bool {
		if i == 1 {
			arrived.Done()
			arrived.Wait() // all are open now
		}
		return true
	}))
	before := runtime.NumGoroutine()
	client := &http.Client{Transport: &http.Transport{}}
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			resp, err := client.Post(r.front.URL+chatPath, "application/json", strings.NewReader(chatRequest(t, text(provider.RoleUser, fmt.Sprint("task ", i)))))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil || bytes.Count(got, []byte("word")) != words || !bytes.HasSuffix(got, []byte("[DONE]\n\n")) {
				t.Errorf("%d words, %v", bytes.Count(got, []byte("word")), err)
			}
		})
	}
	all.Wait()
	if n := len(r.end()); n != streams {
		t.Errorf("%d traces", n)
	}
	client.CloseIdleConnections()
	r.front.Close()
	r.up.CloseClientConnections()
	for range 100 {
		if runtime.NumGoroutine() <= before+10 {
			return
		}
		runtime.Gosched()
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestGzip: an upstream that packs what was asked for unpacked.
func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(argued))
	z.Close()
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		plays("application/json", packed.Bytes())(w, nil)
	}
	for _, mode := range []proxy.Mode{proxy.ModeArgument, proxy.ModeObserve} {
		r := newRig(t, proxy.Config{Mode: mode}, answer)
		resp, got := r.post(chatPath, chatRequest(t, text(provider.RoleUser, "hi")), "Accept-Encoding", "br, gzip")
		if mode == proxy.ModeObserve {
			if !bytes.Equal(got, packed.Bytes()) || resp.Header.Get("Content-Encoding") != "gzip" {
				t.Errorf("changed: %q", got)
			}
		} else if string(got) != silent || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("got %q", got)
		}
		if n := len(of[*trace.ToolCallStart](events(t, r.end()[0], "open-call"))); n != 1 {
			t.Errorf("%s: %d calls", mode, n)
		}
	}
}

// TestNoTrace: the agent goes on when nothing can be recorded.
func TestNoTrace(t *testing.T) {
	for name, cfg := range map[string]proxy.Config{
		"no file": {Trace: func(string) (*trace.Writer, error) { return nil, errors.New("disk full") }},
		"no id":   {NewID: func() (string, error) { return "", errors.New("no randomness") }},
		"panic":   {Trace: func(string) (*trace.Writer, error) { panic("secret") }},
		"full": {Trace: func(id string) (*trace.Writer, error) {
			return trace.NewWriter(full{}, trace.WriterOptions{Name: id})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, cfg, plays("application/json", []byte(silent)))
			a := newAgent(r, "task")
			a.round("x")
			a.round("y")
			r.proxy.Flush()
			notes := strings.Join(r.noted(), "\n")
			if notes == "" || strings.Contains(notes, "secret") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }
func (full) Sync() error               { return nil }
func (full) Truncate(int64) error      { return nil }
func (full) Close() error              { return nil }

// TestRoutes: which upstream a path goes to, and where there.
func TestRoutes(t *testing.T) {
	seen := make(chan string, 1)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.URL.RequestURI() }))
	defer up.Close()
	at := func(path string) *url.URL {
		u, err := url.Parse(up.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	r := newRig(t, proxy.Config{Mode: proxy.ModeOff, Upstreams: []proxy.Upstream{
		{Name: "openai", URL: at("/o/v1")}, {Name: "anthropic", URL: at("/a")}, {Name: "gemini", URL: at("/g/")},
		{Name: "ollama", URL: at("")}, {Name: "groq", URL: at("/groq/openai/v4")},
	}})
	for _, row := range []struct{ method, path, header, want string }{
		{"POST", "/v1/chat/completions", "", "/o/v1/chat/completions"},
		{"POST", "/chat/completions?x=1", "", "/o/v1/chat/completions?x=1"},
		{"POST", "/v1/messages", "", "/a/v1/messages"},
		{"GET", "/v1/models", "", "/o/v1/models"},
		{"GET", "/v1/models", "Anthropic-Version", "/a/v1/models"},
		{"GET", "/v1/models", "X-Goog-Api-Key", "/g/v1/models"},
		{"POST", "/v1beta/models/a%2Fb:streamGenerateContent?alt=sse", "", "/g/v1beta/models/a%2Fb:streamGenerateContent?alt=sse"},
		{"GET", "/v1beta/models", "", "/g/v1beta/models"},
		{"POST", "/api/chat", "", "/api/chat"},
		{"GET", "/api/tags", "", "/api/tags"},
		{"POST", "/to/groq/v1/chat/completions", "", "/groq/openai/v4/chat/completions"},
		{"POST", "/run/a/to/groq/v1/responses", "", "/groq/openai/v4/responses"},
		{"POST", "/to/nobody/v1/responses", "", ""},
	} {
		req, err := http.NewRequest(row.method, r.front.URL+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if row.header != "" {
			req.Header.Set(row.header, "x")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if row.want == "" {
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", row.path, resp.StatusCode)
			}
		} else if got := <-seen; got != row.want {
			t.Errorf("%s %s (%s) went to %s, want %s", row.method, row.path, row.header, got, row.want)
		}
	}
}
