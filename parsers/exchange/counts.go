package exchange

import (
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/trace"
)

// Counts adds up what a run's answers spent. A part that no answer reported
// stays absent. The zero Counts is ready.
type Counts struct {
	sum trace.Tokens
	// unreported says that an answer came without usage.
	unreported bool
}

// Add adds an answer.
func (c *Counts) Add(u parsers.Usage) {
	input, output := u.Input, u.Output
	if input == nil && output == nil {
		if c.unreported = c.unreported || u.Total == nil; u.Total != nil {
			input = u.Total
		}
	}
	for _, p := range []struct {
		sum **int64
		add *int64
	}{
		{&c.sum.Input, input}, {&c.sum.Output, output}, {&c.sum.Reasoning, u.Reasoning},
		{&c.sum.CacheRead, u.CacheRead}, {&c.sum.CacheWrite, u.CacheWrite},
	} {
		if p.add == nil {
			continue
		}
		if *p.sum == nil {
			*p.sum = new(int64)
		}
		**p.sum += *p.add
	}
}

// Total is input and output together, and Tokens its parts: input holds cached
// tokens, output holds reasoning. Both are nil when nothing was reported.
func (c *Counts) Total() (*int64, *trace.Tokens) {
	if c.sum.Input == nil && c.sum.Output == nil {
		return nil, nil
	}
	var total int64
	for _, p := range []*int64{c.sum.Input, c.sum.Output} {
		if p != nil {
			total += *p
		}
	}
	tokens := c.sum
	tokens.LowerBound = c.unreported
	return &total, &tokens
}
