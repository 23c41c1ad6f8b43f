//go:build !noreasoning

package flow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/flow"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

const solved = `{"thinking":"0.15 × 80 = 12","answer":"12"}`

// examples are the flows of specification 003 and one with several nodes, with
// the answers of models that work through them.
func examples() map[string]struct {
	state   map[string]any
	models  *models
	output  string
	because []string // what the debrief says about why
} {
	code := &models{answers: map[string][]string{
		"ollama:codellama": {"func div(a, b int) int { return a / b }", "func div(a, b int) (int, error) { … }"},
		"ollama:llama3.2":  {`{"accepted":false,"critique":"b may be 0"}`, `{"accepted":true,"critique":"it is complete"}`},
	}}
	return map[string]struct {
		state   map[string]any
		models  *models
		output  string
		because []string
	}{
		"solve_math": {
			map[string]any{"math_problem": "What is 15% of 80?"}, llama(solved), "12",
			[]string{"run solve_math (reason.cot)", "it is first in the flow"},
		},
		"research": {
			map[string]any{"research_goal": "What is 6 times 7? Keep it."},
			llama(
				`{"thought":"I compute it","action":"calculator","action_input":{"expression":"6*7"},"rationale":{"why":"the product must be exact","confidence":0.9}}`,
				`{"thought":"now I keep it","action":"memory_store","action_input":{"key":"product","text":"42"},"rationale":{"why":"the goal asks to keep the result","refs":["obs:1"]}}`,
				`{"thought":"Goal achieved","action":"finish","action_input":{"answer":"42, and it is kept"}}`,
			),
			"42, and it is kept",
			[]string{"run research (reason.react)", "the product must be exact", "the goal asks to keep the result"},
		},
		"improve_code": {
			map[string]any{"coding_task": "Write an integer division."}, code, "func div(a, b int) (int, error) { … }",
			[]string{"run improve_code (reason.self_correct)"},
		},
		"report": {
			map[string]any{"expression": "60 * 7"},
			llama(`{"thinking":"t","answer":"Six times seven tens."}`, "Sixty times seven, step by step.", `{"accepted":true,"critique":"clear"}`),
			"Sixty times seven, step by step.",
			[]string{"run figure (tool.calculator)", "run review (reason.self_correct)", "its condition is true: float(state.figure) > 100"},
		},
	}
}

// TestExamples runs the flows in fixtures/flows. Their debriefs say why each
// step was taken.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "flows", "*.yaml"))
	if err != nil || len(files) != len(examples()) {
		t.Fatalf("%d flows: %v", len(files), err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			tt, ok := examples()[name]
			if !ok {
				t.Fatal("no answers for this flow")
			}
			f := load(t, name+".yaml")
			e := env(t, tt.models, tt.state)
			if err := f.Check(e); err != nil {
				t.Fatal(err)
			}
			r := run(t, f, e)
			if r.err != nil || r.Failed || r.Output != tt.output {
				t.Fatalf("%+v %v", r.Result.Result, r.err)
			}
			debrief := asJSON(t, r.Debrief)
			for _, why := range tt.because {
				if !strings.Contains(debrief, strings.Trim(asJSON(t, why), "\"\n")) {
					t.Errorf("the debrief does not say %q:\n%s", why, debrief)
				}
			}
			golden(t, name+".jsonl", r.file.Bytes())
			golden(t, name+".json", []byte(debrief))
			golden(t, name+".tree", []byte(r.tree(t)))
		})
	}
}

// TestStatePassing: what a node gave is there for those behind it.
func TestStatePassing(t *testing.T) {
	m := llama(`{"thinking":"t","answer":{"n":[3,4]}}`, `{"thinking":"t","answer":"second"}`)
	f := parse(t, `
model: ollama:llama3.2
state: {who: me, list: [a, {b: c}], n: 5}
nodes:
  - name: one
    action: reason.cot
    with: {problem: "first for {{ state.who | upper }}"}
  - name: two
    action: reason.cot
    with:
      problem: |
        {{ state.one.answer.n[1] }} {{ state.list[1]["b"] }} {{ state.list | json }} {{ state.n }}
        {{ output }} {{ "a" ~ state.who }}
  - name: three
    action: tool.json_query
    with:
      json: "{{ state | json }}"
      path: one.answer.n.#
  - name: four
    action: tool.memory_store
    when: "{{ state.three == '2' and output contains '2' }}"
    with: {key: k, text: "{{ output | trim }}"}
`)
	r := run(t, f, env(t, m, nil))
	if r.err != nil || r.Failed {
		t.Fatalf("%+v %v", r.Result.Result, r.err)
	}
	if got := m.asked("ollama:llama3.2", 0); got != "first for ME" {
		t.Errorf("%q", got)
	}
	if got := m.asked("ollama:llama3.2", 1); got != "4 c [\"a\",{\"b\":\"c\"}] 5\n{\"n\":[3,4]} ame\n" {
		t.Errorf("%q", got)
	}
	calls := find[*trace.ToolCallStart](r)
	if len(calls) != 2 || calls[0].RationaleStatus != rationale.Unasked || calls[0].Rationale != nil || r.Debrief.Metrics.Coverage != nil {
		t.Errorf("no model was asked for a reason: %+v", calls)
	}
	if r.State["two"].(map[string]any)["answer"] != "second" || r.State["who"] != "me" {
		t.Errorf("%v", r.State)
	}
}

// TestWhen: a node whose condition is false is skipped, and the debrief says so.
func TestWhen(t *testing.T) {
	f := parse(t, `
model: ollama:llama3.2
state: {lang: go, n: "12"}
nodes:
  - {name: a, action: reason.cot, when: state.lang == "rust", with: {problem: p}}
  - {name: b, action: reason.cot, when: 'int(state.n) > 10 and state.a == nil', with: {problem: q}}
  - {name: c, action: reason.cot, when: false, with: {problem: r}}
`)
	r := run(t, f, env(t, llama(solved), nil))
	if r.err != nil || r.Output != "12" {
		t.Fatalf("%+v %v", r.Result.Result, r.err)
	}
	nodes := r.Detail.(flow.Output).Nodes
	if !nodes[0].Skipped || nodes[1].Skipped || !nodes[2].Skipped || nodes[1].RunID == "" {
		t.Errorf("%+v", nodes)
	}
	reactive := r.Debrief.Reactive
	if len(reactive) != 3 || reactive[0].Reason != "skip a (reason.cot)" || reactive[0].Rationale.Why != `skip a (reason.cot): its condition is false: state.lang == "rust"` {
		t.Errorf("%+v", reactive)
	}
	// What was skipped has no text.
	f = parse(t, `
model: ollama:llama3.2
nodes:
  - {name: a, action: reason.cot, when: "false", with: {problem: p}}
  - {name: b, action: reason.cot, with: {problem: "x {{ state.a }}"}}
`)
	r = run(t, f, env(t, llama(solved), nil))
	var bad *flow.Error
	if !errors.As(r.err, &bad) || bad.Line != 5 || bad.Column != 57 || !strings.Contains(bad.Message, "null") || r.Reason != flow.ReasonNodeFailed {
		t.Errorf("%+v %v", r.Result.Result, r.err)
	}
}

// TestModels: each node has its model, all are opened before the first is asked.
func TestModels(t *testing.T) {
	f := parse(t, `
nodes:
  - {name: a, action: reason.cot, with: {problem: p, model: "x:1"}}
  - {name: b, action: reason.cot, with: {problem: p}}
  - {name: c, action: reason.cot, with: {problem: p, model: "{{ state.m }}"}}
`)
	m := &models{answers: map[string][]string{"x:1": {solved}, "y:2": {solved}, "z:3": {solved}}}
	e := env(t, m, map[string]any{"m": "z:3"})
	e.DefaultModel = "y:2"
	r := run(t, f, e)
	if r.err != nil || !slices.Equal(m.opened, []string{"x:1", "y:2", "z:3"}) {
		t.Fatalf("%v %v", m.opened, r.err)
	}
	if x := find[*trace.LLMExchange](r); x[0].Model != "1" || x[1].Model != "2" || x[2].Model != "3" {
		t.Errorf("%+v", x)
	}
	m = &models{answers: map[string][]string{"x:1": {solved}}}
	e.Model = m.open
	if r = run(t, f, e); r.err == nil || r.file.Len() > 0 || len(m.requests) > 0 || !strings.HasPrefix(r.err.Error(), "f.yaml:4:") {
		t.Errorf("%v", r.err)
	}
}

// TestFailedNode: a failed node ends the flow, with its reason.
func TestFailedNode(t *testing.T) {
	f := parse(t, `
model: ollama:llama3.2
nodes:
  - {name: a, action: reason.react, with: {goal: g, max_steps: 1, tools: [calculator]}}
  - {name: b, action: reason.cot, with: {problem: q}}
`)
	r := run(t, f, env(t, llama(`{"thought":"t","action":"calculator","action_input":{"expression":"1"}}`, solved), nil))
	nodes := r.Detail.(flow.Output).Nodes
	if r.Reason != flow.ReasonNodeFailed || r.err == nil || len(nodes) != 1 || !nodes[0].Failed || !strings.Contains(r.err.Error(), "max_steps") {
		t.Errorf("%+v %v", r.Result.Result, r.err)
	}
	f = parse(t, `
nodes:
  - {name: a, action: tool.calculator, with: {expression: "1/0"}}
  - {name: b, action: tool.calculator, with: {expression: "1"}}
`)
	if r = run(t, f, env(t, llama(), nil)); r.Reason != flow.ReasonNodeFailed || len(find[*trace.ToolCallEnd](r)) != 1 {
		t.Errorf("%+v %v", r.Result.Result, r.err)
	}
	f = parse(t, "nodes:\n  - {name: a, action: reason.cot, with: {problem: p, model: 'ollama:llama3.2'}}\n")
	r = run(t, f, env(t, llama("no JSON"), nil))
	var unreadable *strategy.OutputError
	if !errors.As(r.err, &unreadable) || unreadable.Raw != "no JSON" {
		t.Errorf("%v", r.err)
	}
	r = run(t, f, env(t, llama(), nil))
	var model *kernel.ModelError
	if !errors.As(r.err, &model) || r.Reason != flow.ReasonNodeFailed {
		t.Errorf("%+v %v", r.Result.Result, r.err)
	}
}

// TestBudget: the nodes of a flow spend from one budget.
func TestBudget(t *testing.T) {
	f := parse(t, `
model: ollama:llama3.2
nodes:
  - {name: a, action: reason.cot, with: {problem: p}}
  - {name: b, action: reason.cot, with: {problem: p}}
  - {name: c, action: reason.cot, with: {problem: p}}
`)
	m := llama(solved, solved, solved)
	e := env(t, m, nil)
	e.Config.Limits.Tokens = 200
	r := run(t, f, e)
	if r.Reason != kernel.ReasonTokenBudget || len(m.requests["ollama:llama3.2"]) != 2 {
		t.Errorf("%+v %v", r.Result.Result, r.err)
	}
}

// TestInterrupted: a flow can be stopped, and its trace is whole.
func TestInterrupted(t *testing.T) {
	f := parse(t, "nodes:\n  - {name: a, action: tool.calculator, with: {expression: '1'}}\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := &memory{}
	w, err := trace.NewWriter(file, trace.WriterOptions{Name: "trace"})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := f.Run(ctx, env(t, llama(), nil), w); !errors.Is(err, context.Canceled) || res.Reason != kernel.ReasonInterrupted {
		t.Errorf("%+v %v", res, err)
	}
}

// TestFiftyNodes: a long flow keeps its order, and the control does not take it
// for one that goes nowhere.
func TestFiftyNodes(t *testing.T) {
	var text strings.Builder
	text.WriteString("model: ollama:llama3.2\nnodes:\n")
	var answers []string
	for i := range 50 {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&text, "  - {name: n%d, action: tool.calculator, with: {expression: \"1 + 1\"}}\n", i)
		case 3:
			fmt.Fprintf(&text, "  - {name: n%d, action: reason.cot, when: output == \"other\", with: {problem: p}}\n", i)
		default:
			fmt.Fprintf(&text, "  - {name: n%d, action: reason.cot, with: {problem: \"after {{ output }}\"}}\n", i)
			answers = append(answers, fmt.Sprintf(`{"thinking":"t","answer":"a%d"}`, i))
		}
	}
	var first string
	for round := range 2 {
		r := run(t, parse(t, text.String()), env(t, llama(answers...), nil))
		if r.err != nil || r.Output != "a49" || len(r.Debrief.Reactive) != 50 || len(r.Debrief.Children) != 30 || len(r.Debrief.Path) != 10 {
			t.Fatalf("%+v %v", r.Result.Result, r.err)
		}
		if got := asJSON(t, r.Debrief); round == 0 {
			first = got
		} else if got != first {
			t.Error("the same flow gives another debrief")
		}
	}
}

// TestLoad: a file that is not there, and one that is too long.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := flow.Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# a flow\n", 10<<20/9)), 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *flow.Error
	if _, err := flow.Load(big); !errors.As(err, &bad) || !strings.Contains(bad.Message, "longer than") {
		t.Errorf("%v", err)
	}
}
