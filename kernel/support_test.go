package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// memory is a trace file in memory.
type memory struct{ bytes.Buffer }

func (m *memory) Sync() error            { return nil }
func (m *memory) Close() error           { return nil }
func (m *memory) Truncate(n int64) error { m.Buffer.Truncate(int(n)); return nil }

// scripted plays answers in order.
type scripted struct {
	mu       sync.Mutex
	info     kernel.ModelInfo
	answers  []parsers.Answer
	errs     map[int]error
	requests []provider.Request
	// wait holds the answer back until the context ends.
	wait bool
}

func (s *scripted) Info() kernel.ModelInfo { return s.info }

func (s *scripted) Complete(ctx context.Context, req provider.Request, _ func(provider.Delta)) (kernel.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	req.Messages = slices.Clone(req.Messages)
	s.requests = append(s.requests, req)
	if s.wait {
		<-ctx.Done()
		return kernel.Reply{Attempts: 1}, ctx.Err()
	}
	if err := s.errs[n]; err != nil {
		return kernel.Reply{Attempts: 1}, err
	}
	if n >= len(s.answers) {
		return kernel.Reply{}, fmt.Errorf("the script has %d answers", len(s.answers))
	}
	return kernel.Reply{Answer: s.answers[n], Attempts: 1, Duration: 5 * time.Millisecond}, nil
}

func native(answers ...parsers.Answer) *scripted {
	return &scripted{
		info:    kernel.ModelInfo{Provider: "scripted", Name: "scripted-1", Format: provider.AnthropicMessages, NativeTools: true},
		answers: answers,
	}
}

// answer makes an answer of a text and calls, given as "tool {json}".
func answer(text string, calls ...string) parsers.Answer {
	a := parsers.Answer{Format: string(provider.AnthropicMessages), Usage: parsers.Usage{Input: new(int64(100)), Output: new(int64(20))}}
	if text != "" {
		a.Parts = append(a.Parts, parsers.Part{Kind: parsers.PartText, Text: text, Span: rationale.Span{End: len(text)}})
	}
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		a.Parts = append(a.Parts, parsers.Part{Kind: parsers.PartCall, Call: i})
		a.Calls = append(a.Calls, parsers.Call{ID: fmt.Sprintf("call_%d", i+1), Name: name, Arguments: json.RawMessage(args)})
	}
	return a
}

func thinking(a parsers.Answer, text string) parsers.Answer {
	part := parsers.Part{Kind: parsers.PartThinking, Text: text, Format: "anthropic", Signed: json.RawMessage(`"c2lnbmVk"`)}
	a.Parts = append([]parsers.Part{part}, a.Parts...)
	return a
}

// box is a toolbox of functions.
type box map[string]func(json.RawMessage) (string, error)

func (b box) Specs() []kernel.ToolSpec {
	var names []string
	for name := range b {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []kernel.ToolSpec
	for _, name := range names {
		s, _ := b.Lookup(name)
		out = append(out, s)
	}
	return out
}

func (b box) Lookup(name string) (kernel.ToolSpec, bool) {
	_, ok := b[name]
	effects := kernel.EffectRead
	if strings.HasPrefix(name, "write") {
		effects = kernel.EffectWrite
	}
	return kernel.ToolSpec{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`), Effects: effects}, ok
}

func (b box) Call(_ context.Context, name string, args json.RawMessage) (kernel.ToolResult, error) {
	f, ok := b[name]
	if !ok {
		return kernel.ToolResult{}, errors.New("no such tool")
	}
	text, err := f(args)
	return kernel.ToolResult{Content: text, Summary: fmt.Sprintf("%d bytes", len(text))}, err
}

var tools = box{
	"search": func(args json.RawMessage) (string, error) { return "found " + string(args), nil },
	"fail":   func(json.RawMessage) (string, error) { return "", errors.New("no such host\nsecond line") },
	"write_file": func(json.RawMessage) (string, error) {
		return "written", nil
	},
}

// ran is a finished run.
type ran struct {
	kernel.Result
	err    error
	file   *memory
	events []trace.Event
}

// play runs a configuration and checks that the trace keeps the format's rules
// and folds into the debrief of the result.
func play(t *testing.T, cfg kernel.Config) ran {
	t.Helper()
	return playCtx(t, context.Background(), cfg)
}

func playCtx(t *testing.T, ctx context.Context, cfg kernel.Config) ran {
	t.Helper()
	id := 0
	if cfg.NewID == nil {
		cfg.NewID = func() (string, error) { id++; return fmt.Sprintf("01KDVSG000RVN%013d", id), nil }
	}
	// The clock stands still: calls that run at once read it in any order.
	cfg.Now = func() time.Time { return time.UnixMilli(1_767_225_600_000) }
	agent, err := kernel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	file := &memory{}
	w, err := trace.NewWriter(file, trace.WriterOptions{Name: "trace", Producer: "test"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(ctx, "the task", w)
	if cerr := w.Close(); cerr != nil {
		t.Fatal(cerr)
	}
	out := ran{Result: res, err: err, file: file}
	reader := func() *trace.Reader {
		return trace.NewReader(bytes.NewReader(file.Bytes()), "trace", trace.ReaderOptions{})
	}
	violations, verr := trace.Check(reader().All())
	if verr != nil || len(violations) > 0 {
		t.Errorf("the trace breaks the format: %v %v", violations, verr)
	}
	for rec, err := range reader().All() {
		if err != nil {
			t.Fatal(err)
		}
		ev, _, err := trace.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		out.events = append(out.events, ev)
	}
	runs, err := debrief.Build(reader().All())
	if err != nil || len(runs) == 0 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	got, _ := json.Marshal(res.Debrief)
	want, _ := json.Marshal(runs[0])
	if !bytes.Equal(got, want) {
		t.Errorf("the result's debrief is not that of the trace:\n%s\n%s", got, want)
	}
	return out
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

func (r ran) tree(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Tree(&b, r.Debrief, render.TreeOptions{Expand: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
