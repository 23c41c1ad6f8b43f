//go:build noreasoning

package flow_test

import (
	"errors"
	"testing"

	"github.com/rax-project/rax/kernel/flow"
)

func TestLeftOut(t *testing.T) {
	if _, err := flow.Load("x.yaml"); !errors.Is(err, flow.ErrLeftOut) {
		t.Errorf("%v", err)
	}
	if _, err := flow.Schema(); !errors.Is(err, flow.ErrLeftOut) {
		t.Errorf("%v", err)
	}
}
