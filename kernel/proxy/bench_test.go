package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// fronts are the proxies that are compared: "ReverseProxy" is a plain
// httputil.ReverseProxy on the same load, the baseline.
var fronts = []string{"ReverseProxy", "rax"}

// front opens a proxy before an upstream.
func front(b *testing.B, kind string, up *httptest.Server) *httptest.Server {
	b.Helper()
	at, err := url.Parse(up.URL)
	if err != nil {
		b.Fatal(err)
	}
	plain := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(at) },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 128},
	}
	// The body is read first: an answer that begins while the transport still
	// looks for the body's end makes the server close it, and the stream breaks.
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		plain.ServeHTTP(w, r)
	})
	if kind == "rax" {
		n := 0
		var mu sync.Mutex
		p, err := proxy.New(proxy.Config{
			Upstreams: []proxy.Upstream{{Name: "openai", URL: at}},
			NewID: func() (string, error) {
				mu.Lock()
				defer mu.Unlock()
				n++
				return fmt.Sprintf("01KDVSG000%016d", n), nil
			},
			Trace: func(id string) (*trace.Writer, error) {
				return trace.NewWriter(&nowhere{}, trace.WriterOptions{Name: id})
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := p.Shutdown(context.Background()); err != nil {
				b.Error(err)
			}
		})
		handler = p
	}
	s := httptest.NewServer(handler)
	b.Cleanup(s.Close)
	return s
}

// nowhere is a trace file that keeps nothing.
type nowhere struct{}

func (*nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (*nowhere) Sync() error                 { return nil }
func (*nowhere) Truncate(int64) error        { return nil }
func (*nowhere) Close() error                { return nil }

const deltaEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}` + "\n\n"

// BenchmarkLatency sends one event after the other, each when the one before it
// has arrived, and measures how long each is on its way.
func BenchmarkLatency(b *testing.B) {
	for _, kind := range fronts {
		b.Run(kind, func(b *testing.B) {
			const events = 200
			next := make(chan struct{}, 1)
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				flush := http.NewResponseController(w)
				for range events {
					select {
					case <-next:
					case <-r.Context().Done():
						return
					}
					fmt.Fprintf(w, deltaEvent, strconv.FormatInt(time.Now().UnixNano(), 10))
					_ = flush.Flush()
				}
			}))
			defer up.Close()
			s := front(b, kind, up)
			_, body, err := provider.Encode(provider.OpenAIChat, provider.Request{Model: "m", System: "Be brief.", Tools: tools, Stream: true,
				Messages: []provider.Message{text(provider.RoleUser, strings.Repeat("some words of a task ", 200))}})
			if err != nil {
				b.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{}}
			var first, each []time.Duration
			for b.Loop() {
				start := time.Now()
				next <- struct{}{}
				resp, err := client.Post(s.URL+chatPath, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				lines := bufio.NewReader(resp.Body)
				for n := 0; n < events; {
					line, err := lines.ReadString('\n')
					if err != nil {
						b.Fatal(err)
					}
					_, stamp, found := strings.Cut(line, `"content":"`)
					if !found {
						continue
					}
					arrived := time.Now()
					sent, err := strconv.ParseInt(stamp[:strings.IndexByte(stamp, '"')], 10, 64)
					if err != nil {
						b.Fatal(err)
					}
					if n == 0 {
						first = append(first, arrived.Sub(start))
					} else {
						each = append(each, arrived.Sub(time.Unix(0, sent)))
					}
					if n++; n < events {
						next <- struct{}{}
					}
				}
				_, _ = io.Copy(io.Discard, resp.Body) // to its end, so that the connection lives
				resp.Body.Close()
			}
			report(b, first, "first")
			report(b, each, "event")
		})
	}
}

// report gives the median and the 99th of a hundred, in microseconds.
func report(b *testing.B, all []time.Duration, what string) {
	slices.Sort(all)
	for _, q := range []int{50, 99} {
		b.ReportMetric(float64(all[len(all)*q/100].Nanoseconds())/1000, fmt.Sprintf("µs-%s-p%d", what, q))
	}
}

// BenchmarkThroughput sends streams as fast as they go, four at once.
func BenchmarkThroughput(b *testing.B) {
	var stream bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&stream, deltaEvent, fmt.Sprint("word ", i, " and "))
	}
	stream.WriteString("data: [DONE]\n\n")
	for _, kind := range fronts {
		b.Run(kind, func(b *testing.B) {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write(stream.Bytes())
			}))
			defer up.Close()
			s := front(b, kind, up)
			_, body, err := provider.Encode(provider.OpenAIChat, provider.Request{Model: "m", Tools: tools, Stream: true,
				Messages: []provider.Message{text(provider.RoleUser, "a task")}})
			if err != nil {
				b.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
			b.SetBytes(int64(stream.Len()))
			b.SetParallelism(2)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := client.Post(s.URL+chatPath, "application/json", bytes.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					n, err := io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					if err != nil || n != int64(stream.Len()) {
						b.Errorf("%d bytes, %v", n, err)
						return
					}
				}
			})
		})
	}
}
