//go:build !noreasoning

package strategy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// React works in turns of thought, action and observation, which the model
// writes as JSON, until it finishes (reason.react of specification 003). It
// needs no tool calls of the provider. What stands in rationale beside an action
// is the reason of the call; the thought is narrative.
type React struct {
	// MaxSteps is how many turns the model has, at least 1.
	MaxSteps int
}

// Name implements [kernel.Strategy].
func (React) Name() string { return "react" }

func (s React) check() error {
	if s.MaxSteps < 1 {
		return &OptionError{"react", "max_steps", "must be 1 or more"}
	}
	return nil
}

// ReactOutput is the result of react. The steps are in the trace; see
// [ReactSteps].
type ReactOutput struct {
	// FinalAnswer is the JSON value that finish gave; nil when the run ended
	// before.
	FinalAnswer json.RawMessage `json:"final_answer"`
}

const reactHead = `You are a reasoning agent. For each step:
1. Think about what to do next.
2. Choose one action of the list.
3. Wait for the observation, which you are given. Never write one yourself.
4. Go on until the goal is achieved.

The actions, one JSON object a line:
`

const reactAsked = `
Answer every time with one JSON object and nothing else:
{"thought":"…","action":"…","action_input":{…},"rationale":{"why":"…","confidence":0.9}}
- rationale (MANDATORY beside every action but finish): why is your actual reason for this action in one sentence of at most 280 characters; confidence is a number from 0 to 1 and can be left out.
`

const reactPlain = `
Answer every time with one JSON object and nothing else:
{"thought":"…","action":"…","action_input":{…}}
`

const reactTail = `
When the goal is achieved:
{"thought":"…","action":"finish","action_input":{"answer":"…"}}`

func (s React) prompt(loop *kernel.Loop) string {
	how := reactPlain
	if loop.Asked() {
		how = reactAsked
	}
	return reactHead + loop.ToolList() + how + reactTail
}

// Run implements [kernel.Strategy]. The Detail of its outcome is a
// [ReasoningTrace] with a [ReactOutput].
func (s React) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	if err := start(loop, "react", "goal", s.check()); err != nil {
		return misconfigured(err)
	}
	detail := ReasoningTrace{Technique: "react", Result: ReactOutput{}}
	broken := 0
	for step := 1; step <= s.MaxSteps; step++ {
		outcome, ok, err := loop.Begin(ctx)
		if err != nil || !ok {
			outcome.Detail = detail
			return outcome, err
		}
		detail.Steps = step
		t, err := loop.Think(ctx, kernel.Ask{System: s.prompt(loop), Read: readTurn})
		if err != nil {
			return kernel.Outcome{}, err
		}
		if t.Refused {
			return refused(t), nil
		}
		did, err := parseTurn(t.Written())
		var bad *OutputError
		switch {
		case errors.As(err, &bad):
			bad.Raw = t.Raw
			if broken++; broken > 1 || step == s.MaxSteps {
				return unreadable(loop, t, bad, detail)
			}
			note := "Your answer could not be read: " + bad.Reason + ". Write it once more, as the one JSON object that was asked for."
			if err := loop.Note("unreadable-turn", note); err != nil {
				return kernel.Outcome{}, err
			}
		case did.action == finish:
			return s.finished(ctx, loop, t, detail)
		default:
			broken = 0
			if err := s.act(ctx, loop, t, did); err != nil {
				return kernel.Outcome{}, err
			}
		}
		if outcome, ends, err := loop.End(ctx); err != nil || ends {
			outcome.Detail = detail
			return outcome, err
		}
	}
	return kernel.Outcome{
		Reason: ReasonMaxSteps, Failed: true, Detail: detail,
		Why: fmt.Sprintf("%d of %d steps are spent and the model has not finished", s.MaxSteps, s.MaxSteps),
	}, nil
}

// act makes the call of a turn, with the thought beside it.
func (s React) act(ctx context.Context, loop *kernel.Loop, t kernel.Thought, did turn) error {
	if did.more > 0 {
		err := loop.Record(&trace.GuardFired{
			Guard: "one-action-a-turn", Outcome: "ignored",
			Reason: fmt.Sprintf("%d more actions of the same answer were not made: they were written before the observation", did.more),
		})
		if err != nil {
			return err
		}
	}
	calls := t.Calls
	if stored, err := parseTurn(t.Raw); err == nil && len(calls) == 1 && stored.thought != "" {
		beside, cut := rationale.Narrative(stored.thought)
		c := &calls[0]
		c.Narrative, c.NarrativeScope, c.NarrativeCut = beside.In(stored.thought), "call", cut
		c.NarrativeOrigin = t.Origin(stored.thoughtSpan)
	}
	_, err := loop.Act(ctx, calls)
	return err
}

// finished ends the run with the answer as it was stored.
func (s React) finished(ctx context.Context, loop *kernel.Loop, t kernel.Thought, detail ReasoningTrace) (kernel.Outcome, error) {
	stored, err := parseTurn(t.Raw)
	var bad *OutputError
	if errors.As(err, &bad) {
		return unreadable(loop, t, bad, detail)
	}
	detail.Result = ReactOutput{FinalAnswer: stored.answer}
	return kernel.Outcome{
		Output: valueText(stored.answer), Reason: kernel.ReasonFinalAnswer, Detail: detail,
	}, loop.Done(ctx)
}

// userMessage is a message of one request.
func userMessage(text string) []provider.Message {
	return []provider.Message{{
		Role: provider.RoleUser, Blocks: []provider.Block{{Kind: provider.BlockText, Text: text}},
	}}
}
