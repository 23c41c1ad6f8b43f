package trace

import "sync"

// registry ties each kind to its Go type, in the order of the documentation. It
// is the only such list: decoder, schema and tests walk it.
var registry = [...]struct {
	kind Kind
	make func() Event
}{
	{KindRunStarted, func() Event { return new(RunStarted) }},
	{KindRunCompleted, func() Event { return new(RunCompleted) }},
	{KindPhaseEnter, func() Event { return new(PhaseEnter) }},
	{KindPhaseExit, func() Event { return new(PhaseExit) }},
	{KindIterationEnter, func() Event { return new(IterationEnter) }},
	{KindIterationExit, func() Event { return new(IterationExit) }},
	{KindEntropyScored, func() Event { return new(EntropyScored) }},
	{KindDecisionEvaluated, func() Event { return new(DecisionEvaluated) }},
	{KindInterventionDispatched, func() Event { return new(InterventionDispatched) }},
	{KindInterventionSuppressed, func() Event { return new(InterventionSuppressed) }},
	{KindStatePatchApplied, func() Event { return new(StatePatchApplied) }},
	{KindToolCallStart, func() Event { return new(ToolCallStart) }},
	{KindToolCallEnd, func() Event { return new(ToolCallEnd) }},
	{KindMessageAppended, func() Event { return new(MessageAppended) }},
	{KindStrategySwitched, func() Event { return new(StrategySwitched) }},
	{KindKernelStateSnapshot, func() Event { return new(KernelStateSnapshot) }},
	{KindVerifierVerdict, func() Event { return new(VerifierVerdict) }},
	{KindGuardFired, func() Event { return new(GuardFired) }},
	{KindLLMExchange, func() Event { return new(LLMExchange) }},
	{KindHarnessSignalInjected, func() Event { return new(HarnessSignalInjected) }},
	{KindAssumptionRecorded, func() Event { return new(AssumptionRecorded) }},
	{KindAlternativesConsidered, func() Event { return new(AlternativesConsidered) }},
	{KindCuratorDecision, func() Event { return new(CuratorDecision) }},
	{KindToolSurfaceResolved, func() Event { return new(ToolSurfaceResolved) }},
	{KindContractCompiled, func() Event { return new(ContractCompiled) }},
	{KindAssessment, func() Event { return new(Assessment) }},
	{KindProjectionRendered, func() Event { return new(ProjectionRendered) }},
	{KindControlResolution, func() Event { return new(ControlResolution) }},
	{KindTurnStarted, func() Event { return new(TurnStarted) }},
	{KindTurnCompleted, func() Event { return new(TurnCompleted) }},
	{KindReasoningRecorded, func() Event { return new(ReasoningRecorded) }},
	{KindRationaleUnmatched, func() Event { return new(RationaleUnmatched) }},
	{KindApprovalRequested, func() Event { return new(ApprovalRequested) }},
	{KindApprovalResolved, func() Event { return new(ApprovalResolved) }},
	{KindPolicyDecision, func() Event { return new(PolicyDecision) }},
	{KindErrorRaised, func() Event { return new(ErrorRaised) }},
	{KindMetric, func() Event { return new(Metric) }},
	{KindSafetyApplied, func() Event { return new(SafetyApplied) }},
	{KindCritiqueRecorded, func() Event { return new(CritiqueRecorded) }},
	{KindSubproblemOpened, func() Event { return new(SubproblemOpened) }},
	{KindSubproblemClosed, func() Event { return new(SubproblemClosed) }},
}

// makers looks a kind up in the registry.
var makers = sync.OnceValue(func() map[Kind]func() Event {
	m := make(map[Kind]func() Event, len(registry))
	for _, r := range registry {
		m[r.kind] = r.make
	}
	return m
})

// Kinds lists every kind that this version knows.
func Kinds() []Kind {
	kinds := make([]Kind, len(registry))
	for i, r := range registry {
		kinds[i] = r.kind
	}
	return kinds
}

// New makes an empty event of a kind; of a kind that this version does not
// know, an [*Unknown]. Its Iter is NoIter.
func New(k Kind) Event {
	var e Event = &Unknown{Kind: k}
	if make, ok := makers()[k.canonical()]; ok {
		e = make()
	}
	e.Common().Iter = NoIter
	return e
}
