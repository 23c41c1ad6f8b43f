package debrief

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Decision is one tool call with all that a trace holds about it.
type Decision struct {
	RunID string `json:"runId"`
	// Number counts the run's tool calls from 1.
	Number int `json:"number"`
	Step
	// Place is where the call's start stands in the trace.
	Place trace.Place `json:"-"`
	// Cited are the characters at Origin, where they stand in this trace.
	Cited           string            `json:"cited,omitempty"`
	NarrativeOrigin *rationale.Origin `json:"narrativeOrigin,omitempty"`
	Args            json.RawMessage   `json:"args,omitempty"`
	Result          json.RawMessage   `json:"result,omitempty"`
	// ResultSummary is the tool's own line about its result.
	ResultSummary string `json:"resultSummary,omitempty"`
}

// NoCallError says that a run has no call of that name.
type NoCallError struct {
	Ref   string
	Calls int
}

func (e *NoCallError) Error() string {
	return fmt.Sprintf("no call %q in a run of %d calls", e.Ref, e.Calls)
}

// Explain gives one call of a folded run. ref is its callId or its number in
// the run, counted from 1. It reads the records of the trace once more, because
// a debrief keeps no payloads.
func Explain(d Debrief, ref string, records iter.Seq2[trace.Record, error]) (Decision, error) {
	decision, err := findCall(d, ref)
	if err != nil {
		return Decision{}, err
	}
	var end *trace.ToolCallEnd
	for rec, err := range records {
		if err != nil {
			continue // the fold has warned about it
		}
		row, err := trace.RowOf(rec)
		if err != nil || row.Str(trace.FieldRunID) != d.RunID {
			continue
		}
		switch seq := row.Int(trace.FieldSeq); {
		case seq == decision.Seq && row.Kind() == trace.KindToolCallStart && row.Place().Line == decision.Line:
			decision.start(rec)
		case row.Kind() == trace.KindToolCallEnd && decision.EndSeq != nil && *decision.EndSeq == seq:
			ev, _, err := trace.Decode(rec)
			if err == nil {
				end = ev.(*trace.ToolCallEnd)
			}
		case decision.Origin != nil && decision.Origin.Event != nil && *decision.Origin.Event == seq:
			decision.Cited = cite(rec, decision.Origin)
		}
	}
	if end != nil {
		decision.Result, decision.ResultSummary = end.Result, end.Outcome
		if decision.Args == nil {
			decision.Args = end.Args
		}
	}
	return decision, nil
}

func findCall(d Debrief, ref string) (Decision, error) {
	number := 0
	want, err := strconv.Atoi(ref)
	if err != nil {
		want = -1
	}
	var byNumber *Decision
	for _, s := range d.Path {
		if s.Outcome == "" {
			continue
		}
		number++
		found := Decision{RunID: d.RunID, Number: number, Step: s}
		if s.CallID == ref && ref != "" {
			return found, nil
		}
		if number == want {
			byNumber = &found
		}
	}
	if byNumber != nil {
		return *byNumber, nil
	}
	return Decision{}, &NoCallError{Ref: ref, Calls: number}
}

func (d *Decision) start(rec trace.Record) {
	ev, _, err := trace.Decode(rec)
	if err != nil {
		return
	}
	call := ev.(*trace.ToolCallStart)
	d.Place = rec.Place()
	d.Args, d.NarrativeOrigin = call.Args, call.NarrativeOrigin
}

// cite gives the characters that an origin points at in a record, "" when they
// are not there.
func cite(rec trace.Record, o *rationale.Origin) string {
	text, ok := trace.Pointer(rec, o.Field)
	if !ok {
		return ""
	}
	return rationale.Span{Start: o.Start, End: o.End}.In(text)
}
