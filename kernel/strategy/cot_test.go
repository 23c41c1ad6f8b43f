//go:build !noreasoning

package strategy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/trace"
)

const solved = `{"thinking":"15% is 0.15; 0.15 × 80 is 12","answer":"12"}`

// TestReasonCot is the category "reason.cot" of specification 003.
func TestReasonCot(t *testing.T) {
	t.Run("structured_output", func(t *testing.T) {
		r := play(t, kernel.Config{Model: script(solved), Strategy: strategy.Cot{}})
		detail, ok := r.Detail.(strategy.ReasoningTrace)
		out, isCot := detail.Result.(strategy.CotOutput)
		if r.err != nil || !ok || !isCot || r.Output != "12" || string(out.Answer) != `"12"` || !strings.Contains(out.Thinking, "0.15") {
			t.Fatalf("%+v %v", r.Result, r.err)
		}
		metrics := find[*trace.Metric](r)
		if len(metrics) != 1 || metrics[0].Name != strategy.MetricOutputRead || metrics[0].Labels["reading"] != "json" {
			t.Errorf("the reading is not recorded: %+v", metrics)
		}
	})
	t.Run("thinking_formats", func(t *testing.T) {
		seen := map[string]bool{}
		for _, f := range []strategy.ThinkingFormat{strategy.StepByStep, strategy.ProsCons, strategy.Tree, strategy.FirstPrinciples} {
			m := script(solved)
			s, err := strategy.New("cot", strategy.Options{ThinkingFormat: f})
			if err != nil {
				t.Fatal(err)
			}
			play(t, kernel.Config{Model: m, Strategy: s})
			seen[m.requests[0].System] = true
		}
		if len(seen) != 4 {
			t.Errorf("%d different prompts", len(seen))
		}
	})
	t.Run("unknown_format_is_refused", func(t *testing.T) {
		var bad *strategy.OptionError
		if _, err := strategy.New("cot", strategy.Options{ThinkingFormat: "magic"}); !errors.As(err, &bad) || bad.Option != "thinking_format" {
			t.Errorf("%v", err)
		}
	})
	t.Run("few_shot_examples", func(t *testing.T) {
		m := script(solved)
		s, err := strategy.New("cot", strategy.Options{FewShot: []strategy.Example{{
			Problem: "What is 15% of 80?", Thinking: "Step 1: 0.15\nStep 2: 0.15 × 80 = 12", Answer: "12",
		}}})
		if err != nil {
			t.Fatal(err)
		}
		play(t, kernel.Config{Model: m, Strategy: s, System: "Be brief."})
		contains(t, m.requests[0].System, "Be brief.", "Problem 1: What is 15% of 80?", `{"thinking":"Step 1: 0.15\nStep 2: 0.15 × 80 = 12","answer":"12"}`)
		if _, err := strategy.New("cot", strategy.Options{FewShot: []strategy.Example{{Problem: "p", Answer: "a"}}}); err == nil {
			t.Error("an example without thinking was taken")
		}
	})
	t.Run("unreadable_answer_is_an_error", func(t *testing.T) {
		r := play(t, kernel.Config{Model: script("It is 12."), Strategy: strategy.Cot{}})
		var bad *strategy.OutputError
		if !errors.As(r.err, &bad) || bad.Raw != "It is 12." || r.Reason != strategy.ReasonUnreadable || !r.Failed || r.Output != "It is 12." {
			t.Fatalf("%+v %v", r.Result, r.err)
		}
		if raised := find[*trace.ErrorRaised](r); len(raised) != 1 || raised[0].Code != strategy.ReasonUnreadable || strings.Contains(raised[0].Message, "12") {
			t.Errorf("%+v", raised)
		}
		if r.Debrief.Verdict.Status != "failure" || r.Debrief.Termination.By != strategy.ReasonUnreadable {
			t.Errorf("%s", r.tree(t))
		}
	})
	t.Run("empty_problem_asks_no_model", func(t *testing.T) {
		m := script(solved)
		r := playTask(t, t.Context(), kernel.Config{Model: m, Strategy: strategy.Cot{}}, " \n")
		var bad *strategy.OptionError
		if !errors.As(r.err, &bad) || bad.Option != "problem" || len(m.requests) != 0 {
			t.Errorf("%v, %d requests", r.err, len(m.requests))
		}
	})
}
