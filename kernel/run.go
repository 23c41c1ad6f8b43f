package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/kernel/convo"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// lineage places a run below the one that opened it.
type lineage struct {
	parent *run
	// callID is the parent's call that opened the run.
	callID string
}

// run is one run while it goes on.
type run struct {
	cfg    Config
	id     string
	base   trace.Base // what every event of the run carries
	book   *book
	log    convo.Log
	curate control.Curator
	start  time.Time
	// openedBy is the parent's call that opened this sub-run.
	openedBy string

	iter   int
	open   bool // the iteration has no exit yet
	calls  int  // calls made, for their ids
	groups int  // parallel groups
	obs    int  // observations, for their refs
	spent  counts
	// tokens is what counts against the budget: that of the run and of the
	// sub-runs that it opened.
	tokens *atomic.Int64
	// byArgument says that reasons are asked for as arguments.
	byArgument bool
	// watch of the reactive control
	pulse pulse
	// sent counts the messages of the log that exchanges already hold, and
	// system is the system prompt that the newest one holds.
	sent   int
	system string
	plain  string // the newest answer's text, for an early stop
}

// book is where the events of a run and its sub-runs go: the recorder, the fold
// of the debrief, and whoever watches. Sub-runs write into their root's.
type book struct {
	ids   sync.Mutex // held while a sub-run takes its id
	mu    sync.Mutex
	rec   Recorder
	fold  debrief.Fold
	watch Watcher
	err   error // sticky: the trace could not be written
}

// write stores an event, folds what was stored, and shows it.
func (b *book) write(ev trace.Event) (trace.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return trace.Record{}, b.err
	}
	rec, err := b.rec.Write(ev)
	if err != nil {
		b.err = fmt.Errorf("trace: %w", err)
		return trace.Record{}, b.err
	}
	row, err := trace.RowOf(rec)
	if err != nil {
		b.err = fmt.Errorf("trace: %w", err)
		return trace.Record{}, b.err
	}
	b.fold.Add(&row)
	if b.watch != nil {
		b.watch.Recorded(rec)
	}
	return rec, nil
}

func newRun(cfg Config, rec Recorder, from lineage) (*run, error) {
	if from.parent != nil {
		// Sub-runs may be opened by several goroutines at once.
		from.parent.book.ids.Lock()
		defer from.parent.book.ids.Unlock()
	}
	id, err := cfg.NewID()
	if err != nil {
		return nil, fmt.Errorf("run id: %w", err)
	}
	r := &run{cfg: cfg, id: id, start: cfg.Now(), tokens: new(atomic.Int64)}
	r.log.DropReasoning = cfg.DropReasoning
	r.curate = control.Curator{Limit: cfg.Limits.ObservationBytes, Untrusted: cfg.Untrusted}
	r.byArgument = cfg.Channel == ChannelArgument
	r.base = trace.Base{RunID: id}
	if from.parent == nil {
		r.book = &book{rec: rec, watch: cfg.Watch}
		return r, nil
	}
	p := from.parent
	r.book, r.openedBy = p.book, from.callID
	r.base.ParentRunID, r.base.Depth = p.id, p.base.Depth+1
	r.base.RootRunID = p.base.RootRunID
	if r.base.RootRunID == "" {
		r.base.RootRunID = p.id
	}
	r.base.SessionID, r.base.ThreadID, r.base.Turn = p.base.SessionID, p.base.ThreadID, p.base.Turn
	return r, nil
}

// emit writes an event of the current iteration.
func (r *run) emit(ev trace.Event) (trace.Record, error) {
	b := ev.Common()
	callID := b.CallID
	*b = r.base
	b.CallID, b.Iter = callID, r.iter
	if r.iter == 0 {
		b.Iter = trace.NoIter
	}
	b.Timestamp = r.cfg.Now().UnixMilli()
	return r.book.write(ev)
}

// note writes events of which nothing more is needed.
func (r *run) note(events ...trace.Event) error {
	for _, ev := range events {
		if _, err := r.emit(ev); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) metric(name string, labels map[string]string) error {
	return r.note(&trace.Metric{Name: name, Value: 1, Labels: labels})
}

// do runs the task and closes the run, whatever happens.
func (r *run) do(ctx context.Context, task string) (Result, error) {
	if err := r.begin(task); err != nil {
		return r.result(Outcome{Reason: ReasonTraceError, Failed: true}), err
	}
	return r.work(ctx, task)
}

// begin writes the start of the run.
func (r *run) begin(task string) error {
	info := r.cfg.Model.Info()
	_, err := r.emit(&trace.RunStarted{
		Base: trace.Base{CallID: r.openedBy}, Task: task, Model: info.Name, Provider: info.Provider,
		Config: settingsOf(r.cfg),
	})
	return err
}

// work runs a task that has begun.
func (r *run) work(ctx context.Context, task string) (Result, error) {
	r.log.User(task)
	loop := &Loop{run: r, task: task}
	outcome, err := r.strategy(ctx, loop)
	outcome, err = settle(ctx, outcome, err, r.plain)
	if err == nil && outcome.Failed {
		err = outcome.Err
	}
	r.finish(outcome, err)
	if err == nil {
		err = r.book.err
	}
	return r.result(outcome), err
}

// strategy runs the strategy, and the fallback when the control asks for it.
func (r *run) strategy(ctx context.Context, loop *Loop) (Outcome, error) {
	outcome, err := r.cfg.Strategy.Run(ctx, loop)
	if err != nil || !outcome.Switch || r.cfg.Fallback == nil {
		return outcome, err
	}
	why := &rationale.Rationale{Why: outcome.Why}
	err = r.note(&trace.StrategySwitched{
		From: r.cfg.Strategy.Name(), To: r.cfg.Fallback.Name(), Reason: outcome.Why, Rationale: why,
	})
	if err != nil {
		return outcome, err
	}
	loop.switched = true
	return r.cfg.Fallback.Run(ctx, loop)
}

// settle turns the error of a strategy into an outcome.
func settle(ctx context.Context, o Outcome, err error, plain string) (Outcome, error) {
	var model *ModelError
	switch {
	case err == nil:
		return o, nil
	case ctx.Err() != nil:
		return Outcome{Output: plain, Reason: ReasonInterrupted, Failed: true, Detail: o.Detail}, ctx.Err()
	case errors.As(err, &model):
		return Outcome{Output: plain, Reason: ReasonModelError, Why: model.Short(), Failed: true, Detail: o.Detail}, err
	default:
		return Outcome{Output: plain, Reason: ReasonTraceError, Failed: true}, err
	}
}

// finish writes the end of the run. Its own errors are in the book.
func (r *run) finish(o Outcome, err error) {
	status := "success"
	switch {
	case o.Reason == ReasonInterrupted:
		status = "cancelled"
	case o.Failed:
		status = "failure"
	}
	_ = r.closeIteration()
	_ = r.snapshot("done", &o)
	r.iter = 0
	done := &trace.RunCompleted{
		Status: status, Output: o.Output,
		DurationMs: new(float64(r.cfg.Now().Sub(r.start).Milliseconds())),
	}
	done.TotalTokens, done.Tokens, done.TotalCostUsd = r.spent.total(), r.spent.tokens(), r.spent.cost
	if err != nil {
		done.Error = firstLine(err.Error())
	}
	_, _ = r.emit(done)
}

// closeIteration writes the exit of the open iteration.
func (r *run) closeIteration() error {
	if !r.open {
		return nil
	}
	r.open = false
	return r.note(&trace.IterationExit{})
}

// snapshot writes the state of the loop, with the termination when o is set.
func (r *run) snapshot(status string, o *Outcome) error {
	s := &trace.KernelStateSnapshot{
		Status: status, Tokens: r.spent.total(), Cost: r.spent.cost,
		LLMCalls: new(r.spent.exchanges), MessagesCount: new(int64(len(r.log.Entries()))),
		StepsCount: new(int64(r.calls)),
	}
	if o != nil {
		s.TerminatedBy = o.Reason
		if o.Why != "" {
			s.TerminationRationale = &rationale.Rationale{Why: o.Why}
		}
		s.OutputLen = new(int64(len(o.Output)))
	}
	return r.note(s)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
