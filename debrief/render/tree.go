package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/xlab/treeprint"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/rationale"
)

// TreeOptions change how a tree is drawn. The zero value is for a pipe.
type TreeOptions struct {
	// Width is the number of columns to keep to; 0 means any.
	Width int
	// Expand lists every call, also those of which nothing was said.
	Expand bool
	// Color marks failures and missing reasons with ANSI colours.
	Color bool
}

// edges sets the branches of specification 004. The library keeps them in
// package variables, which is why they are set once and never again.
var edges = sync.OnceFunc(func() {
	treeprint.EdgeTypeMid = "├─"
	treeprint.EdgeTypeEnd = "└─"
})

// Tree draws a debrief as the tree of specification 004.
func Tree(w io.Writer, d debrief.Debrief, opt TreeOptions) error {
	edges()
	t := tree{opt: opt, style: style{opt.Color}}
	root := treeprint.NewWithRoot(t.line(0, "Debrief: run "+Clean(d.RunID)))
	t.fill(root, d, 0)
	_, err := io.WriteString(w, t.style.finish(root.String()))
	return err
}

type tree struct {
	opt   TreeOptions
	style style
}

// line clips a line that stands behind prefix columns of branches.
func (t tree) line(prefix int, s string) string {
	if t.opt.Width <= 0 {
		return s
	}
	return clip(s, max(t.opt.Width-prefix, minColumns))
}

// minColumns is what a line keeps where branches take all the width.
const minColumns = 20

// fill adds the sections of one run below node.
func (t tree) fill(node treeprint.Tree, d debrief.Debrief, depth int) {
	prefix := 4*depth + 3
	add := func(s string) { node.AddNode(t.line(prefix, s)) }
	section := func(title string, bullets []string) {
		if len(bullets) == 0 {
			return
		}
		lines := make([]string, 0, len(bullets)+1)
		lines = append(lines, title)
		for _, b := range bullets {
			lines = append(lines, t.line(prefix+1, b))
		}
		node.AddNode(strings.Join(lines, "\n"))
	}
	if d.Goal != "" {
		add("Goal: " + Clean(d.Goal))
	}
	if len(d.Path) > 0 {
		node.AddNode(t.path(prefix, d.Path))
	}
	columns := 0
	if t.opt.Width > 0 {
		columns = max(t.opt.Width-prefix-1, minColumns)
	}
	section("Why this path", t.decisions(d.Path, columns))
	t.coverage(add, d)
	section("Assumptions", assumptions(d.Assumptions))
	section("Alternatives", alternatives(d.Alternatives))
	section("Curator", curator(d.CuratorActions, t.opt.Expand))
	section("Reactive", reactive(d.Reactive))
	for _, c := range d.Children {
		title := "Sub-run " + Clean(c.RunID)
		if c.ParentCallID != "" {
			title += " (call " + Clean(c.ParentCallID) + ")"
		}
		t.fill(node.AddBranch(t.line(prefix, title)), c, depth+1)
	}
	add("Termination: " + termination(d))
	add("Verdict: " + t.verdict(d))
}

// path draws the names of the steps, repeats counted, cut between two steps.
func (t tree) path(prefix int, steps []debrief.Step) string {
	var names []string
	var counts []int
	for _, s := range steps {
		name := Clean(strings.TrimPrefix(s.Action, "tool:"))
		if n := len(names); n > 0 && names[n-1] == name {
			counts[n-1]++
			continue
		}
		names = append(names, name)
		counts = append(counts, 1)
	}
	var line strings.Builder
	line.WriteString("Path: ")
	used, shown := line.Len(), 0
	for i, name := range names {
		if counts[i] > 1 {
			name += fmt.Sprintf(" ×%d", counts[i])
		}
		if i > 0 {
			name = " → " + name
		}
		rest := fmt.Sprintf(" → … (%d more)", len(steps)-shown)
		if t.opt.Width > 0 && i > 0 && used+width(name)+width(rest) > t.opt.Width-prefix {
			line.WriteString(rest)
			break
		}
		line.WriteString(name)
		used += width(name)
		shown += counts[i]
	}
	return t.line(prefix, line.String())
}

// coverage says how many reasons are missing, or that none was asked for.
func (t tree) coverage(add func(string), d debrief.Debrief) {
	m := d.Metrics
	if asked := m.Asked(); asked > 0 && m.Present < asked {
		add(t.style.warn(fmt.Sprintf("Missing rationale: %d of %d calls (coverage %d%%)",
			asked-m.Present, asked, percent(*m.Coverage))))
	}
	if m.Unasked == 0 {
		return
	}
	beside := 0
	for _, s := range d.Path {
		if s.Status == rationale.Unasked && s.Narrative != "" {
			beside++
		}
	}
	add(fmt.Sprintf("Rationale: not asked for (%s; narrative beside %d)", calls(m.Unasked), beside))
}

func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return strconv.Itoa(n) + " calls"
}

func assumptions(as []debrief.Assumption) []string {
	var out []string
	for _, a := range as {
		line := "• " + Quote(a.Assumption)
		if why := a.Rationale; why == nil {
			line += " (no reason stated)"
		} else {
			if why.Confidence != nil {
				line += fmt.Sprintf(" (conf: %.2f)", *why.Confidence)
			}
			line += " — " + Clean(why.Why)
		}
		out = append(out, line)
	}
	return out
}

func alternatives(as []debrief.Alternatives) []string {
	var out []string
	for _, a := range as {
		var rejected []string
		for _, alt := range a.Alternatives {
			rejected = append(rejected, Clean(alt.Option)+" ("+Clean(alt.RejectedBecause)+")")
		}
		out = append(out, "• "+iter(a.Iter)+"chose "+Clean(a.Chosen)+" over "+strings.Join(rejected, ", "))
	}
	return out
}

// curator draws what became of observations. Those that were kept as they are
// fall together into a count, unless all are asked for.
func curator(cs []debrief.CuratorAction, expand bool) []string {
	var out []string
	kept := 0
	for _, c := range cs {
		if c.Action == "kept" && !expand {
			kept++
			continue
		}
		line := "• " + iter(c.Iter) + Clean(c.Action) + " " + Clean(c.TargetRef)
		if c.Rationale != nil {
			line += " — " + Quote(c.Rationale.Why)
		}
		out = append(out, line)
	}
	if kept > 0 {
		out = append(out, fmt.Sprintf("• kept whole: %d", kept))
	}
	return out
}

func reactive(rs []debrief.Reactive) []string {
	var out []string
	for _, r := range rs {
		line := "• " + iter(r.Iter) + Clean(r.Decision)
		switch {
		case r.Rationale != nil:
			line += " — " + Quote(r.Rationale.Why)
		case r.Reason != "":
			line += " — " + Quote(r.Reason)
		}
		out = append(out, line)
	}
	return out
}

// iter names an iteration, and nothing outside the loop.
func iter(n int) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf("iter %d ", n)
}

func termination(d debrief.Debrief) string {
	if d.Termination.By == debrief.TerminationUnknown {
		return "not recorded"
	}
	line := Clean(d.Termination.By)
	if why := d.Termination.Rationale; why != nil {
		line += " — " + Quote(why.Why)
	}
	return line
}

func (t tree) verdict(d debrief.Debrief) string {
	v := d.Verdict
	if v == nil {
		line := "not recorded (the trace ends before the run does)"
		if d.Tokens != nil && d.Tokens.Total != nil {
			line += fmt.Sprintf(" | %d tok so far", *d.Tokens.Total)
		}
		return line
	}
	parts := []string{Clean(v.Status)}
	if v.Tokens != nil {
		tok := fmt.Sprintf("%d tok", *v.Tokens)
		if d.Tokens != nil && d.Tokens.LowerBound {
			tok = "at least " + tok
		}
		parts = append(parts, tok)
	}
	if v.DurationMs != nil {
		parts = append(parts, fmt.Sprintf("%.0fms", *v.DurationMs))
	}
	line := strings.Join(parts, " | ")
	if v.Error != "" {
		line += " | " + t.style.fail("✗ "+Clean(v.Error))
	}
	return line
}
