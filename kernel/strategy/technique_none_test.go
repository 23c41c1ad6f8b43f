//go:build noreasoning

package strategy_test

import (
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
)

// TestNoReasoning: without the techniques the strategies of the kernel stay.
func TestNoReasoning(t *testing.T) {
	if names := strategy.Names(); len(names) != 2 {
		t.Errorf("%v", names)
	}
	for _, name := range []string{"cot", "react", "self-correct", "decompose"} {
		if _, err := strategy.New(name); err == nil || !strings.Contains(err.Error(), "noreasoning") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := strategy.New("reactive")
	if err != nil {
		t.Fatal(err)
	}
	if r := play(t, kernel.Config{Model: script("done"), Strategy: s}); r.err != nil || r.Output != "done" {
		t.Errorf("%+v %v", r.Result, r.err)
	}
}
