package kernel

import (
	"context"
	"time"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
)

// Model answers requests. kernel/model has those that talk to providers, and
// the scripted one.
type Model interface {
	// Info describes the model. It is constant.
	Info() ModelInfo
	// Complete sends one request and reads the whole answer. live, where it is
	// not nil, is told what arrives meanwhile. The Reply is good, as far as it
	// came, beside an error too.
	Complete(ctx context.Context, req provider.Request, live func(provider.Delta)) (Reply, error)
}

// ModelInfo describes a model.
type ModelInfo struct {
	// Provider and Name are the two halves of "provider:model".
	Provider string
	Name     string
	// Format is the wire format of its answers.
	Format provider.Format
	// NativeTools says that tools can be offered by the provider's own means.
	NativeTools bool
	// Structured says that the provider can enforce a JSON Schema.
	Structured bool
	// Window is how many tokens a prompt may have; 0 when not known.
	Window int64
}

// Reply is an answer with what it took to get it.
type Reply struct {
	Answer parsers.Answer
	// Duration is from the request to the end of the answer, retries included.
	Duration time.Duration
	// Attempts counts the requests that were sent.
	Attempts int
	// CostUsd is absent where no price is known.
	CostUsd *float64
}
