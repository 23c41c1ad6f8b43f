//go:build !noreasoning

package strategy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

func techniques() []string { return []string{"cot", "react", "self-correct", "decompose"} }

func newTechnique(name string, o Options) (kernel.Strategy, error) {
	value := func(p *int, otherwise int) int {
		if p == nil {
			return otherwise
		}
		return *p
	}
	cot := Cot{Format: o.ThinkingFormat, FewShot: o.FewShot}
	switch name {
	case "cot":
		return cot, cot.check()
	case "react":
		s := React{MaxSteps: value(o.MaxSteps, DefaultMaxSteps)}
		return s, s.check()
	case "self-correct":
		s := SelfCorrect{Rounds: value(o.Rounds, DefaultRounds), Critic: o.Critic, CriticPrompt: o.CriticPrompt}
		return s, s.check()
	default:
		s := Decompose{
			MaxDepth: value(o.MaxDepth, DefaultMaxDepth), Parallel: o.Parallel, MaxParts: o.MaxParts, Solver: cot,
		}
		return s, errors.Join(s.check(), cot.check())
	}
}

// ReasoningTrace is what a technique gives beside its output: the Detail of its
// outcome. It is small however long the run was. What the run did step by step
// is in the trace, written as it happened; [ReactSteps] reads it back one step
// at a time, [ReadReactTrace] as the whole of specification 003.
type ReasoningTrace struct {
	Technique string `json:"technique"`
	// Steps counts the turns of the model in the run itself.
	Steps int `json:"steps"`
	// Result is a [CotOutput], [ReactOutput], [SelfCorrectOutput] or
	// [DecomposeOutput].
	Result any `json:"result"`
}

// OutputError says that an answer of the model cannot be read in any of the
// forms that were asked for. Nothing was guessed in its place.
type OutputError struct {
	Technique string
	Reason    string
	// Raw is the whole answer, as the trace holds it. It is not in the message.
	Raw string
}

func (e *OutputError) Error() string { return e.Technique + ": unreadable answer: " + e.Reason }

// OptionError says that a technique cannot work as it was configured.
type OptionError struct {
	Technique string
	// Option is its name in specification 003.
	Option string
	Reason string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %s %s", e.Technique, e.Option, e.Reason)
}

// start checks, before any model is asked, what a technique needs. input is the
// name of its task in specification 003.
func start(loop *kernel.Loop, technique, input string, err error) error {
	if err == nil && strings.TrimSpace(loop.Task()) == "" {
		err = &OptionError{technique, input, "is empty"}
	}
	return err
}

// misconfigured ends a run that cannot begin.
func misconfigured(err error) (kernel.Outcome, error) {
	return kernel.Outcome{Reason: ReasonOptions, Why: short(err.Error()), Failed: true, Err: err}, nil
}

// unreadable ends a run whose answer cannot be read. The answer stays the output,
// for whoever looks for the fault.
func unreadable(loop *kernel.Loop, t kernel.Thought, err *OutputError, detail ReasoningTrace) (kernel.Outcome, error) {
	rerr := loop.Record(&trace.ErrorRaised{Where: err.Technique, Code: ReasonUnreadable, Message: err.Reason})
	return kernel.Outcome{
		Output: t.Raw, Reason: ReasonUnreadable, Why: short(err.Reason), Failed: true, Err: err, Detail: detail,
	}, rerr
}

// parsed counts how an answer was read.
func parsed(loop *kernel.Loop, technique string, how Reading, repaired bool) error {
	labels := map[string]string{"technique": technique, "reading": string(how)}
	if repaired {
		labels["repaired"] = "true"
	}
	return loop.Record(&trace.Metric{Name: MetricOutputRead, Value: 1, Labels: labels})
}

// MetricOutputRead counts the answers of techniques that were read, by the
// reading that served: json, markdown or delimiters.
const MetricOutputRead = "output_read"

// decided records a step that the technique itself decided on, with its reason,
// which is the kernel's and no model's.
func decided(loop *kernel.Loop, what, why string) error {
	return loop.Record(&trace.DecisionEvaluated{
		DecisionType: "branch", Reason: what, Rationale: &rationale.Rationale{Why: short(why)},
	})
}

// short cuts a reason of the kernel to what a rationale may hold.
func short(s string) string {
	r := []rune(s)
	return string(r[:min(len(r), 280)])
}

// refused ends a run whose model refused to answer.
func refused(t kernel.Thought) kernel.Outcome {
	return kernel.Outcome{Output: t.Text, Reason: kernel.ReasonRefused, Failed: true}
}
