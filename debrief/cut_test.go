package debrief_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/rax-project/rax/debrief"
)

// calls gives the ids of every call of runs and their sub-runs, and whether the
// trace holds the end of each.
func calls(runs []debrief.Debrief) (all []string, ended int) {
	for _, d := range runs {
		for _, s := range d.Path {
			if s.Outcome == "" {
				continue
			}
			all = append(all, d.RunID+" "+s.CallID)
			if s.Outcome != debrief.OutcomeOpen {
				ended++
			}
		}
		below, n := calls(d.Children)
		all, ended = append(all, below...), ended+n
	}
	return all, ended
}

// TestCutAtEveryByte folds traces that stop anywhere, as one of a killed process
// does: every call whose line is whole is there, no other is, and a torn line is
// told once.
func TestCutAtEveryByte(t *testing.T) {
	for _, name := range []string{"parallel", "sub-runs"} {
		data, err := os.ReadFile("../fixtures/trace/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := calls(build(t, string(data)))
		slices.Sort(whole)
		for cut := range len(data) + 1 {
			// A line is whole once its closing brace is there.
			text, inside := data[:cut], cut > 0 && data[cut-1] != '\n' && data[cut] != '\n'
			complete := text
			if inside {
				complete = text[:bytes.LastIndexByte(text, '\n')+1]
			}
			runs := build(t, string(text))
			got, ended := calls(runs)
			starts, ends := bytes.Count(complete, []byte(`"kind":"tool-call-start"`)), bytes.Count(complete, []byte(`"kind":"tool-call-end"`))
			if len(got) != starts || ended != ends {
				t.Fatalf("%s cut at %d: %d calls, %d ended, want %d and %d", name, cut, len(got), ended, starts, ends)
			}
			for _, id := range got {
				if _, ok := slices.BinarySearch(whole, id); !ok {
					t.Fatalf("%s cut at %d: call %q is not in the whole trace", name, cut, id)
				}
			}
			if len(runs) == 0 {
				continue
			}
			torn := 0
			for _, code := range codes(runs[0]) {
				if code == debrief.WarnUnreadable {
					torn++
				}
			}
			if (torn == 1) != inside || torn > 1 {
				t.Fatalf("%s cut at %d: %d warnings of an unreadable line, inside a line: %v", name, cut, torn, inside)
			}
		}
	}
}
