//go:build !noreasoning

package strategy

import (
	"encoding/json"
	"iter"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// ReactTrace is a run of react as a whole (specification 003).
type ReactTrace struct {
	Steps       []ReactStep     `json:"steps"`
	FinalAnswer json.RawMessage `json:"final_answer"`
}

// ReactStep is one action of react (specification 003), with what became of its
// reason.
type ReactStep struct {
	// Step is the turn, from 1.
	Step    int    `json:"step"`
	Thought string `json:"thought"`
	// ThoughtCut says that the trace keeps only the beginning of the thought as
	// narrative; the whole stands in the exchange.
	ThoughtCut  bool            `json:"thought_cut,omitempty"`
	Action      string          `json:"action"`
	ActionInput json.RawMessage `json:"action_input"`
	// Observation is what the call gave, or its error.
	Observation     string               `json:"observation"`
	RationaleStatus rationale.Status     `json:"rationale_status"`
	Rationale       *rationale.Rationale `json:"rationale,omitempty"`
}

// ReactSteps reads the steps of a run out of its trace, one at a time: what it
// holds in memory does not grow with their number. An empty runID means the
// first root run. What the records hold besides is passed over, as are lines that
// cannot be read, whose errors are passed on.
func ReactSteps(records iter.Seq2[trace.Record, error], runID string) iter.Seq2[ReactStep, error] {
	return func(yield func(ReactStep, error) bool) {
		run, open := runID, map[string]*trace.ToolCallStart{}
		for rec, err := range records {
			if err != nil {
				if !yield(ReactStep{}, err) {
					return
				}
				continue
			}
			row, err := trace.RowOf(rec)
			if err != nil || row.Kind() != trace.KindToolCallStart && row.Kind() != trace.KindToolCallEnd && row.Kind() != trace.KindRunStarted {
				continue
			}
			if run == "" && row.Str(trace.FieldParentRunID) == "" {
				run = row.Str(trace.FieldRunID)
			}
			if row.Str(trace.FieldRunID) != run {
				continue
			}
			ev, _, err := trace.Decode(rec)
			if err != nil {
				continue
			}
			switch ev := ev.(type) {
			case *trace.ToolCallStart:
				open[ev.CallID] = ev
			case *trace.ToolCallEnd:
				began := open[ev.CallID]
				if delete(open, ev.CallID); began != nil && !yield(stepOf(began, ev), nil) {
					return
				}
			}
		}
	}
}

func stepOf(start *trace.ToolCallStart, end *trace.ToolCallEnd) ReactStep {
	s := ReactStep{
		Step: start.Iter, Thought: start.Narrative, ThoughtCut: start.NarrativeCut,
		Action: start.ToolName, ActionInput: start.Args,
		RationaleStatus: start.RationaleStatus, Rationale: start.Rationale,
	}
	switch {
	case end.OK != nil && !*end.OK:
		s.Observation = "error: " + end.Error
	case json.Unmarshal(end.Result, &s.Observation) != nil:
		s.Observation = string(end.Result)
	}
	return s
}

// ReadReactTrace reads the whole of a run of react: its steps, and the answer
// with which it finished; see [ReactSteps].
func ReadReactTrace(records iter.Seq2[trace.Record, error], runID string) (ReactTrace, error) {
	out := ReactTrace{Steps: []ReactStep{}}
	watched := func(yield func(trace.Record, error) bool) {
		for rec, err := range records {
			if err == nil {
				out.finish(rec, &runID)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
	for step, err := range ReactSteps(watched, runID) {
		if err != nil {
			return out, err
		}
		out.Steps = append(out.Steps, step)
	}
	return out, nil
}

// finish takes the answer from the newest exchange of the run, if it finished.
func (r *ReactTrace) finish(rec trace.Record, run *string) {
	row, err := trace.RowOf(rec)
	if err != nil {
		return
	}
	if *run == "" && row.Kind() == trace.KindRunStarted && row.Str(trace.FieldParentRunID) == "" {
		*run = row.Str(trace.FieldRunID)
	}
	if row.Kind() != trace.KindLLMExchange || row.Str(trace.FieldRunID) != *run {
		return
	}
	content, _ := trace.Pointer(rec, "/response/content")
	if t, err := parseTurn(content); err == nil && t.action == finish {
		r.FinalAnswer = t.answer
	}
}
