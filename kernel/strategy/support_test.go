package strategy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel"
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

// model answers what a function says to each request.
type model struct {
	name   string
	answer func(n int, req provider.Request) (string, error)

	mu       sync.Mutex
	requests []provider.Request
}

func (m *model) Info() kernel.ModelInfo {
	return kernel.ModelInfo{Provider: "scripted", Name: m.name, Format: provider.OllamaNative}
}

func (m *model) Complete(ctx context.Context, req provider.Request, _ func(provider.Delta)) (kernel.Reply, error) {
	m.mu.Lock()
	n := len(m.requests)
	req.Messages = slices.Clone(req.Messages)
	m.requests = append(m.requests, req)
	m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return kernel.Reply{}, err
	}
	text, err := m.answer(n, req)
	if err != nil {
		return kernel.Reply{Attempts: 1}, err
	}
	a := parsers.Answer{Format: string(provider.OllamaNative), Usage: parsers.Usage{Input: new(int64(100)), Output: new(int64(20))}}
	a.Parts = append(a.Parts, parsers.Part{Kind: parsers.PartText, Text: text, Span: rationale.Span{End: len(text)}})
	return kernel.Reply{Answer: a, Attempts: 1, Duration: 5 * time.Millisecond}, nil
}

// script is a model that gives the answers in order.
func script(answers ...string) *model {
	return &model{name: "scripted-1", answer: func(n int, _ provider.Request) (string, error) {
		if n >= len(answers) {
			return "", fmt.Errorf("the script has %d answers", len(answers))
		}
		return answers[n], nil
	}}
}

// asked is the last text of a request.
func asked(req provider.Request) string {
	if len(req.Messages) == 0 {
		return ""
	}
	blocks := req.Messages[len(req.Messages)-1].Blocks
	return blocks[len(blocks)-1].Text
}

// tools is a registry with the tools of the tests.
func tools(t *testing.T) *tool.Registry {
	t.Helper()
	r := tool.NewRegistry(tool.Limits{})
	type query struct {
		Q string `json:"q" jsonschema:"what to look for"`
	}
	if err := r.Namespace("web"); err != nil {
		t.Fatal(err)
	}
	for _, tl := range []kernel.Tool{
		tool.List(),
		tool.Func("search", "Search the index.", kernel.EffectRead, func(_ context.Context, q query) (kernel.ToolResult, error) {
			return kernel.ToolResult{Content: "found " + q.Q, Summary: "1 document"}, nil
		}),
		tool.Func("web/scrape", "Fetch a page.", kernel.EffectRead, func(context.Context, query) (kernel.ToolResult, error) {
			return kernel.ToolResult{}, errors.New("no such host")
		}),
	} {
		if err := r.Register(tl); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// ran is a finished run.
type ran struct {
	kernel.Result
	err    error
	file   *memory
	events []trace.Event
}

func play(t *testing.T, cfg kernel.Config) ran {
	t.Helper()
	return playTask(t, context.Background(), cfg, "the task")
}

// playTask runs a configuration and checks that the trace keeps the rules of its
// format and folds into the debrief of the result.
func playTask(t *testing.T, ctx context.Context, cfg kernel.Config, task string) ran {
	t.Helper()
	var mu sync.Mutex
	id, clock := 0, time.UnixMilli(1_767_225_600_000)
	cfg.NewID = func() (string, error) { id++; return fmt.Sprintf("01KDVSG000RVN%013d", id), nil }
	if cfg.Now == nil {
		cfg.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			clock = clock.Add(time.Millisecond)
			return clock
		}
	}
	agent, err := kernel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	file := &memory{}
	w, err := trace.NewWriter(file, trace.WriterOptions{Name: "trace", Producer: "test"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(ctx, task, w)
	if cerr := w.Close(); cerr != nil {
		t.Fatal(cerr)
	}
	out := ran{Result: res, err: err, file: file}
	violations, verr := trace.Check(out.reader().All())
	if verr != nil || len(violations) > 0 {
		t.Errorf("the trace breaks the format: %v %v", violations, verr)
	}
	for rec, err := range out.reader().All() {
		if err != nil {
			t.Fatal(err)
		}
		ev, warnings, err := trace.Decode(rec)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		out.events = append(out.events, ev)
	}
	runs, err := debrief.Build(out.reader().All())
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	got, _ := json.Marshal(res.Debrief)
	want, _ := json.Marshal(runs[0])
	if !bytes.Equal(got, want) {
		t.Errorf("the result's debrief is not that of the trace:\n%s\n%s", got, want)
	}
	return out
}

func (r ran) reader() *trace.Reader {
	return trace.NewReader(bytes.NewReader(r.file.Bytes()), "trace", trace.ReaderOptions{})
}

// find gives the events of a type.
func find[T trace.Event](r ran) []T {
	var out []T
	for _, ev := range r.events {
		if e, ok := ev.(T); ok {
			out = append(out, e)
		}
	}
	return out
}

// checkOrigins holds every origin of a call against the characters that it
// points at.
func checkOrigins(t *testing.T, r ran) {
	t.Helper()
	records := map[int64]trace.Record{}
	for rec := range r.reader().All() {
		row, _ := trace.RowOf(rec)
		records[row.Int(trace.FieldSeq)] = rec.Clone()
	}
	check := func(what, want string, o *rationale.Origin) {
		if o == nil || o.Event == nil {
			t.Errorf("%s %q has no origin", what, want)
			return
		}
		text, ok := trace.Pointer(records[*o.Event], o.Field)
		if got := (rationale.Span{Start: o.Start, End: o.End}).In(text); !ok || got != want {
			t.Errorf("%s: origin %+v holds %q, want %q", what, *o, got, want)
		}
	}
	for _, c := range find[*trace.ToolCallStart](r) {
		if c.Rationale != nil {
			check("rationale", c.Rationale.Why, c.Origin)
		}
		if c.Narrative != "" {
			check("narrative", c.Narrative, c.NarrativeOrigin)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "techniques", name)
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

func (r ran) tree(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Tree(&b, r.Debrief, render.TreeOptions{Expand: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (r ran) indented(t *testing.T) []byte {
	t.Helper()
	doc, err := json.MarshalIndent(r.Debrief, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(doc, '\n')
}

// contains fails unless s holds all of the parts.
func contains(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q is not in:\n%s", p, s)
		}
	}
}
