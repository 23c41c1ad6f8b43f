package rationale

// Status says what became of the rationale of one tool call. Every call has
// exactly one.
type Status string

const (
	// Present: a valid rationale stated by the model for this call.
	Present Status = "present"
	// Missing: it was asked for; the model stated none.
	Missing Status = "missing"
	// Malformed: the model wrote one that cannot be read.
	Malformed Status = "malformed"
	// Blocked: stated, but the safety pipeline refused to store it.
	Blocked Status = "blocked"
	// Unasked: nothing in this run asked for one.
	Unasked Status = "unasked"
)

// Statuses lists every status in the order in which they are shown.
var Statuses = [...]Status{Present, Missing, Malformed, Blocked, Unasked}

// Valid reports whether s is one of [Statuses].
func (s Status) Valid() bool {
	for _, known := range Statuses {
		if s == known {
			return true
		}
	}
	return false
}

// Asked reports whether a call with this status counts in the coverage.
func (s Status) Asked() bool { return s.Valid() && s != Unasked }

// Source says through which channel a present rationale was stated.
type Source string

const (
	// SourceBlock: a <rationale call="N"> block in text or thinking.
	SourceBlock Source = "block"
	// SourceArgument: a rationale argument that rax added to the tool's schema
	// and took out before the call ran.
	SourceArgument Source = "argument"
	// SourceSibling: a JSON field beside the call.
	SourceSibling Source = "sibling"
	// SourcePlan: a planner's step.
	SourcePlan Source = "plan"
	// SourceStatedArg: an argument of which the tool's own schema says that it
	// asks the model for its reason.
	SourceStatedArg Source = "stated-arg"
	// SourceKernel: a reason that rax's own kernel gives; outside the coverage.
	SourceKernel Source = "kernel"
)

// Origin points at the very characters that a text was read from, inside the
// same model message as the call it belongs to.
type Origin struct {
	// Source names the file that holds the message when it is not the trace
	// itself: the transcript that an import read (its base name).
	Source string `json:"source,omitempty"`
	// Line is the 1-based line of Source; 0 when the place is an event.
	Line int `json:"line,omitempty"`
	// Offset is the byte offset of the JSON value on that line in Source. It
	// tells apart two values that stand on one line.
	Offset int64 `json:"offset,omitempty"`
	// Event is the seq of the event of this trace that holds the message; nil
	// when the place is in Source.
	Event *int64 `json:"event,omitempty"`
	// Field is a JSON Pointer (RFC 6901) to the string inside that value.
	Field string `json:"field"`
	// Start and End are byte offsets, half-open, in the decoded string.
	Start int `json:"start"`
	End   int `json:"end"`
}
