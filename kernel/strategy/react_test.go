//go:build !noreasoning

package strategy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

const (
	look   = `{"thought":"I need the data","action":"search","action_input":{"q":"aapl"},"rationale":{"why":"the price must be fresh","confidence":0.9}}`
	scrape = `{"thought":"the page may help","action":"web/scrape","action_input":{"q":"u"},"rationale":{"why":"the index has no prices"}}`
	done   = `{"thought":"Goal achieved","action":"finish","action_input":{"answer":"42"}}`
)

func react(t *testing.T, steps int, answers ...string) (ran, *model) {
	t.Helper()
	m := script(answers...)
	return play(t, kernel.Config{Model: m, Tools: tools(t), Strategy: strategy.React{MaxSteps: steps}}), m
}

func steps(t *testing.T, r ran) strategy.ReactTrace {
	t.Helper()
	tr, err := strategy.ReadReactTrace(r.reader().All(), r.RunID)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestReasonReact is the category "reason.react" of specification 003.
func TestReasonReact(t *testing.T) {
	t.Run("tool_call_with_arguments", func(t *testing.T) {
		r, m := react(t, 5, look, done)
		calls := find[*trace.ToolCallStart](r)
		if r.err != nil || r.Output != "42" || len(calls) != 1 || calls[0].ToolName != "search" || string(calls[0].Args) != `{"q":"aapl"}` {
			t.Fatalf("%+v %v %+v", r.Result, r.err, calls)
		}
		contains(t, m.requests[0].System, `"name":"search"`, `"q"`, "MANDATORY")
		contains(t, asked(m.requests[1]), "[obs:1] found aapl")
	})
	t.Run("rationale_is_the_calls_and_thought_is_narrative", func(t *testing.T) {
		r, _ := react(t, 5, look, done)
		c := find[*trace.ToolCallStart](r)[0]
		if c.RationaleStatus != rationale.Present || c.RationaleSource != rationale.SourceSibling || c.Rationale.Why != "the price must be fresh" {
			t.Errorf("%+v", c)
		}
		if c.Narrative != "I need the data" || c.NarrativeScope != "call" {
			t.Errorf("%+v", c)
		}
		checkOrigins(t, r)
		bare := `{"thought":"because the price must be fresh","action":"search","action_input":{"q":"a"}}`
		broken := `{"thought":"t","action":"search","action_input":{"q":"a"},"rationale":"fresh"}`
		r, _ = react(t, 5, bare, broken, done)
		calls := find[*trace.ToolCallStart](r)
		if calls[0].RationaleStatus != rationale.Missing || calls[0].Rationale != nil || calls[1].RationaleStatus != rationale.Malformed {
			t.Errorf("a thought was taken for a reason: %+v %+v", calls[0], calls[1])
		}
		if r.Debrief.Metrics.Missing != 1 || r.Debrief.Metrics.Malformed != 1 {
			t.Errorf("%+v", r.Debrief.Metrics)
		}
	})
	t.Run("max_steps_is_the_limit", func(t *testing.T) {
		for _, n := range []int{1, 3} {
			var answers []string
			for i := range 10 {
				answers = append(answers, strings.Replace(look, "aapl", fmt.Sprint(i), 1))
			}
			r, m := react(t, n, answers...)
			if r.Reason != strategy.ReasonMaxSteps || !r.Failed || len(m.requests) != n || len(find[*trace.ToolCallStart](r)) != n {
				t.Errorf("%d steps: %+v, %d requests", n, r.Result, len(m.requests))
			}
			if r.Debrief.Termination.Rationale == nil {
				t.Error("the end has no reason")
			}
		}
	})
	t.Run("max_steps_zero_is_an_error", func(t *testing.T) {
		r, m := react(t, 0, look, done)
		var bad *strategy.OptionError
		if !errors.As(r.err, &bad) || bad.Option != "max_steps" || len(m.requests) != 0 {
			t.Errorf("%v, %d requests", r.err, len(m.requests))
		}
		if _, err := strategy.New("react", strategy.Options{MaxSteps: new(0)}); !errors.As(err, &bad) {
			t.Errorf("%v", err)
		}
	})
	t.Run("finish_ends_early", func(t *testing.T) {
		r, m := react(t, 1, done)
		out := r.Detail.(strategy.ReasoningTrace)
		if r.Reason != kernel.ReasonFinalAnswer || r.Output != "42" || len(m.requests) != 1 || out.Steps != 1 || string(out.Result.(strategy.ReactOutput).FinalAnswer) != `"42"` {
			t.Errorf("%+v", r.Result)
		}
		r, _ = react(t, 5, look, `{"thought":"","action":"finish","action_input":{"answer":{"n":[1]}}}`)
		if r.Output != `{"n":[1]}` {
			t.Errorf("%q", r.Output)
		}
	})
	t.Run("tool_error_becomes_the_observation", func(t *testing.T) {
		r, m := react(t, 5, scrape, done)
		contains(t, asked(m.requests[1]), "error:", "no such host")
		if tr := steps(t, r); !strings.Contains(tr.Steps[0].Observation, "no such host") || r.Failed {
			t.Errorf("%+v", tr)
		}
	})
	t.Run("full_trace_and_final_answer", func(t *testing.T) {
		r, _ := react(t, 5, look, scrape, done)
		tr := steps(t, r)
		if len(tr.Steps) != 2 || string(tr.FinalAnswer) != `"42"` {
			t.Fatalf("%+v", tr)
		}
		one := tr.Steps[0]
		if one.Step != 1 || one.Thought != "I need the data" || one.Action != "search" || string(one.ActionInput) != `{"q":"aapl"}` || one.Observation != "found aapl" || one.Rationale.Why != "the price must be fresh" {
			t.Errorf("%+v", one)
		}
	})
	t.Run("malformed_turn_is_asked_for_once_more", func(t *testing.T) {
		r, m := react(t, 5, "I would search.", look, done)
		if r.err != nil || r.Output != "42" {
			t.Fatalf("%+v %v", r.Result, r.err)
		}
		contains(t, asked(m.requests[1]), "could not be read")
		for name, answers := range map[string][]string{
			"twice": {"a", "b", done}, "no action": {`{"thought":"t"}`, `{"thought":"t"}`}, "cut": {look[:len(look)-1], look[:60]},
			"finish without an answer": {`{"action":"finish","action_input":{}}`, `{"action":"finish"}`},
			"action is no string":      {`{"action":["search"]}`, `{"action":{"name":"search"}}`},
			"empty":                    {"", " "},
		} {
			r, m := react(t, 5, answers...)
			var bad *strategy.OutputError
			if !errors.As(r.err, &bad) || bad.Raw != answers[1] || len(m.requests) != 2 || len(find[*trace.ToolCallStart](r)) != 0 {
				t.Errorf("%s: %+v %v", name, r.Result, r.err)
			}
		}
	})
	t.Run("only_the_first_action_of_an_answer", func(t *testing.T) {
		r, _ := react(t, 5, look+"\nObservation: found 42\n"+done, done)
		if len(find[*trace.ToolCallStart](r)) != 1 || len(find[*trace.GuardFired](r)) != 1 || r.Detail.(strategy.ReasoningTrace).Steps != 2 {
			t.Errorf("%+v", r.Result)
		}
	})
}

// TestToolIntegration is the category "Tool Integration" of specification 003.
func TestToolIntegration(t *testing.T) {
	t.Run("registered_tool_runs", func(t *testing.T) {
		r, _ := react(t, 5, strings.Replace(look, `{"q":"aapl"}`, `"{\"q\":\"text\"}"`, 1), done)
		if tr := steps(t, r); tr.Steps[0].Observation != "found text" {
			t.Errorf("%+v", tr)
		}
	})
	t.Run("unregistered_tool_is_refused", func(t *testing.T) {
		for _, name := range []string{"shell", "../search", `..\\search`, "web/../search", "/etc/passwd", "Search"} {
			r, m := react(t, 5, strings.Replace(look, `"search"`, `"`+name+`"`, 1), done)
			end := find[*trace.ToolCallEnd](r)[0]
			if *end.OK || !strings.Contains(end.Error, "there is no tool") || r.Output != "42" {
				t.Errorf("%s: %+v", name, end)
			}
			contains(t, asked(m.requests[1]), "there is no tool")
		}
	})
	t.Run("tools_list_gives_names_and_schemas", func(t *testing.T) {
		r, _ := react(t, 5, `{"thought":"what is there","action":"tools.list","action_input":{},"rationale":{"why":"I must know the tools"}}`, done)
		contains(t, steps(t, r).Steps[0].Observation, `"name":"search"`, `"description"`, `"properties"`)
	})
	t.Run("arguments_are_checked", func(t *testing.T) {
		for _, input := range []string{`{}`, `{"q":1}`, `[1]`, `"text"`, `{"q":"a","z":1}`} {
			r, _ := react(t, 5, strings.Replace(look, `{"q":"aapl"}`, input, 1), done)
			if end := find[*trace.ToolCallEnd](r)[0]; *end.OK {
				t.Errorf("%s was taken", input)
			}
		}
	})
}

// TestReactStrict: in strict mode the reason is asked for once more before the
// call is made.
func TestReactStrict(t *testing.T) {
	bare := `{"thought":"t","action":"search","action_input":{"q":"aapl"}}`
	m := script(bare, look, done)
	r := play(t, kernel.Config{Model: m, Tools: tools(t), Strategy: strategy.React{MaxSteps: 5}, Rationale: kernel.RationaleStrict})
	c := find[*trace.ToolCallStart](r)
	if len(c) != 1 || c[0].RationaleStatus != rationale.Present {
		t.Fatalf("%+v", c)
	}
	contains(t, asked(m.requests[1]), "[STRICT RETRY]")
	checkOrigins(t, r)
}

// TestReactUnasked: without a mandate nothing is asked, and nothing is missing.
func TestReactUnasked(t *testing.T) {
	m := script(`{"thought":"t","action":"search","action_input":{"q":"aapl"}}`, done)
	r := play(t, kernel.Config{Model: m, Tools: tools(t), Strategy: strategy.React{MaxSteps: 5}, Rationale: kernel.RationaleOff})
	if c := find[*trace.ToolCallStart](r)[0]; c.RationaleStatus != rationale.Unasked || strings.Contains(m.requests[0].System, "rationale") {
		t.Errorf("%+v", c)
	}
}

// TestReactSecrets: a secret in a turn reaches the tool and nothing else.
func TestReactSecrets(t *testing.T) {
	key := "sk-" + "ant-" + "api03-" + strings.Repeat("aB3", 31) + "-" + strings.Repeat("x9", 3) + "AA"
	answer := strings.Replace(look, "aapl", key, 1)
	r, m := react(t, 5, answer, `{"thought":"done","action":"finish","action_input":{"answer":"`+key+`"}}`)
	if strings.Contains(r.file.String(), key) || strings.Contains(r.Output, key) {
		t.Error("the secret is in the trace or the output")
	}
	if !strings.Contains(asked(m.requests[1]), key) {
		t.Error("the tool did not get its argument")
	}
	if c := find[*trace.ToolCallStart](r)[0]; c.RationaleStatus != rationale.Present {
		t.Errorf("%+v", c)
	}
	checkOrigins(t, r)
}

// TestReactStepsMemory: reading the steps back holds one of them at a time.
func TestReactStepsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many steps")
	}
	peak := func(n int) uint64 {
		pr, pw := io.Pipe()
		go func() {
			w, err := trace.NewWriter(pipeFile{pw}, trace.WriterOptions{Name: "trace", Producer: "test"})
			if err != nil {
				pw.CloseWithError(err)
				return
			}
			base := trace.Base{RunID: "01KDVSG000RVN0000000000001", Iter: 1}
			big := []byte(`"` + strings.Repeat("x ", 4<<10) + `"`)
			w.Write(&trace.RunStarted{Base: base, Task: "t"})
			for i := range n {
				base.CallID = fmt.Sprintf("c%d", i)
				w.Write(&trace.ToolCallStart{Base: base, ToolName: "search", RationaleStatus: rationale.Missing, Args: []byte(`{}`)})
				w.Write(&trace.ToolCallEnd{Base: base, ToolName: "search", OK: new(true), Result: big})
			}
			w.Close()
		}()
		var most uint64
		read := 0
		for step, err := range strategy.ReactSteps(trace.NewReader(pr, "trace", trace.ReaderOptions{}).All(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if read++; read%64 == 0 || step.Step == 0 {
				runtime.GC()
				var s runtime.MemStats
				runtime.ReadMemStats(&s)
				most = max(most, s.HeapAlloc)
			}
		}
		if read != n {
			t.Fatalf("%d of %d steps", read, n)
		}
		return most
	}
	few, many := peak(64), peak(1024)
	t.Logf("heap with 64 steps %d KiB, with 1024 steps %d KiB", few>>10, many>>10)
	if many > few+2<<20 {
		t.Errorf("the heap grew from %d to %d bytes", few, many)
	}
}

type pipeFile struct{ *io.PipeWriter }

func (pipeFile) Sync() error          { return nil }
func (pipeFile) Truncate(int64) error { return nil }

// TestExport: the reasoning alone is written as it happens, byte for byte from
// the trace, and can be read back.
func TestExport(t *testing.T) {
	var out bytes.Buffer
	e := strategy.NewExporter(&out)
	m := &model{name: "scripted-1"}
	m.answer = func(n int, _ provider.Request) (string, error) {
		if n == 1 && !strings.Contains(out.String(), "tool-call-end") {
			t.Error("the first step is not written when the second begins")
		}
		return []string{look, done}[n], nil
	}
	r := play(t, kernel.Config{Model: m, Tools: tools(t), Strategy: strategy.React{MaxSteps: 5}, Watch: strategy.Watchers{e}})
	if e.Err() != nil {
		t.Fatal(e.Err())
	}
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(r.file.String(), line) {
			t.Errorf("not a line of the trace: %s", line)
		}
	}
	if strings.Contains(out.String(), "kernel-state-snapshot") || strings.Contains(out.String(), "curator-decision") {
		t.Error("more than the reasoning was written")
	}
	tr, err := strategy.ReadReactTrace(trace.NewReader(&out, "export", trace.ReaderOptions{}).All(), "")
	if err != nil || len(tr.Steps) != 1 || string(tr.FinalAnswer) != `"42"` {
		t.Errorf("%+v %v", tr, err)
	}
	broken := strategy.NewExporter(brokenWriter{})
	play(t, kernel.Config{Model: script(done), Tools: tools(t), Strategy: strategy.React{MaxSteps: 5}, Watch: broken})
	if !errors.Is(broken.Err(), io.ErrClosedPipe) {
		t.Errorf("%v", broken.Err())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
