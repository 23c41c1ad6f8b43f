//go:build noreasoning

package strategy

import (
	"errors"

	"github.com/rax-project/rax/kernel"
)

// errLeftOut says that a technique is not in this build.
var errLeftOut = errors.New("this build leaves the reasoning techniques out (build tag noreasoning)")

// techniques are none in this build.
func techniques() []string { return nil }

func newTechnique(string, Options) (kernel.Strategy, error) { return nil, errLeftOut }
