package kernel

import (
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/trace"
)

// counts adds up what a run's answers spent. A part that no answer reported
// stays absent.
type counts struct {
	input, output, reasoning, cacheRead, cacheWrite *int64
	cost                                            *float64
	exchanges                                       int64
	// unreported counts answers without usage: the sums are lower bounds.
	unreported int
	// unpriced counts answers without a known price: the cost is absent.
	unpriced int
}

func (c *counts) add(u parsers.Usage, cost *float64) {
	c.exchanges++
	if u.Input == nil && u.Output == nil && u.Total == nil {
		c.unreported++
	}
	input, output := u.Input, u.Output
	if input == nil && output == nil && u.Total != nil {
		input = u.Total
	}
	for _, p := range []struct {
		sum **int64
		add *int64
	}{{&c.input, input}, {&c.output, output}, {&c.reasoning, u.Reasoning}, {&c.cacheRead, u.CacheRead}, {&c.cacheWrite, u.CacheWrite}} {
		if p.add != nil {
			if *p.sum == nil {
				*p.sum = new(int64)
			}
			**p.sum += *p.add
		}
	}
	if cost == nil {
		c.unpriced++
	}
	switch {
	case c.unpriced > 0:
		c.cost = nil
	case c.cost == nil:
		c.cost = new(*cost)
	default:
		*c.cost += *cost
	}
}

// spent is the number of tokens so far, 0 when nothing was reported.
func (c *counts) spent() int64 {
	if t := c.total(); t != nil {
		return *t
	}
	return 0
}

// total is input and output together: input holds cached tokens, output holds
// reasoning.
func (c *counts) total() *int64 {
	if c.input == nil && c.output == nil {
		return nil
	}
	var t int64
	for _, p := range []*int64{c.input, c.output} {
		if p != nil {
			t += *p
		}
	}
	return &t
}

func (c *counts) tokens() *trace.Tokens {
	if c.total() == nil {
		return nil
	}
	return &trace.Tokens{
		Input: c.input, Output: c.output, Reasoning: c.reasoning,
		CacheRead: c.cacheRead, CacheWrite: c.cacheWrite, LowerBound: c.unreported > 0,
	}
}

func tokensOf(u parsers.Usage) *trace.Tokens {
	t := trace.Tokens{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	if t == (trace.Tokens{}) {
		return nil
	}
	return &t
}
