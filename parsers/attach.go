package parsers

import (
	"slices"

	"github.com/rax-project/rax/rationale"
)

// Attach gives every call of an answer its Capture, and the answer its
// Unmatched blocks.
//
// asked says that the request asked for reasons. When it did not and no block
// stands in the answer either, every call is unasked. injected are the tools,
// by their own names, into whose schema rax put the rationale argument: from
// their calls it is taken out. A rationale argument of any other tool is the
// tool's own business and stays.
//
// Blocks are looked for in what the model wrote itself: a provider's summary of
// its thinking is not.
func Attach(a *Answer, asked bool, injected ...string) {
	var parts []rationale.Part
	var index []int
	for i, p := range a.Parts {
		if p.Text == "" || (p.Kind != PartText && p.Kind != PartThinking) || p.Format == formatSummary {
			continue
		}
		parts = append(parts, rationale.Part{Text: p.Text, Thinking: p.Kind == PartThinking})
		index = append(index, i)
	}
	captures, unmatched := rationale.Attach(parts, len(a.Calls))
	stands := len(unmatched) > 0
	for i := range captures {
		if captures[i].Part >= 0 {
			captures[i].Part = index[captures[i].Part]
		}
		stands = stands || captures[i].Status != rationale.Missing
	}
	for i := range unmatched {
		unmatched[i].Part = index[unmatched[i].Part]
	}
	a.Unmatched = unmatched
	for i := range a.Calls {
		c := &a.Calls[i]
		c.Capture = captures[i]
		if !asked && !stands {
			c.Capture.Status = rationale.Unasked
		}
		if slices.Contains(injected, c.Name) {
			c.TakeArgument()
		}
	}
}

// formatSummary is thinking.Summary; that package imports nothing of this one,
// and this one need not know the others.
const formatSummary = "summary"

// TakeArgument takes the injected argument out of the call and settles it with
// what a block states.
func (c *Call) TakeArgument() {
	rest, raw, found := rationale.ExtractArgument(c.Arguments)
	if !found {
		return
	}
	c.Taken = raw
	if !c.Invalid {
		c.Arguments = rest
	}
	argument := rationale.Capture{Source: rationale.SourceArgument, Part: -1}
	stated, err := rationale.Decode(raw)
	if err != nil {
		argument.Status, argument.Reason = rationale.Malformed, err.Error()
		argument.Span.End = len(raw)
	} else {
		argument.Status, argument.Rationale = rationale.Present, &stated.Rationale
		argument.Assumptions, argument.Warnings = stated.Assumptions, stated.Warnings
		argument.Span = stated.WhySpan
	}
	c.Capture = rationale.Resolve(argument, c.Capture)
}

// Place is where a span of a part stands in the whole body: the JSON Pointer of
// the string and the range in it.
func (a *Answer) Place(part int, span rationale.Span) (pointer string, in rationale.Span) {
	if part < 0 || part >= len(a.Parts) {
		return "", rationale.Span{}
	}
	p := a.Parts[part]
	return p.Pointer, rationale.Span{Start: p.Span.Start + span.Start, End: p.Span.Start + span.End}
}
