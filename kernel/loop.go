package kernel

import (
	"context"

	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Loop is what a strategy works with: it opens iterations, asks the model, runs
// calls, and closes iterations. Everything that happens is in the trace before
// the method returns.
type Loop struct {
	run      *run
	task     string
	switched bool
}

// Task is the goal of the run.
func (l *Loop) Task() string { return l.task }

// Limits bound the run.
func (l *Loop) Limits() Limits { return l.run.cfg.Limits }

// Iteration is the number of the open iteration, 0 before the first.
func (l *Loop) Iteration() int { return l.run.iter }

// HasTools reports whether the model has anything to call.
func (l *Loop) HasTools() bool { return len(l.run.specs()) > 0 }

// Begin opens an iteration. It reports false, with the outcome, when the run
// may have no more of them.
func (l *Loop) Begin(ctx context.Context) (Outcome, bool, error) {
	r := l.run
	if err := ctx.Err(); err != nil {
		return Outcome{}, false, err
	}
	if r.iter >= r.cfg.Limits.Iterations {
		return Outcome{
			Output: r.plain, Reason: ReasonMaxIterations, Failed: true,
			Why: limitWhy("iterations", int64(r.iter), int64(r.cfg.Limits.Iterations)),
		}, false, nil
	}
	if budget := r.cfg.Limits.Tokens; budget > 0 && r.tokens.Load() >= budget {
		return Outcome{
			Output: r.plain, Reason: ReasonTokenBudget, Failed: true,
			Why: limitWhy("tokens", r.tokens.Load(), budget),
		}, false, nil
	}
	r.iter++
	r.open = true
	return Outcome{}, true, r.note(&trace.IterationEnter{})
}

// End closes the iteration and lets the reactive control look at the run. It
// reports true, with the outcome, when the control ends the run or switches its
// strategy.
func (l *Loop) End(ctx context.Context) (Outcome, bool, error) {
	r := l.run
	if err := r.closeIteration(); err != nil {
		return Outcome{}, false, err
	}
	if err := r.snapshot("thinking", nil); err != nil {
		return Outcome{}, false, err
	}
	reaction, ok := control.React(r.facts(!l.switched && r.cfg.Fallback != nil))
	if !ok {
		return Outcome{}, false, ctx.Err()
	}
	err := r.note(&trace.DecisionEvaluated{
		DecisionType: string(reaction.Type), Reason: reaction.Why,
		Rationale: &rationale.Rationale{Why: reaction.Why},
	})
	if err != nil {
		return Outcome{}, false, err
	}
	outcome, ends, err := l.react(reaction)
	if err == nil {
		err = ctx.Err()
	}
	return outcome, ends, err
}

// Done closes the iteration without a look of the control, for strategies whose
// iterations make no calls: to the control they would all look stale.
func (l *Loop) Done(ctx context.Context) error {
	if err := l.run.closeIteration(); err != nil {
		return err
	}
	return ctx.Err()
}

// Record writes events of the strategy's own into the trace. Of their common
// fields only CallID is taken.
func (l *Loop) Record(events ...trace.Event) error { return l.run.note(events...) }

// react does what the control decided.
func (l *Loop) react(reaction control.Reaction) (Outcome, bool, error) {
	r := l.run
	dispatched := &trace.InterventionDispatched{DecisionType: string(reaction.Type), PatchKind: string(reaction.Type)}
	if err := r.note(dispatched); err != nil {
		return Outcome{}, false, err
	}
	switch reaction.Type {
	case control.EarlyStop:
		return Outcome{Output: r.plain, Reason: ReasonEarlyStop, Why: reaction.Why, Failed: true}, true, nil
	case control.SwitchStrategy:
		return Outcome{Output: r.plain, Switch: true, Why: reaction.Why}, true, nil
	case control.Compress:
		return Outcome{}, false, r.compress()
	default:
		return Outcome{}, false, l.Note(string(reaction.Type), reaction.Note)
	}
}

// Note tells the model something that is the harness's own.
func (l *Loop) Note(kind, text string) error {
	if text == "" {
		return nil
	}
	l.run.log.Note(text)
	return l.run.note(&trace.HarnessSignalInjected{
		SignalKind: kind, Origin: "kernel", ContentPreview: text, ContentLen: new(int64(len(text))),
	})
}
