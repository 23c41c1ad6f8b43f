package strategy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers/plan"
	"github.com/rax-project/rax/parsers/provider"
)

// PlanExecuteReflect makes a plan with a reason for every call in it, executes
// the plan, and looks at what came of it, as often as the limit allows
// (specification 004).
type PlanExecuteReflect struct{}

// Name implements [kernel.Strategy].
func (PlanExecuteReflect) Name() string { return "plan-execute-reflect" }

const planPrompt = `Make a plan for the task: the steps in order, as one JSON object of this shape and nothing else:
{"steps":[{"title":"…","type":"tool_call","toolName":"…","toolArgs":{…},"rationale":{"why":"…","confidence":0.9}},{"title":"…","type":"analysis"}]}
- type is tool_call or analysis. A tool_call names a tool of the list and gives its arguments.
- rationale is MANDATORY on every tool_call: why is your actual reason for that call in one sentence of at most 280 characters; confidence is a number from 0 to 1 and can be left out.
The tools:
`

const reflectPrompt = `Look at the results above. If the task is done, answer the user. If it is not, answer with the single line REPLAN: and what is missing.`

// Run implements [kernel.Strategy].
func (s PlanExecuteReflect) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	for replans := 0; ; replans++ {
		outcome, ok, err := loop.Begin(ctx)
		if err != nil || !ok {
			return outcome, err
		}
		made, err := s.plan(ctx, loop)
		var unreadable *plan.Error
		switch {
		case errors.As(err, &unreadable):
			return kernel.Outcome{Reason: kernel.ReasonPlanFailed, Why: unreadable.Error(), Failed: true}, nil
		case err != nil:
			return kernel.Outcome{}, err
		}
		if outcome, done, err := s.execute(ctx, loop, made); err != nil || done {
			return outcome, err
		}
		reflection, err := loop.Think(ctx, kernel.Ask{System: reflectPrompt, NoTools: true})
		if err != nil {
			return kernel.Outcome{}, err
		}
		missing, again := strings.CutPrefix(strings.TrimSpace(reflection.Text), "REPLAN:")
		switch {
		case reflection.Refused:
			return kernel.Outcome{Output: reflection.Text, Reason: kernel.ReasonRefused, Failed: true}, nil
		case !again:
			return kernel.Outcome{Output: reflection.Text, Reason: kernel.ReasonFinalAnswer}, nil
		case replans >= loop.Limits().Replans:
			return kernel.Outcome{
				Output: strings.TrimSpace(missing), Reason: "replan_limit", Failed: true,
				Why: fmt.Sprintf("the plan was made %d times and the reflection still asks for another", replans+1),
			}, nil
		}
		if outcome, ends, err := loop.End(ctx); err != nil || ends {
			return outcome, err
		}
		if err := loop.Note("replan", "Make a new plan for what is missing: "+strings.TrimSpace(missing)); err != nil {
			return kernel.Outcome{}, err
		}
	}
}

// madePlan is a plan with the thought that it was read from.
type madePlan struct {
	plan    plan.Plan
	thought kernel.Thought
}

// plan asks for a plan, and once more when a call in it lacks its reason. The
// second plan counts only if fewer lack one.
func (s PlanExecuteReflect) plan(ctx context.Context, loop *kernel.Loop) (madePlan, error) {
	first, err := s.ask(ctx, loop, nil)
	if err != nil || first.plan.Missing == 0 || !loop.Asked() {
		return first, err
	}
	reminder := plan.StrictRetry(first.plan)
	if err := loop.Signal("plan-strict-retry", reminder); err != nil {
		return first, err
	}
	second, err := s.ask(ctx, loop, []provider.Message{{
		Role: provider.RoleUser, Blocks: []provider.Block{{Kind: provider.BlockText, Text: reminder}},
	}})
	var unreadable *plan.Error
	if err != nil && !errors.As(err, &unreadable) {
		return first, err
	}
	if err == nil && second.plan.Missing < first.plan.Missing {
		first = second
	}
	if first.plan.Missing == 0 {
		return first, nil
	}
	return first, loop.PlanRationaleMissing(first.plan.Missing)
}

func (s PlanExecuteReflect) ask(ctx context.Context, loop *kernel.Loop, extra []provider.Message) (madePlan, error) {
	thought, err := loop.Think(ctx, kernel.Ask{
		System: planPrompt + loop.ToolList(), NoTools: true, Quiet: true, Extra: extra,
		Schema: &provider.Schema{Name: "plan", Schema: plan.Schema()},
	})
	if err != nil {
		return madePlan{}, err
	}
	made, err := loop.ReadPlan(thought)
	return madePlan{made, thought}, err
}

// execute makes the plan's calls one after the other, each with the reason that
// its step states. It reports done when the control ends the run.
func (s PlanExecuteReflect) execute(ctx context.Context, loop *kernel.Loop, made madePlan) (kernel.Outcome, bool, error) {
	for _, step := range made.plan.Steps {
		if step.Type != plan.ToolCall {
			continue
		}
		call := loop.PlannedCall(made.thought, step)
		loop.KeepCall(call)
		if _, err := loop.Act(ctx, []kernel.Call{call}); err != nil {
			return kernel.Outcome{}, true, err
		}
		if err := ctx.Err(); err != nil {
			return kernel.Outcome{}, true, err
		}
	}
	return kernel.Outcome{}, false, nil
}
