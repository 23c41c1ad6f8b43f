package rationale

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
)

func number64(v float64) *float64 { return &v }

func TestValidate(t *testing.T) {
	for _, row := range []struct {
		name string
		in   Rationale
		want string
	}{
		{"least", Rationale{Why: "x"}, ""},
		{"280 code points", Rationale{Why: strings.Repeat("é", 280)}, ""},
		{"281 code points", Rationale{Why: strings.Repeat("é", 281)}, "why: longer than 280 characters"},
		{"280 wide", Rationale{Why: strings.Repeat("😀", 280)}, ""},
		{"empty", Rationale{}, "why: empty"},
		{"spaces", Rationale{Why: " \n\u200b"}, "why: empty"},
		{"confidence 0", Rationale{Why: "x", Confidence: number64(0)}, ""},
		{"confidence 1", Rationale{Why: "x", Confidence: number64(1)}, ""},
		{"confidence above", Rationale{Why: "x", Confidence: number64(1.01)}, "confidence: not between 0 and 1"},
		{"confidence below", Rationale{Why: "x", Confidence: number64(-0.01)}, "confidence: not between 0 and 1"},
		{"confidence NaN", Rationale{Why: "x", Confidence: number64(math.NaN())}, "confidence: not between 0 and 1"},
		{"empty ref", Rationale{Why: "x", Refs: []string{"a", ""}}, "refs[1]: empty"},
		{"alternatives", Rationale{Why: "x", Alternatives: []Alternative{{"a", "b"}, {"", strings.Repeat("é", 161)}}},
			"alternatives[1].option: empty; alternatives[1].rejectedBecause: longer than 160 characters"},
		{"rejectedBecause 160", Rationale{Why: "x", Alternatives: []Alternative{{"a", strings.Repeat("é", 160)}}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := Validate(row.in)
			if IsValid(row.in) != (row.want == "") {
				t.Error("IsValid disagrees")
			}
			if row.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var typed *ValidationError
			if !errors.As(err, &typed) {
				t.Fatalf("got %v", err)
			}
			if typed.Error() != row.want {
				t.Errorf("got %q, want %q", typed, row.want)
			}
		})
	}
}

func TestValidateConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if Validate(Rationale{Why: "x"}) != nil || Validate(Rationale{}) == nil {
					t.Error("wrong answer")
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkValidate(b *testing.B) {
	r := Rationale{Why: "needs a price", Confidence: number64(0.9)}
	for b.Loop() {
		if Validate(r) != nil {
			b.Fatal("invalid")
		}
	}
}
