// Package strategy holds the ways in which a run can work on its task. The
// loop of package kernel never imports them; they are handed in.
package strategy

import (
	"context"
	"fmt"
	"slices"

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

// names of the strategies, in the order in which they are listed.
var names = []string{"reactive", "plan-execute-reflect"}

// Names lists the strategies that [New] makes.
func Names() []string { return slices.Clone(names) }

// New makes a strategy by its name.
func New(name string) (kernel.Strategy, error) {
	switch name {
	case "reactive", "":
		return Reactive{}, nil
	case "plan-execute-reflect":
		return PlanExecuteReflect{}, nil
	}
	return nil, fmt.Errorf("unknown strategy %q", name)
}
