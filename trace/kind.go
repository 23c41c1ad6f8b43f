package trace

// Kind names what an event says. The names are part of the format.
type Kind string

// The kinds of Reactive Agents (specification 004 and its recordings).
const (
	KindRunStarted             Kind = "run-started"
	KindRunCompleted           Kind = "run-completed"
	KindPhaseEnter             Kind = "phase-enter"
	KindPhaseExit              Kind = "phase-exit"
	KindIterationEnter         Kind = "iteration-enter"
	KindIterationExit          Kind = "iteration-exit"
	KindEntropyScored          Kind = "entropy-scored"
	KindDecisionEvaluated      Kind = "decision-evaluated"
	KindInterventionDispatched Kind = "intervention-dispatched"
	KindInterventionSuppressed Kind = "intervention-suppressed"
	KindStatePatchApplied      Kind = "state-patch-applied"
	KindToolCallStart          Kind = "tool-call-start"
	KindToolCallEnd            Kind = "tool-call-end"
	KindMessageAppended        Kind = "message-appended"
	KindStrategySwitched       Kind = "strategy-switched"
	KindKernelStateSnapshot    Kind = "kernel-state-snapshot"
	KindVerifierVerdict        Kind = "verifier-verdict"
	KindGuardFired             Kind = "guard-fired"
	KindLLMExchange            Kind = "llm-exchange"
	KindHarnessSignalInjected  Kind = "harness-signal-injected"
	KindAssumptionRecorded     Kind = "assumption-recorded"
	KindAlternativesConsidered Kind = "alternatives-considered"
	KindCuratorDecision        Kind = "curator-decision"
	KindToolSurfaceResolved    Kind = "tool-surface-resolved"
	KindContractCompiled       Kind = "contract-compiled"
	KindAssessment             Kind = "assessment"
	KindProjectionRendered     Kind = "projection-rendered"
	KindControlResolution      Kind = "control-resolution"
)

// The kinds that rax adds.
const (
	KindTurnStarted        Kind = "turn-started"
	KindTurnCompleted      Kind = "turn-completed"
	KindReasoningRecorded  Kind = "reasoning-recorded"
	KindRationaleUnmatched Kind = "rationale-unmatched"
	KindApprovalRequested  Kind = "approval-requested"
	KindApprovalResolved   Kind = "approval-resolved"
	KindPolicyDecision     Kind = "policy-decision"
	KindErrorRaised        Kind = "error-raised"
	KindMetric             Kind = "metric"
	KindSafetyApplied      Kind = "safety-applied"
	KindCritiqueRecorded   Kind = "critique-recorded"
	KindSubproblemOpened   Kind = "subproblem-opened"
	KindSubproblemClosed   Kind = "subproblem-closed"
)

// aliasToolCallStarted is how specification 004 spells tool-call-start in its
// table; readers take it, rax never writes it.
const aliasToolCallStarted Kind = "ToolCallStarted"

// canonical resolves an alias.
func (k Kind) canonical() Kind {
	if k == aliasToolCallStarted {
		return KindToolCallStart
	}
	return k
}
