package proxy_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
)

// TestLatest: the trace directory shows the run while the agent is at it.
func TestLatest(t *testing.T) {
	d := dir.Dir{Path: t.TempDir()}
	entropy := dir.NewEntropy(nil)
	var r *rig
	r = newRig(t, proxy.Config{
		NewID: func() (string, error) { return dir.NewID(r.clock(), entropy) },
		Trace: func(id string) (*trace.Writer, error) {
			f, err := d.Create(id)
			if err != nil {
				return nil, err
			}
			return trace.NewWriter(f, trace.WriterOptions{Name: f.Name()})
		},
	}, counting())
	a := newAgent(r, "task")
	for round := 1; round <= 3; round++ {
		a.round("x")
		r.proxy.Flush()
		latest, err := d.Find(dir.Latest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(latest.Path)
		if err != nil {
			t.Fatal(err)
		}
		if got := debriefOf(t, file); len(got.Path) != round || got.Verdict != nil || latest.ID != r.proxy.Runs()[0].ID {
			t.Errorf("round %d: %d steps in %s", round, len(got.Path), latest.ID)
		}
	}
}

// TestChunks: however an upstream cuts its stream, the client reads what it
// would without the reasons: to the byte, where there are none.
func TestChunks(t *testing.T) {
	formats := map[provider.Format]string{
		provider.OpenAIChat: "/v1/chat/completions", provider.OpenAIResponses: "/v1/responses",
		provider.AnthropicMessages: "/v1/messages", provider.Gemini: "/v1beta/models/m:streamGenerateContent?alt=sse",
		provider.OllamaNative: "/api/chat",
	}
	n := 0
	for format, path := range formats {
		files, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "wire", string(format), "*.*s*"))
		if err != nil {
			t.Fatal(err)
		}
		_, body := encode(t, format, provider.Request{Model: "m", Tools: tools, Stream: true, Messages: []provider.Message{text(provider.RoleUser, "hi")}})
		for _, file := range files {
			if strings.HasSuffix(file, ".json") {
				continue
			}
			n++
			stream, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(uint64(len(stream)), 1))
			r := newRig(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", map[bool]string{true: "application/x-ndjson", false: "text/event-stream"}[format == provider.OllamaNative])
				for rest := stream; len(rest) > 0; {
					k := min(1+random.IntN(300), len(rest))
					_, _ = w.Write(rest[:k])
					_ = http.NewResponseController(w).Flush()
					rest = rest[k:]
				}
			})
			_, got := r.post(path, body)
			before, _ := provider.Parse(format, stream, provider.ParseOptions{KeepTags: true})
			after, _ := provider.Parse(format, got, provider.ParseOptions{KeepTags: true})
			if want := rationale.Strip(before.Text()); after.Text() != want {
				t.Errorf("%s: %q, want %q", file, after.Text(), want)
			}
			if rationale.Strip(before.Text()) == before.Text() && !bytes.Equal(got, stream) {
				t.Errorf("%s: not the same bytes", file)
			}
			if len(r.noted()) > 0 {
				t.Errorf("%s: notes %q", file, r.noted())
			}
			events(t, r.end()[0], "open-call")
		}
	}
	if n < 20 {
		t.Errorf("%d streams", n)
	}
}
