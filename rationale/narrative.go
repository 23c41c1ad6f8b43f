package rationale

import (
	"strings"
	"unicode/utf8"
)

// MaxNarrative is the length at which a narrative is cut, in Unicode code
// points.
const MaxNarrative = 1000

// Narrative finds, in text that stands beside a call, what can be shown as its
// narrative: the longest stretch that no rationale block interrupts, without
// white space at its ends, cut after [MaxNarrative] code points. Of equals it is
// the last, which stands nearest to what follows. The span is empty when there
// is nothing but blocks.
func Narrative(text string) (span Span, cut bool) {
	from := 0
	take := func(to int) {
		if s := trim(text, Span{Start: from, End: to}); s.Len() > 0 && s.Len() >= span.Len() {
			span = s
		}
	}
	for _, b := range ParseBlocks(text) {
		take(b.Span.Start)
		from = b.Span.End
	}
	take(len(text))
	return cutAfter(text, span, MaxNarrative)
}

// trim leaves out white space at the ends of a span.
func trim(text string, s Span) Span {
	in := s.In(text)
	s.Start += len(in) - len(strings.TrimLeft(in, " \t\r\n"))
	s.End -= len(in) - len(strings.TrimRight(in, " \t\r\n"))
	s.End = max(s.End, s.Start)
	return s
}

// cutAfter ends a span after limit code points.
func cutAfter(text string, s Span, limit int) (Span, bool) {
	in := s.In(text)
	if utf8.RuneCountInString(in) <= limit {
		return s, false
	}
	for i := range in {
		if limit == 0 {
			return Span{s.Start, s.Start + i}, true
		}
		limit--
	}
	return s, false
}
