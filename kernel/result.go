package kernel

import (
	"fmt"

	"github.com/rax-project/rax/debrief"
)

// Result is what a run gave.
type Result struct {
	RunID  string `json:"runId"`
	Output string `json:"output"`
	// Reason says by what the run ended.
	Reason string `json:"reason"`
	Failed bool   `json:"failed"`
	// Detail is what the strategy gave beside the output; see [Outcome].
	Detail any `json:"detail,omitempty"`
	// Debrief is folded from the records that the trace holds, without asking
	// any model.
	Debrief debrief.Debrief `json:"debrief"`
}

func (r *run) result(o Outcome) Result {
	res := Result{RunID: r.id, Output: o.Output, Reason: o.Reason, Failed: o.Failed, Detail: o.Detail}
	if r.base.ParentRunID != "" {
		return res // the root's debrief holds it
	}
	if runs := r.book.fold.Finish(); len(runs) > 0 {
		res.Debrief = runs[0]
	}
	return res
}

// ModelError says that the model could not be asked, or gave an answer that
// cannot be used.
type ModelError struct {
	Model string
	Err   error
}

func (e *ModelError) Error() string { return fmt.Sprintf("model %s: %v", e.Model, e.Err) }

// Unwrap gives the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Short is the error in one line of at most 280 characters, for the trace.
func (e *ModelError) Short() string {
	s := []rune(firstLine(e.Err.Error()))
	return string(s[:min(len(s), 280)])
}
