//go:build !noreasoning

package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/flow"
	"github.com/rax-project/rax/kernel/tool"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// memory is a trace file in memory.
type memory struct{ bytes.Buffer }

func (m *memory) Sync() error            { return nil }
func (m *memory) Close() error           { return nil }
func (m *memory) Truncate(n int64) error { m.Buffer.Truncate(int(n)); return nil }

// models are the scripted models of a test, by "provider:model": each gives its
// answers in order.
type models struct {
	mu       sync.Mutex
	answers  map[string][]string
	opened   []string
	requests map[string][]provider.Request
}

func (m *models) open(spec string) (kernel.Model, error) {
	m.opened = append(m.opened, spec)
	if _, ok := m.answers[spec]; !ok {
		return nil, errors.New("there is no such model")
	}
	return scripted{m, spec}, nil
}

func (m *models) asked(spec string, n int) string {
	messages := m.requests[spec][n].Messages
	return messages[len(messages)-1].Blocks[0].Text
}

type scripted struct {
	models *models
	spec   string
}

func (s scripted) Info() kernel.ModelInfo {
	p, name, _ := strings.Cut(s.spec, ":")
	return kernel.ModelInfo{Provider: p, Name: name, Format: provider.OllamaNative}
}

func (s scripted) Complete(_ context.Context, req provider.Request, _ func(provider.Delta)) (kernel.Reply, error) {
	m := s.models
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests = map[string][]provider.Request{}
	}
	n := len(m.requests[s.spec])
	m.requests[s.spec] = append(m.requests[s.spec], req)
	if n >= len(m.answers[s.spec]) {
		return kernel.Reply{}, fmt.Errorf("the script of %s has %d answers", s.spec, n)
	}
	text := m.answers[s.spec][n]
	a := parsers.Answer{Format: string(provider.OllamaNative), Usage: parsers.Usage{Input: new(int64(100)), Output: new(int64(20))}}
	a.Parts = append(a.Parts, parsers.Part{Kind: parsers.PartText, Text: text, Span: rationale.Span{End: len(text)}})
	return kernel.Reply{Answer: a, Attempts: 1, Duration: 5 * time.Millisecond}, nil
}

// llama is a script of the models that the fixtures name.
func llama(answers ...string) *models {
	return &models{answers: map[string][]string{"ollama:llama3.2": answers}}
}

func env(t *testing.T, m *models, state map[string]any) flow.Env {
	t.Helper()
	tools, err := tool.NewBuiltin(tool.Limits{}, tool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, clock := 0, time.UnixMilli(1_767_225_600_000)
	var mu sync.Mutex
	return flow.Env{
		Tools: tools, Model: m.open, State: state,
		Config: kernel.Config{
			NewID: func() (string, error) { id++; return fmt.Sprintf("01KDVSG000RVN%013d", id), nil },
			Now: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				clock = clock.Add(time.Millisecond)
				return clock
			},
		},
	}
}

// ran is a finished flow.
type ran struct {
	flow.Result
	err    error
	file   *memory
	events []trace.Event
}

func run(t *testing.T, f *flow.Flow, e flow.Env) ran {
	t.Helper()
	file := &memory{}
	w, err := trace.NewWriter(file, trace.WriterOptions{Name: "trace", Producer: "test"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := f.Run(t.Context(), e, w)
	if cerr := w.Close(); cerr != nil {
		t.Fatal(cerr)
	}
	out := ran{Result: res, err: err, file: file}
	if file.Len() == 0 {
		return out
	}
	reader := trace.NewReader(bytes.NewReader(file.Bytes()), "trace", trace.ReaderOptions{})
	violations, verr := trace.Check(reader.All())
	if verr != nil || len(violations) > 0 {
		t.Errorf("the trace breaks the format: %v %v", violations, verr)
	}
	for rec, err := range trace.NewReader(bytes.NewReader(file.Bytes()), "trace", trace.ReaderOptions{}).All() {
		if err != nil {
			t.Fatal(err)
		}
		ev, _, err := trace.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		out.events = append(out.events, ev)
	}
	return out
}

func find[T trace.Event](r ran) []T {
	var out []T
	for _, ev := range r.events {
		if e, ok := ev.(T); ok {
			out = append(out, e)
		}
	}
	return out
}

func parse(t *testing.T, text string) *flow.Flow {
	t.Helper()
	f, err := flow.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func load(t *testing.T, name string) *flow.Flow {
	t.Helper()
	f, err := flow.Load(filepath.Join("..", "..", "fixtures", "flows", name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (r ran) tree(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Tree(&b, r.Debrief, render.TreeOptions{Expand: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (rewrite with -update):\n%s", name, got)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	doc, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(doc) + "\n"
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
