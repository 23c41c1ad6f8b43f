package debrief

import (
	"fmt"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// callStarted adds a tool call to the path. Its status may still change in
// settleStatuses.
func (r *run) callStarted(row *trace.Row) {
	tool := row.Str(trace.FieldToolName)
	step := Step{
		Iter: row.Iter(), Action: "tool:" + tool,
		Seq: row.Int(trace.FieldSeq), Line: row.Place().Line,
		CallID: row.Str(trace.FieldCallID), Turn: int(row.Int(trace.FieldTurn)),
		Status:    rationale.Status(row.Str(trace.FieldRationaleStatus)),
		Source:    rationale.Source(row.Str(trace.FieldRationaleSource)),
		Reason:    row.Str(trace.FieldRationaleReason),
		Narrative: row.Str(trace.FieldNarrative), NarrativeScope: row.Str(trace.FieldNarrativeScope),
		Origin:   row.Origin(trace.FieldOrigin),
		Withheld: row.Bool(trace.FieldWithheld), Outcome: OutcomeOpen,
	}
	if g := row.OptInt(trace.FieldParallelGroup); g != nil {
		group := int(*g)
		step.ParallelGroup = &group
	}
	r.readStatus(row, &step)
	for _, key := range callKeys(step.CallID, tool) {
		r.open[key] = append(r.open[key], len(r.d.Path))
	}
	r.d.Path = append(r.d.Path, step)
	r.log(row, "tool-selection", tool, step.Rationale)
}

// readStatus reads the rationale of a call and holds it against the status that
// the trace declares. Where both disagree the rationale itself is believed, and
// a warning says so.
func (r *run) readStatus(row *trace.Row, step *Step) {
	var unreadable error
	if stated(row, trace.FieldRationale) {
		step.Rationale, unreadable = readRationale(row, trace.FieldRationale)
	}
	declared := step.Status
	if declared != "" && !declared.Valid() {
		r.warn(WarnStatus, step.Line, step.Seq, "the trace declares a status that rax does not know")
		declared = ""
	}
	if declared != "" {
		r.declared = true
	}
	switch {
	case unreadable != nil:
		step.Status, step.Reason = rationale.Malformed, unreadable.Error()
	case step.Rationale != nil:
		step.Status = rationale.Present
	case declared == rationale.Present:
		step.Status, step.Reason = rationale.Missing, ""
	default:
		step.Status = declared
	}
	if declared != "" && step.Status != declared {
		r.warn(WarnStatus, step.Line, step.Seq, fmt.Sprintf("the trace declares %s; what stands there is %s", declared, step.Status))
	}
	if step.Status != rationale.Present && step.Status != rationale.Malformed {
		step.Source = ""
	}
}

// callKeys gives the keys under which a call waits for its end: rax's own id
// where there is one, and the tool's name, for traces whose ends carry no id.
func callKeys(callID, tool string) []string {
	if callID == "" {
		return []string{"tool " + tool}
	}
	return []string{"id " + callID, "tool " + tool}
}

// callEnded pairs an end with its call: by id, else with the oldest open call
// of that tool (Reactive Agents' ends carry neither id nor the same iteration).
func (r *run) callEnded(row *trace.Row) {
	tool, id := row.Str(trace.FieldToolName), row.Str(trace.FieldCallID)
	key := callKeys(id, tool)[0]
	at, ok := r.takeOpen(key)
	if !ok {
		r.warn(WarnEndWithoutStart, row.Place().Line, row.Int(trace.FieldSeq), "a call ended that never started in this trace")
		return
	}
	step := &r.d.Path[at]
	step.EndSeq = row.OptInt(trace.FieldSeq)
	step.DurationMs = row.OptFloat(trace.FieldDurationMs)
	step.Error = firstLine(row.Str(trace.FieldError))
	switch okay := row.OptBool(trace.FieldOK); {
	case row.Bool(trace.FieldRejected):
		step.Outcome = OutcomeRejected
	case okay == nil && step.Error != "":
		step.Outcome = OutcomeError
	case okay == nil:
		step.Outcome = OutcomeUnknown
	case *okay:
		step.Outcome = OutcomeSuccess
	default:
		step.Outcome = OutcomeError
	}
}

// takeOpen gives the oldest open call that waits under a key.
func (r *run) takeOpen(key string) (int, bool) {
	waiting := r.open[key]
	for len(waiting) > 0 {
		at := waiting[0]
		waiting = waiting[1:]
		if r.d.Path[at].Outcome == OutcomeOpen {
			r.open[key] = waiting
			return at, true
		}
	}
	delete(r.open, key)
	return 0, false
}

func (r *run) countOpen() int {
	n := 0
	for i := range r.d.Path {
		if r.d.Path[i].Outcome == OutcomeOpen {
			n++
		}
	}
	return n
}

// settleStatuses gives every call its status and counts them. A trace that
// states none (Reactive Agents' own) was asked for reasons if any of its calls
// carries one; otherwise nothing in it shows that anybody asked.
func (r *run) settleStatuses() {
	asked := r.declared
	for i := range r.d.Path {
		asked = asked || r.d.Path[i].Status == rationale.Present || r.d.Path[i].Status == rationale.Malformed
	}
	m := &r.d.Metrics
	for i := range r.d.Path {
		step := &r.d.Path[i]
		if step.Outcome == "" {
			continue // a strategy switch
		}
		if step.Status == "" {
			step.Status = rationale.Unasked
			if asked {
				step.Status = rationale.Missing
			}
		}
		m.ToolCalls++
		switch step.Status {
		case rationale.Present:
			m.Present++
		case rationale.Missing:
			m.Missing++
		case rationale.Malformed:
			m.Malformed++
		case rationale.Blocked:
			m.Blocked++
		case rationale.Unasked:
			m.Unasked++
		}
	}
	if asked := m.Asked(); asked > 0 {
		coverage := float64(m.Present) / float64(asked)
		m.Coverage = &coverage
	}
}
