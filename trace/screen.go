package trace

import (
	"cmp"
	"slices"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
)

// screen applies what safety says about a call's rationale and narrative to the
// event itself, because a refusal changes more than one member: the status of
// the call becomes blocked and its rationale absent; of a narrative that is
// refused nothing stays. It returns a copy where something changes, and the
// findings.
func screen(ev Event, s *safety.Session) (Event, []safety.Finding) {
	call, ok := ev.(*ToolCallStart)
	if !ok {
		return ev, nil
	}
	kept := *call
	var findings []safety.Finding
	if call.Rationale != nil {
		if found := refused(call.Rationale, s); found != nil {
			kept.Rationale, kept.Origin = nil, nil
			kept.RationaleStatus = rationale.Blocked
			kept.RationaleReason = "refused by safety rule " + found[0].Rule
			findings = found
		}
	}
	if r := s.Stored("narrative", call.Narrative); r.Blocked {
		kept.Narrative, kept.NarrativeOrigin, kept.NarrativeScope, kept.NarrativeCut = "", nil, "", false
		findings = append(findings, r.Findings...)
	}
	if findings == nil {
		return ev, nil
	}
	return &kept, findings
}

// Adopt makes a tool-call-start say what was stored of it as rec: where safety
// refused its rationale, that it has none and why. What follows an event must
// use only what was stored.
func Adopt(ev Event, rec Record) {
	call, ok := ev.(*ToolCallStart)
	if !ok || call.Rationale == nil {
		return
	}
	row, err := RowOf(rec)
	if err != nil || rationale.Status(row.Str(FieldRationaleStatus)) != rationale.Blocked {
		return
	}
	call.Rationale, call.RationaleStatus = nil, rationale.Blocked
	call.RationaleReason = row.Str(FieldRationaleReason)
}

// refused gives the findings, those that refuse it first, of the first text of
// a rationale that safety refuses; nil if it refuses none.
func refused(r *rationale.Rationale, s *safety.Session) []safety.Finding {
	type text struct{ field, text string }
	texts := []text{{"rationale.why", r.Why}}
	for _, ref := range r.Refs {
		texts = append(texts, text{"rationale.refs", ref})
	}
	for _, a := range r.Alternatives {
		texts = append(texts,
			text{"rationale.alternatives.option", a.Option},
			text{"rationale.alternatives.rejectedBecause", a.RejectedBecause})
	}
	for _, t := range texts {
		if res := s.Stored(t.field, t.text); res.Blocked {
			found := slices.Clone(res.Findings)
			slices.SortStableFunc(found, func(a, b safety.Finding) int { return cmp.Compare(b.Action, a.Action) })
			return found
		}
	}
	return nil
}

// note writes one safety-applied event per rule and field that changed the
// event just stored. The caller holds w.mu.
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
			Base: *base,
			Rule: f.Rule, Action: f.Action.String(), Severity: f.Severity.String(), Field: f.Field,
			Target: &target, Count: n,
		}
		applied.Seq = w.opt.NextSeq
		applied.Extra = nil
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
