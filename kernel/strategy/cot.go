//go:build !noreasoning

package strategy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers/provider"
)

// Cot asks the model to think in a given form before it answers (reason.cot of
// specification 003). It calls no tools.
type Cot struct {
	// Format is the form; empty means StepByStep.
	Format ThinkingFormat
	// FewShot are worked examples that the model sees.
	FewShot []Example
}

// Name implements [kernel.Strategy].
func (Cot) Name() string { return "cot" }

// thinkingForms says what each format asks of the model.
func thinkingForms(f ThinkingFormat) (string, bool) {
	switch f {
	case StepByStep, "":
		return "Think step by step: number the steps, and let each follow from the ones before.", true
	case ProsCons:
		return "Weigh the options: for each one list what speaks for it and what against it, then compare them.", true
	case Tree:
		return "Think as a tree: lay out several ways to go on, follow each as far as it leads, drop those that fail and say why, and keep the best.", true
	case FirstPrinciples:
		return "Think from first principles: name the facts that are certain, question what is only assumed, and build the answer from the facts alone.", true
	}
	return "", false
}

const cotForm = `Answer with one JSON object and nothing else:
{"thinking":"…","answer":…}
- thinking: a string, your whole thinking.
- answer: the answer alone, as a string or whatever JSON value fits it.`

func (s Cot) check() error {
	if _, ok := thinkingForms(s.Format); !ok {
		return &OptionError{"cot", "thinking_format", "is none of step_by_step, pros_cons, tree, first_principles"}
	}
	for i, e := range s.FewShot {
		if strings.TrimSpace(e.Problem) == "" || strings.TrimSpace(e.Thinking) == "" || e.Answer == nil {
			return &OptionError{"cot", fmt.Sprintf("few_shot %d", i+1), "lacks its problem, thinking or answer"}
		}
	}
	return nil
}

// prompt is constant for a configuration, so that a provider's prompt cache
// holds.
func (s Cot) prompt() (string, error) {
	form, _ := thinkingForms(s.Format)
	var b bytes.Buffer
	b.WriteString(form + "\n\n" + cotForm)
	if len(s.FewShot) > 0 {
		b.WriteString("\n\nWorked examples. They show the form; their problems are not yours.\n")
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, e := range s.FewShot {
		fmt.Fprintf(&b, "\nProblem %d: %s\n", i+1, strings.TrimSpace(e.Problem))
		shown := struct {
			Thinking string `json:"thinking"`
			Answer   any    `json:"answer"`
		}{strings.TrimSpace(e.Thinking), e.Answer}
		if err := enc.Encode(shown); err != nil {
			return "", &OptionError{"cot", fmt.Sprintf("few_shot %d", i+1), "has an answer that is no JSON"}
		}
	}
	return b.String(), nil
}

// cotSchema is what providers that can enforce a schema are given.
const cotSchema = `{"type":"object","properties":{"thinking":{"type":"string"},"answer":{"type":"string"}},"required":["thinking","answer"],"additionalProperties":false}`

// Run implements [kernel.Strategy]. The Detail of its outcome is a
// [ReasoningTrace] with a [CotOutput]; an answer that cannot be read is an
// [*OutputError].
func (s Cot) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	if err := start(loop, "cot", "problem", s.check()); err != nil {
		return misconfigured(err)
	}
	prompt, err := s.prompt()
	if err != nil {
		return misconfigured(err)
	}
	outcome, ok, err := loop.Begin(ctx)
	if err != nil || !ok {
		return outcome, err
	}
	t, err := loop.Think(ctx, kernel.Ask{
		System: prompt, NoTools: true,
		Schema: &provider.Schema{Name: "chain_of_thought", Schema: json.RawMessage(cotSchema)},
	})
	if err != nil {
		return kernel.Outcome{}, err
	}
	if t.Refused {
		return refused(t), nil
	}
	detail := ReasoningTrace{Technique: "cot", Steps: 1}
	out, err := parseCot(t.Raw, t.Tagged)
	var bad *OutputError
	if errors.As(err, &bad) {
		return unreadable(loop, t, bad, detail)
	}
	if err := parsed(loop, "cot", out.Reading, out.Repaired); err != nil {
		return kernel.Outcome{}, err
	}
	detail.Result = out
	return kernel.Outcome{Output: out.Text(), Reason: kernel.ReasonFinalAnswer, Detail: detail}, loop.Done(ctx)
}
