package exchange

import (
	"slices"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Log stores events of a run: it fills in what all of them have, and returns
// each as it was stored.
type Log func(trace.Event) (trace.Record, error)

// Note stores events of which nothing more is needed.
func (l Log) Note(events ...trace.Event) error {
	for _, ev := range events {
		if _, err := l(ev); err != nil {
			return err
		}
	}
	return nil
}

// Reasoning stores what the provider disclosed of the model's thinking, or that
// it did not.
func (l Log) Reasoning(s Stored, a parsers.Answer) error {
	verbatim := 0
	for _, p := range a.Parts {
		if p.Kind != parsers.PartThinking {
			continue
		}
		ev := &trace.ReasoningRecorded{Format: p.Format, Hidden: p.Text == "", Tokens: a.Usage.Reasoning, Text: p.Text}
		if p.Text != "" && p.Format != string(thinking.Summary) {
			from := min(verbatim, len(s.Thinking))
			if i := strings.Index(s.Thinking[from:], p.Text); i >= 0 {
				verbatim = from + i + len(p.Text)
				ev.Origin = s.at(1, rationale.Span{Start: from + i, End: verbatim})
			}
		}
		if err := l.Note(ev); err != nil {
			return err
		}
	}
	return nil
}

// Unmatched stores the blocks that belong to no call.
func (l Log) Unmatched(s Stored) error {
	for _, u := range s.unmatched {
		if err := l.Note(&trace.RationaleUnmatched{StatedCall: u.Call, Reason: u.Reason, Origin: s.at(u.Part, u.Span)}); err != nil {
			return err
		}
	}
	return nil
}

// Assumptions stores what the model says that it assumes, in its text and in its
// thinking, at most rationale.MaxAssumptions in one answer.
func (l Log) Assumptions(s Stored) error {
	said := rationale.Assumptions(s.Content)
	inText := len(said)
	for _, a := range rationale.Assumptions(s.Thinking) {
		if !slices.ContainsFunc(said, func(b rationale.Assumption) bool { return strings.EqualFold(a.Text, b.Text) }) {
			said = append(said, a)
		}
	}
	for i, a := range said[:min(len(said), rationale.MaxAssumptions)] {
		part := 0
		if i >= inText {
			part = 1
		}
		if err := l.assume("", a, s.at(part, a.Span)); err != nil {
			return err
		}
	}
	return nil
}

// assume stores one assumption. Without a stated reason it has none, and that
// is counted.
func (l Log) assume(callID string, a rationale.Assumption, at *rationale.Origin) error {
	base := trace.Base{CallID: callID}
	ev := &trace.AssumptionRecorded{Base: base, Assumption: a.Text, Origin: at}
	if a.Why != "" {
		ev.Rationale = &rationale.Rationale{Why: a.Why, Confidence: a.Confidence}
		return l.Note(ev)
	}
	return l.Note(ev, &trace.Metric{Base: base, Name: trace.MetricAssumptionUnjustified, Value: 1})
}

// Started stores the decision to make a call, with what was stated beside it. A
// call without a reason is counted; path says how it was written. What follows
// uses the status that was stored: safety may have refused the reason.
func (l Log) Started(callID string, group *int, c Call, path string) error {
	rec, err := l(c.start(callID, group))
	if err != nil {
		return err
	}
	row, err := trace.RowOf(rec)
	if err != nil {
		return err
	}
	base := trace.Base{CallID: callID}
	status := rationale.Status(row.Str(trace.FieldRationaleStatus))
	if status != rationale.Present {
		if !status.Asked() {
			return nil
		}
		return l.Note(&trace.Metric{
			Base: base, Name: trace.MetricRationaleMissing, Value: 1,
			Labels: map[string]string{"tool": c.Name, "status": string(status), "path": path},
		})
	}
	if alts := c.Capture.Rationale.Alternatives; len(alts) > 0 {
		err := l.Note(&trace.AlternativesConsidered{Base: base, Chosen: "tool:" + c.Name, Alternatives: alts})
		if err != nil {
			return err
		}
	}
	for _, a := range c.Capture.Assumptions {
		if err := l.assume(callID, a, nil); err != nil {
			return err
		}
	}
	return nil
}
