package safety

import (
	"testing"

	"github.com/rax-project/rax/trace/safety/safetytest"
)

// TestRecall: a shape is found whatever its random characters are.
func TestRecall(t *testing.T) {
	missed := map[string]int{}
	for seed := range uint64(400) {
		for _, c := range safetytest.Samples(newRand(1000 + seed)) {
			if c.Leaked(Default().Session().Text("result", "so "+c.Text()+" then").Text) {
				if missed[c.Rule]++; missed[c.Rule] <= 2 {
					t.Logf("missed %s: %q", c.Rule, c.Text())
				}
			}
		}
	}
	for rule, n := range missed {
		t.Errorf("%s: missed %d", rule, n)
	}
}
