package trace

import (
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
)

// screen applies what safety says about a call's rationale and narrative to the
// event itself, because a refusal changes more than one member: the status of
// the call becomes blocked and its rationale absent. It returns a copy where
// something changes, and the findings.
func screen(ev Event, s *safety.Session) (Event, []safety.Finding) {
	call, ok := ev.(*ToolCallStart)
	if !ok || call.Rationale == nil {
		return ev, nil
	}
	findings, blocked := refused(call.Rationale, s)
	if !blocked {
		return ev, nil
	}
	kept := *call
	kept.Rationale = nil
	kept.RationaleStatus = rationale.Blocked
	kept.RationaleReason = "refused by safety rule " + findings[len(findings)-1].Rule
	return &kept, findings
}

// refused reports whether safety refuses any text of a rationale.
func refused(r *rationale.Rationale, s *safety.Session) ([]safety.Finding, bool) {
	texts := append([]string{r.Why}, r.Refs...)
	for _, a := range r.Alternatives {
		texts = append(texts, a.Option, a.RejectedBecause)
	}
	for _, text := range texts {
		if res := s.Text("rationale.why", text); res.Blocked {
			return res.Findings, true
		}
	}
	return nil, false
}

// note writes one safety-applied event per rule and field that changed the
// event just stored, and the metric of a blocked call. The caller holds w.mu.
func (w *Writer) note(ev Event, findings []safety.Finding) error {
	type key struct{ rule, field string }
	counts := make(map[key]int)
	for _, f := range findings {
		counts[key{f.Rule, f.Field}]++
	}
	base := ev.Common()
	target := base.Seq
	for _, f := range findings {
		k := key{f.Rule, f.Field}
		n := counts[k]
		if n == 0 {
			continue
		}
		delete(counts, k)
		applied := &SafetyApplied{
			Base: Base{
				RunID: base.RunID, RootRunID: base.RootRunID, ParentRunID: base.ParentRunID, Depth: base.Depth,
				Timestamp: base.Timestamp, Iter: base.Iter, CallID: base.CallID, Seq: w.opt.NextSeq,
			},
			Rule: f.Rule, Action: f.Action.String(), Severity: f.Severity.String(), Field: f.Field,
			Target: &target, Count: n,
		}
		enc := encoder{buf: w.buf[:0], session: w.session}
		if err := enc.event(applied); err != nil {
			return err
		}
		w.buf = enc.buf
		w.opt.NextSeq++
		if _, _, err := w.append(enc.buf); err != nil {
			return err
		}
	}
	return nil
}
