package lenient

import "github.com/rax-project/rax/rationale"

// Capture reads the rationale object that stands at the given range of the
// JSON. All spans of the result are ranges of the text. A value that is no
// object is malformed: what it is for would be a guess.
func (n *Normal) Capture(at rationale.Span, from rationale.Source) rationale.Capture {
	c := rationale.Capture{Source: from}
	stated, err := rationale.Decode(n.JSON[at.Start:at.End])
	if err != nil {
		c.Status, c.Reason, c.Span = rationale.Malformed, err.Error(), n.Whole(at)
		return c
	}
	place := func(s rationale.Span) rationale.Span {
		return rationale.Span{Start: n.Source(s.Start + at.Start), End: n.Source(s.End + at.Start)}
	}
	for i := range stated.Assumptions {
		a := &stated.Assumptions[i]
		a.Span = place(a.Span)
		if a.Why != "" {
			a.WhySpan = place(a.WhySpan)
		}
	}
	c.Status = rationale.Present
	c.Rationale, c.Assumptions = &stated.Rationale, stated.Assumptions
	c.Span, c.Warnings = place(stated.WhySpan), stated.Warnings
	return c
}
