package model_test

import (
	"math"
	"testing"

	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/parsers"
)

func TestCost(t *testing.T) {
	full := model.Price{Input: 2, Output: 10, CacheRead: new(0.5), CacheWrite: new(4.0)}
	plain := model.Price{Input: 2, Output: 10}
	n := func(v int64) *int64 { return &v }
	none := -1.0
	for _, c := range []struct {
		name  string
		price model.Price
		usage parsers.Usage
		want  float64
	}{
		{"plain", plain, parsers.Usage{Input: n(1_000_000), Output: n(100_000)}, 3},
		{"thinking is output", plain, parsers.Usage{Input: n(0), Output: n(100_000), Reasoning: n(90_000)}, 1},
		{"cached", full, parsers.Usage{Input: n(1_000_000), Output: n(0), CacheRead: n(400_000), CacheWrite: n(100_000)}, 1 + 0.2 + 0.4},
		{"free", model.Price{}, parsers.Usage{Input: n(5), Output: n(5)}, 0},
		{"no price of cached tokens", plain, parsers.Usage{Input: n(10), Output: n(1), CacheRead: n(5)}, none},
		{"nothing cached", plain, parsers.Usage{Input: n(1_000_000), Output: n(0), CacheRead: n(0)}, 2},
		{"no input", full, parsers.Usage{Output: n(1)}, none},
		{"no output", full, parsers.Usage{Input: n(1)}, none},
		{"more cached than there was", full, parsers.Usage{Input: n(1), Output: n(1), CacheRead: n(5)}, none},
	} {
		got := c.price.Cost(c.usage)
		if (got == nil) != (c.want == none) || got != nil && math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
