//go:build !noreasoning

package strategy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// Decompose takes a problem apart, solves the parts as sub-runs, several at
// once, and puts their answers together (reason.decompose of specification 003).
// A part that is not solved is named in the synthesis and in the output.
type Decompose struct {
	// MaxDepth is how deep problems are taken apart, at least 1: the parts of
	// the last level are solved as they are.
	MaxDepth int
	// Parallel bounds the sub-runs that work at once, in the whole tree; 0 is
	// the limit of the run. One that waits for its own parts does not count.
	Parallel int
	// MaxParts bounds the parts of one problem; 0 is DefaultMaxParts.
	MaxParts int
	// Solver solves what is not taken apart further; nil is Cot.
	Solver kernel.Strategy

	// gate holds one slot for each sub-run that works; all of a tree share it.
	gate chan struct{}
	// depth counts the levels above.
	depth int
}

// Name implements [kernel.Strategy].
func (Decompose) Name() string { return "decompose" }

// The bounds of Decompose: a tree has at most maxParts^maxTreeDepth leaves.
const (
	maxTreeDepth = 5
	maxParts     = 32
)

func (s Decompose) check() error {
	switch {
	case s.MaxDepth < 1 || s.MaxDepth > maxTreeDepth:
		return &OptionError{"decompose", "max_depth", fmt.Sprintf("must be from 1 to %d", maxTreeDepth)}
	case s.Parallel < 0:
		return &OptionError{"decompose", "parallel", "must not be negative"}
	case s.MaxParts < 0 || s.MaxParts > maxParts:
		return &OptionError{"decompose", "max_parts", fmt.Sprintf("must be from 0 to %d", maxParts)}
	}
	return nil
}

// DecomposeOutput is the result of decompose.
type DecomposeOutput struct {
	FinalAnswer json.RawMessage `json:"final_answer"`
	// Subproblems are in the order in which the model named them; none when it
	// found nothing to take apart.
	Subproblems []Subproblem `json:"subproblems"`
}

// Subproblem is one part of a problem and what came of it.
type Subproblem struct {
	ID      string `json:"id"`
	Problem string `json:"problem"`
	RunID   string `json:"run_id"`
	Answer  string `json:"answer,omitempty"`
	// Error says why the part was not solved; empty when it was.
	Error string `json:"error,omitempty"`
}

const splitPrompt = `Take the problem apart into sub-problems that can be solved independently of each other, each stated so completely that it can be solved without the others and without the whole. Do not solve them.
Answer with one JSON object and nothing else, with at most %d sub-problems:
{"subproblems":[{"problem":"…"}]}
If nothing is won by taking it apart, answer {"subproblems":[]}.`

const synthesisPrompt = `The problem was taken apart, and its sub-problems were worked on by others. Put their answers together into the answer to the whole problem. Use nothing else. Where a sub-problem was not solved, say plainly what is missing because of it.`

const splitSchema = `{"type":"object","properties":{"subproblems":{"type":"array","items":{"type":"object","properties":{"problem":{"type":"string"}},"required":["problem"],"additionalProperties":false}}},"required":["subproblems"],"additionalProperties":false}`

// Run implements [kernel.Strategy]. The Detail of its outcome is a
// [ReasoningTrace] with a [DecomposeOutput].
func (s Decompose) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	err := start(loop, "decompose", "problem", s.check())
	if err == nil && loop.Depth()+s.MaxDepth-s.depth >= loop.Limits().Depth {
		err = &OptionError{"decompose", "max_depth", fmt.Sprintf("is deeper than sub-runs may nest here, which is %d", loop.Limits().Depth-1)}
	}
	if err != nil {
		return misconfigured(err)
	}
	s = s.withDefaults(loop)
	outcome, ok, err := loop.Begin(ctx)
	if err != nil || !ok {
		return outcome, err
	}
	parts, t, err := s.split(ctx, loop)
	detail := ReasoningTrace{Technique: "decompose", Steps: 1}
	var bad *OutputError
	switch {
	case errors.As(err, &bad):
		return unreadable(loop, t, bad, detail)
	case err != nil:
		return kernel.Outcome{}, err
	case t.Refused:
		return refused(t), nil
	case len(parts) == 0:
		if err := loop.Done(ctx); err != nil {
			return kernel.Outcome{}, err
		}
		return s.whole(ctx, loop, detail)
	}
	err = decided(loop, "decompose", fmt.Sprintf("the model names %d sub-problems; level %d of at most %d", len(parts), s.depth+1, s.MaxDepth))
	if err != nil {
		return kernel.Outcome{}, err
	}
	solved, err := s.solve(ctx, loop, parts)
	detail.Result = DecomposeOutput{Subproblems: solved}
	if err != nil {
		return kernel.Outcome{Detail: detail}, err
	}
	return s.synthesise(ctx, loop, solved, detail)
}

func (s Decompose) withDefaults(loop *kernel.Loop) Decompose {
	if s.Parallel == 0 {
		s.Parallel = loop.Limits().Parallel
	}
	if s.MaxParts == 0 {
		s.MaxParts = DefaultMaxParts
	}
	if s.Solver == nil {
		s.Solver = Cot{}
	}
	if s.gate == nil {
		s.gate = make(chan struct{}, s.Parallel)
	}
	return s
}

// slot waits for leave to work. The returned function gives the slot back.
func (s Decompose) slot(ctx context.Context) (func(), error) {
	select {
	case s.gate <- struct{}{}:
		return func() { <-s.gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask is Think with a slot.
func (s Decompose) ask(ctx context.Context, loop *kernel.Loop, ask kernel.Ask) (kernel.Thought, error) {
	release, err := s.slot(ctx)
	if err != nil {
		return kernel.Thought{}, err
	}
	defer release()
	return loop.Think(ctx, ask)
}

// split asks for the sub-problems.
func (s Decompose) split(ctx context.Context, loop *kernel.Loop) ([]string, kernel.Thought, error) {
	t, err := s.ask(ctx, loop, kernel.Ask{
		System: fmt.Sprintf(splitPrompt, s.MaxParts), NoTools: true, Quiet: true,
		Schema: &provider.Schema{Name: "subproblems", Schema: json.RawMessage(splitSchema)},
	})
	if err != nil || t.Refused {
		return nil, t, err
	}
	parts, how, err := parseSubproblems(t.Raw, s.MaxParts)
	if err == nil {
		err = parsed(loop, "decompose", how, false)
	}
	return parts, t, err
}

// whole solves a problem that is not taken apart, in the same run.
func (s Decompose) whole(ctx context.Context, loop *kernel.Loop, detail ReasoningTrace) (kernel.Outcome, error) {
	outcome, err := limited{s}.Run(ctx, loop)
	detail.Steps++
	result := DecomposeOutput{Subproblems: []Subproblem{}}
	if err == nil && !outcome.Failed {
		result.FinalAnswer = quoted(outcome.Output)
	}
	detail.Result = result
	outcome.Detail = detail
	return outcome, err
}

// limited runs the solver of a leaf with a slot.
type limited struct{ s Decompose }

func (l limited) Name() string { return l.s.Solver.Name() }

func (l limited) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	release, err := l.s.slot(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	defer release()
	return l.s.Solver.Run(ctx, loop)
}

// solve runs the parts as sub-runs. They are opened, and closed, in the order of
// the parts, so that the trace says the same whichever ends first.
func (s Decompose) solve(ctx context.Context, loop *kernel.Loop, parts []string) ([]Subproblem, error) {
	var below kernel.Strategy = limited{s}
	if s.depth+1 < s.MaxDepth {
		deeper := s
		deeper.depth++
		below = deeper
	}
	solved := make([]Subproblem, len(parts))
	subs := make([]*kernel.SubRun, len(parts))
	results := make([]kernel.Result, len(parts))
	errs := make([]error, len(parts))
	ended := make([]chan struct{}, len(parts))
	for i, problem := range parts {
		solved[i] = Subproblem{ID: fmt.Sprint(i + 1), Problem: problem}
		if err := loop.Record(&trace.SubproblemOpened{Subproblem: solved[i].ID, Problem: problem}); err != nil {
			return solved, err
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	var opened error
	for i, problem := range parts {
		if subs[i], opened = loop.Open(problem, func(c *kernel.Config) { c.Strategy = below }); opened != nil {
			break
		}
		solved[i].RunID = subs[i].ID()
	}
	for i, sub := range subs {
		if ended[i] = make(chan struct{}); sub == nil {
			errs[i] = opened
			close(ended[i])
			continue
		}
		all.Go(func() {
			defer close(ended[i])
			results[i], errs[i] = sub.Run(ctx)
		})
	}
	for i := range solved {
		<-ended[i]
		if err := s.closed(loop, &solved[i], results[i], errs[i]); err != nil {
			return solved, err
		}
	}
	return solved, ctx.Err()
}

// closed writes what came of a part.
func (s Decompose) closed(loop *kernel.Loop, part *Subproblem, res kernel.Result, err error) error {
	ev := &trace.SubproblemClosed{Subproblem: part.ID, OK: new(err == nil && !res.Failed)}
	switch {
	case err != nil:
		line, _, _ := strings.Cut(err.Error(), "\n")
		part.Error = short(line)
	case res.Failed:
		part.Error = "the sub-run ended by " + res.Reason
	default:
		part.Answer = res.Output
	}
	ev.Error, ev.Answer = part.Error, part.Answer
	return loop.Record(ev)
}

// synthesise puts the answers together. What was not solved stands in the
// request, and in the output whatever the model says.
func (s Decompose) synthesise(ctx context.Context, loop *kernel.Loop, solved []Subproblem, detail ReasoningTrace) (kernel.Outcome, error) {
	var request, missing strings.Builder
	unsolved := 0
	for _, p := range solved {
		fmt.Fprintf(&request, "Sub-problem %s: %s\n", p.ID, p.Problem)
		if p.Error == "" {
			fmt.Fprintf(&request, "Answer: %s\n\n", p.Answer)
			continue
		}
		unsolved++
		fmt.Fprintf(&request, "NOT SOLVED: %s\n\n", p.Error)
		fmt.Fprintf(&missing, "\n- %s: %s (%s)", p.ID, p.Problem, p.Error)
	}
	note := ""
	if unsolved > 0 {
		note = fmt.Sprintf("Not solved, %d of %d sub-problems:%s", unsolved, len(solved), missing.String())
	}
	if unsolved == len(solved) {
		return kernel.Outcome{
			Output: note, Reason: ReasonUnsolved, Failed: true, Detail: detail,
			Why: fmt.Sprintf("none of %d sub-problems was solved", len(solved)),
		}, loop.Done(ctx)
	}
	t, err := s.ask(ctx, loop, kernel.Ask{System: synthesisPrompt, NoTools: true, Extra: userMessage(strings.TrimSpace(request.String()))})
	if err != nil {
		return kernel.Outcome{Detail: detail}, err
	}
	detail.Steps++
	switch {
	case t.Refused:
		return refused(t), nil
	case t.Text == "":
		return unreadable(loop, t, &OutputError{"decompose", "the synthesis is empty", t.Raw}, detail)
	}
	detail.Result = DecomposeOutput{FinalAnswer: quoted(t.Text), Subproblems: solved}
	outcome := kernel.Outcome{Output: t.Text, Reason: kernel.ReasonFinalAnswer, Detail: detail}
	if unsolved > 0 {
		outcome.Output += "\n\n" + note
		outcome.Why = fmt.Sprintf("%d of %d sub-problems were not solved", unsolved, len(solved))
	}
	return outcome, loop.Done(ctx)
}
