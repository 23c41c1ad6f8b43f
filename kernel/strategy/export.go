package strategy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/trace"
)

// Exporter writes the reasoning of a run, alone and as it happens, as lines of
// JSON: the records of what the model said and of what was decided and done,
// byte for byte as the trace holds them. It is a [kernel.Watcher] and takes
// records only, so that nothing reaches its file but what the trace's Writer let
// through. It keeps nothing in memory.
type Exporter struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

var _ kernel.Watcher = (*Exporter)(nil)

// NewExporter returns an exporter that writes to w, one line a Write.
func NewExporter(w io.Writer) *Exporter { return &Exporter{w: w} }

// Recorded implements [kernel.Watcher].
func (e *Exporter) Recorded(rec trace.Record) {
	row, err := trace.RowOf(rec)
	if err != nil || !reasoning(row.Kind()) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return
	}
	line := make([]byte, 0, len(rec.Bytes())+1)
	line = append(append(line, rec.Bytes()...), '\n')
	n, err := e.w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	e.err = err
}

// Err is the first error of writing; nothing was written after it.
func (e *Exporter) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// reasoning reports whether an event of the kind belongs to the reasoning.
func reasoning(k trace.Kind) bool {
	switch k {
	case trace.KindRunStarted, trace.KindRunCompleted, trace.KindLLMExchange, trace.KindReasoningRecorded,
		trace.KindToolCallStart, trace.KindToolCallEnd, trace.KindAssumptionRecorded,
		trace.KindAlternativesConsidered, trace.KindRationaleUnmatched, trace.KindDecisionEvaluated,
		trace.KindStrategySwitched, trace.KindCritiqueRecorded, trace.KindSubproblemOpened,
		trace.KindSubproblemClosed, trace.KindErrorRaised:
		return true
	}
	return false
}

// Logger tells a [slog.Logger] the steps of a run, out of what the trace holds.
// It is a [kernel.Watcher]. Errors are logged at slog.LevelError, refusals and
// failures at slog.LevelWarn, the rest at slog.LevelInfo.
type Logger struct{ log *slog.Logger }

var _ kernel.Watcher = Logger{}

// NewLogger returns the watcher of a logger.
func NewLogger(log *slog.Logger) Logger { return Logger{log} }

// Recorded implements [kernel.Watcher].
func (l Logger) Recorded(rec trace.Record) {
	row, err := trace.RowOf(rec)
	if err != nil || !reasoning(row.Kind()) {
		return
	}
	ctx := context.Background()
	level := levelOf(&row)
	if !l.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("run", row.Str(trace.FieldRunID)), slog.Int64("seq", row.Int(trace.FieldSeq))}
	if iter := row.Iter(); iter != trace.NoIter {
		attrs = append(attrs, slog.Int("step", iter))
	}
	ev, _, err := trace.Decode(rec)
	if err == nil {
		attrs = append(attrs, said(ev)...)
	}
	l.log.LogAttrs(ctx, level, string(row.Kind()), attrs...)
}

func levelOf(row *trace.Row) slog.Level {
	switch row.Kind() {
	case trace.KindErrorRaised:
		return slog.LevelError
	case trace.KindToolCallEnd, trace.KindSubproblemClosed, trace.KindRunCompleted:
		if row.Str(trace.FieldError) != "" {
			return slog.LevelWarn
		}
	}
	return slog.LevelInfo
}

// said are the few members of an event that a log line shows.
func said(ev trace.Event) []slog.Attr {
	var out []slog.Attr
	text := func(key, value string) {
		if value != "" {
			out = append(out, slog.String(key, value))
		}
	}
	switch ev := ev.(type) {
	case *trace.RunStarted:
		text("task", ev.Task)
		text("model", ev.Model)
	case *trace.RunCompleted:
		text("status", ev.Status)
		text("error", ev.Error)
	case *trace.LLMExchange:
		text("model", ev.Model)
		text("stop", ev.StopReason)
	case *trace.ReasoningRecorded:
		text("format", ev.Format)
		text("text", ev.Text)
	case *trace.ToolCallStart:
		text("call", ev.CallID)
		text("tool", ev.ToolName)
		text("status", string(ev.RationaleStatus))
		if ev.Rationale != nil {
			text("why", ev.Rationale.Why)
		}
		text("thought", ev.Narrative)
	case *trace.ToolCallEnd:
		text("call", ev.CallID)
		text("tool", ev.ToolName)
		text("outcome", ev.Outcome)
		text("error", ev.Error)
	case *trace.DecisionEvaluated:
		text("decision", ev.DecisionType)
		text("reason", ev.Reason)
	case *trace.CritiqueRecorded:
		out = append(out, slog.Int("round", ev.Round), slog.Bool("accepted", ev.Accepted))
		text("critique", ev.Critique)
	case *trace.SubproblemOpened:
		text("subproblem", ev.Subproblem)
		text("problem", ev.Problem)
	case *trace.SubproblemClosed:
		text("subproblem", ev.Subproblem)
		text("error", ev.Error)
	case *trace.AssumptionRecorded:
		text("assumption", ev.Assumption)
	case *trace.ErrorRaised:
		text("where", ev.Where)
		text("message", ev.Message)
	}
	return out
}

// Watchers is a watcher that tells several, in order.
type Watchers []kernel.Watcher

// Recorded implements [kernel.Watcher].
func (ws Watchers) Recorded(rec trace.Record) {
	for _, w := range ws {
		w.Recorded(rec)
	}
}

// Err gives the errors of those that have any.
func (ws Watchers) Err() error {
	var errs []error
	for _, w := range ws {
		if e, ok := w.(interface{ Err() error }); ok {
			errs = append(errs, e.Err())
		}
	}
	return errors.Join(errs...)
}
