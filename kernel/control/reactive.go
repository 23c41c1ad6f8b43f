package control

import "fmt"

// Facts are what the reactive rules look at: plain counts of the run so far.
type Facts struct {
	Iteration     int
	MaxIterations int
	// Repeats counts how often the newest call was made before with equal
	// arguments, in a row.
	Repeats int
	// RepeatedTool is the tool of that call.
	RepeatedTool string
	// Stale counts the iterations since an observation brought anything new.
	Stale int
	// Errors counts the failed calls in a row, and ErrorTool the tool of them
	// when it is one.
	Errors    int
	ErrorTool string
	// ContextTokens is the size of the newest prompt, Window what the model
	// takes; 0 when not known.
	ContextTokens int64
	Window        int64
	// Tokens is what the run has spent, Budget what it may; 0 for no budget.
	Tokens int64
	Budget int64
	// CanSwitch says that there is another strategy to switch to.
	CanSwitch bool
}

// ReactiveType is what the reactive control decides to do.
type ReactiveType string

// The types of reactive decisions (specification 004).
const (
	EarlyStop      ReactiveType = "early-stop"
	Branch         ReactiveType = "branch"
	Compress       ReactiveType = "compress"
	SwitchStrategy ReactiveType = "switch-strategy"
	Attribute      ReactiveType = "attribute"
)

// Reaction is a decision of the reactive control, with the facts it rests on.
type Reaction struct {
	Type ReactiveType
	// Why names the facts in one sentence.
	Why string
	// Note is what the model is told; empty when it is told nothing.
	Note string
}

// Thresholds of the rules. They are small on purpose: each rule fires on what a
// reader of the trace would call obvious.
const (
	repeatsBranch = 2 // the same call a third time
	repeatsSwitch = 3
	repeatsStop   = 5
	staleBranch   = 4
	staleStop     = 8
	errorsNote    = 3
	errorsStop    = 8
)

// React gives the decision that the facts call for, if any. Of several the
// strongest is given: stopping before switching before noting.
func React(f Facts) (Reaction, bool) {
	switch {
	case f.Budget > 0 && f.Tokens >= f.Budget:
		return Reaction{EarlyStop, fmt.Sprintf("%d of %d tokens are spent", f.Tokens, f.Budget), ""}, true
	case f.Repeats >= repeatsStop:
		return Reaction{EarlyStop, fmt.Sprintf("the same call of %s was made %d times in a row", f.RepeatedTool, f.Repeats+1), ""}, true
	case f.Errors >= errorsStop:
		return Reaction{EarlyStop, fmt.Sprintf("%d calls in a row failed", f.Errors), ""}, true
	case f.Stale >= staleStop:
		return Reaction{EarlyStop, fmt.Sprintf("no new evidence in %d iterations", f.Stale), ""}, true
	case f.Repeats >= repeatsSwitch && f.CanSwitch:
		return Reaction{SwitchStrategy, fmt.Sprintf("the same call of %s was made %d times in a row", f.RepeatedTool, f.Repeats+1), ""}, true
	case f.Window > 0 && f.ContextTokens*10 >= f.Window*8:
		return Reaction{Compress, fmt.Sprintf("the prompt holds %d of %d tokens", f.ContextTokens, f.Window), ""}, true
	case f.Repeats == repeatsBranch:
		return Reaction{
			Branch, fmt.Sprintf("the same call of %s was made %d times in a row", f.RepeatedTool, f.Repeats+1),
			"You have made this call with the same arguments before and its result will not change. Try another way, or answer with what you have.",
		}, true
	case f.Errors == errorsNote && f.ErrorTool != "":
		return Reaction{
			Attribute, fmt.Sprintf("the last %d calls of %s failed", f.Errors, f.ErrorTool),
			fmt.Sprintf("The tool %s keeps failing. Read its errors, change the arguments, or do without it.", f.ErrorTool),
		}, true
	case f.Stale == staleBranch:
		return Reaction{
			Branch, fmt.Sprintf("no new evidence in %d iterations", f.Stale),
			"The last results brought nothing new. Try another way, or answer with what you have.",
		}, true
	}
	return Reaction{}, false
}
