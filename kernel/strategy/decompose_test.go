//go:build !noreasoning

package strategy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// splitter answers by what it is asked: it takes a problem apart into n parts
// named after it, solves parts, and puts answers together.
func splitter(n int, fail string) *model {
	return &model{name: "scripted-1", answer: func(_ int, req provider.Request) (string, error) {
		problem := req.Messages[0].Blocks[0].Text
		switch {
		case strings.HasPrefix(req.System, "Take the problem apart"):
			var parts []string
			for i := range n {
				parts = append(parts, fmt.Sprintf(`{"problem":"%s.%d"}`, problem, i+1))
			}
			return `{"subproblems":[` + strings.Join(parts, ",") + `]}`, nil
		case strings.HasPrefix(req.System, "The problem was taken apart"):
			return "whole of " + problem, nil
		case fail != "" && strings.HasSuffix(problem, fail):
			return "", errors.New("the server is gone")
		}
		return `{"thinking":"t","answer":"solved ` + problem + `"}`, nil
	}}
}

// TestReasonDecompose is the category "reason.decompose" of specification 003.
func TestReasonDecompose(t *testing.T) {
	t.Run("split_solve_synthesise", func(t *testing.T) {
		m := splitter(3, "")
		r := play(t, kernel.Config{Model: m, Strategy: strategy.Decompose{MaxDepth: 1}})
		out := r.Detail.(strategy.ReasoningTrace).Result.(strategy.DecomposeOutput)
		if r.err != nil || r.Output != "whole of the task" || len(out.Subproblems) != 3 || out.Subproblems[1].Answer != "solved the task.2" {
			t.Fatalf("%+v %v", r.Result, r.err)
		}
		contains(t, asked(m.requests[len(m.requests)-1]), "Sub-problem 2: the task.2", "Answer: solved the task.2")
		opened, closed := find[*trace.SubproblemOpened](r), find[*trace.SubproblemClosed](r)
		if len(opened) != 3 || len(closed) != 3 || opened[2].Problem != "the task.3" || closed[2].Subproblem != "3" || !*closed[2].OK {
			t.Errorf("%+v %+v", opened, closed)
		}
		if len(r.Debrief.Children) != 3 || r.Debrief.Children[0].Goal != "the task.1" || r.Debrief.Children[0].RunID != out.Subproblems[0].RunID {
			t.Errorf("%s", r.tree(t))
		}
	})
	t.Run("depth_three_with_27_leaves", depthThree)
	t.Run("failed_subproblem_is_reported", func(t *testing.T) {
		m := splitter(3, ".2")
		r := play(t, kernel.Config{Model: m, Strategy: strategy.Decompose{MaxDepth: 1}})
		contains(t, asked(m.requests[len(m.requests)-1]), "Sub-problem 2: the task.2\nNOT SOLVED: model scripted-1: the server is gone")
		contains(t, r.Output, "whole of the task", "Not solved, 1 of 3 sub-problems:", "- 2: the task.2")
		closed := find[*trace.SubproblemClosed](r)
		if r.Failed || *closed[1].OK || closed[1].Error == "" || r.Debrief.Children[1].Verdict.Status != "failure" {
			t.Errorf("%+v\n%s", r.Result, r.tree(t))
		}
		// An answer that cannot be read is a failure too, and so are all.
		m = splitter(2, "")
		plain := m.answer
		m.answer = func(n int, req provider.Request) (string, error) {
			text, err := plain(n, req)
			return strings.ReplaceAll(text, `"thinking"`, `"idea"`), err
		}
		r = play(t, kernel.Config{Model: m, Strategy: strategy.Decompose{MaxDepth: 1}})
		if !r.Failed || r.Reason != strategy.ReasonUnsolved || len(m.requests) != 3 {
			t.Errorf("%+v", r.Result)
		}
		contains(t, r.Output, "Not solved, 2 of 2")
	})
	t.Run("what_is_not_taken_apart_and_what_cannot_be_read", func(t *testing.T) {
		r := play(t, kernel.Config{Model: script(`{"subproblems":[]}`, `{"thinking":"t","answer":"42"}`), Strategy: strategy.Decompose{MaxDepth: 2}})
		if r.Output != "42" || len(r.Debrief.Children) != 0 || string(r.Detail.(strategy.ReasoningTrace).Result.(strategy.DecomposeOutput).FinalAnswer) != `"42"` {
			t.Errorf("%+v %v", r.Result, r.err)
		}
		many := `{"subproblems":[` + strings.Repeat(`"p",`, 8) + `"p"]}`
		for _, answer := range []string{
			"", "1. first\n2. second", `{"subproblems":"p"}`, `{"subproblems":[{"title":"p"}]}`, `{"subproblems":[" "]}`,
			`{"subproblems":["p"`, `{"subproblems":["p"]} {"subproblems":["q"]}`, `{"subproblems":[1]}`, many,
		} {
			r := play(t, kernel.Config{Model: script(answer), Strategy: strategy.Decompose{MaxDepth: 1}})
			var bad *strategy.OutputError
			if !errors.As(r.err, &bad) || bad.Raw != answer || len(r.Debrief.Children) != 0 {
				t.Errorf("%q: %+v %v", answer, r.Result, r.err)
			}
		}
		var bad *strategy.OptionError
		for _, depth := range []int{0, -1, 6} {
			if _, err := strategy.New("decompose", strategy.Options{MaxDepth: new(depth)}); !errors.As(err, &bad) || bad.Option != "max_depth" {
				t.Errorf("%v", err)
			}
		}
		m := splitter(2, "")
		r = play(t, kernel.Config{Model: m, Strategy: strategy.Decompose{MaxDepth: 3}, Limits: kernel.Limits{Depth: 3}})
		if !errors.As(r.err, &bad) || len(m.requests) != 0 {
			t.Errorf("deeper than the kernel allows: %v", r.err)
		}
	})
}

// depthThree: 27 leaves, never more than the limit at once, and one debrief
// whatever the scheduling.
func depthThree(t *testing.T) {
	const limit = 4
	var first []byte
	for round := range 4 {
		m := splitter(3, ".2.2")
		var now, most, requests atomic.Int64
		plain := m.answer
		m.answer = func(n int, req provider.Request) (string, error) {
			requests.Add(1)
			if at := now.Add(1); at > most.Load() {
				most.Store(at)
			}
			defer now.Add(-1)
			for range (n*7 + round*13) % 5 { // another order each round
				runtime.Gosched()
			}
			return plain(n, req)
		}
		r := play(t, kernel.Config{Model: m, Strategy: strategy.Decompose{MaxDepth: 3, Parallel: limit}})
		if r.err != nil || r.Failed {
			t.Fatalf("%+v %v", r.Result, r.err)
		}
		if most.Load() > limit {
			t.Errorf("%d requests at once", most.Load())
		}
		// 1+3+9 problems are taken apart, 27 solved, and of the 13 all but the
		// failed are put together.
		if leaves := countLeaves(r.Debrief); leaves != 27 {
			t.Errorf("%d leaves", leaves)
		}
		if got := timeless(t, r); round == 0 {
			first = got
		} else if !bytes.Equal(got, first) {
			t.Errorf("round %d gives another debrief:\n%s\n%s", round, first, got)
		}
	}
}

func countLeaves(d debrief.Debrief) int {
	if len(d.Children) == 0 {
		return 1
	}
	n := 0
	for _, c := range d.Children {
		n += countLeaves(c)
	}
	return n
}

// volatile are the members of a debrief that depend on when a line was written:
// its number, its time, and the id that a run was given.
var volatile = regexp.MustCompile(`"(seq|endSeq|line|event|startedAt|durationMs|runId)":("[^"]*"|[0-9.]+)`)

func timeless(t *testing.T, r ran) []byte {
	t.Helper()
	doc, err := json.Marshal(r.Debrief)
	if err != nil {
		t.Fatal(err)
	}
	return volatile.ReplaceAll(doc, []byte(`"$1":0`))
}

// TestDecomposeInterrupted: every sub-run that was opened is closed.
func TestDecomposeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := splitter(3, "")
	plain := m.answer
	m.answer = func(n int, req provider.Request) (string, error) {
		if n == 2 {
			cancel()
		}
		return plain(n, req)
	}
	r := playTask(t, ctx, kernel.Config{Model: m, Strategy: strategy.Decompose{MaxDepth: 2, Parallel: 1}}, "the task")
	if !errors.Is(r.err, context.Canceled) || r.Debrief.Verdict.Status != "cancelled" {
		t.Errorf("%+v %v", r.Debrief.Verdict, r.err)
	}
}
