package debrief

import (
	"fmt"
	"strings"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// run is the state of the fold for one run.
type run struct {
	d       Debrief
	parent  string
	started bool
	ended   bool
	// open holds the calls that have not ended, by their keys, oldest first.
	open map[string][]int
	// declared says that the trace itself states a status for some call. Where
	// none does, whether reasons were asked for must be seen from the calls.
	declared bool
	// tokensSoFar is what the newest snapshot counted.
	tokensSoFar *int64
	costSoFar   *float64
}

func newRun(id string) *run {
	return &run{
		d: Debrief{
			RunID: id, Path: []Step{}, Assumptions: []Assumption{}, CuratorActions: []CuratorAction{},
			Alternatives: []Alternatives{}, Reactive: []Reactive{}, Rationale: []LogEntry{},
			Children: []Debrief{}, Warnings: []Warning{},
			Termination: Termination{By: TerminationUnknown},
		},
		open: make(map[string][]int),
	}
}

func (r *run) warn(code string, line int, seq int64, message string) {
	r.d.Warnings = append(r.d.Warnings, Warning{Code: code, Message: message, Line: line, Seq: seq})
}

func (r *run) add(row *trace.Row) {
	if r.parent == "" {
		r.parent = row.Str(trace.FieldParentRunID)
	}
	switch row.Kind() {
	case trace.KindRunStarted:
		r.start(row)
	case trace.KindRunCompleted:
		r.complete(row)
	case trace.KindToolCallStart:
		r.callStarted(row)
	case trace.KindToolCallEnd:
		r.callEnded(row)
	case trace.KindStrategySwitched:
		r.strategySwitched(row)
	case trace.KindAssumptionRecorded:
		r.d.Assumptions = append(r.d.Assumptions, Assumption{
			Iter: row.Iter(), Assumption: row.Str(trace.FieldAssumption), Rationale: r.reason(row, trace.FieldRationale),
		})
	case trace.KindAlternativesConsidered:
		r.alternatives(row)
	case trace.KindCuratorDecision:
		r.curated(row)
	case trace.KindDecisionEvaluated:
		r.reacted(row)
	case trace.KindKernelStateSnapshot:
		r.snapshot(row)
	case trace.KindRationaleUnmatched:
		r.d.Metrics.Unmatched++
	case trace.KindMetric:
		r.metric(row)
	}
}

func (r *run) start(row *trace.Row) {
	if r.started {
		return
	}
	r.started = true
	r.d.Goal = row.Str(trace.FieldTask)
	r.d.Model = row.Str(trace.FieldModel)
	r.d.Provider = row.Str(trace.FieldProvider)
	r.d.StartedAt = row.Int(trace.FieldTimestamp)
	r.d.ParentCallID = row.Str(trace.FieldCallID)
	r.d.ImportedFrom = row.ImportedFrom()
}

func (r *run) complete(row *trace.Row) {
	r.ended = true
	total := row.OptInt(trace.FieldTotalTokens)
	r.d.Verdict = &Verdict{
		Status: row.Str(trace.FieldStatus), Tokens: total,
		DurationMs: row.OptFloat(trace.FieldDurationMs), Error: firstLine(row.Str(trace.FieldError)),
	}
	r.d.Cost = row.OptFloat(trace.FieldTotalCostUsd)
	parts := row.TokenCounts()
	if total == nil && parts == nil {
		return
	}
	r.d.Tokens = &Tokens{Total: total}
	if parts != nil {
		*r.d.Tokens = Tokens{
			Total: total, Input: parts.Input, Output: parts.Output, Reasoning: parts.Reasoning,
			CacheRead: parts.CacheRead, CacheWrite: parts.CacheWrite, LowerBound: parts.LowerBound,
		}
	}
}

func (r *run) strategySwitched(row *trace.Row) {
	from, to := row.Str(trace.FieldFrom), row.Str(trace.FieldTo)
	step := Step{
		Iter: row.Iter(), Action: "strategy:" + from + "→" + to,
		Seq: row.Int(trace.FieldSeq), Line: row.Place().Line, Turn: int(row.Int(trace.FieldTurn)),
		Reason: row.Str(trace.FieldReason), Rationale: r.reason(row, trace.FieldRationale),
	}
	if step.Rationale != nil || step.Reason != "" {
		step.Source = rationale.SourceKernel
	}
	r.d.Path = append(r.d.Path, step)
	r.log(row, "strategy-switch:"+from+"→"+to, "", step.Rationale)
}

func (r *run) alternatives(row *trace.Row) {
	stated := row.Alternatives()
	if stated == nil {
		stated = []rationale.Alternative{}
	}
	r.d.Alternatives = append(r.d.Alternatives, Alternatives{
		Iter: row.Iter(), Chosen: row.Str(trace.FieldChosen),
		CallID: row.Str(trace.FieldCallID), Alternatives: stated,
	})
}

func (r *run) curated(row *trace.Row) {
	c := CuratorAction{
		Iter: row.Iter(), Action: row.Str(trace.FieldAction),
		TargetRef: row.Str(trace.FieldTargetRef), Rationale: r.reason(row, trace.FieldRationale),
	}
	r.d.CuratorActions = append(r.d.CuratorActions, c)
	r.log(row, "curator-"+c.Action, "", c.Rationale)
}

func (r *run) reacted(row *trace.Row) {
	d := Reactive{
		Iter: row.Iter(), Decision: row.Str(trace.FieldDecisionType), Reason: row.Str(trace.FieldReason),
		Confidence: row.OptFloat(trace.FieldConfidence), Rationale: r.reason(row, trace.FieldRationale),
	}
	r.d.Reactive = append(r.d.Reactive, d)
	r.log(row, "reactive-"+d.Decision, "", d.Rationale)
}

func (r *run) snapshot(row *trace.Row) {
	if n := row.OptInt(trace.FieldTokens); n != nil {
		r.tokensSoFar = n
	}
	if c := row.OptFloat(trace.FieldCost); c != nil {
		r.costSoFar = c
	}
	by := row.Str(trace.FieldTerminatedBy)
	if by == "" {
		return
	}
	// Reactive Agents writes the last snapshot twice; one termination is one
	// entry of the log.
	again := r.d.Termination.By == by
	why := r.reason(row, trace.FieldTerminationRationale)
	if again && why == nil {
		return
	}
	logged := again && r.d.Termination.Rationale != nil
	r.d.Termination = Termination{By: by, Rationale: why}
	if !logged {
		r.log(row, "termination:"+by, "", why)
	}
}

func (r *run) metric(row *trace.Row) {
	n := 1
	if v := row.OptFloat(trace.FieldValue); v != nil {
		n = int(*v)
	}
	switch row.Str(trace.FieldName) {
	case trace.MetricPlanRationaleMissing:
		r.d.Metrics.PlanRationaleMissing += n
	case trace.MetricAssumptionUnjustified:
		r.d.Metrics.AssumptionUnjustified += n
	}
}

// stated reports whether a line has a field that is not null.
func stated(row *trace.Row, f trace.Field) bool {
	return row.Has(f) && string(row.Raw(f)) != "null"
}

// reason reads the rationale of an event that is no tool call.
func (r *run) reason(row *trace.Row, f trace.Field) *rationale.Rationale {
	if !stated(row, f) {
		return nil
	}
	why, err := readRationale(row, f)
	if err != nil {
		r.warn(WarnRationale, row.Place().Line, row.Int(trace.FieldSeq), "the rationale cannot be read: "+err.Error())
	}
	return why
}

func (r *run) log(row *trace.Row, decision, tool string, why *rationale.Rationale) {
	if why != nil {
		r.d.Rationale = append(r.d.Rationale, LogEntry{
			Iteration: row.Iter(), Decision: decision, ToolName: tool, Rationale: *why,
		})
	}
}

// finish gives the debrief of the run with its sub-runs.
func (r *run) finish(children map[string][]*run) Debrief {
	r.settleStatuses()
	if !r.started {
		r.warn(WarnNoStart, 0, 0, "the trace does not hold the start of the run")
	}
	if !r.ended {
		r.warn(WarnNoEnd, 0, 0, "the trace does not hold the end of the run")
		if r.tokensSoFar != nil {
			r.d.Tokens = &Tokens{Total: r.tokensSoFar, LowerBound: true}
		}
		r.d.Cost = r.costSoFar
	}
	if n := r.countOpen(); n > 0 {
		r.warn(WarnOpenCalls, 0, 0, fmt.Sprintf("%d of %d calls have no end in the trace", n, r.d.Metrics.ToolCalls))
	}
	sortWarnings(r.d.Warnings)
	for _, c := range children[r.d.RunID] {
		r.d.Children = append(r.d.Children, c.finish(children))
	}
	return r.d
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(s, " \t\r\n"), "\n")
	return strings.TrimRight(line, " \t\r")
}
