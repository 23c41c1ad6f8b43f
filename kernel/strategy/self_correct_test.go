//go:build !noreasoning

package strategy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

const (
	objects = `{"accepted":false,"critique":"division by zero is not handled"}`
	accepts = `{"accepted":true,"critique":"it handles every input"}`
)

func selfCorrect(t *testing.T, s strategy.SelfCorrect, answers ...string) (ran, *model) {
	t.Helper()
	m := script(answers...)
	return play(t, kernel.Config{Model: m, Strategy: s}), m
}

func history(t *testing.T, r ran) strategy.SelfCorrectOutput {
	t.Helper()
	d, ok := r.Detail.(strategy.ReasoningTrace)
	if !ok {
		t.Fatalf("%+v %v", r.Result, r.err)
	}
	return d.Result.(strategy.SelfCorrectOutput)
}

// TestReasonSelfCorrect is the category "reason.self_correct" of specification
// 003.
func TestReasonSelfCorrect(t *testing.T) {
	t.Run("generate_critique_improve", func(t *testing.T) {
		r, m := selfCorrect(t, strategy.SelfCorrect{Rounds: 1}, "v1", objects, "v2")
		out := history(t, r)
		want := strategy.ImprovementRound{Round: 1, Output: "v1", Critique: "division by zero is not handled", Improved: "v2"}
		if r.err != nil || r.Output != "v2" || out.FinalOutput != "v2" || len(out.ImprovementHistory) != 1 || out.ImprovementHistory[0] != want {
			t.Fatalf("%+v %v", out, r.err)
		}
		if len(m.requests[1].Messages) != 1 || !strings.Contains(asked(m.requests[1]), "v1") || !strings.Contains(asked(m.requests[1]), "the task") {
			t.Errorf("the critic sees %+v", m.requests[1].Messages)
		}
		contains(t, asked(m.requests[2]), "division by zero is not handled")
		if c := find[*trace.CritiqueRecorded](r); len(c) != 1 || c[0].Round != 1 || c[0].Accepted {
			t.Errorf("%+v", c)
		}
	})
	t.Run("rounds_and_early_end", func(t *testing.T) {
		r, m := selfCorrect(t, strategy.SelfCorrect{Rounds: 3}, "v1", objects, "v2", objects, "v3", objects, "v4")
		if r.Output != "v4" || len(history(t, r).ImprovementHistory) != 3 || len(m.requests) != 7 {
			t.Errorf("%+v", r.Result)
		}
		r, m = selfCorrect(t, strategy.SelfCorrect{Rounds: 3}, "v1", objects, "v2", "```json\n"+accepts+"\n```")
		out := history(t, r)
		if r.Output != "v2" || len(m.requests) != 4 || len(out.ImprovementHistory) != 2 || !out.ImprovementHistory[1].Accepted || out.ImprovementHistory[1].Improved != "" {
			t.Errorf("%+v", out)
		}
		if c := find[*trace.CritiqueRecorded](r); len(c) != 2 || !c[1].Accepted {
			t.Errorf("%+v", c)
		}
		var bad *strategy.OptionError
		if _, err := strategy.New("self-correct", strategy.Options{Rounds: new(0)}); !errors.As(err, &bad) {
			t.Errorf("%v", err)
		}
		// Many rounds are not stale iterations to the control.
		answers := []string{}
		for i := range 20 {
			answers = append(answers, fmt.Sprint("v", i), objects)
		}
		cfg := kernel.Config{Model: script(append(answers, "last")...), Strategy: strategy.SelfCorrect{Rounds: 20}}
		if r := play(t, cfg); r.Output != "last" {
			t.Errorf("%+v", r.Result)
		}
	})
	t.Run("two_models_and_a_critic_prompt", func(t *testing.T) {
		critic := &model{name: "critic-1", answer: func(int, provider.Request) (string, error) { return accepts, nil }}
		s, err := strategy.New("self-correct", strategy.Options{Critic: critic, CriticPrompt: func(output string) (string, error) {
			return "Review this code for bugs:\n" + output, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		m := script("v1")
		r := play(t, kernel.Config{Model: m, Strategy: s})
		if len(m.requests) != 1 || len(critic.requests) != 1 || asked(critic.requests[0]) != "Review this code for bugs:\nv1" {
			t.Errorf("%+v", critic.requests)
		}
		if x := find[*trace.LLMExchange](r); len(x) != 2 || x[0].Model != "scripted-1" || x[1].Model != "critic-1" {
			t.Errorf("%+v", x)
		}
		var bad *strategy.OptionError
		r, _ = selfCorrect(t, strategy.SelfCorrect{Rounds: 1, CriticPrompt: func(string) (string, error) { return "", errors.New("no") }}, "v1")
		if !errors.As(r.err, &bad) || r.Reason != strategy.ReasonOptions {
			t.Errorf("%v", r.err)
		}
	})
	t.Run("critique_in_other_forms", func(t *testing.T) {
		for name, tt := range map[string]struct {
			critique string
			accepted bool
			text     string
		}{
			"plain text":      {"The loop never ends.", false, "The loop never ends."},
			"no objection":    {"No objection.", false, "No objection."},
			"prose and JSON":  {"I think: " + accepts, true, "it handles every input"},
			"accepted twice":  {accepts + objects, false, "division by zero is not handled"},
			"accepted string": {`{"accepted":"true","critique":"c"}`, false, `{"accepted":"true","critique":"c"}`},
		} {
			r, _ := selfCorrect(t, strategy.SelfCorrect{Rounds: 1}, "v1", tt.critique, "v2")
			c := find[*trace.CritiqueRecorded](r)
			if len(c) != 1 || c[0].Accepted != tt.accepted || c[0].Critique != tt.text {
				t.Errorf("%s: %+v", name, c)
			}
		}
		for _, critique := range []string{"", `{"accepted":false}`, `{"accepted":false,"critique":" "}`} {
			r, _ := selfCorrect(t, strategy.SelfCorrect{Rounds: 1}, "v1", critique, "v2")
			var bad *strategy.OutputError
			if !errors.As(r.err, &bad) || bad.Raw != critique || history(t, r).FinalOutput != "v1" {
				t.Errorf("%q: %+v %v", critique, r.Result, r.err)
			}
		}
	})
}
