//go:build !noreasoning

package strategy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/trace"
)

// SelfCorrect lets the model answer, a critic object, and the model improve its
// answer, until the critic has no objection or the rounds are spent
// (reason.self_correct of specification 003). It calls no tools.
type SelfCorrect struct {
	// Rounds is how many critiques there are at most, at least 1.
	Rounds int
	// Critic criticises; nil for the run's own model. It never sees the
	// conversation, only the task and the newest output.
	Critic kernel.Model
	// CriticPrompt makes the request to the critic; nil for that of rax.
	CriticPrompt func(output string) (string, error)
}

// Name implements [kernel.Strategy].
func (SelfCorrect) Name() string { return "self-correct" }

// maxRounds bounds a self-correction: its history is kept.
const maxRounds = 100

func (s SelfCorrect) check() error {
	if s.Rounds < 1 || s.Rounds > maxRounds {
		return &OptionError{"self-correct", "improvement_rounds", fmt.Sprintf("must be from 1 to %d", maxRounds)}
	}
	return nil
}

// SelfCorrectOutput is the result of self-correct (specification 003).
type SelfCorrectOutput struct {
	FinalOutput        string             `json:"final_output"`
	ImprovementHistory []ImprovementRound `json:"improvement_history"`
}

// ImprovementRound is one critique and what came of it.
type ImprovementRound struct {
	Round    int    `json:"round"`
	Output   string `json:"output"`
	Critique string `json:"critique"`
	// Improved is the next output; absent after the critique that accepted.
	Improved string `json:"improved,omitempty"`
	// Accepted says that the critic had no objection.
	Accepted bool `json:"accepted,omitempty"`
}

const generatePrompt = `Do the task. Give the result alone, complete, without remarks about it.`

const criticSystem = `You review the work of another model. Look for what is wrong, missing or could be better, and name it so that it can be mended.
Answer with one JSON object and nothing else:
{"accepted":false,"critique":"…"}
- accepted: true only if you have no objection.
- critique: your objections; with accepted true, what convinced you.`

const improveNote = `A critic has reviewed your result:

%s

Mend what is right about this. Give the whole improved result alone, without remarks about it.`

// Run implements [kernel.Strategy]. The Detail of its outcome is a
// [ReasoningTrace] with a [SelfCorrectOutput], also where a later round failed.
func (s SelfCorrect) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	if err := start(loop, "self-correct", "task", s.check()); err != nil {
		return misconfigured(err)
	}
	result := SelfCorrectOutput{ImprovementHistory: []ImprovementRound{}}
	steps := 0
	detail := func() ReasoningTrace {
		return ReasoningTrace{Technique: "self-correct", Steps: steps, Result: result}
	}
	for round := 1; ; round++ {
		outcome, ok, err := loop.Begin(ctx)
		if err != nil || !ok {
			outcome.Detail = detail()
			return outcome, err
		}
		made, err := loop.Think(ctx, kernel.Ask{System: generatePrompt, NoTools: true})
		if err != nil {
			return kernel.Outcome{Detail: detail()}, err
		}
		steps++
		if made.Refused {
			return refused(made), nil
		}
		if made.Text == "" {
			return unreadable(loop, made, &OutputError{"self-correct", "it is empty", made.Raw}, detail())
		}
		if n := len(result.ImprovementHistory); n > 0 {
			result.ImprovementHistory[n-1].Improved = made.Text
		}
		result.FinalOutput = made.Text
		if round > s.Rounds {
			return kernel.Outcome{
				Output: made.Text, Reason: kernel.ReasonFinalAnswer, Detail: detail(),
				Why: fmt.Sprintf("all %d rounds of critique are done; the last improvement was not reviewed", s.Rounds),
			}, loop.Done(ctx)
		}
		verdict, t, err := s.criticise(ctx, loop, made.Text)
		steps++
		var bad *OutputError
		var option *OptionError
		switch {
		case errors.As(err, &option):
			return misconfigured(err)
		case errors.As(err, &bad):
			return unreadable(loop, t, bad, detail())
		case err != nil:
			return kernel.Outcome{}, err
		case t.Refused:
			return refused(t), nil
		}
		result.ImprovementHistory = append(result.ImprovementHistory, ImprovementRound{
			Round: round, Output: made.Text, Critique: verdict.critique, Accepted: verdict.accepted,
		})
		err = loop.Record(&trace.CritiqueRecorded{Round: round, Critique: verdict.critique, Accepted: verdict.accepted})
		if err != nil {
			return kernel.Outcome{}, err
		}
		if verdict.accepted {
			return kernel.Outcome{
				Output: made.Text, Reason: kernel.ReasonFinalAnswer, Detail: detail(),
				Why: fmt.Sprintf("the critic has no objection in round %d", round),
			}, loop.Done(ctx)
		}
		if err := decided(loop, "improve", fmt.Sprintf("the critic objects in round %d of at most %d", round, s.Rounds)); err != nil {
			return kernel.Outcome{}, err
		}
		if err := loop.Done(ctx); err != nil {
			return kernel.Outcome{}, err
		}
		if err := loop.Note("critique", fmt.Sprintf(improveNote, verdict.critique)); err != nil {
			return kernel.Outcome{}, err
		}
	}
}

// criticise asks the critic, which sees nothing of the conversation.
func (s SelfCorrect) criticise(ctx context.Context, loop *kernel.Loop, output string) (verdict, kernel.Thought, error) {
	request := "The task:\n" + loop.Task() + "\n\nThe result:\n" + output
	if s.CriticPrompt != nil {
		var err error
		if request, err = s.CriticPrompt(output); err != nil {
			return verdict{}, kernel.Thought{}, &OptionError{"self-correct", "critic_prompt", "cannot be made: " + err.Error()}
		}
	}
	t, err := loop.Think(ctx, kernel.Ask{
		System: criticSystem, NoTools: true, Fresh: true, Model: s.Critic, Extra: userMessage(request),
	})
	if err != nil || t.Refused {
		return verdict{}, t, err
	}
	v, how, err := parseVerdict(t.Raw, t.Text)
	if err == nil {
		err = parsed(loop, "self-correct", how, false)
	}
	return v, t, err
}

// verdict is what a critic says.
type verdict struct {
	accepted bool
	critique string
}

// ReadText is the reading of a critique that is no JSON: all of it is the
// critique, and it accepts nothing.
const ReadText Reading = "text"

// parseVerdict reads a critique. Only an accepted that is written as true ends a
// self-correction.
func parseVerdict(raw, shown string) (verdict, Reading, error) {
	visible := text.WithoutThinking(raw)
	marks := fences(visible)
	var found *verdict
	how := ReadJSON
	for _, o := range lenient.Scan(visible, []string{"accepted", "critique"}) {
		accepted, has := o.Member("accepted")
		if !has || o.Cut || accepted.Kind != lenient.Bool || found != nil && !found.accepted {
			continue
		}
		v := verdict{accepted: strings.EqualFold(accepted.Span.In(visible), "true")}
		if found != nil && v.accepted {
			continue // of several, the one that objects counts
		}
		if m, has := o.Member("critique"); has {
			v.critique, _ = stringAt(visible, m)
		}
		if found, how = &v, ReadJSON; within(marks, o.Span.Start) {
			how = ReadMarkdown
		}
	}
	if found != nil {
		if !found.accepted && strings.TrimSpace(found.critique) == "" {
			return *found, how, &OutputError{"self-correct", "the critique objects and names nothing", raw}
		}
		return *found, how, nil
	}
	if strings.TrimSpace(shown) == "" {
		return verdict{}, "", &OutputError{"self-correct", "the critique is empty", raw}
	}
	return verdict{critique: shown}, ReadText, nil
}
