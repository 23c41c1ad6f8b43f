package trace

import (
	"encoding/json"

	"github.com/rax-project/rax/rationale"
)

// ToolCallStart says that the model decided to call a tool, and why if it said
// so (specification 004).
type ToolCallStart struct {
	Base
	ToolName string `json:"toolName"`
	// ProviderCallID is the id that the provider gave the call.
	ProviderCallID string `json:"providerCallId,omitempty"`
	// ParallelGroup numbers, from 0 within a turn, the calls of one model
	// message that were made together; absent for a call made alone.
	ParallelGroup *int `json:"parallelGroup,omitempty"`
	// RationaleStatus is empty where whoever wrote the trace knew no statuses.
	RationaleStatus rationale.Status     `json:"rationaleStatus,omitempty"`
	RationaleSource rationale.Source     `json:"rationaleSource,omitempty"`
	RationaleReason string               `json:"rationaleReason,omitempty"`
	Rationale       *rationale.Rationale `json:"rationale,omitempty"`
	// Origin points at the characters that Rationale.Why was read from.
	Origin *rationale.Origin `json:"origin,omitempty"`
	// Narrative is text of the same message beside the call. It was not stated
	// as the reason of this call and is never shown as one.
	Narrative       string            `json:"narrative,omitempty"`
	NarrativeOrigin *rationale.Origin `json:"narrativeOrigin,omitempty"`
	// NarrativeScope is "call", or "group" when the text stands beside several
	// parallel calls.
	NarrativeScope string `json:"narrativeScope,omitempty"`
	// NarrativeCut says that Narrative holds only the first characters.
	NarrativeCut bool `json:"narrativeCut,omitempty"`
	// Withheld says that the provider hid the thinking of this message.
	Withheld bool            `json:"withheld,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
}

// ToolCallEnd says what the call did.
type ToolCallEnd struct {
	Base
	ToolName string `json:"toolName"`
	// OK is absent where the transcript does not say whether the call succeeded.
	OK         *bool    `json:"ok,omitempty"`
	DurationMs *float64 `json:"durationMs,omitempty"`
	Error      string   `json:"error,omitempty"`
	// Outcome is the tool's own one-line summary of its result.
	Outcome string `json:"outcome,omitempty"`
	// Rejected says that a person or a policy refused the call.
	Rejected        bool            `json:"rejected,omitempty"`
	ResultTruncated bool            `json:"resultTruncated,omitempty"`
	Args            json.RawMessage `json:"args,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
}

// ApprovalRequested says that a call waits for a person.
type ApprovalRequested struct {
	Base
	ToolName  string `json:"toolName"`
	RequestID string `json:"requestId"`
	Message   string `json:"message,omitempty"`
}

// ApprovalResolved says how a person decided: "approved" or "denied".
type ApprovalResolved struct {
	Base
	ToolName  string `json:"toolName"`
	RequestID string `json:"requestId,omitempty"`
	Decision  string `json:"decision"`
	By        string `json:"by,omitempty"`
}

// PolicyDecision says what a policy decided about a call: "allow", "ask",
// "deny" or "quarantine".
type PolicyDecision struct {
	Base
	ToolName   string `json:"toolName"`
	DecisionID string `json:"decisionId,omitempty"`
	Decision   string `json:"decision"`
	ReasonCode string `json:"reasonCode,omitempty"`
	Message    string `json:"message,omitempty"`
}

// ToolSurfaceResolved says which tools the model could see and call.
type ToolSurfaceResolved struct {
	Base
	Visible  []string          `json:"visible"`
	Callable []string          `json:"callable"`
	Reasons  []ToolSurfaceNote `json:"reasons,omitempty"`
}

// ToolSurfaceNote says why a tool was visible or hidden.
type ToolSurfaceNote struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// EventKind implements [Event].
func (*ToolCallStart) EventKind() Kind       { return KindToolCallStart }
func (*ToolCallEnd) EventKind() Kind         { return KindToolCallEnd }
func (*ApprovalRequested) EventKind() Kind   { return KindApprovalRequested }
func (*ApprovalResolved) EventKind() Kind    { return KindApprovalResolved }
func (*PolicyDecision) EventKind() Kind      { return KindPolicyDecision }
func (*ToolSurfaceResolved) EventKind() Kind { return KindToolSurfaceResolved }
