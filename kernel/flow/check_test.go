//go:build !noreasoning

package flow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rax-project/rax/kernel/flow"
)

const head = "model: m:1\nnodes:\n  - name: a\n    action: "

// wrong are flows that are refused before any model is asked, each with the
// place and a part of the message.
var wrong = []struct{ name, text, at, message string }{
	{"empty", "", "", "empty"},
	{"a comment", "# nothing\n", "", "empty"},
	{"a list", "- a\n", "1:1", "must be an object"},
	{"no nodes", "name: x\n", "1:1", "needs nodes"},
	{"nodes is no list", "nodes: {a: b}\n", "1:9", "list"},
	{"unknown key of the flow", "nodez:\n  - a\nnodes: []\n", "1:1", `no key "nodez"`},
	{"unknown key of a node", head + "reason.cot\n    extra: {problem: p}\n", "5:5", `no key "extra"`},
	{"unknown key of with", head + "reason.cot\n    with:\n      problem: p\n      formt: tree\n", "7:7", `no key "formt"`},
	{"unknown key of another action", head + "reason.cot\n    with: {problem: p, max_steps: 3}\n", "5:24", `no key "max_steps"`},
	{"the same key twice", "nodes: []\nnodes: []\n", "2:1", "already defined"},
	{"unknown action", head + "reason.magic\n    with: {problem: p}\n", "4:13", `no action "reason.magic"`},
	{"required input missing", head + "reason.react\n    with: {max_steps: 3}\n", "5:12", "needs goal"},
	{"required input empty", head + "reason.cot\n    with: {problem: \" \"}\n", "5:21", "not empty"},
	{"node without a name", "nodes:\n  - action: reason.cot\n    with: {problem: p}\n", "2:5", "needs a name"},
	{"node with a bad name", "nodes:\n  - name: ../a\n    action: reason.cot\n    with: {problem: p}\n", "2:11", "no name for a node"},
	{"two of one name", "model: m:1\nnodes:\n  - {name: a, action: reason.cot, with: {problem: p}}\n  - {name: a, action: reason.cot, with: {problem: p}}\n", "4:12", "two nodes"},
	{"no model", "nodes:\n  - name: a\n    action: reason.cot\n    with: {problem: p}\n", "4:12", "no model"},
	{"model without a provider", head + "reason.cot\n    with: {problem: p, model: llama}\n", "5:31", "provider:model"},
	{"max_steps 0", head + "reason.react\n    with:\n      goal: g\n      max_steps: 0\n", "7:18", "1 or more"},
	{"max_steps is a word", head + "reason.react\n    with:\n      goal: g\n      max_steps: ten\n", "7:18", "whole number"},
	{"unknown format", head + "reason.cot\n    with: {problem: p, thinking_format: magic}\n", "5:41", "thinking_format"},
	{"example without thinking", head + "reason.cot\n    with:\n      problem: p\n      few_shot:\n        - {problem: p, answer: a}\n", "8:9", "few_shot 1"},
	{"unknown tool", head + "tool.magic\n    with: {q: a}\n", "3:5", "no tool"},
	{"tool name that traverses", head + "tool.../../bin/sh\n", "4:13", "names no tool"},
	{"tool name with a backslash", head + "tool.a\\b\n", "4:13", "names no tool"},
	{"tool of a namespace nobody declared", head + "tool.evil/tool\n", "3:5", "no tool"},
	{"react tool that traverses", head + "reason.react\n    with:\n      goal: g\n      tools: [calculator, ../etc]\n", "7:27", "names no tool"},
	{"react tool that is not registered", head + "reason.react\n    with:\n      goal: g\n      tools:\n        - web.scrape\n", "8:11", "no tool"},
	{"argument missing", head + "tool.calculator\n    with: {}\n", "5:11", "needs expression"},
	{"argument unknown", head + "tool.calculator\n    with: {expression: \"1\", base: 2}\n", "5:29", `no argument "base"`},

	{"undefined state", head + "reason.cot\n    with:\n      problem: \"solve {{ state.missing }} now\"\n", "6:26", "state.missing is not defined"},
	{"undefined state in a block", head + "reason.cot\n    with:\n      problem: |\n        first\n        second {{ state.missing }}\n", "8:19", "state.missing is not defined"},
	{"undefined output", head + "reason.cot\n    with: {problem: \"{{ output }}\"}\n", "5:25", "output is not defined"},
	{"undefined name", head + "reason.cot\n    with: {problem: \"{{ env.HOME }}\"}\n", "5:25", "env is not defined"},
	{"later node", "model: m:1\nnodes:\n  - {name: a, action: reason.cot, with: {problem: \"{{ state.b }}\"}}\n  - {name: b, action: reason.cot, with: {problem: p}}\n", "3:55", "state.b is not defined"},
	{"self of the template library", head + "reason.cot\n    with: {problem: \"{{ self }}\"}\n", "5:25", "self is not defined"},
	{"name with control characters", head + "reason.cot\n    with: {problem: '{{ state[\"\x1b[31m\"] }}'}\n", "5:", "not"},
	{"include", head + "reason.cot\n    with: {problem: \"{% include '/etc/passwd' %}\"}\n", "5:25", "include"},
	{"loop", head + "reason.cot\n    with: {problem: \"{% for a in range(9) %}x{% endfor %}\"}\n", "5:25", "for"},
	{"call", head + "reason.cot\n    with: {problem: \"{{ range(1000000000) }}\"}\n", "5:25", "cannot call"},
	{"method", head + "reason.cot\n    with: {problem: \"{{ state.clear() }}\"}\n", "5:25", "cannot call"},
	{"unknown filter", head + "reason.cot\n    with: {problem: \"{{ state | pprint }}\"}\n", "5:33", "no filter"},
	{"filter with arguments", head + "reason.cot\n    with: {problem: \"{{ state | json(state) }}\"}\n", "5:33", "without arguments"},
	{"power", head + "reason.cot\n    with: {problem: \"{{ 9 ** 9 ** 9 }}\"}\n", "5:25", "operators"},
	{"repetition", head + "reason.cot\n    with: {problem: \"{{ 'a' * 1000000000 }}\"}\n", "5:25", "operators"},
	{"computed index", head + "reason.cot\n    with: {problem: \"{{ state[state.k] }}\"}\n", "5:25", "variable"},
	{"open template", head + "reason.cot\n    with: {problem: \"{{ state.x\"}\n", "5:32", "template"},
	{"empty template", head + "reason.cot\n    with: {problem: \"{{ }}\"}\n", "5:25", "template"},
	{"open string in a template", head + "reason.cot\n    with: {problem: \"{{ 'a }}\"}\n", "5:", "template"},
	{"deep template", head + "reason.cot\n    with: {problem: \"{{ " + strings.Repeat("(", 5000) + " }}\"}\n", "5:", "nested too deep"},
	{"open braces", head + "reason.cot\n    with: {problem: \"" + strings.Repeat("{{", 5000) + "\"}\n", "5:", "nested too deep"},
	{"critic that sees nothing", head + "reason.self_correct\n    with: {task: t, critic_prompt: look}\n", "5:36", "does not show"},
	{"critic that sees too much", head + "reason.self_correct\n    with: {task: t, critic_prompt: \"{{ output }}{{ input }}\"}\n", "5:52", "input is not defined"},

	{"undefined state in a condition", head + "reason.cot\n    when: state.missing == 1\n    with: {problem: p}\n", "5:17", "missing"},
	{"undefined name in a condition", head + "reason.cot\n    when: \"{{ env == 1 }}\"\n    with: {problem: p}\n", "5:15", "env"},
	{"condition that is no truth", head + "reason.cot\n    when: 1 + 1\n    with: {problem: p}\n", "5:11", "bool"},
	{"condition that cannot be read", head + "reason.cot\n    when: \"1 ==\"\n    with: {problem: p}\n", "5:", "when"},
	{"empty condition", head + "reason.cot\n    when: \" \"\n    with: {problem: p}\n", "5:11", "empty"},
	{"condition that loops", head + "reason.cot\n    when: all(1..1000000, all(1..1000000, true))\n    with: {problem: p}\n", "5:11", "no function"},
	{"condition with a range", head + "reason.cot\n    when: 5 in 1..9\n    with: {problem: p}\n", "5:11", "ranges"},
	{"condition with a clock", head + "reason.cot\n    when: now() != nil\n    with: {problem: p}\n", "5:11", "now"},

	{"anchor", "model: &m m:1\nnodes: [*m]\n", "1:8", "anchors"},
	{"merge key", "a: 1\n<<: {b: 2}\nnodes: []\n", "2:1", "merge"},
	{"tag", "nodes: !!binary aGk=\n", "1:8", "tags"},
	{"two documents", "nodes: []\n---\nnodes: []\n", "3:", "one YAML document"},
	{"no YAML", "nodes: [\n", "", ""},
	{"deep", "nodes: " + strings.Repeat("[", 5000), "1:", "nested deeper"},
	{"deep lists", "nodes:\n" + strings.Repeat("- ", 2000) + "a\n", "", "nested deeper"},
	{"many tokens", "nodes:\n" + strings.Repeat("- a\n", 20000), "", "YAML tokens"},
	{"10 MB", "nodes:\n" + strings.Repeat("# comment\n", 1<<20), "", "at most"},
	{"name that is no text", "nodes:\n  - name: 5\n    action: reason.cot\n    with: {problem: p}\n", "2:11", "must be text"},
	{"NUL", "nodes: \x00\n", "", ""},
	{"broken UTF-8", "nodes: \xff\xfe\n", "", ""},
}

// bomb is the YAML of a billion laughs.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	b.WriteString("nodes: *a9\n")
	return b.String()
}

// refuse reads and checks a flow and gives its error.
func refuse(t *testing.T, text string) error {
	t.Helper()
	f, err := flow.Parse("f.yaml", []byte(text))
	if err != nil {
		return err
	}
	return f.Check(env(t, llama(), nil))
}

func TestRefused(t *testing.T) {
	for _, tt := range append(wrong, struct{ name, text, at, message string }{"alias bomb", bomb(), "1:5", "aliases"}) {
		t.Run(tt.name, func(t *testing.T) {
			err := refuse(t, tt.text)
			var bad *flow.Error
			if !errors.As(err, &bad) {
				t.Fatalf("%T %v", err, err)
			}
			all := err.Error()
			if !strings.HasPrefix(all, "f.yaml:") || !strings.Contains(all, "f.yaml:"+tt.at) || !strings.Contains(all, tt.message) {
				t.Errorf("%v", err)
			}
			if len(all) > 4000 {
				t.Errorf("the error is %d bytes long", len(all))
			}
		})
	}
}

// TestInputs: what a flow declares and nobody gives is missing when it runs, not
// when it is checked.
func TestInputs(t *testing.T) {
	f := load(t, "solve_math.yaml")
	m := llama(solved)
	e := env(t, m, nil)
	if err := f.Check(e); err != nil || len(f.Inputs()) != 1 || f.Inputs()[0] != "math_problem" {
		t.Fatalf("%v %v", err, f.Inputs())
	}
	r := run(t, f, e)
	var bad *flow.Error
	if !errors.As(r.err, &bad) || bad.Line != 4 || !strings.Contains(bad.Message, "math_problem") || r.file.Len() > 0 {
		t.Errorf("%v", r.err)
	}
	r = run(t, f, env(t, m, map[string]any{"math_problem": "p", "../x": 1}))
	if r.err == nil || !strings.Contains(r.err.Error(), "no name for a state") {
		t.Errorf("%v", r.err)
	}
	r = run(t, f, env(t, m, map[string]any{"math_problem": " "}))
	if !errors.As(r.err, &bad) || !strings.Contains(bad.Message, "problem is empty") || len(m.requests) > 0 {
		t.Errorf("%v", r.err)
	}
	// All that is wrong is told at once, in the order of the file.
	err := refuse(t, "model: m:1\nnodes:\n  - {name: a, action: reason.cot, with: {problem: \"{{ x }} {{ y }}\", z: 1}}\n")
	if err == nil || !strings.Contains(err.Error(), `no key "z"`) {
		t.Errorf("%v", err)
	}
	err = refuse(t, "model: m:1\nnodes:\n  - {name: a, action: reason.cot, with: {problem: \"{{ x }} {{ y }}\"}}\n")
	if err == nil || strings.Count(err.Error(), "\n") != 1 || strings.Index(err.Error(), "x is") > strings.Index(err.Error(), "y is") {
		t.Errorf("%v", err)
	}
}

// TestTemplateAtRunTime: what only the run can know is an error with its place,
// too, and shows no value.
func TestTemplateAtRunTime(t *testing.T) {
	for name, tt := range map[string]struct{ node, at, message string }{
		"member":     {`{name: a, action: reason.cot, with: {problem: "x {{ state.o.none }}"}}`, "5:57", "state.o.none is not defined"},
		"index":      {`{name: a, action: reason.cot, with: {problem: "{{ state.l[7] }}"}}`, "5:55", "state.l.7 is not defined"},
		"of text":    {`{name: a, action: reason.cot, with: {problem: "{{ state.s.len }}"}}`, "5:55", "not defined"},
		"null":       {`{name: a, action: reason.cot, with: {problem: "a{{ state.n }}"}}`, "5:56", "null"},
		"no text":    {`{name: a, action: reason.cot, with: {problem: "{{ state.o }}"}}`, "5:51", "does not fit"},
		"no number":  {`{name: a, action: reason.react, with: {goal: g, max_steps: "{{ state.s }}"}}`, "5:", "whole number"},
		"zero steps": {`{name: a, action: reason.react, with: {goal: g, max_steps: "{{ state.z }}"}}`, "", "max_steps"},
		"tool":       {`{name: a, action: reason.react, with: {goal: g, tools: ["{{ state.s }}"]}}`, "", "no tool"},
		"tools":      {`{name: a, action: reason.react, with: {goal: g, tools: "{{ state.s }}"}}`, "5:", ""},
		"model":      {`{name: a, action: reason.cot, with: {problem: p, model: "{{ state.s }}"}}`, "", "no such model"},
		"condition":  {`{name: a, action: reason.cot, when: "state.s > 5", with: {problem: p}}`, "5:42", "cannot be evaluated"},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "model: ollama:llama3.2\nstate: {o: {a: 1}, l: [1], s: hidden value, n: null, z: 0}\n# \nnodes:\n  - "+tt.node+"\n")
			m := llama(solved)
			e := env(t, m, map[string]any{"n": nil})
			if err := f.Check(e); err != nil {
				t.Skip("already refused by Check:", err)
			}
			r := run(t, f, e)
			if r.err == nil || !strings.Contains(r.err.Error(), "f.yaml:"+tt.at) && tt.at != "" || !strings.Contains(r.err.Error(), tt.message) {
				t.Errorf("%v", r.err)
			}
			if len(m.requests) > 0 {
				t.Error("a model was asked")
			}
		})
	}
}

// TestSchema: the schema describes the fixtures and refuses what is refused.
func TestSchema(t *testing.T) {
	doc, err := flow.Schema()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := flow.Schema()
	if string(again) != string(doc) {
		t.Error("two calls give two schemas")
	}
	golden(t, "flow.schema.json", doc)
	var s jsonschema.Schema
	if err := json.Unmarshal(doc, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			return err
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		var plain any
		if err := json.Unmarshal(raw, &plain); err != nil {
			return err
		}
		return resolved.Validate(plain)
	}
	for name := range examples() {
		text := readFile(t, filepath.Join("..", "..", "fixtures", "flows", name+".yaml"))
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tt := range wrong {
		switch tt.name {
		case "no nodes", "unknown key of the flow", "unknown key of a node", "unknown key of with", "unknown action",
			"unknown key of another action", "required input missing", "node without a name", "node with a bad name", "unknown format":
			if valid(tt.text) == nil {
				t.Errorf("the schema takes: %s", tt.name)
			}
		}
	}
}

// FuzzParse: whatever a file holds, it is read or refused with a place.
func FuzzParse(f *testing.F) {
	seeds := 0
	for _, tt := range wrong {
		if len(tt.text) < 4096 {
			f.Add(tt.text)
			seeds++
		}
	}
	for _, name := range []string{"solve_math", "research", "improve_code", "report"} {
		f.Add(readFile(f, filepath.Join("..", "..", "fixtures", "flows", name+".yaml")))
		seeds++
	}
	f.Add(bomb())
	if seeds == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, text string) {
		made, err := flow.Parse("f.yaml", []byte(text))
		if err == nil {
			err = made.Check(flow.Env{})
		}
		var bad *flow.Error
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("%T %v", err, err)
		}
	})
}
