// Package kernel runs an agent that must say why: it asks the model for a
// reason with every tool call, reads what the model states, and writes each
// decision into the trace before it acts on it (specification 004).
//
// A call without a stated reason stays without one. It is counted, and the run
// goes on.
//
// The package owns the interfaces [Model], [Tool], [Toolbox] and [Strategy];
// what implements them is handed in. Nothing here is part of the promised Go
// API.
package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/trace"
)

// RationaleMode says how hard a run insists on reasons.
type RationaleMode string

// The modes of --rationale.
const (
	// RationaleWarn (the default) asks for reasons; a missing one is a metric.
	RationaleWarn RationaleMode = "warn"
	// RationaleStrict asks once more for the same calls before they are made.
	RationaleStrict RationaleMode = "strict"
	// RationaleOff asks for nothing: every call is unasked.
	RationaleOff RationaleMode = "off"
)

// Channel says where a run asks the model to state its reasons.
type Channel string

// The channels of --rationale-channel.
const (
	// ChannelBlock (the default) asks for <rationale> blocks in the text.
	ChannelBlock Channel = "block"
	// ChannelArgument adds a rationale argument to every tool.
	ChannelArgument Channel = "argument"
	// ChannelAuto starts with blocks and adds arguments after an answer that
	// made calls and stated nothing.
	ChannelAuto Channel = "auto"
)

// ToolMode says how calls are written on the wire.
type ToolMode string

// The modes of calling tools.
const (
	// ToolsAuto takes native calls where the model has them.
	ToolsAuto ToolMode = ""
	// ToolsNative sends tools by the provider's own means.
	ToolsNative ToolMode = "native"
	// ToolsText teaches the model to write its calls as text.
	ToolsText ToolMode = "text"
)

// Limits bound a run. A zero field takes the default.
type Limits struct {
	Iterations int `json:"iterations"`
	// Tokens is the budget over all answers; 0 means none.
	Tokens int64 `json:"tokens,omitempty"`
	// Parallel is how many calls of one answer run at once.
	Parallel int `json:"parallel"`
	// Replans bounds how often a plan is made anew.
	Replans int `json:"replans"`
	// Depth bounds how deep sub-agents nest.
	Depth int `json:"depth"`
	// ObservationBytes is the longest observation that enters a prompt whole.
	ObservationBytes int `json:"observationBytes"`
}

// The defaults of Limits.
const (
	DefaultIterations = 25
	DefaultParallel   = 4
	DefaultReplans    = 2
	DefaultDepth      = 4
)

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Iterations, DefaultIterations)
	set(&l.Parallel, DefaultParallel)
	set(&l.Replans, DefaultReplans)
	set(&l.Depth, DefaultDepth)
	set(&l.ObservationBytes, control.DefaultObservationLimit)
	return l
}

// Recorder stores events; *trace.Writer is one.
type Recorder interface {
	Write(trace.Event) (trace.Record, error)
}

// Config describes an agent.
type Config struct {
	Model    Model
	Tools    Toolbox
	Strategy Strategy
	// Fallback is the strategy that the reactive control may switch to; nil for
	// none.
	Fallback Strategy
	// System is what stands in the system prompt before the mandate.
	System    string
	Rationale RationaleMode
	Channel   Channel
	ToolMode  ToolMode
	Limits    Limits
	Policy    control.Policy
	// Approve asks a person; nil denies whatever must be asked.
	Approve control.Approver
	// Untrusted reports why tool output tries to give instructions; nil trusts
	// everything.
	Untrusted func(text string) string
	Thinking  Thinking
	// DropReasoning leaves reasoning out of the conversation log; it is in the
	// trace all the same.
	DropReasoning bool
	// NewID makes the id of a run.
	NewID func() (string, error)
	Now   func() time.Time
	// Watch is told what happens, for people; nil for nobody.
	Watch Watcher
}

// Thinking asks the model for private reasoning.
type Thinking struct {
	Effort string
	Budget int
	Show   bool
}

// Watcher is told what a run does while it goes on. It is called from the run's
// own goroutine with records that were stored, and with nothing else.
type Watcher interface {
	Recorded(trace.Record)
}

var (
	errNoModel    = errors.New("kernel: no model")
	errNoStrategy = errors.New("kernel: no strategy")
	errNoID       = errors.New("kernel: no function to make run ids")
)

// Agent runs tasks. It may be used for several runs, one after the other or at
// once.
type Agent struct{ cfg Config }

// New checks a configuration and returns its agent.
func New(cfg Config) (*Agent, error) {
	switch {
	case cfg.Model == nil:
		return nil, errNoModel
	case cfg.Strategy == nil:
		return nil, errNoStrategy
	case cfg.NewID == nil:
		return nil, errNoID
	}
	if err := cfg.Policy.Validate(); err != nil {
		return nil, err
	}
	if cfg.Rationale == "" {
		cfg.Rationale = RationaleWarn
	}
	if cfg.Channel == "" {
		cfg.Channel = ChannelBlock
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Limits = cfg.Limits.withDefaults()
	return &Agent{cfg: cfg}, nil
}

// Run runs a task to its end and writes its trace to rec. The Result is good,
// as far as the run went, beside an error too; the error says why the run did
// not end by itself: a *ModelError, the error of rec, or that of ctx.
func (a *Agent) Run(ctx context.Context, task string, rec Recorder) (Result, error) {
	r, err := newRun(a.cfg, rec, lineage{})
	if err != nil {
		return Result{}, err
	}
	return r.do(ctx, task)
}
