package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/rationale"
)

// bullet is one line about a decision. Where the line is too long, its text is
// cut before its end, so that what became of the call stays in sight.
type bullet struct{ text, end string }

// minEnd is how many columns the end of a bullet keeps at least.
const minEnd = 24

// draw fits a bullet into columns, 0 meaning any.
func (b bullet) draw(columns int) string {
	if columns > 0 && width(b.text)+width(b.end) > columns {
		b.end = clip(b.end, max(minEnd, columns-width(b.text)))
		b.text = closed(clip(b.text, max(minColumns, columns-width(b.end))))
	}
	return b.text + b.end
}

// decisions draws the bullets of "Why this path" in lines of so many columns. A
// call with a reason stands with it; one without stands in its place with the
// fact, and with the text beside it, if any. Runs of calls of which nothing was
// said fall together into one line that counts them, unless the tree is
// expanded. Calls that were made in parallel stay together.
func (t tree) decisions(path []debrief.Step, columns int) []string {
	var out []string
	for len(path) > 0 {
		n := grouped(path)
		if quiet := t.silent(path); quiet > n {
			out = append(out, t.summary("• "+iters(path[:quiet])+"made ", "", path[:quiet]).draw(columns))
			path = path[quiet:]
			continue
		}
		switch first := path[0]; {
		case n > 1:
			out = append(out, t.group(path[:n], columns)...)
		case first.Outcome != "" || said(first):
			b := t.decision(first)
			b.text = "• " + iter(first.Iter) + "chose " + b.text
			out = append(out, b.draw(columns))
		}
		path = path[n:]
	}
	return out
}

// group draws calls that were made in parallel. Text that stood beside all of
// them stands once, with the group.
func (t tree) group(steps []debrief.Step, columns int) []string {
	steps = slices.Clone(steps)
	beside := ""
	for i := range steps {
		s := &steps[i]
		if s.Rationale != nil || s.Narrative == "" || s.NarrativeScope != "group" {
			continue
		}
		if beside == "" {
			beside = s.Narrative
		}
		if s.Narrative == beside {
			s.Narrative = ""
		}
	}
	title := "• " + iter(steps[0].Iter) + "chose "
	b := bullet{text: fmt.Sprintf("%s%d calls in parallel", title, len(steps))}
	if t.quiet(steps) == len(steps) {
		b = t.summary(title, " in parallel", steps)
		steps = nil
	}
	if beside != "" {
		b = bullet{text: b.text + b.end + t.style.dim(" beside them: "+Quote(beside))}
	}
	out := []string{b.draw(columns)}
	for len(steps) > 0 {
		n := max(t.quiet(steps), 1)
		member := t.decision(steps[0])
		if n > 1 {
			member = t.summary("", "", steps[:n])
		}
		member.text = "  ↳ " + member.text
		out = append(out, member.draw(columns))
		steps = steps[n:]
	}
	return out
}

// said reports whether the trace holds anything about why, or a failure.
func said(s debrief.Step) bool {
	return s.Rationale != nil || s.Narrative != "" || s.Reason != "" || s.Error != ""
}

// quiet counts the calls at the start of path of which nothing was said.
func (t tree) quiet(path []debrief.Step) int {
	if t.opt.Expand {
		return 0
	}
	n := 0
	for n < len(path) && path[n].Outcome != "" && !said(path[n]) {
		n++
	}
	return n
}

// silent counts the calls at the start of path of which nothing was said, and
// does not stop inside of a group.
func (t tree) silent(path []debrief.Step) int {
	quiet := t.quiet(path)
	n := 0
	for n < quiet {
		g := grouped(path[n:])
		if n+g > quiet {
			break
		}
		n += g
	}
	return n
}

// grouped counts the calls at the start of path that were made in parallel.
func grouped(path []debrief.Step) int {
	first := path[0]
	if first.ParallelGroup == nil {
		return 1
	}
	n := 1
	for n < len(path) && path[n].ParallelGroup != nil && *path[n].ParallelGroup == *first.ParallelGroup &&
		path[n].Turn == first.Turn && path[n].Iter == first.Iter {
		n++
	}
	return n
}

// summary counts calls of which nothing was said by tool, most first.
func (t tree) summary(before, after string, steps []debrief.Step) bullet {
	counts := make(map[string]int)
	var tools []string
	statuses := make(map[rationale.Status]int)
	failed, open := 0, 0
	for _, s := range steps {
		name := Clean(strings.TrimPrefix(s.Action, "tool:"))
		if counts[name] == 0 {
			tools = append(tools, name)
		}
		counts[name]++
		statuses[s.Status]++
		switch s.Outcome {
		case debrief.OutcomeError, debrief.OutcomeRejected:
			failed++
		case debrief.OutcomeOpen:
			open++
		}
	}
	slices.SortStableFunc(tools, func(a, b string) int { return counts[b] - counts[a] })
	for i, name := range tools {
		tools[i] = fmt.Sprintf("%s ×%d", name, counts[name])
	}
	var whys []string
	for _, s := range rationale.Statuses {
		if statuses[s] == len(steps) {
			whys = append(whys, string(s))
		} else if statuses[s] > 0 {
			whys = append(whys, fmt.Sprintf("%d %s", statuses[s], s))
		}
	}
	b := bullet{
		text: fmt.Sprintf("%s%d calls%s: %s ", before, len(steps), after, strings.Join(tools, ", ")),
		end:  t.style.warn("(no rationale: " + strings.Join(whys, ", ") + ")"),
	}
	if failed > 0 {
		b.end += " " + t.style.fail(fmt.Sprintf("✗ %d failed", failed))
	}
	if open > 0 {
		b.end += " " + t.style.warn(fmt.Sprintf("(%d without an end in the trace)", open))
	}
	return b
}

// iters names the iterations of several steps.
func iters(steps []debrief.Step) string {
	low, high := steps[0].Iter, steps[0].Iter
	for _, s := range steps {
		low, high = min(low, s.Iter), max(high, s.Iter)
	}
	if low == high || low < 0 {
		return iter(high)
	}
	return fmt.Sprintf("iter %d–%d ", low, high)
}

// decision draws one step behind "chose".
func (t tree) decision(s debrief.Step) bullet {
	b := bullet{text: Clean(s.Action)}
	switch {
	case s.Rationale != nil:
		b.text += ": " + Quote(s.Rationale.Why)
		if s.Rationale.Truncated {
			b.text += " (cut)"
		}
		if refs := s.Rationale.Refs; len(refs) > 0 {
			b.text += " (refs: " + Clean(strings.Join(refs, ", ")) + ")"
		}
	case s.Outcome == "":
		if s.Reason != "" {
			b.text += ": " + Quote(s.Reason)
		}
	default:
		why := "(no rationale: " + string(s.Status)
		if s.Reason != "" {
			why += ", " + Clean(s.Reason)
		}
		b.text += " " + t.style.warn(why+")")
		if s.Narrative != "" {
			b.text += t.style.dim(" beside it: " + Quote(s.Narrative))
		}
	}
	switch s.Outcome {
	case debrief.OutcomeError, debrief.OutcomeRejected:
		mark := "✗"
		if s.Outcome == debrief.OutcomeRejected {
			mark = "✗ rejected"
		}
		if s.Error != "" {
			mark += " " + Clean(s.Error)
		}
		b.end = " " + t.style.fail(mark)
	case debrief.OutcomeOpen:
		b.end = " " + t.style.warn("(no end in the trace)")
	}
	return b
}
