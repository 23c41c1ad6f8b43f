package debrief

import (
	"errors"
	"fmt"
	"iter"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Build folds a sequence of records, such as a [trace.Reader]'s, into debriefs
// of its root runs. Lines that cannot be read become warnings of every run; any
// other error is returned beside what was folded before it.
func Build(records iter.Seq2[trace.Record, error]) ([]Debrief, error) {
	var f Fold
	for rec, err := range records {
		if err != nil {
			w, ok := damage(err)
			if !ok {
				return f.Finish(), err
			}
			f.Damage(w)
			continue
		}
		row, err := trace.RowOf(rec)
		if err != nil {
			f.Damage(Warning{Code: WarnNoKind, Line: rec.Place().Line, Message: "the line has no kind and is no event"})
			continue
		}
		f.Add(&row)
	}
	return f.Finish(), nil
}

// damage turns a bad line into a warning.
func damage(err error) (Warning, bool) {
	var bad *trace.SyntaxError
	if !errors.As(err, &bad) {
		return Warning{}, false
	}
	code := WarnUnreadable
	if !bad.Lost() {
		code = WarnJoined
	}
	return Warning{Code: code, Line: bad.Line, Message: fmt.Sprintf("%s: %s", bad.Damage, bad.Reason)}, true
}

// readRationale reads a rationale from a trace. One that keeps to the limits of
// specification 004 is taken as stored; any other is read by the rules for the
// model's own words: cut and marked, never mended.
func readRationale(row *trace.Row, f trace.Field) (*rationale.Rationale, error) {
	if stored := row.Rationale(f); stored != nil && rationale.Validate(*stored) == nil {
		return stored, nil
	}
	stated, err := rationale.Decode(row.Raw(f))
	if err != nil {
		return nil, err
	}
	return &stated.Rationale, nil
}
