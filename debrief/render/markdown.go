package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/rax-project/rax/debrief"
)

// Markdown writes a debrief as a document with a "Decision Rationale" section
// (specification 004). Foreign text is escaped: it is never markup and never
// HTML.
func Markdown(w io.Writer, d debrief.Debrief) error {
	var m markdown
	m.run(d, 1)
	_, err := io.WriteString(w, m.b.String())
	return err
}

type markdown struct{ b strings.Builder }

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(&m.b, format, args...) }

func (m *markdown) run(d debrief.Debrief, level int) {
	h := strings.Repeat("#", min(level, 5))
	m.printf("%s Debrief: run %s\n\n", h, escape(d.RunID))
	if d.Goal != "" {
		m.printf("- **Goal:** %s\n", escape(d.Goal))
	}
	if d.Model != "" {
		m.printf("- **Model:** %s\n", escape(d.Model))
	}
	m.printf("- **Termination:** %s\n", escape(termination(d)))
	m.printf("- **Verdict:** %s\n", escape(tree{}.verdict(d)))
	m.coverage(d.Metrics)

	m.printf("\n%s# Decision Rationale\n\n", h)
	if len(d.Rationale) == 0 {
		m.printf("No decision of this run carries a stated reason.\n")
	} else {
		m.printf("| Iteration | Decision | Tool | Why | Confidence |\n| ---: | --- | --- | --- | ---: |\n")
	}
	for _, e := range d.Rationale {
		confidence := ""
		if c := e.Rationale.Confidence; c != nil {
			confidence = fmt.Sprintf("%.2f", *c)
		}
		why := escape(e.Rationale.Why)
		if len(e.Rationale.Refs) > 0 {
			why += " (refs: " + escape(strings.Join(e.Rationale.Refs, ", ")) + ")"
		}
		m.printf("| %d | %s | %s | %s | %s |\n", e.Iteration, escape(e.Decision), escape(e.ToolName), why, confidence)
	}
	m.bullets(h, "Calls without a rationale", m.missing(d))
	m.bullets(h, "Assumptions", assumptions(d.Assumptions))
	m.bullets(h, "Alternatives", alternatives(d.Alternatives))
	m.bullets(h, "Curator", curator(d.CuratorActions, true))
	m.bullets(h, "Reactive decisions", reactive(d.Reactive))
	var warnings []string
	for _, w := range d.Warnings {
		warnings = append(warnings, "• "+w.Code+": "+Clean(w.Message))
	}
	m.bullets(h, "Warnings", warnings)
	for _, c := range d.Children {
		m.printf("\n")
		m.run(c, level+1)
	}
}

func (m *markdown) coverage(c debrief.Metrics) {
	if asked := c.Asked(); asked > 0 {
		m.printf("- **Rationale coverage:** %d of %s (%d%%)\n", c.Present, calls(asked), percent(*c.Coverage))
	}
	if c.Unasked > 0 {
		m.printf("- **Rationale:** not asked for (%s)\n", calls(c.Unasked))
	}
}

func (m *markdown) missing(d debrief.Debrief) []string {
	var out []string
	for _, s := range d.Path {
		if s.Rationale == nil && s.Outcome != "" {
			out = append(out, "• "+iter(s.Iter)+tree{}.decision(s).draw(0))
		}
	}
	return out
}

func (m *markdown) bullets(h, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	m.printf("\n%s# %s\n\n", h, title)
	for _, line := range lines {
		m.printf("- %s\n", escape(strings.TrimPrefix(line, "• ")))
	}
}

// escape makes foreign text plain in Markdown and in the HTML made of it.
var markdownEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_",
	"[", "\\[", "]", "\\]", "#", "\\#", "~", "\\~", "!", "\\!",
)

func escape(s string) string { return markdownEscapes.Replace(Clean(s)) }
