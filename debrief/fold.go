package debrief

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rax-project/rax/trace"
)

// Fold turns the rows of a trace into debriefs. It takes any rows in any order,
// keeps runs apart, and hangs sub-runs under their parents. It is not safe for
// concurrent use. The zero Fold is ready.
type Fold struct {
	runs     map[string]*run
	order    []*run
	warnings []Warning
}

// Add folds one row. What it keeps of the row it copies.
func (f *Fold) Add(row *trace.Row) {
	id := row.Str(trace.FieldRunID)
	r, ok := f.runs[id]
	if !ok {
		if f.runs == nil {
			f.runs = make(map[string]*run)
		}
		r = newRun(id)
		f.runs[id] = r
		f.order = append(f.order, r)
	}
	r.add(row)
}

// Damage notes a line that could not be read, or a row without a kind. It
// belongs to no run and shows in all of them.
func (f *Fold) Damage(w Warning) { f.warnings = append(f.warnings, w) }

// Finish gives the root runs in the order in which they first appear, with
// their sub-runs in Children. The Fold must not be used after it.
func (f *Fold) Finish() []Debrief {
	children := make(map[string][]*run)
	var roots []*run
	for _, r := range f.order {
		switch parent := f.runs[r.parent]; {
		case r.parent == "":
			roots = append(roots, r)
		case parent == nil || f.loops(r):
			r.warn(WarnLostParent, 0, 0, fmt.Sprintf("the parent run %q is not in this trace, or nests too deep; shown as a run of its own", r.parent))
			roots = append(roots, r)
		default:
			children[r.parent] = append(children[r.parent], r)
		}
	}
	debriefs := make([]Debrief, 0, len(roots))
	for _, r := range roots {
		d := r.finish(children)
		d.SchemaVersion = SchemaVersion
		d.Warnings = append(d.Warnings, f.warnings...)
		debriefs = append(debriefs, d)
	}
	return debriefs
}

// maxDepth bounds how deep sub-runs nest in a debrief.
const maxDepth = 64

// loops reports whether the chain of r's parents has no end within maxDepth,
// which only a forged trace has.
func (f *Fold) loops(r *run) bool {
	depth := 0
	for at := f.runs[r.parent]; at != nil; at = f.runs[at.parent] {
		if depth++; depth > maxDepth {
			return true
		}
	}
	return false
}

// Latest gives the index of the run that started last; of several, the one that
// stands last. It is -1 when there is none.
func Latest(runs []Debrief) int {
	best := -1
	for i := range runs {
		if best < 0 || runs[i].StartedAt >= runs[best].StartedAt {
			best = i
		}
	}
	return best
}

// Find gives the run with an id, among roots and all their children.
func Find(runs []Debrief, id string) (Debrief, bool) {
	for _, d := range runs {
		if d.RunID == id {
			return d, true
		}
		if child, ok := Find(d.Children, id); ok {
			return child, true
		}
	}
	return Debrief{}, false
}

// sortWarnings orders warnings by place, so that equal traces read alike.
func sortWarnings(ws []Warning) {
	slices.SortStableFunc(ws, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Code, b.Code))
	})
}
