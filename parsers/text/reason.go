package text

import (
	"fmt"

	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
)

// attach returns what became of the rationale of each draft. Blocks are looked
// for outside the calls and counted apart in thinking. Everything else in a
// part is made dots, not blanks: a tag and an object that a call stood between
// must not come together.
func (p *parser) attach(text string, calls []rationale.Span) []rationale.Capture {
	thinking := p.result.Thinking
	parts := []rationale.Part{{Text: blank(text, append(calls, thinking...), '.')}}
	if len(thinking) > 0 {
		parts = append(parts, rationale.Part{Text: blank(text, others(thinking, len(text)), '.'), Thinking: true})
	}
	captures, unmatched := rationale.Attach(parts, len(p.drafts))
	p.result.Unmatched = unmatched
	for i, d := range p.drafts {
		if d.sibling != nil {
			captures[i] = rationale.Resolve(captures[i], *d.sibling)
		}
	}
	return captures
}

// others returns what lies between the spans, which are in order.
func others(spans []rationale.Span, end int) []rationale.Span {
	var out []rationale.Span
	at := 0
	for _, s := range spans {
		out = append(out, rationale.Span{Start: at, End: s.Start})
		at = s.End
	}
	return append(out, rationale.Span{Start: at, End: end})
}

// sibling reads the rationale beside a call. It returns nil when the model
// wrote null.
func (p *parser) sibling(m lenient.Member) *rationale.Capture {
	c := rationale.Capture{Status: rationale.Malformed, Source: rationale.SourceSibling, Span: m.Span}
	switch {
	case m.Kind == lenient.Null:
		return nil
	case m.Kind != lenient.ObjectKind:
		c.Reason = fmt.Sprintf("it is %s and not an object", typeName(m.Kind))
		return &c
	case m.Cut:
		c.Reason = "it is cut off"
		return &c
	}
	n, ok := lenient.Normalize(p.text, m.Span)
	if !ok {
		c.Reason = "it is no JSON"
		return &c
	}
	c = n.Capture(rationale.Span{End: len(n.JSON)}, rationale.SourceSibling)
	return &c
}

// blockSpans returns where the rationale blocks stand.
func blockSpans(text string) []rationale.Span {
	blocks := rationale.ParseBlocks(text)
	spans := make([]rationale.Span, len(blocks))
	for i, b := range blocks {
		spans[i] = b.Span
	}
	return spans
}

// typeName names a JSON type for a person.
func typeName(k lenient.Kind) string {
	switch k {
	case lenient.String:
		return "a string"
	case lenient.Number:
		return "a number"
	case lenient.Array:
		return "an array"
	}
	return "a literal"
}
