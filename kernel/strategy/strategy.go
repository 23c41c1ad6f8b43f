// Package strategy holds the ways in which a run can work on its task. The
// loop of package kernel never imports them; they are handed in.
//
// [Reactive] and [PlanExecuteReflect] are those of specification 004. The
// techniques are those of specification 003: [Cot], [React], [SelfCorrect] and
// [Decompose]. The build tag noreasoning leaves them out.
package strategy

import (
	"fmt"
	"slices"

	"github.com/rax-project/rax/kernel"
)

// Options are the settings of the techniques, by their names in specification
// 003. A strategy takes those that are its own; the zero Options are the
// defaults.
type Options struct {
	// ThinkingFormat is step_by_step, pros_cons, tree or first_principles; of
	// cot, and of the solvers of decompose.
	ThinkingFormat ThinkingFormat
	// FewShot are worked examples that cot shows the model.
	FewShot []Example
	// MaxSteps bounds the turns of react; nil is DefaultMaxSteps, 0 is an error.
	MaxSteps *int
	// Rounds bounds the critiques of self-correct; nil is DefaultRounds.
	Rounds *int
	// Critic criticises in self-correct; nil for the run's own model.
	Critic kernel.Model
	// CriticPrompt makes the request to the critic of self-correct out of the
	// newest output; nil for the prompt of rax.
	CriticPrompt func(output string) (string, error)
	// MaxDepth bounds how often decompose takes a part apart again; nil is
	// DefaultMaxDepth.
	MaxDepth *int
	// Parallel bounds how many sub-problems of decompose are worked on at once,
	// in the whole tree; 0 is the limit of the run.
	Parallel int
	// MaxParts bounds the sub-problems of one problem; 0 is DefaultMaxParts.
	MaxParts int
}

// ThinkingFormat says in which form the model is asked to think.
type ThinkingFormat string

// The formats of specification 003.
const (
	StepByStep      ThinkingFormat = "step_by_step"
	ProsCons        ThinkingFormat = "pros_cons"
	Tree            ThinkingFormat = "tree"
	FirstPrinciples ThinkingFormat = "first_principles"
)

// Example is a worked example for the model.
type Example struct {
	Problem  string `json:"problem"`
	Thinking string `json:"thinking"`
	Answer   any    `json:"answer"`
}

// The defaults of Options.
const (
	DefaultMaxSteps = 10
	DefaultRounds   = 2
	DefaultMaxDepth = 1
	DefaultMaxParts = 8
)

// The reasons by which a run of a technique can end, beside those of the kernel.
const (
	// ReasonMaxSteps: react took all its steps without finishing.
	ReasonMaxSteps = "max_steps"
	// ReasonUnreadable: the model's answer cannot be read; see [OutputError].
	ReasonUnreadable = "unreadable_output"
	// ReasonOptions: the strategy cannot work as it was configured.
	ReasonOptions = "bad_options"
	// ReasonUnsolved: no part of a decomposed problem was solved.
	ReasonUnsolved = "unsolved"
)

// Names lists the strategies that [New] makes.
func Names() []string {
	return slices.Concat([]string{"reactive", "plan-execute-reflect"}, techniques())
}

// New makes a strategy by its name. Options that it cannot work with are an
// error, before any model is asked.
func New(name string, opt ...Options) (kernel.Strategy, error) {
	var o Options
	if len(opt) > 0 {
		o = opt[0]
	}
	switch name {
	case "reactive", "":
		return Reactive{}, nil
	case "plan-execute-reflect":
		return PlanExecuteReflect{}, nil
	case "cot", "react", "self-correct", "decompose":
		return newTechnique(name, o)
	}
	return nil, fmt.Errorf("unknown strategy %q", name)
}
