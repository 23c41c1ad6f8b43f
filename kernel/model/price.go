package model

import "github.com/rax-project/rax/parsers"

// Price is what a model costs, in US dollars per million tokens. Thinking is
// paid as output.
type Price struct {
	Input  float64
	Output float64
	// CacheRead and CacheWrite are for the input tokens that the provider took
	// from its cache and put into it; nil means not known.
	CacheRead  *float64
	CacheWrite *float64
}

// Cost is what an answer cost; nil when that is not known: where the provider
// did not count, or counted what there is no price for.
func (p Price) Cost(u parsers.Usage) *float64 {
	if u.Input == nil || u.Output == nil {
		return nil
	}
	plain := *u.Input // holds the cached ones too
	cost := float64(*u.Output) * p.Output
	for _, cached := range []struct {
		tokens *int64
		price  *float64
	}{{u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite}} {
		if cached.tokens == nil || *cached.tokens == 0 {
			continue
		}
		if cached.price == nil {
			return nil
		}
		plain -= *cached.tokens
		cost += float64(*cached.tokens) * *cached.price
	}
	if plain < 0 || *u.Output < 0 {
		return nil // a count that cannot be
	}
	return new((cost + float64(plain)*p.Input) / 1e6)
}
