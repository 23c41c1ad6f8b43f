package kernel

import "context"

// Strategy decides how a run goes on: what is asked of the model, and what is
// done with the answer. kernel/strategy has those that rax uses.
type Strategy interface {
	Name() string
	// Run works on the task until it ends. It ends by giving an Outcome, or by
	// an error of the loop, which it passes on.
	Run(ctx context.Context, loop *Loop) (Outcome, error)
}

// Outcome is how a strategy ended.
type Outcome struct {
	// Output is the answer for the user.
	Output string
	// Reason says by what the run ended, such as "final_answer".
	Reason string
	// Why is the reason behind an opaque Reason, in the kernel's words; empty
	// where Reason says it all.
	Why string
	// Failed says that the task was not done.
	Failed bool
	// Detail is what the strategy gives beside the output, such as the
	// ReasoningTrace of a technique; it must encode as JSON. Nil for nothing.
	Detail any
	// Err says why a failed run failed, for whoever called Run; nil where Reason
	// says it all. It holds what the trace must not, such as a raw answer.
	Err error
	// Switch asks the loop to go on by its fallback strategy, for the reason in
	// Why.
	Switch bool
}

// The reasons of an Outcome.
const (
	ReasonFinalAnswer   = "final_answer"
	ReasonMaxIterations = "max_iterations"
	ReasonTokenBudget   = "token_budget"
	ReasonRefused       = "model_refused"
	ReasonEarlyStop     = "early_stop"
	ReasonInterrupted   = "interrupted"
	ReasonModelError    = "model_error"
	ReasonTraceError    = "trace_error"
	ReasonPlanFailed    = "plan_failed"
)
