package transcript

import (
	"strings"
	"unicode/utf8"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// messageWriter writes the parts and calls of one message.
type messageWriter struct {
	run   *run
	msg   *message
	group *int
	// parts are the texts in which blocks were looked for.
	parts      []*textPart
	captures   []rationale.Capture
	leftOver   []rationale.Unmatched
	narratives []*narrative
	withheld   bool
	// next is the index of the next call.
	next        int
	assumptions int
}

func newMessageWriter(r *run, m *message, group *int) *messageWriter {
	w := &messageWriter{run: r, msg: m, group: group, withheld: m.withheld(), narratives: m.narratives()}
	var texts []rationale.Part
	for _, it := range m.items {
		if it.text != nil {
			w.parts = append(w.parts, it.text)
			texts = append(texts, rationale.Part{Text: it.text.text, Thinking: it.text.thinking})
		}
	}
	w.captures, w.leftOver = rationale.Attach(texts, m.calls())
	return w
}

// text writes thinking, and what a text takes for granted.
func (w *messageWriter) text(p *textPart) error {
	if p.thinking {
		ev := &trace.ReasoningRecorded{Format: p.format, Hidden: p.hidden}
		if !p.hidden {
			ev.Text = p.text
			ev.Origin = p.origin(rationale.Span{End: len(p.text)})
		}
		if err := w.run.emit(ev, p.at, w.msg.iter); err != nil {
			return err
		}
	}
	var blocks []rationale.Block
	for i, a := range rationale.Assumptions(p.text) {
		if i == 0 {
			blocks = rationale.ParseBlocks(p.text)
		}
		if w.assumptions == rationale.MaxAssumptions {
			break
		}
		if inside(a.Span, blocks) {
			continue // it is stated in a rationale, and written with its call
		}
		w.assumptions++
		if err := w.assumption(a, p, p.at, ""); err != nil {
			return err
		}
	}
	return nil
}

func inside(s rationale.Span, blocks []rationale.Block) bool {
	for _, b := range blocks {
		if s.Start < b.Span.End && b.Span.Start < s.End {
			return true
		}
	}
	return false
}

func (w *messageWriter) assumption(a rationale.Assumption, p *textPart, at int64, callID string) error {
	ev := &trace.AssumptionRecorded{Assumption: a.Text, Origin: p.origin(a.Span)}
	if a.Why != "" {
		why, cut := clip(a.Why, rationale.MaxWhy)
		ev.Rationale = &rationale.Rationale{Why: why, Truncated: cut, Confidence: a.Confidence}
	}
	if err := w.run.emitCall(ev, at, w.msg.iter, w.run.turn, callID); err != nil {
		return err
	}
	if ev.Rationale != nil {
		return nil
	}
	return w.metric(trace.MetricAssumptionUnjustified, map[string]string{"path": "import"}, at, callID)
}

func (w *messageWriter) metric(name string, labels map[string]string, at int64, callID string) error {
	return w.run.emitCall(&trace.Metric{Name: name, Value: 1, Labels: labels}, at, w.msg.iter, w.run.turn, callID)
}

// call writes a call with what became of its rationale.
func (w *messageWriter) call(c *callPart) error {
	found := w.captures[w.next]
	beside := w.narratives[w.next]
	w.next++
	ev := &trace.ToolCallStart{
		ToolName: c.tool, ProviderCallID: c.providerID, ParallelGroup: w.group,
		Withheld: w.withheld, Args: c.args, RationaleStatus: rationale.Unasked,
	}
	if beside != nil {
		ev.Narrative = w.narrative(beside)
		ev.NarrativeOrigin = beside.part.origin(beside.span)
		ev.NarrativeScope, ev.NarrativeCut = beside.scope, beside.cut
	}
	for _, odd := range found.Warnings {
		w.run.out.account.warn("rationale of call %s: %s", c.open.callID, odd)
	}
	if w.run.asked {
		ev.RationaleStatus, ev.RationaleReason = found.Status, found.Reason
		ev.RationaleSource, ev.Rationale = found.Source, found.Rationale
		if found.Rationale != nil && found.Part >= 0 {
			ev.Origin = w.parts[found.Part].origin(found.Span)
		}
	}
	if err := w.emitCall(ev, c); err != nil {
		return err
	}
	if !w.run.asked {
		return nil
	}
	if ev.Rationale == nil {
		labels := map[string]string{"tool": c.tool, "status": string(ev.RationaleStatus), "path": "import"}
		return w.metric(trace.MetricRationaleMissing, labels, c.at, c.open.callID)
	}
	if len(ev.Rationale.Alternatives) > 0 {
		weighed := &trace.AlternativesConsidered{Chosen: "tool:" + c.tool, Alternatives: ev.Rationale.Alternatives}
		if err := w.emitCall(weighed, c); err != nil {
			return err
		}
	}
	for _, a := range found.Assumptions { // a block stands in a part
		if err := w.assumption(a, w.parts[found.Part], c.at, c.open.callID); err != nil {
			return err
		}
	}
	return nil
}

// narrative is the text of a narrative as it stands, for the Writer to scrub. Only
// where a block or the cut divides a secret it is scrubbed here, since that shows
// in the whole text alone.
func (w *messageWriter) narrative(n *narrative) string {
	text := n.span.In(n.part.text)
	s := w.run.out.session
	if part := s.Part("narrative", n.part.text, n.span.Start, n.span.End); part != s.Stored("narrative", text).Text {
		return part
	}
	return text
}

func (w *messageWriter) emitCall(ev trace.Event, c *callPart) error {
	return w.run.emitCall(ev, c.at, c.open.iter, c.open.turn, c.open.callID)
}

// unmatched writes the blocks that belong to no call.
func (w *messageWriter) unmatched() error {
	for _, u := range w.leftOver {
		p := w.parts[u.Part]
		ev := &trace.RationaleUnmatched{StatedCall: u.Call, Reason: u.Reason, Origin: p.origin(u.Span)}
		if err := w.run.emit(ev, p.at, w.msg.iter); err != nil {
			return err
		}
	}
	return nil
}

// clip cuts a text to its first limit code points.
func clip(s string, limit int) (string, bool) {
	for i := range s {
		if limit == 0 {
			return s[:i], true
		}
		limit--
	}
	return s, false
}

// firstLine is the first line of a text that is not blank.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" && utf8.ValidString(line) {
			return line
		}
	}
	return ""
}
