package render_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/rationale"
)

// call makes a step of which nothing was said.
func call(iter int, tool string, status rationale.Status) debrief.Step {
	return debrief.Step{Iter: iter, Action: "tool:" + tool, Status: status, Outcome: debrief.OutcomeSuccess}
}

func parallel(group int, steps ...debrief.Step) []debrief.Step {
	for i := range steps {
		steps[i].ParallelGroup = &group
	}
	return steps
}

func beside(s debrief.Step, text, scope string) debrief.Step {
	s.Narrative, s.NarrativeScope = text, scope
	return s
}

func failed(s debrief.Step, outcome debrief.Outcome, message string) debrief.Step {
	s.Outcome, s.Error = outcome, message
	return s
}

// draw gives the lines of "Why this path" and what follows up to Termination.
func draw(t *testing.T, path []debrief.Step, opt render.TreeOptions) string {
	t.Helper()
	var m debrief.Metrics
	for _, s := range path {
		m.ToolCalls++
		switch s.Status {
		case rationale.Present:
			m.Present++
		case rationale.Unasked:
			m.Unasked++
		default:
			m.Missing++
		}
	}
	if asked := m.Asked(); asked > 0 {
		c := float64(m.Present) / float64(asked)
		m.Coverage = &c
	}
	var buf bytes.Buffer
	if err := render.Tree(&buf, debrief.Debrief{RunID: "r", Path: path, Metrics: m}, opt); err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(buf.String(), "├─ Why this path\n")
	body, _, ended := strings.Cut(after, "├─ Termination")
	if !ok || !ended {
		t.Fatalf("the tree has other sections:\n%s", &buf)
	}
	return body
}

func TestDecisions(t *testing.T) {
	u, m := rationale.Unasked, rationale.Missing
	stated := call(2, "Grep", rationale.Present)
	stated.Rationale = &rationale.Rationale{Why: "the name is unique"}
	for _, c := range []struct {
		name string
		path []debrief.Step
		opt  render.TreeOptions
		want string
	}{
		{"consecutive silent calls are counted by tool",
			[]debrief.Step{call(1, "Read", m), call(2, "Edit", m), call(3, "Edit", m), stated, call(4, "Read", m)}, render.TreeOptions{}, `
│   • iter 1–3 made 3 calls: Edit ×2, Read ×1 (no rationale: missing)
│   • iter 2 chose tool:Grep: "the name is unique"
│   • iter 4 chose tool:Read (no rationale: missing)
├─ Missing rationale: 4 of 5 calls (coverage 20%)
`},
		{"expanded, each stands on its line",
			[]debrief.Step{call(1, "Read", m), call(2, "Edit", m)}, render.TreeOptions{Expand: true}, `
│   • iter 1 chose tool:Read (no rationale: missing)
│   • iter 2 chose tool:Edit (no rationale: missing)
├─ Missing rationale: 2 of 2 calls (coverage 0%)
`},
		{"a run that never asked says so, and counts the text beside its calls",
			[]debrief.Step{call(1, "Read", u), beside(call(2, "Edit", u), "Now the fix.", "")}, render.TreeOptions{}, `
│   • iter 1 chose tool:Read (no rationale: unasked)
│   • iter 2 chose tool:Edit (no rationale: unasked) beside it: "Now the fix."
├─ Rationale: not asked for (2 calls; narrative beside 1)
`},
		{"failures are never folded away",
			[]debrief.Step{call(1, "Read", u), failed(call(2, "Bash", u), debrief.OutcomeError, "exit code 1"), call(3, "Read", u),
				failed(call(4, "Edit", u), debrief.OutcomeRejected, "the user said no")}, render.TreeOptions{}, `
│   • iter 1 chose tool:Read (no rationale: unasked)
│   • iter 2 chose tool:Bash (no rationale: unasked) ✗ exit code 1
│   • iter 3 chose tool:Read (no rationale: unasked)
│   • iter 4 chose tool:Edit (no rationale: unasked) ✗ rejected the user said no
├─ Rationale: not asked for (4 calls; narrative beside 0)
`},
		{"a count keeps failures without a message and calls without an end",
			[]debrief.Step{call(1, "Read", u), failed(call(1, "Read", u), debrief.OutcomeError, ""), failed(call(2, "Bash", u), debrief.OutcomeOpen, "")},
			render.TreeOptions{}, `
│   • iter 1–2 made 3 calls: Read ×2, Bash ×1 (no rationale: unasked) ✗ 1 failed (1 without an end in the trace)
├─ Rationale: not asked for (3 calls; narrative beside 0)
`},
		{"a group is never torn by the silent calls around it",
			append([]debrief.Step{call(1, "Glob", u), call(2, "Glob", u)},
				parallel(1, call(3, "Read", u), call(3, "Read", u), beside(call(3, "Bash", u), "List it", ""))...), render.TreeOptions{}, `
│   • iter 1–2 made 2 calls: Glob ×2 (no rationale: unasked)
│   • iter 3 chose 3 calls in parallel
│     ↳ 2 calls: Read ×2 (no rationale: unasked)
│     ↳ tool:Bash (no rationale: unasked) beside it: "List it"
├─ Rationale: not asked for (5 calls; narrative beside 1)
`},
		{"text beside a whole group stands once",
			parallel(1, beside(call(1, "Read", u), "I read both.", "group"), beside(call(1, "Read", u), "I read both.", "group")), render.TreeOptions{}, `
│   • iter 1 chose 2 calls in parallel: Read ×2 (no rationale: unasked) beside them: "I read both."
├─ Rationale: not asked for (2 calls; narrative beside 2)
`},
		{"expanded, so does each call of a group",
			parallel(1, beside(call(1, "Read", u), "I read both.", "group"), beside(call(1, "Read", u), "I read both.", "group")), render.TreeOptions{Expand: true}, `
│   • iter 1 chose 2 calls in parallel beside them: "I read both."
│     ↳ tool:Read (no rationale: unasked)
│     ↳ tool:Read (no rationale: unasked)
├─ Rationale: not asked for (2 calls; narrative beside 2)
`},
	} {
		got := "\n" + draw(t, c.path, c.opt)
		if got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
}

// TestWidth holds every line to the width of the terminal, wide characters and
// nested runs included.
func TestWidth(t *testing.T) {
	child := debrief.Debrief{RunID: "child", Goal: strings.Repeat("目標", 60), Path: []debrief.Step{
		failed(beside(call(1, strings.Repeat("工具", 40), rationale.Missing), strings.Repeat("文", 300), ""), debrief.OutcomeError, strings.Repeat("エラー", 90)),
	}}
	child.Metrics = debrief.Metrics{ToolCalls: 1, Missing: 1, Coverage: new(float64)}
	root := debrief.Debrief{RunID: strings.Repeat("r", 200), Children: []debrief.Debrief{child}}
	for i := range 300 {
		root.Path = append(root.Path, call(i, fmt.Sprintf("工具%d", i), rationale.Unasked))
	}
	for _, width := range []int{60, 80, 120} {
		for _, color := range []bool{false, true} {
			var buf bytes.Buffer
			if err := render.Tree(&buf, root, render.TreeOptions{Width: width, Color: color}); err != nil {
				t.Fatal(err)
			}
			plain := strings.NewReplacer("\x1b[31m", "", "\x1b[33m", "", "\x1b[2m", "", "\x1b[0m", "").Replace(buf.String())
			for _, line := range strings.Split(plain, "\n") {
				if w := runewidth.StringWidth(line); w > width {
					t.Errorf("%d columns at width %d: %s", w, width, line)
				}
			}
			if !strings.Contains(plain, "✗ エラー") {
				t.Errorf("width %d: the failure is cut away:\n%s", width, plain)
			}
		}
	}
}

// BenchmarkTree draws ever longer paths; the time per step must stay flat.
func BenchmarkTree(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		d := debrief.Debrief{RunID: "r"}
		for i := range n {
			d.Path = append(d.Path, beside(call(i, fmt.Sprintf("tool-%d", i%7), rationale.Unasked), "Now the next one.", ""))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if err := render.Tree(&bytes.Buffer{}, d, render.TreeOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
		})
	}
}
