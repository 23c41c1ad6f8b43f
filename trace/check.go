package trace

import (
	"fmt"
	"iter"
)

// Violation is one invariant of the format that a trace breaks.
type Violation struct {
	Place
	RunID string
	// Rule is a stable name: no-kind, no-run, seq-order, no-start, second-start,
	// after-end, unknown-parent, end-without-start, open-call, no-end.
	Rule    string
	Message string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s", v.Place, v.Rule, v.Message)
}

// Check verifies the invariants of a trace: that seq increases strictly within
// a run, that each run starts once and before anything else, that parents exist
// before their sub-runs, that calls and their ends pair, that nothing but
// safety notes follows the end of a run. It goes on after a violation. Traces of other
// programs may break some of them and can be read all the same. The error is the
// last one of the sequence itself, nil when it has none.
func Check(records iter.Seq2[Record, error]) ([]Violation, error) {
	c := checker{runs: make(map[string]*checkedRun)}
	var last error
	for rec, err := range records {
		if err != nil {
			last = err
			continue
		}
		c.add(rec)
	}
	c.finish()
	return c.found, last
}

type checker struct {
	runs  map[string]*checkedRun
	order []string
	found []Violation
}

type checkedRun struct {
	id             string
	place          Place
	lastSeq        int64
	started, ended bool
	open           map[string]int // calls by callId, or by tool name without one
}

func (c *checker) report(p Place, run, rule, format string, args ...any) {
	c.found = append(c.found, Violation{p, run, rule, fmt.Sprintf(format, args...)})
}

func (c *checker) add(rec Record) {
	row, err := RowOf(rec)
	if err != nil {
		c.report(rec.place, "", "no-kind", "the event has no kind")
		return
	}
	id := row.Str(FieldRunID)
	if id == "" {
		c.report(row.place, "", "no-run", "the event has no runId")
		return
	}
	run, known := c.runs[id]
	seq := row.Int(FieldSeq)
	if !known {
		run = &checkedRun{id: id, lastSeq: seq - 1, open: make(map[string]int)}
		c.runs[id] = run
		c.order = append(c.order, id)
		if row.kind != KindRunStarted {
			c.report(row.place, id, "no-start", "the first event of the run is %s", row.kind)
		}
	}
	run.place = row.place
	if !row.Has(FieldSeq) || seq <= run.lastSeq {
		c.report(row.place, id, "seq-order", "seq %d follows %d", seq, run.lastSeq)
	}
	run.lastSeq = max(run.lastSeq, seq)
	if run.ended && row.kind != KindSafetyApplied {
		c.report(row.place, id, "after-end", "%s follows the end of the run", row.kind)
	}
	c.addKind(run, &row)
}

func (c *checker) addKind(run *checkedRun, row *Row) {
	key := row.Str(FieldCallID)
	if key == "" {
		key = "tool " + row.Str(FieldToolName)
	}
	switch row.kind {
	case KindRunStarted:
		if run.started {
			c.report(row.place, run.id, "second-start", "the run starts again")
		}
		run.started = true
		if parent := row.Str(FieldParentRunID); parent != "" && (parent == run.id || c.runs[parent] == nil) {
			c.report(row.place, run.id, "unknown-parent", "the parent run has no event before")
		}
	case KindRunCompleted:
		run.ended = true
	case KindToolCallStart:
		run.open[key]++
	case KindToolCallEnd:
		if run.open[key] == 0 {
			c.report(row.place, run.id, "end-without-start", "no call of %s is open", row.Str(FieldToolName))
			return
		}
		if run.open[key]--; run.open[key] == 0 {
			delete(run.open, key)
		}
	}
}

func (c *checker) finish() {
	for _, id := range c.order {
		run := c.runs[id]
		if !run.ended {
			c.report(run.place, id, "no-end", "the run has no run-completed")
			continue
		}
		n := 0
		for _, calls := range run.open {
			n += calls
		}
		if n > 0 {
			c.report(run.place, id, "open-call", "calls without an end: %d", n)
		}
	}
}
