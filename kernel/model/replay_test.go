package model_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

var _ kernel.Toolbox = (*model.Replay)(nil)

type memory struct{ bytes.Buffer }

func (m *memory) Sync() error            { return nil }
func (m *memory) Close() error           { return nil }
func (m *memory) Truncate(n int64) error { m.Buffer.Truncate(int(n)); return nil }

// written is the file of a trace with these events.
func written(t *testing.T, events ...trace.Event) []byte {
	t.Helper()
	file := &memory{}
	w, err := trace.NewWriter(file, trace.WriterOptions{Name: "trace"})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if b := ev.Common(); b.RunID == "" {
			b.RunID = "root"
		}
		if _, err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func records(file []byte) iter.Seq2[trace.Record, error] {
	return trace.NewReader(bytes.NewReader(file), "trace", trace.ReaderOptions{}).All()
}

func exchange(response string) *trace.LLMExchange {
	return &trace.LLMExchange{Provider: "p", Model: "m", Response: json.RawMessage(response)}
}

func in(run, parent string, ev trace.Event) trace.Event {
	b := ev.Common()
	b.RunID, b.ParentRunID, b.RootRunID, b.Depth = run, parent, "root", 1
	return ev
}

func started(run, parent, callID string) trace.Event {
	ev := &trace.RunStarted{Task: "t", Model: "m", Provider: "p"}
	ev.CallID = callID
	if parent == "" {
		ev.RunID = run
		return ev
	}
	return in(run, parent, ev)
}

// recording is a run with everything that an answer can hold.
func recording(t *testing.T) []byte {
	first := exchange(`{"content":"I look.","thinking":"hm","toolCalls":[{"id":"x1","name":"search","arguments":{"q":"a"}},{"name":"search","arguments":"{\"q\":"}],"stopReason":"tool_use","tokensIn":10,"tokensOut":4}`)
	first.MessageID, first.ToolSchemaNames, first.RequestKind = "msg_1", []string{"search", "clock"}, "completeStructured"
	first.Tokens = &trace.Tokens{Input: new(int64(10)), Output: new(int64(4)), CacheRead: new(int64(3))}
	failed := exchange(`{"content":"half a sen","toolCalls":[]}`)
	failed.Cut = true
	return written(t,
		started("root", "", ""),
		first,
		&trace.ReasoningRecorded{Format: "anthropic", Text: "hm", Origin: &rationale.Origin{Event: new(int64(1)), Field: "/response/thinking", End: 2}},
		&trace.ReasoningRecorded{Format: "hidden", Hidden: true},
		&trace.ReasoningRecorded{Format: "parsed", Text: "of another answer", Origin: &rationale.Origin{Event: new(int64(99)), Field: "/response/thinking", End: 2}},
		started("sub", "root", "c1"),
		in("sub", "root", exchange(`{"content":"from below","toolCalls":[]}`)),
		exchange(`{"content":"Two.","refusal":"no","toolCalls":[],"stopReason":"end_turn"}`),
		failed,
		&trace.ErrorRaised{Where: "tool", Message: "not this one"},
		&trace.ErrorRaised{Where: "model", Code: "overloaded", Message: "provider error 529"},
	)
}

func TestFromTrace(t *testing.T) {
	file := recording(t)
	p, err := model.FromTrace(records(file), -1)
	if err != nil {
		t.Fatal(err)
	}
	if info := p.Info(); info.Provider != "scripted" || info.Name != "m" || !info.NativeTools || !info.Structured {
		t.Errorf("%+v", info)
	}
	r, h, err := ask(t, p, true, question())
	if err != nil {
		t.Fatal(err)
	}
	a := r.Answer
	if a.Text() != "I look." || a.Thinking() != "hm" || a.ID != "msg_1" || a.Finish != "tool_use" || h.text != "I look." || h.thinking != "hm" {
		t.Errorf("%+v, heard %+v", a, h)
	}
	if *a.Usage.Input != 10 || *a.Usage.Output != 4 || *a.Usage.CacheRead != 3 {
		t.Errorf("usage %+v", a.Usage)
	}
	if len(a.Calls) != 2 || a.Calls[0].ID != "x1" || call(a, 0) != `search {"q":"a"}` || !a.Calls[1].Invalid || call(a, 1) != `search {"q":` {
		t.Errorf("calls %+v", a.Calls)
	}
	var kinds []string
	for _, part := range a.Parts {
		kinds = append(kinds, string(part.Kind)+part.Format)
	}
	if got := strings.Join(kinds, " "); got != "thinkinganthropic thinkinghidden text call call" {
		t.Errorf("parts %s", got)
	}
	r, _, err = ask(t, p, false, question())
	if err != nil || r.Answer.Text() != "Two." || r.Answer.Refusal != "no" || r.Answer.Usage.Input != nil {
		t.Errorf("%+v, %v", r.Answer, err)
	}
	r, _, err = ask(t, p, false, question())
	var recorded *model.RecordedError
	if !errors.As(err, &recorded) || recorded.Code != "overloaded" || !strings.Contains(err.Error(), "529") || r.Answer.Text() != "half a sen" || !r.Answer.Cut {
		t.Errorf("%+v, %v", r.Answer, err)
	}
	var e *model.ExhaustedError
	if _, _, err := ask(t, p, false, question()); !errors.As(err, &e) || e.Answers != 3 {
		t.Errorf("%v", err)
	}
	sub := p.Sub("c1")
	if sub == nil || p.Sub("c2") != nil {
		t.Fatal("the sub-run is not at its call")
	}
	if r, _, err := ask(t, sub, false, question()); err != nil || r.Answer.Text() != "from below" {
		t.Errorf("%+v, %v", r.Answer, err)
	}
	for upTo, want := range map[int]int{0: 0, 2: 2, 3: 3, 9: 3} {
		p, err := model.FromTrace(records(file), upTo)
		if err != nil {
			t.Fatal(err)
		}
		if all, _ := p.Answers(); all != want {
			t.Errorf("up to %d: %d answers", upTo, all)
		}
	}
	// As a script, by its content.
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := model.Open("scripted:"+path, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, _, err := ask(t, m, false, question()); err != nil || !reflect.DeepEqual(r.Answer, a) || m.Info().Name != "run.jsonl" {
		t.Errorf("%+v, %v", r.Answer, err)
	}
}

// Calls that stand in no answer were written as text.
func TestFromTraceOfTextCalls(t *testing.T) {
	file := written(t, started("root", "", ""), exchange(`{"content":"<call>","toolCalls":[]}`), &trace.ToolCallStart{ToolName: "search"})
	p, err := model.FromTrace(records(file), -1)
	if err != nil || p.Info().NativeTools {
		t.Errorf("%+v, %v", p.Info(), err)
	}
}

func TestFromOddTraces(t *testing.T) {
	good := written(t, started("root", "", ""), exchange(`{"content":"one"}`), exchange(`{"content":"two"}`))
	for name, c := range map[string]struct {
		file    []byte
		answers int // -1: an error
	}{
		"empty":           {nil, -1},
		"torn":            {good[:len(good)-5], 1},
		"corrupt":         {append([]byte("{]\n"), good...), -1},
		"two roots":       {written(t, started("a", "", ""), started("b", "", "")), -1},
		"only a sub-run":  {written(t, started("a", "gone", "c1")), -1},
		"a circle":        {written(t, started("a", "b", ""), started("b", "a", "")), -1},
		"its own parent":  {written(t, started("a", "a", "")), -1},
		"no answers":      {written(t, started("root", "", "")), 0},
		"foreign":         {[]byte(`{"kind":"llm-exchange","runId":"r","timestamp":1,"iter":0,"seq":0,"provider":"p","model":"m","response":{"content":"one"}}` + "\n"), 1},
		"unknown kinds":   {[]byte(`{"kind":"other","runId":"r"}` + "\n" + `{"runId":"r"}` + "\n"), 0},
		"a newer version": {[]byte(`{"kind":"run-started","runId":"r","format":"rax-trace/9","task":"","model":"","provider":""}` + "\n"), -1},
	} {
		p, err := model.FromTrace(records(c.file), -1)
		if (err != nil) != (c.answers < 0) {
			t.Errorf("%s: %v", name, err)
		} else if err == nil {
			if all, _ := p.Answers(); all != c.answers {
				t.Errorf("%s: %d answers", name, all)
			}
		}
		if _, terr := model.ReplayTools(records(c.file)); (terr == nil) != (err == nil) {
			t.Errorf("%s: tools %v, model %v", name, terr, err)
		}
	}
	for _, response := range []string{"", `"text"`, `{"toolCalls":{}}`, `{"toolCalls":[1]}`} {
		p, err := model.FromTrace(records(written(t, started("root", "", ""), exchange(response))), -1)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ask(t, p, false, question()); err == nil || !strings.Contains(err.Error(), "no response") {
			t.Errorf("%s: %v", response, err)
		}
	}
}

// A chain of sub-runs as deep as only a hostile file has it ends somewhere.
func TestFromDeepTrace(t *testing.T) {
	events := []trace.Event{started("run0", "", "")}
	for i := range 20_000 {
		events = append(events, started(fmt.Sprintf("run%d", i+1), fmt.Sprintf("run%d", i), "c1"))
	}
	p, err := model.FromTrace(records(written(t, events...)), -1)
	depth := 0
	for ; p != nil; p = p.Sub("c1") {
		depth++
	}
	if err != nil || depth < 10 || depth > 100 {
		t.Errorf("%d deep, %v", depth, err)
	}
}

func start(id, tool, args string) *trace.ToolCallStart {
	ev := &trace.ToolCallStart{ToolName: tool, Args: json.RawMessage(args)}
	ev.CallID = id
	return ev
}

func end(id, tool string, change func(*trace.ToolCallEnd)) *trace.ToolCallEnd {
	ev := &trace.ToolCallEnd{ToolName: tool, OK: new(true)}
	ev.CallID = id
	change(ev)
	return ev
}

func result(text string) func(*trace.ToolCallEnd) {
	return func(e *trace.ToolCallEnd) { e.Result = json.RawMessage(text) }
}

func TestReplayTools(t *testing.T) {
	offer := exchange(`{"content":""}`)
	offer.ToolSchemaNames = []string{"search", "clock"}
	file := written(t, started("root", "", ""), offer,
		start("c1", "search", `{"q":"a","n":1}`), start("c2", "search", `{"q":"b"}`),
		end("c2", "search", result(`"second"`)),
		end("c1", "search", func(e *trace.ToolCallEnd) {
			e.Result, e.Outcome, e.ResultTruncated = json.RawMessage(`"first"`), "1 hit", true
		}),
		start("c3", "search", `{"n":1,"q":"a"}`), end("c3", "search", result(`"again"`)),
		start("c4", "clock", ""), end("c4", "clock", result(`{"h":12}`)),
		start("c5", "search", `{"q":"c"}`), end("c5", "search", func(e *trace.ToolCallEnd) { e.OK, e.Error = new(false), "no such host" }),
		start("c6", "search", `{"q":"d"}`), end("c6", "search", func(e *trace.ToolCallEnd) { e.OK, e.Rejected, e.Error = new(false), true, "refused" }),
		start("c7", "made_up", `{}`), end("c7", "made_up", func(e *trace.ToolCallEnd) { e.OK, e.Error = new(false), "there is no tool" }),
		start("c8", "search", `{"q":"crash"}`),
		start("c9", "search", `{"q":"e"}`), end("c9", "search", func(e *trace.ToolCallEnd) { e.OK = new(false) }),
		started("sub", "root", "c1"), in("sub", "root", start("c1", "clock", `{"zone":"x"}`)), in("sub", "root", end("c1", "clock", result(`"below"`))),
	)
	box, err := model.ReplayTools(records(file))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, spec := range box.Specs() {
		names = append(names, spec.Name)
		if string(spec.Schema) != `{"type":"object"}` || spec.Effects != kernel.EffectNone {
			t.Errorf("%+v", spec)
		}
	}
	if strings.Join(names, " ") != "search clock" {
		t.Errorf("specs %v", names)
	}
	if _, ok := box.Lookup("made_up"); !ok {
		t.Error("a tool that was called is not known")
	}
	if _, ok := box.Lookup("other"); ok {
		t.Error("a tool that was not called is known")
	}
	for _, c := range []struct{ tool, args, want, err string }{
		{"search", `{"q":"b"}`, "second", ""},
		{"search", `{ "n": 1, "q": "a" }`, "first", ""},
		{"search", `{"q":"a","n":1}`, "again", ""},
		{"search", `{"q":"a","n":1}`, "", "holds 2 such calls, and all were made"},
		{"search", `{"q":"a","n":1.0}`, "", "no call with these arguments"},
		{"clock", `{}`, `{"h":12}`, ""},
		{"search", `{"q":"c"}`, "", "no such host"},
		{"search", `{"q":"d"}`, "", "no call with these arguments"},
		{"made_up", ``, "", "there is no tool"},
		{"search", `{"q":"crash"}`, "", "does not hold what this call gave"},
		{"search", `{"q":"e"}`, "", "does not say why"},
		{"search", `{`, "", "no call with these arguments"},
		{"other", `{}`, "", "holds no call of it"},
		{"clock", `{"zone":"x"}`, "", "no call with these arguments"},
	} {
		res, err := box.Call(t.Context(), c.tool, json.RawMessage(c.args))
		if c.err == "" && (err != nil || res.Content != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s %s: %q, %v", c.tool, c.args, res.Content, err)
		}
		if c.want == "first" && (res.Summary != "1 hit" || !res.Truncated) {
			t.Errorf("%+v", res)
		}
	}
	sub := box.Sub("c1")
	if sub == nil || box.Sub("c2") != nil {
		t.Fatal("the sub-run is not at its call")
	}
	if res, err := sub.Call(t.Context(), "clock", json.RawMessage(`{"zone":"x"}`)); err != nil || res.Content != "below" {
		t.Errorf("%q, %v", res.Content, err)
	}
}

// Traces of other programs have no ids of calls, and say little.
func TestReplayForeignTools(t *testing.T) {
	file := written(t,
		&trace.ToolCallStart{ToolName: "search"}, &trace.ToolCallStart{ToolName: "clock"},
		&trace.ToolCallEnd{ToolName: "clock", Args: json.RawMessage(`{"z":1}`), Result: json.RawMessage(`12`)},
		&trace.ToolCallEnd{ToolName: "search", Args: json.RawMessage(`{"q":1}`), Result: json.RawMessage(`"hit"`)},
		&trace.ToolCallEnd{ToolName: "search", Result: json.RawMessage(`"nobody's"`)},
	)
	box, err := model.ReplayTools(records(file))
	if err != nil || len(box.Specs()) != 2 {
		t.Fatalf("%v", err)
	}
	for tool, c := range map[string][2]string{"clock": {`{"z":1}`, "12"}, "search": {`{"q":1}`, "hit"}} {
		if res, err := box.Call(t.Context(), tool, json.RawMessage(c[0])); err != nil || res.Content != c[1] {
			t.Errorf("%s: %q, %v", tool, res.Content, err)
		}
	}
}

// The answers of a script can be made by hand, too.
func TestParsedAnswer(t *testing.T) {
	a := parsers.Answer{Parts: []parsers.Part{{Kind: parsers.PartText, Text: "as it is <think>"}}}
	r, h, err := ask(t, model.Script("s", model.Answer{Parsed: &a}), true, question())
	if err != nil || r.Answer.Text() != "as it is <think>" || h.text != "as it is <think>" {
		t.Errorf("%+v, %v", r.Answer, err)
	}
}
