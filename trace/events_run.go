package trace

import "encoding/json"

// RunStarted opens a run.
type RunStarted struct {
	Base
	// Format is "rax-trace/1"; Producer names the program that wrote the trace;
	// Safety is the version of the rules that scrubbed it. Traces of other
	// programs have none of them.
	Format   string `json:"format,omitempty"`
	Producer string `json:"producer,omitempty"`
	Safety   string `json:"safety,omitempty"`
	// Task is the goal, in the words of whoever set it.
	Task     string          `json:"task"`
	Model    string          `json:"model"`
	Provider string          `json:"provider"`
	Seed     *int64          `json:"seed,omitempty"`
	Config   json.RawMessage `json:"config,omitempty"`
	// ImportedFrom says which transcript the run was read from.
	ImportedFrom *ImportSource `json:"importedFrom,omitempty"`
}

// ImportSource names the transcript of another agent that a run was read from.
type ImportSource struct {
	// Format is the name of the transcript format, such as "claude-code".
	Format string `json:"format"`
	// File is the base name of the transcript, empty for standard input.
	File string `json:"file,omitempty"`
	// Session is the session id of the other agent.
	Session string `json:"session,omitempty"`
	// Version is the version of the other agent, where it says so.
	Version string `json:"version,omitempty"`
}

// RunCompleted closes a run. Status is "success", "failure" or "cancelled"; of an
// imported transcript, which does not say whether the run did what was asked,
// "completed", "failure", "cancelled" or "unknown".
type RunCompleted struct {
	Base
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	// DurationMs is in milliseconds.
	DurationMs *float64 `json:"durationMs,omitempty"`
	// TotalTokens and TotalCostUsd are absent where nothing counted them.
	TotalTokens  *int64   `json:"totalTokens,omitempty"`
	TotalCostUsd *float64 `json:"totalCostUsd,omitempty"`
	// Tokens splits the total, where a provider reported the parts.
	Tokens *Tokens `json:"tokens,omitempty"`
	Output string  `json:"output,omitempty"`
}

// Tokens is a count of tokens by what they were spent on. An absent part was
// not reported; 0 was counted.
type Tokens struct {
	Input      *int64 `json:"input,omitempty"`
	Output     *int64 `json:"output,omitempty"`
	Reasoning  *int64 `json:"reasoning,omitempty"`
	CacheRead  *int64 `json:"cacheRead,omitempty"`
	CacheWrite *int64 `json:"cacheWrite,omitempty"`
	// LowerBound says that more was spent than was reported.
	LowerBound bool `json:"lowerBound,omitempty"`
}

// PhaseEnter and PhaseExit bound a phase of the run's life cycle.
type PhaseEnter struct {
	Base
	Phase string `json:"phase"`
}

// PhaseExit closes a phase.
type PhaseExit struct {
	Base
	DurationMs *float64 `json:"durationMs,omitempty"`
	Phase      string   `json:"phase"`
}

// IterationEnter opens an iteration of the loop.
type IterationEnter struct{ Base }

// IterationExit closes an iteration of the loop.
type IterationExit struct{ Base }

// TurnStarted opens a turn of a conversation.
type TurnStarted struct {
	Base
	// Input is what the user said.
	Input string `json:"input"`
}

// TurnCompleted closes a turn. State is "completed", "failed" or "interrupted".
type TurnCompleted struct {
	Base
	State    string `json:"state"`
	Error    string `json:"error,omitempty"`
	Response string `json:"response,omitempty"`
}

// MessageAppended says that the conversation grew by a message.
type MessageAppended struct {
	Base
	Role       string `json:"role"`
	TokenCount *int64 `json:"tokenCount,omitempty"`
}

// EventKind implements [Event].
func (*RunStarted) EventKind() Kind      { return KindRunStarted }
func (*RunCompleted) EventKind() Kind    { return KindRunCompleted }
func (*PhaseEnter) EventKind() Kind      { return KindPhaseEnter }
func (*PhaseExit) EventKind() Kind       { return KindPhaseExit }
func (*IterationEnter) EventKind() Kind  { return KindIterationEnter }
func (*IterationExit) EventKind() Kind   { return KindIterationExit }
func (*TurnStarted) EventKind() Kind     { return KindTurnStarted }
func (*TurnCompleted) EventKind() Kind   { return KindTurnCompleted }
func (*MessageAppended) EventKind() Kind { return KindMessageAppended }
