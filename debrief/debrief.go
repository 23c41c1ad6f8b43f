// Package debrief folds the events of a trace into what a reviewer reads: the
// decisions of a run, each with the reason that was stated for it or the fact
// that none was.
//
// A [Debrief] is plain data with JSON tags, the promise of rax to machines
// (specification 004, widened). The fold is pure: no clock, no environment, no
// files; the same rows give the same bytes. The package is part of the promised
// Go API.
package debrief

import (
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// SchemaVersion names the JSON shape of a [Debrief].
const SchemaVersion = "rax-debrief/1"

// Debrief is what one run decided and why. Arrays are never nil; what nothing
// reported is absent.
type Debrief struct {
	// SchemaVersion is set on root runs.
	SchemaVersion string `json:"schemaVersion,omitempty"`
	RunID         string `json:"runId"`
	// Goal is the run's task in the words of whoever set it.
	Goal string `json:"goal"`
	// Path lists what the run did, in order: tool calls and strategy switches.
	Path           []Step          `json:"path"`
	Assumptions    []Assumption    `json:"assumptions"`
	CuratorActions []CuratorAction `json:"curatorActions"`
	Alternatives   []Alternatives  `json:"alternatives"`
	// Reactive lists the decisions of the reactive control.
	Reactive    []Reactive  `json:"reactive"`
	Termination Termination `json:"termination"`
	// Verdict is absent when the trace does not hold the end of the run.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Rationale is the unified log of every stated reason (specification 004).
	Rationale []LogEntry `json:"rationale"`
	Metrics   Metrics    `json:"metrics"`
	// Tokens is absent when nothing counted them.
	Tokens *Tokens `json:"tokens,omitempty"`
	// Cost is in US dollars.
	Cost     *float64  `json:"cost,omitempty"`
	Children []Debrief `json:"children"`
	Warnings []Warning `json:"warnings"`
	// ParentCallID is the call of the parent that opened this sub-run.
	ParentCallID string `json:"parentCallId,omitempty"`
	Model        string `json:"model,omitempty"`
	Provider     string `json:"provider,omitempty"`
	// StartedAt is in milliseconds since the Unix epoch; 0 when not recorded.
	StartedAt    int64               `json:"startedAt,omitempty"`
	ImportedFrom *trace.ImportSource `json:"importedFrom,omitempty"`
}

// Outcome says what a tool call did.
type Outcome string

// The outcomes of a call (the first three are those of specification 000).
const (
	OutcomeSuccess  Outcome = "success"
	OutcomeError    Outcome = "error"
	OutcomeRejected Outcome = "rejected"
	// OutcomeUnknown: the call ended and the trace does not say how.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeOpen: the trace holds no end of the call.
	OutcomeOpen Outcome = "open"
)

// Step is one thing that the run did.
type Step struct {
	Iter int `json:"iter"`
	// Action is "tool:NAME" or "strategy:FROM→TO".
	Action string `json:"action"`
	// Seq and Line place the step in the trace: the number of its event and the
	// line, counted from 1. Of a transcript that is read as it is, they are
	// those of the trace that an import writes.
	Seq    int64  `json:"seq"`
	Line   int    `json:"line"`
	CallID string `json:"callId,omitempty"`
	// Status says what became of the call's rationale; empty on a step that is
	// no tool call.
	Status rationale.Status `json:"status,omitempty"`
	Source rationale.Source `json:"source,omitempty"`
	// Reason says why a rationale is malformed or blocked; on a strategy switch
	// it is the reason that the kernel gave in free text.
	Reason    string               `json:"reason,omitempty"`
	Rationale *rationale.Rationale `json:"rationale,omitempty"`
	// Origin points at the characters that Rationale.Why was read from.
	Origin *rationale.Origin `json:"origin,omitempty"`
	// Narrative is text that stood beside the call. It was not stated as the
	// call's reason.
	Narrative string `json:"narrative,omitempty"`
	// NarrativeScope is "group" when it stood beside several parallel calls.
	NarrativeScope string `json:"narrativeScope,omitempty"`
	// Withheld says that the provider hid the thinking of this message.
	Withheld bool    `json:"withheld,omitempty"`
	Outcome  Outcome `json:"outcome,omitempty"`
	// EndSeq is the seq of the event that ended the call; absent without one.
	EndSeq *int64 `json:"endSeq,omitempty"`
	// Error is the first line of a failed call's error.
	Error         string   `json:"error,omitempty"`
	DurationMs    *float64 `json:"durationMs,omitempty"`
	ParallelGroup *int     `json:"parallelGroup,omitempty"`
	Turn          int      `json:"turn,omitempty"`
}

// Assumption is something that the model took for granted. Rationale is absent
// when it stated no reason.
type Assumption struct {
	Iter       int                  `json:"iter"`
	Assumption string               `json:"assumption"`
	Rationale  *rationale.Rationale `json:"rationale,omitempty"`
}

// CuratorAction is what became of an observation before it entered a prompt.
type CuratorAction struct {
	Iter      int                  `json:"iter"`
	Action    string               `json:"action"`
	TargetRef string               `json:"targetRef"`
	Rationale *rationale.Rationale `json:"rationale,omitempty"`
}

// Alternatives is what was weighed at one decision.
type Alternatives struct {
	Iter         int                     `json:"iter"`
	Chosen       string                  `json:"chosen"`
	CallID       string                  `json:"callId,omitempty"`
	Alternatives []rationale.Alternative `json:"alternatives"`
}

// Reactive is a decision of the reactive control. Reason is its free text.
type Reactive struct {
	Iter       int                  `json:"iter"`
	Decision   string               `json:"decision"`
	Reason     string               `json:"reason,omitempty"`
	Confidence *float64             `json:"confidence,omitempty"`
	Rationale  *rationale.Rationale `json:"rationale,omitempty"`
}

// Termination says by what the run ended; By is "unknown" when the trace does
// not say.
type Termination struct {
	By        string               `json:"by"`
	Rationale *rationale.Rationale `json:"rationale,omitempty"`
}

// TerminationUnknown is the value of Termination.By when no event says.
const TerminationUnknown = "unknown"

// Verdict is how the run ended by its own account.
type Verdict struct {
	Status     string   `json:"status"`
	Tokens     *int64   `json:"tokens,omitempty"`
	DurationMs *float64 `json:"durationMs,omitempty"`
	Error      string   `json:"error,omitempty"`
}

// LogEntry is one entry of the unified log of stated reasons. Decision is
// "tool-selection", "curator-ACTION", "strategy-switch:FROM→TO",
// "reactive-TYPE" or "termination:REASON" (specification 004).
type LogEntry struct {
	Iteration int                 `json:"iteration"`
	Decision  string              `json:"decision"`
	ToolName  string              `json:"toolName,omitempty"`
	Rationale rationale.Rationale `json:"rationale"`
}

// Metrics counts a run's own calls, not those of its children.
type Metrics struct {
	ToolCalls int `json:"toolCalls"`
	Present   int `json:"present"`
	Missing   int `json:"missing"`
	Malformed int `json:"malformed"`
	Blocked   int `json:"blocked"`
	Unasked   int `json:"unasked"`
	// Unmatched counts rationale blocks that belong to no call.
	Unmatched int `json:"unmatched"`
	// Coverage is present / (all but unasked); absent without such calls.
	Coverage *float64 `json:"coverage,omitempty"`
	// PlanRationaleMissing and AssumptionUnjustified are those of
	// specification 004.
	PlanRationaleMissing  int `json:"planRationaleMissing"`
	AssumptionUnjustified int `json:"assumptionUnjustified"`
}

// Asked counts the calls of which a rationale was asked.
func (m Metrics) Asked() int { return m.ToolCalls - m.Unasked }

// Tokens is what the run spent, as far as it was reported.
type Tokens struct {
	Total      *int64 `json:"total,omitempty"`
	Input      *int64 `json:"input,omitempty"`
	Output     *int64 `json:"output,omitempty"`
	Reasoning  *int64 `json:"reasoning,omitempty"`
	CacheRead  *int64 `json:"cacheRead,omitempty"`
	CacheWrite *int64 `json:"cacheWrite,omitempty"`
	// LowerBound says that more was spent than was reported: the provider
	// counts while it streams, or the trace ends before the run does.
	LowerBound bool `json:"lowerBound,omitempty"`
}

// Warning says what is odd about the trace or what could not be read.
type Warning struct {
	// Code is a stable name; see the Warn constants.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Line and Seq place it, where one line or event is meant.
	Line int   `json:"line,omitempty"`
	Seq  int64 `json:"seq,omitempty"`
}

// The codes of warnings.
const (
	WarnNoStart         = "no-run-started"
	WarnNoEnd           = "no-run-completed"
	WarnOpenCalls       = "calls-without-end"
	WarnEndWithoutStart = "end-without-call"
	WarnLostParent      = "parent-not-in-trace"
	WarnUnreadable      = "unreadable-line"
	WarnJoined          = "joined-lines"
	WarnNoKind          = "no-kind"
	WarnSeveralRuns     = "several-runs"
	WarnSkipped         = "unvalidated-lines"
	WarnStatus          = "status-contradicts"
	WarnRationale       = "unreadable-rationale"
)
