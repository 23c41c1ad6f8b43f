package kernel

import (
	"context"
	"errors"
	"fmt"
)

// ErrDepth says that a sub-run would nest deeper than Limits.Depth.
var ErrDepth = errors.New("sub-runs nest too deep")

// SubRun is a run below another, as a strategy opens it for a part of its task.
// Its events stand in the same trace.
type SubRun struct {
	run  *run
	task string
}

// Open writes the start of a sub-run, so that sub-runs stand in the trace in
// the order in which they were opened, whatever order they end in. Each must be
// run, once. The sub-run has the configuration of this run, without its fallback
// and as change leaves it; change may be nil. It spends from the same budget of
// tokens. Open must not be called by several goroutines at once.
func (l *Loop) Open(task string, change func(*Config)) (*SubRun, error) {
	r := l.run
	cfg := r.cfg
	cfg.Fallback = nil
	if change != nil {
		change(&cfg)
	}
	if r.base.Depth+1 >= cfg.Limits.Depth {
		return nil, fmt.Errorf("%w: the limit is %d", ErrDepth, cfg.Limits.Depth)
	}
	checked, err := New(cfg)
	if err != nil {
		return nil, err
	}
	sub, err := newRun(checked.cfg, nil, lineage{parent: r})
	if err != nil {
		return nil, err
	}
	sub.tokens = r.tokens
	if err := sub.begin(task); err != nil {
		return nil, err
	}
	return &SubRun{run: sub, task: task}, nil
}

// ID is the id of the sub-run.
func (s *SubRun) ID() string { return s.run.id }

// Run runs the sub-run to its end, see [Agent.Run]. Several sub-runs of one run
// may go on at once; the run itself waits for them.
func (s *SubRun) Run(ctx context.Context) (Result, error) { return s.run.work(ctx, s.task) }

// Depth is how deep the run is nested: 0 for a root run.
func (l *Loop) Depth() int { return l.run.base.Depth }
