package safety

import (
	"math/rand/v2"

	"github.com/rax-project/rax/trace/safety/safetytest"
)

// The names of package safetytest, short.

const (
	letters  = safetytest.Letters
	capitals = safetytest.Capitals
	numerals = safetytest.Digits
	base62   = safetytest.Base62
	base64u  = safetytest.Base64u
	hexa     = safetytest.Hex
)

func random(r *rand.Rand, alphabet string, n int) string { return safetytest.Random(r, alphabet, n) }

func newRand(seed uint64) *rand.Rand { return safetytest.NewRand(seed) }

// sample is a secret inside the least text that gives it away.
type sample struct {
	rule, before, secret, after string
}

func (s sample) text() string { return s.before + s.secret + s.after }

// samples makes one secret of every shape.
func samples(r *rand.Rand) []sample {
	var list []sample
	for _, s := range safetytest.Samples(r) {
		list = append(list, sample{s.Rule, s.Before, s.Secret, s.After})
	}
	return list
}

func block(r *rand.Rand, kind string, lines int) string { return safetytest.KeyBlock(r, kind, lines) }
