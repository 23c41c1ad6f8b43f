// Package rationale defines the reason that a model states for a decision:
// its shape and limits, the words that ask for it, and the readers that find
// it in what the model wrote.
//
// A rationale is what the model stated, or nothing. Every function here either
// returns text that stands in its input, with the place where it stands, or
// says why there is none. Nothing is guessed and no text is moved.
//
// The package imports nothing else of rax and is part of the promised Go API.
package rationale

// Limits of the texts inside a [Rationale], in Unicode code points (seed 004;
// the limit of rejectedBecause is rax's own).
const (
	MaxWhy             = 280
	MaxRejectedBecause = 160
)

// Rationale is the reason that a model states for one decision. The JSON names
// are those of specification 004.
type Rationale struct {
	// Why is the reason in one sentence, 1 to 280 code points.
	Why string `json:"why" validate:"required,max=280"`
	// Refs name the observations or scratchpad keys that the reason rests on,
	// such as "obs:1" or "scratch:goal". They are recorded as stated: a ref
	// that does not exist is for a check to find.
	Refs []string `json:"refs,omitempty" validate:"omitempty,dive,required"`
	// Alternatives are the options that the model says it weighed and rejected.
	Alternatives []Alternative `json:"alternatives,omitempty" validate:"omitempty,dive"`
	// Confidence is in [0,1]; nil when the model stated none. 0 is a value.
	Confidence *float64 `json:"confidence,omitempty" validate:"omitempty,gte=0,lte=1"`
	// Truncated says that the model stated more than MaxWhy code points and
	// that Why holds the first of them.
	Truncated bool `json:"truncated,omitempty"`
}

// Alternative is an option that the model weighed and did not take.
type Alternative struct {
	Option          string `json:"option" validate:"required"`
	RejectedBecause string `json:"rejectedBecause" validate:"required,max=160"`
}

// Assumption is something that the model says it takes for granted.
type Assumption struct {
	// Text is what is assumed, in the model's words.
	Text string `json:"assumption"`
	// Why is the stated reason; empty when the model gave none, which is
	// counted and never filled in.
	Why string `json:"why,omitempty"`
	// Confidence is in [0,1]; nil when the model stated none.
	Confidence *float64 `json:"confidence,omitempty"`
	// Span is where the assumption stands in the text it was read from.
	Span Span `json:"-"`
	// WhySpan is where the reason stands; the zero Span without a reason.
	WhySpan Span `json:"-"`
}

// Span is a half-open range [Start, End) of byte offsets in a decoded string.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// In returns the characters of text that the span covers, or "" when the span
// does not lie inside it.
func (s Span) In(text string) string {
	if s.Start < 0 || s.End < s.Start || s.End > len(text) {
		return ""
	}
	return text[s.Start:s.End]
}
