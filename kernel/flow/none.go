//go:build noreasoning

package flow

import (
	"context"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/tool"
)

// Flow is a flow; this build makes none.
type Flow struct{ Name, Description string }

// Env is what a flow runs with.
type Env struct {
	Config       kernel.Config
	Tools        *tool.Registry
	Model        func(spec string) (kernel.Model, error)
	DefaultModel string
	State        map[string]any
}

// Result is what a flow gave.
type Result struct {
	kernel.Result
	State map[string]any `json:"-"`
}

// Load gives ErrLeftOut.
func Load(string) (*Flow, error) { return nil, ErrLeftOut }

// Parse gives ErrLeftOut.
func Parse(string, []byte) (*Flow, error) { return nil, ErrLeftOut }

// Check gives ErrLeftOut.
func (*Flow) Check(Env) error { return ErrLeftOut }

// Inputs are none.
func (*Flow) Inputs() []string { return []string{} }

// Run gives ErrLeftOut.
func (*Flow) Run(context.Context, Env, kernel.Recorder) (Result, error) {
	return Result{}, ErrLeftOut
}

// Schema gives ErrLeftOut.
func Schema() ([]byte, error) { return nil, ErrLeftOut }
