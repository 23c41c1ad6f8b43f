package trace

import "github.com/rax-project/rax/rationale"

// AssumptionRecorded says what the model took for granted. Rationale is absent
// when it stated no reason.
type AssumptionRecorded struct {
	Base
	Assumption string               `json:"assumption"`
	Rationale  *rationale.Rationale `json:"rationale,omitempty"`
	Origin     *rationale.Origin    `json:"origin,omitempty"`
}

// AlternativesConsidered says what the model weighed and rejected.
type AlternativesConsidered struct {
	Base
	Chosen       string                  `json:"chosen"`
	Alternatives []rationale.Alternative `json:"alternatives"`
}

// RationaleUnmatched is a rationale block that belongs to no call.
type RationaleUnmatched struct {
	Base
	// StatedCall is the number that the block states, 0 when it states none.
	StatedCall int               `json:"statedCall"`
	Reason     string            `json:"reason"`
	Origin     *rationale.Origin `json:"origin,omitempty"`
}

// ReasoningRecorded is thinking that the provider disclosed, or the fact that
// it did not (specification 002).
type ReasoningRecorded struct {
	Base
	// Format is how it was disclosed: parsed, raw, think_tags, anthropic,
	// summary or hidden.
	Format string `json:"format"`
	// Tokens is what the provider counted for it, absent when it did not.
	Tokens *int64 `json:"tokens,omitempty"`
	// Hidden says that there was thinking of which no text was disclosed.
	Hidden bool              `json:"hidden,omitempty"`
	Text   string            `json:"text,omitempty"`
	Origin *rationale.Origin `json:"origin,omitempty"`
}

// StrategySwitched says that the run went on by another strategy.
type StrategySwitched struct {
	Base
	From      string               `json:"from"`
	To        string               `json:"to"`
	Reason    string               `json:"reason,omitempty"`
	Rationale *rationale.Rationale `json:"rationale,omitempty"`
}

// DecisionEvaluated is a decision of the reactive control. DecisionType is
// early-stop, branch, compress, switch-strategy or attribute.
type DecisionEvaluated struct {
	Base
	DecisionType string               `json:"decisionType"`
	Confidence   *float64             `json:"confidence,omitempty"`
	Reason       string               `json:"reason,omitempty"`
	Rationale    *rationale.Rationale `json:"rationale,omitempty"`
}

// CuratorDecision says what became of an observation before it entered a
// prompt. Action is kept, dropped, compressed or marked-untrusted.
type CuratorDecision struct {
	Base
	Action string `json:"action"`
	// TargetRef is the ref of the observation, such as "obs:1".
	TargetRef string               `json:"targetRef"`
	Rationale *rationale.Rationale `json:"rationale,omitempty"`
}

// KernelStateSnapshot is the state of the loop at an iteration's border. The
// one that ends the run says by what, and why.
type KernelStateSnapshot struct {
	Base
	Status               string               `json:"status"`
	TerminatedBy         string               `json:"terminatedBy,omitempty"`
	TerminationRationale *rationale.Rationale `json:"terminationRationale,omitempty"`
	Tokens               *int64               `json:"tokens,omitempty"`
	Cost                 *float64             `json:"cost,omitempty"`
	LLMCalls             *int64               `json:"llmCalls,omitempty"`
	ToolsUsed            []string             `json:"toolsUsed,omitempty"`
	ScratchpadKeys       []string             `json:"scratchpadKeys,omitempty"`
	StepsCount           *int64               `json:"stepsCount,omitempty"`
	StepsByType          map[string]int64     `json:"stepsByType,omitempty"`
	MessagesCount        *int64               `json:"messagesCount,omitempty"`
	OutputLen            *int64               `json:"outputLen,omitempty"`
	OutputPreview        string               `json:"outputPreview,omitempty"`
}

// CritiqueRecorded is one round of a self-correction (specification 003).
type CritiqueRecorded struct {
	Base
	Round    int    `json:"round"`
	Critique string `json:"critique"`
	Accepted bool   `json:"accepted,omitempty"`
}

// SubproblemOpened opens a part of a decomposed problem (specification 003).
type SubproblemOpened struct {
	Base
	Subproblem string `json:"subproblem"`
	Problem    string `json:"problem"`
}

// SubproblemClosed closes a part of a decomposed problem.
type SubproblemClosed struct {
	Base
	Subproblem string `json:"subproblem"`
	OK         *bool  `json:"ok,omitempty"`
	Error      string `json:"error,omitempty"`
	Answer     string `json:"answer,omitempty"`
}

// EventKind implements [Event].
func (*AssumptionRecorded) EventKind() Kind     { return KindAssumptionRecorded }
func (*AlternativesConsidered) EventKind() Kind { return KindAlternativesConsidered }
func (*RationaleUnmatched) EventKind() Kind     { return KindRationaleUnmatched }
func (*ReasoningRecorded) EventKind() Kind      { return KindReasoningRecorded }
func (*StrategySwitched) EventKind() Kind       { return KindStrategySwitched }
func (*DecisionEvaluated) EventKind() Kind      { return KindDecisionEvaluated }
func (*CuratorDecision) EventKind() Kind        { return KindCuratorDecision }
func (*KernelStateSnapshot) EventKind() Kind    { return KindKernelStateSnapshot }
func (*CritiqueRecorded) EventKind() Kind       { return KindCritiqueRecorded }
func (*SubproblemOpened) EventKind() Kind       { return KindSubproblemOpened }
func (*SubproblemClosed) EventKind() Kind       { return KindSubproblemClosed }
