package trace

import "encoding/json"

// LLMExchange is one round trip to a model. The small fields stand before the
// payloads, so that a reader can stop early.
type LLMExchange struct {
	Base
	Provider    string `json:"provider"`
	Model       string `json:"model"`
	RequestKind string `json:"requestKind,omitempty"`
	// MessageID is the provider's id of the answer.
	MessageID  string   `json:"messageId,omitempty"`
	StopReason string   `json:"stopReason,omitempty"`
	DurationMs *float64 `json:"durationMs,omitempty"`
	Tokens     *Tokens  `json:"tokens,omitempty"`
	CostUsd    *float64 `json:"costUsd,omitempty"`
	// Cut says that the answer stopped before its end.
	Cut                   bool     `json:"cut,omitempty"`
	Temperature           *float64 `json:"temperature,omitempty"`
	MaxTokens             *int64   `json:"maxTokens,omitempty"`
	ToolSchemaNames       []string `json:"toolSchemaNames,omitempty"`
	SystemPromptTruncated bool     `json:"systemPromptTruncated,omitempty"`
	// MessagesFrom is the index, in the prompt, of the first of Messages: the
	// ones before stand in earlier exchanges of the run.
	MessagesFrom int             `json:"messagesFrom,omitempty"`
	SystemPrompt string          `json:"systemPrompt,omitempty"`
	Messages     json.RawMessage `json:"messages,omitempty"`
	Response     json.RawMessage `json:"response,omitempty"`
}

// EntropyScored is a score of how scattered the run looks.
type EntropyScored struct {
	Base
	Composite *float64           `json:"composite,omitempty"`
	Sources   map[string]float64 `json:"sources,omitempty"`
}

// InterventionDispatched says that the control changed the run.
type InterventionDispatched struct {
	Base
	DecisionType string          `json:"decisionType"`
	PatchKind    string          `json:"patchKind"`
	Cost         json.RawMessage `json:"cost,omitempty"`
	Telemetry    json.RawMessage `json:"telemetry,omitempty"`
}

// InterventionSuppressed says that the control decided and did nothing.
type InterventionSuppressed struct {
	Base
	DecisionType string `json:"decisionType"`
	Reason       string `json:"reason"`
}

// StatePatchApplied says that the loop's state was changed from outside.
// PatchKind "compaction" is the cutting of a conversation to fit its window.
type StatePatchApplied struct {
	Base
	PatchKind string          `json:"patchKind"`
	Diff      json.RawMessage `json:"diff,omitempty"`
}

// VerifierVerdict is a verifier's opinion of one action.
type VerifierVerdict struct {
	Base
	Action   string          `json:"action"`
	Terminal bool            `json:"terminal"`
	Verified bool            `json:"verified"`
	Summary  string          `json:"summary,omitempty"`
	Checks   []VerifierCheck `json:"checks,omitempty"`
}

// VerifierCheck is one check of a verdict.
type VerifierCheck struct {
	Name     string `json:"name"`
	Passed   bool   `json:"passed"`
	Severity string `json:"severity,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// GuardFired says which branch a guard of the loop took.
type GuardFired struct {
	Base
	Guard    string          `json:"guard"`
	Outcome  string          `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// HarnessSignalInjected is text that the harness, not the model, put into the
// conversation.
type HarnessSignalInjected struct {
	Base
	SignalKind     string          `json:"signalKind"`
	Origin         string          `json:"origin,omitempty"`
	ContentPreview string          `json:"contentPreview,omitempty"`
	ContentLen     *int64          `json:"contentLen,omitempty"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
}

// ContractCompiled says what "done" means for the run.
type ContractCompiled struct {
	Base
	Requirements []ContractItem `json:"requirements"`
	Deliverables []ContractItem `json:"deliverables"`
	Horizon      string         `json:"horizon,omitempty"`
}

// ContractItem is a requirement or deliverable of a contract.
type ContractItem struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// Assessment is an estimate of the run's progress.
type Assessment struct {
	Base
	Phase                   string   `json:"phase"`
	Band                    string   `json:"band,omitempty"`
	EvidenceDelta           *float64 `json:"evidenceDelta,omitempty"`
	RequirementsSatisfied   *int64   `json:"requirementsSatisfied,omitempty"`
	RequirementsOutstanding *int64   `json:"requirementsOutstanding,omitempty"`
	DeliverablesProduced    *int64   `json:"deliverablesProduced,omitempty"`
	DeliverablesMissing     *int64   `json:"deliverablesMissing,omitempty"`
	BurnRatio               *float64 `json:"burnRatio,omitempty"`
}

// ProjectionRendered says what the next prompt was made of.
type ProjectionRendered struct {
	Base
	Sections    []string `json:"sections"`
	Refs        []string `json:"refs,omitempty"`
	DroppedRefs []string `json:"droppedRefs,omitempty"`
	Chars       *int64   `json:"chars,omitempty"`
}

// ControlResolution says which of several proposals the control took.
type ControlResolution struct {
	Base
	Action    string            `json:"action"`
	Reason    string            `json:"reason,omitempty"`
	Proposals []ControlProposal `json:"proposals,omitempty"`
}

// ControlProposal is one proposal to the control.
type ControlProposal struct {
	Source string `json:"source"`
	Action string `json:"action"`
}

// ErrorRaised is an error of the run that is not one tool call's.
type ErrorRaised struct {
	Base
	// Where names the part that failed, such as "model" or "tool".
	Where   string `json:"where,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	// Attempt counts retries, from 1; 0 when the error is no retry's.
	Attempt int `json:"attempt,omitempty"`
}

// Metric is a number that was counted.
type Metric struct {
	Base
	Name   string            `json:"name"`
	Value  float64           `json:"value"`
	Labels map[string]string `json:"labels,omitempty"`
}

// The metrics of specification 004.
const (
	MetricRationaleMissing      = "rationale_missing"
	MetricPlanRationaleMissing  = "plan_rationale_missing"
	MetricAssumptionUnjustified = "assumption_unjustified"
)

// SafetyApplied says which rule changed which field of which event. It never
// holds the material.
type SafetyApplied struct {
	Base
	Rule     string `json:"rule"`
	Action   string `json:"action"`
	Severity string `json:"severity,omitempty"`
	Field    string `json:"field"`
	// Target is the seq of the event that was changed.
	Target *int64 `json:"target,omitempty"`
	Count  int    `json:"count,omitempty"`
}

// EventKind implements [Event].
func (*LLMExchange) EventKind() Kind            { return KindLLMExchange }
func (*EntropyScored) EventKind() Kind          { return KindEntropyScored }
func (*InterventionDispatched) EventKind() Kind { return KindInterventionDispatched }
func (*InterventionSuppressed) EventKind() Kind { return KindInterventionSuppressed }
func (*StatePatchApplied) EventKind() Kind      { return KindStatePatchApplied }
func (*VerifierVerdict) EventKind() Kind        { return KindVerifierVerdict }
func (*GuardFired) EventKind() Kind             { return KindGuardFired }
func (*HarnessSignalInjected) EventKind() Kind  { return KindHarnessSignalInjected }
func (*ContractCompiled) EventKind() Kind       { return KindContractCompiled }
func (*Assessment) EventKind() Kind             { return KindAssessment }
func (*ProjectionRendered) EventKind() Kind     { return KindProjectionRendered }
func (*ControlResolution) EventKind() Kind      { return KindControlResolution }
func (*ErrorRaised) EventKind() Kind            { return KindErrorRaised }
func (*Metric) EventKind() Kind                 { return KindMetric }
func (*SafetyApplied) EventKind() Kind          { return KindSafetyApplied }
