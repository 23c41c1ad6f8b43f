package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/rationale"
)

// decisions draws the bullets of "Why this path". A call with a reason stands
// with it; one without stands in its place with the fact, and with the text
// beside it, if any. Runs of calls of which nothing was said fall together into
// one line that counts them, unless the tree is expanded.
func (t tree) decisions(d debrief.Debrief) []string {
	var out []string
	path := d.Path
	for i := 0; i < len(path); {
		if n := t.silent(path[i:]); n > 1 {
			out = append(out, "• "+t.summary(path[i:i+n]))
			i += n
			continue
		}
		n := grouped(path[i:])
		if n > 1 {
			out = append(out, t.group(path[i:i+n])...)
			i += n
			continue
		}
		if path[i].Outcome != "" || said(path[i]) {
			out = append(out, "• "+iter(path[i].Iter)+"chose "+t.decision(path[i]))
		}
		i++
	}
	return out
}

// group draws calls that were made in parallel. Text that stood beside all of
// them stands once, with the group.
func (t tree) group(steps []debrief.Step) []string {
	title := fmt.Sprintf("• %schose %d calls in parallel", iter(steps[0].Iter), len(steps))
	beside := ""
	for _, s := range steps {
		if s.Rationale == nil && s.Narrative != "" && s.NarrativeScope == "group" {
			beside = s.Narrative
			title += t.style.dim(" beside them: " + Quote(beside))
			break
		}
	}
	out := []string{title}
	for _, s := range steps {
		if s.Narrative == beside {
			s.Narrative = ""
		}
		out = append(out, "  ↳ "+t.decision(s))
	}
	return out
}

// said reports whether the trace holds anything about why, or a failure.
func said(s debrief.Step) bool {
	return s.Rationale != nil || s.Narrative != "" || s.Reason != "" || s.Error != ""
}

// silent counts the calls at the start of path of which nothing was said.
func (t tree) silent(path []debrief.Step) int {
	if t.opt.Expand {
		return 0
	}
	n := 0
	for n < len(path) && !said(path[n]) && path[n].Outcome != "" && path[n].Status != rationale.Present {
		n++
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

// summary counts silent calls by tool, most first.
func (t tree) summary(steps []debrief.Step) string {
	counts := make(map[string]int)
	var tools []string
	statuses := make(map[rationale.Status]int)
	failed := 0
	for _, s := range steps {
		name := Clean(strings.TrimPrefix(s.Action, "tool:"))
		if counts[name] == 0 {
			tools = append(tools, name)
		}
		counts[name]++
		statuses[s.Status]++
		if s.Outcome == debrief.OutcomeError || s.Outcome == debrief.OutcomeRejected {
			failed++
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
	line := fmt.Sprintf("%s%d calls: %s %s", iters(steps), len(steps), strings.Join(tools, ", "),
		t.style.warn("(no rationale: "+strings.Join(whys, ", ")+")"))
	if failed > 0 {
		line += " " + t.style.fail(fmt.Sprintf("✗ %d failed", failed))
	}
	return line
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
func (t tree) decision(s debrief.Step) string {
	line := Clean(s.Action)
	switch {
	case s.Rationale != nil:
		line += ": " + Quote(s.Rationale.Why)
		if s.Rationale.Truncated {
			line += " (cut)"
		}
		if refs := s.Rationale.Refs; len(refs) > 0 {
			line += " (refs: " + Clean(strings.Join(refs, ", ")) + ")"
		}
	case s.Outcome == "":
		if s.Reason != "" {
			line += ": " + Quote(s.Reason)
		}
	default:
		why := "(no rationale: " + string(s.Status)
		if s.Reason != "" {
			why += ", " + Clean(s.Reason)
		}
		line += " " + t.style.warn(why+")")
		if s.Narrative != "" {
			line += t.style.dim(" beside it: " + Quote(s.Narrative))
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
		line += " " + t.style.fail(mark)
	case debrief.OutcomeOpen:
		line += " " + t.style.warn("(no end in the trace)")
	}
	return line
}
