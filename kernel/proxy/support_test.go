package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// memory is a trace file in memory that can be read while it is written.
type memory struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	closed bool
}

func (m *memory) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.buf.Write(b)
}

func (m *memory) Sync() error            { return nil }
func (m *memory) Truncate(n int64) error { return nil }
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *memory) bytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.buf.Bytes())
}

// upstream is a provider that plays answers in order and keeps what it was
// asked. Without an answer left it repeats the last.
type upstream struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []http.HandlerFunc
	requests []request
}

type request struct {
	method, path string
	header       http.Header
	body         []byte
	host         string
}

func newUpstream(tb testing.TB, answers ...http.HandlerFunc) *upstream {
	u := &upstream{answers: answers}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.requests = append(u.requests, request{r.Method, r.URL.RequestURI(), r.Header.Clone(), body, r.Host})
		n := min(len(u.requests), len(u.answers)) - 1
		answer := u.answers[n]
		u.mu.Unlock()
		answer(w, r)
	}))
	tb.Cleanup(u.Server.Close)
	return u
}

func (u *upstream) asked() []request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests)
}

// plays answers with bytes.
func plays(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Request-Id", "req_1")
		_, _ = w.Write(body)
	}
}

// fixture is an answer written by hand.
func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "wire", name))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// rig is a proxy with its upstream and its traces.
type rig struct {
	tb    testing.TB
	up    *upstream
	proxy *proxy.Proxy
	front *httptest.Server

	mu    sync.Mutex
	now   time.Time
	ids   int
	files map[string]*memory
	order []string
	notes []string
}

func newRig(tb testing.TB, cfg proxy.Config, answers ...http.HandlerFunc) *rig {
	tb.Helper()
	r := &rig{tb: tb, now: time.UnixMilli(1_790_000_000_000), files: map[string]*memory{}}
	if len(answers) > 0 {
		r.up = newUpstream(tb, answers...)
		at, err := url.Parse(r.up.URL)
		if err != nil {
			tb.Fatal(err)
		}
		for _, name := range []string{"openai", "anthropic", "gemini", "ollama"} {
			cfg.Upstreams = append(cfg.Upstreams, proxy.Upstream{Name: name, URL: at})
		}
	}
	cfg.Now = r.clock
	if cfg.NewID == nil {
		cfg.NewID = func() (string, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ids++
			return fmt.Sprintf("01KDVSG000%016d", r.ids), nil
		}
	}
	if cfg.Trace == nil {
		cfg.Trace = func(id string) (*trace.Writer, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.files[id] = &memory{}
			r.order = append(r.order, id)
			return trace.NewWriter(r.files[id], trace.WriterOptions{Name: id})
		}
	}
	cfg.Note = func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notes = append(r.notes, text)
	}
	var err error
	if r.proxy, err = proxy.New(cfg); err != nil {
		tb.Fatal(err)
	}
	r.front = httptest.NewServer(r.proxy)
	tb.Cleanup(func() {
		r.front.Close()
		if err := r.proxy.Shutdown(context.Background()); err != nil && !errors.Is(err, proxy.ErrClosed) {
			tb.Error(err)
		}
	})
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(time.Millisecond)
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) noted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// post sends a body and reads the answer.
func (r *rig) post(path, body string, header ...string) (*http.Response, []byte) {
	r.tb.Helper()
	req, err := http.NewRequest(http.MethodPost, r.front.URL+path, strings.NewReader(body))
	if err != nil {
		r.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		r.tb.Fatal(err)
	}
	return resp, out
}

// end shuts the proxy down and gives the traces in the order in which they
// began.
func (r *rig) end() [][]byte {
	r.tb.Helper()
	if err := r.proxy.Shutdown(context.Background()); err != nil {
		r.tb.Fatal(err)
	}
	var out [][]byte
	for _, id := range r.order {
		if !r.files[id].closed {
			r.tb.Errorf("the trace of %s is not closed", id)
		}
		out = append(out, r.files[id].bytes())
	}
	return out
}

// events decodes a trace and checks what holds of every trace.
func events(tb testing.TB, file []byte, rules ...string) []trace.Event {
	tb.Helper()
	var out []trace.Event
	reader := trace.NewReader(bytes.NewReader(file), "trace", trace.ReaderOptions{})
	for rec, err := range reader.All() {
		if err != nil {
			tb.Fatal(err)
		}
		ev, _, err := trace.Decode(rec)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, ev)
	}
	found, err := trace.Check(trace.NewReader(bytes.NewReader(file), "trace", trace.ReaderOptions{}).All())
	if err != nil {
		tb.Fatal(err)
	}
	for _, v := range found {
		if !slices.Contains(rules, v.Rule) {
			tb.Errorf("%s", v)
		}
	}
	checkOrigins(tb, file, out)
	return out
}

// checkOrigins checks that every reason stands where its origin points.
func checkOrigins(tb testing.TB, file []byte, all []trace.Event) {
	tb.Helper()
	records := map[int64]trace.Record{}
	for rec := range trace.NewReader(bytes.NewReader(file), "trace", trace.ReaderOptions{}).All() {
		row, err := trace.RowOf(rec)
		if err != nil {
			tb.Fatal(err)
		}
		records[row.Int(trace.FieldSeq)] = rec.Clone()
	}
	for _, ev := range all {
		call, ok := ev.(*trace.ToolCallStart)
		if !ok || call.Rationale == nil {
			continue
		}
		text, ok := trace.Pointer(records[*call.Origin.Event], call.Origin.Field)
		if !ok || call.Origin.End > len(text) {
			tb.Errorf("%s: nothing stands at %+v", call.CallID, call.Origin)
			continue
		}
		if at := text[call.Origin.Start:call.Origin.End]; !strings.HasPrefix(at, call.Rationale.Why[:min(len(call.Rationale.Why), 10)]) {
			tb.Errorf("%s: %q stands where %q should", call.CallID, at, call.Rationale.Why)
		}
	}
}

// of gives the events of one type.
func of[T trace.Event](all []trace.Event) (out []T) {
	for _, ev := range all {
		if t, ok := ev.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// debriefOf folds a trace.
func debriefOf(tb testing.TB, file []byte) debrief.Debrief {
	tb.Helper()
	var fold debrief.Fold
	for rec, err := range trace.NewReader(bytes.NewReader(file), "trace", trace.ReaderOptions{}).All() {
		if err != nil {
			tb.Fatal(err)
		}
		row, err := trace.RowOf(rec)
		if err != nil {
			tb.Fatal(err)
		}
		fold.Add(&row)
	}
	runs := fold.Finish()
	if len(runs) != 1 {
		tb.Fatalf("%d runs in one trace", len(runs))
	}
	return runs[0]
}

// answerOf decodes an answer as a client sees it.
func answerOf(tb testing.TB, format provider.Format, body []byte) parsers.Answer {
	tb.Helper()
	a, err := provider.Parse(format, body, provider.ParseOptions{})
	if err != nil {
		tb.Fatalf("%v in %s", err, body)
	}
	return a
}

// encode writes a request the way rax's own kernel does.
func encode(tb testing.TB, format provider.Format, req provider.Request) (path, body string) {
	tb.Helper()
	path, raw, err := provider.Encode(format, req)
	if err != nil {
		tb.Fatal(err)
	}
	if format == provider.OpenAIChat || format == provider.OpenAIResponses {
		path = "/v1" + path
	}
	return path, string(raw)
}

func text(role provider.Role, s string) provider.Message {
	return provider.Message{Role: role, Blocks: []provider.Block{{Kind: provider.BlockText, Text: s}}}
}

// results answers every call of an answer.
func results(a parsers.Answer, content string) provider.Message {
	m := provider.Message{Role: provider.RoleTool}
	for _, c := range a.Calls {
		m.Blocks = append(m.Blocks, provider.Block{Kind: provider.BlockResult, ID: c.ID, Name: c.Name, Text: content})
	}
	return m
}

var tools = []provider.Tool{
	{Name: "list_issues", Description: "Lists issues.", Schema: json.RawMessage(`{"type":"object","properties":{"repo":{"type":"string"}},"required":["repo"]}`)},
	{Name: "list_commits", Description: "Lists commits.", Schema: json.RawMessage(`{"type":"object","properties":{"repo":{"type":"string"}}}`)},
}
