package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rax-project/rax/trace"
)

// ReplayOptions change how events are shown.
type ReplayOptions struct {
	// Raw prints the lines as they are; JSON prints each with its place.
	Raw, JSON bool
	Width     int
	Color     bool
}

// Replay shows the events of a trace one by one.
type Replay struct {
	w     io.Writer
	opt   ReplayOptions
	style style
	start int64
}

// NewReplay returns a Replay that writes to w.
func NewReplay(w io.Writer, opt ReplayOptions) *Replay {
	return &Replay{w: w, opt: opt, style: style{opt.Color}}
}

// replayed is an event with its place.
type replayed struct {
	Line   int             `json:"line"`
	Offset int64           `json:"offset"`
	Event  json.RawMessage `json:"event"`
}

// shown are the members that say most about an event, in the order in which
// they are shown; the others follow in the trace's own order.
var shown = []string{"toolName", "callId", "ok", "durationMs", "error", "status", "rationaleStatus", "rationale", "task", "model", "text"}

// common are the members that every event has, shown in columns of their own.
var common = []string{"kind", "runId", "timestamp", "iter", "seq"}

// Record shows one record, if its kind is wanted, and reports whether it did.
func (r *Replay) Record(rec trace.Record, wanted func(trace.Kind) bool) (bool, error) {
	row, err := trace.RowOf(rec)
	if err != nil && !errors.Is(err, trace.ErrNoKind) {
		return false, err
	}
	at := row.Int(trace.FieldTimestamp)
	if r.start == 0 {
		r.start = at
	}
	if !wanted(row.Kind()) {
		return false, nil
	}
	switch {
	case r.opt.Raw:
		_, err = fmt.Fprintf(r.w, "%s\n", EscapeJSON(rec.Bytes()))
	case r.opt.JSON:
		err = JSONLine(r.w, replayed{rec.Place().Line, rec.Place().Offset, rec.Bytes()})
	default:
		err = r.line(&row, rec, at)
	}
	return true, err
}

func (r *Replay) line(row *trace.Row, rec trace.Record, at int64) error {
	kind := Clean(string(row.Kind()))
	if kind == "" {
		kind = "(no kind)"
	}
	since := time.Duration(at-r.start) * time.Millisecond
	line := fmt.Sprintf("%6d %10s  iter %2d  %-24s", row.Int(trace.FieldSeq), "+"+since.Round(time.Millisecond).String(), row.Iter(), kind)
	members := trace.Members(rec)
	slices.SortStableFunc(members, func(a, b trace.Member) int { return shownRank(a.Name) - shownRank(b.Name) })
	var parts []string
	for _, m := range members {
		if slices.Contains(common, m.Name) {
			continue
		}
		parts = append(parts, Clean(m.Name)+"="+clip(Clean(string(m.Value)), 80))
	}
	line = strings.TrimRight(line+" "+strings.Join(parts, " "), " ")
	if ok := row.OptBool(trace.FieldOK); ok != nil && !*ok {
		line = r.style.fail(line)
	}
	_, err := io.WriteString(r.w, r.style.finish(clip(line, r.opt.Width)+"\n"))
	return err
}

func shownRank(name string) int {
	if i := slices.Index(shown, name); i >= 0 {
		return i
	}
	return len(shown)
}
