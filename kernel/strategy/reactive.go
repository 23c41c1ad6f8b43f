package strategy

import (
	"context"

	"github.com/rax-project/rax/kernel"
)

// Reactive asks the model, makes the calls it decides on, and goes on until it
// answers without calling anything.
type Reactive struct{}

// Name implements [kernel.Strategy].
func (Reactive) Name() string { return "reactive" }

// Run implements [kernel.Strategy].
func (Reactive) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	for {
		outcome, ok, err := loop.Begin(ctx)
		if err != nil || !ok {
			return outcome, err
		}
		thought, err := loop.Think(ctx, kernel.Ask{})
		if err != nil {
			return kernel.Outcome{}, err
		}
		if thought.Refused {
			return kernel.Outcome{Output: thought.Text, Reason: kernel.ReasonRefused, Failed: true}, nil
		}
		if len(thought.Calls) == 0 {
			return kernel.Outcome{Output: thought.Text, Reason: kernel.ReasonFinalAnswer}, nil
		}
		if _, err := loop.Act(ctx, thought.Calls); err != nil {
			return kernel.Outcome{}, err
		}
		if outcome, ends, err := loop.End(ctx); err != nil || ends {
			return outcome, err
		}
	}
}
