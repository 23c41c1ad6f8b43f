package thinking

import "github.com/rax-project/rax/rationale"

// Delta is a stretch of a text that arrived.
type Delta struct {
	Thinking bool
	Text     string
	// Revised says that the deltas so far put text and thinking in the wrong
	// place, as only the tag that has now arrived shows. The truth is in
	// [Splitter.Split]; Text is empty.
	Revised bool
}

// Splitter is [SplitTags] for a text that arrives in pieces: whatever the
// pieces, Close returns what SplitTags returns for the whole. The zero value
// is ready. It holds the text.
type Splitter struct {
	text []byte
	// segs are the finished segments; cur is the start of the open one.
	segs []Segment
	cur  int
	// scan is how far tags were looked for, sent how far deltas were emitted.
	scan, sent int
	depth      int
	tagged     bool // a tag was seen
	visible    bool // text other than white space was seen
	shown      bool // a finished segment is text
	noOpening  bool
	// lastClose is the last closing tag inside the open thinking, reopen the
	// first opening tag after it: how thinking ends that is never closed.
	lastClose, reopen rationale.Span
	// Where the scan is in code: the run of backticks that ends at scan,
	// whether only white space stands before it on the line, and the fence.
	ticks     int
	midLine   bool
	tickStart bool
	fence     bool
	closed    bool
	result    Split
}

// Write takes the next piece. emit, which may be nil, gets what became certain
// enough to show.
func (s *Splitter) Write(piece string, emit func(Delta)) {
	if s.closed {
		return
	}
	s.text = append(s.text, piece...)
	s.advance(false, emit)
}

// Raw is the text so far, with its tags.
func (s *Splitter) Raw() string { return string(s.text) }

// Close ends the text. What is written afterwards is ignored, and a second
// Close returns the same.
func (s *Splitter) Close(emit func(Delta)) Split {
	if s.closed {
		return s.result
	}
	s.advance(true, emit)
	split := s.finish()
	s.closed, s.result = true, split
	if emit != nil && s.depth > 0 && s.lastClose.End > 0 {
		emit(Delta{Revised: true}) // what was shown as thinking is text in part
	}
	return split
}

func (s *Splitter) advance(final bool, emit func(Delta)) {
	for s.scan < len(s.text) {
		c := s.text[s.scan]
		if c == '<' && !s.inCode() {
			kind, n, more := matchTag(s.text[s.scan:])
			if more && !final {
				break
			}
			if kind != noTag && s.tag(kind, n, emit) {
				continue
			}
		}
		s.track(c)
		s.scan++
	}
	s.flush(s.scan, emit)
	if final && !s.tagged {
		s.visible = true
		s.flush(len(s.text), emit)
	}
}

// inCode reports whether a tag here is quoted code. Thinking is not looked at:
// the end of a code block may touch the closing tag.
func (s *Splitter) inCode() bool {
	return s.depth == 0 && (s.fence || s.ticks == 1 || s.ticks == 2)
}

func (s *Splitter) track(c byte) {
	if c == '`' {
		if s.ticks == 0 {
			s.tickStart = !s.midLine
		}
		s.ticks++
		if s.ticks == 3 && s.tickStart && s.depth == 0 {
			s.fence = !s.fence
		}
	} else {
		s.ticks = 0
	}
	switch c {
	case '\n':
		s.midLine = false
	case ' ', '\t', '\r':
	default:
		s.midLine = true
		if s.depth == 0 {
			s.visible = true
		}
	}
}

// tag takes the tag of n bytes at scan, or reports that it is plain text.
func (s *Splitter) tag(kind tagKind, n int, emit func(Delta)) bool {
	at := rationale.Span{Start: s.scan, End: s.scan + n}
	switch {
	case kind == openTag && s.depth > 0:
		s.depth++
		if s.lastClose.End > 0 && s.reopen.End == 0 {
			s.reopen = at
		}
		s.scan = at.End
		return true
	case kind == openTag:
		s.flush(at.Start, emit)
		s.end(false, at)
		s.depth = 1
		s.lastClose, s.reopen = rationale.Span{}, rationale.Span{}
	case s.depth > 1:
		s.depth--
		s.lastClose, s.reopen = at, rationale.Span{}
		s.scan = at.End
		return true
	case s.depth == 1:
		s.flush(at.Start, emit)
		s.end(true, at)
		s.depth = 0
	case !s.tagged:
		switch {
		case emit == nil:
		case s.sent > 0:
			emit(Delta{Revised: true})
		case at.Start > 0:
			emit(Delta{Thinking: true, Text: string(s.text[:at.Start])})
		}
		s.end(true, at)
		s.noOpening, s.visible = true, false
	default:
		return false
	}
	s.ticks, s.midLine, s.fence = 0, false, false
	s.tagged = true
	s.scan, s.sent = at.End, at.End
	return true
}

// end closes the open segment before a tag.
func (s *Splitter) end(thinking bool, tag rationale.Span) {
	s.add(thinking, rationale.Span{Start: s.cur, End: tag.Start})
	s.cur = tag.End
}

// add keeps a segment, without the white space around leading thinking.
func (s *Splitter) add(thinking bool, span rationale.Span) {
	if !thinking && !s.shown {
		// White space before the first tag goes if there is nothing else.
		if start := s.skipSpace(span.Start, span.End); span.Start > 0 || start == span.End {
			span.Start = start
		}
	}
	if span.Len() > 0 {
		s.segs = append(s.segs, Segment{Thinking: thinking, Span: span})
		s.shown = s.shown || !thinking
	}
}

func (s *Splitter) skipSpace(from, to int) int {
	for from < to && isSpace(s.text[from]) {
		from++
	}
	return from
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// flush emits what lies between sent and to. Leading white space of the text
// waits until it is clear that no thinking follows it.
func (s *Splitter) flush(to int, emit func(Delta)) {
	if to <= s.sent {
		return
	}
	if emit == nil {
		s.sent = to
		return
	}
	if s.depth == 0 && !s.visible {
		return
	}
	from := s.sent
	if s.depth == 0 && s.tagged && !s.shown && from <= s.cur {
		from = s.skipSpace(s.cur, to)
	}
	if from < to {
		emit(Delta{Thinking: s.depth > 0, Text: string(s.text[from:to])})
	}
	s.sent = to
}

// finish closes the last segment.
func (s *Splitter) finish() Split {
	end := len(s.text)
	split := Split{NoOpening: s.noOpening}
	switch {
	case s.depth == 0:
		if s.tagged {
			s.add(false, rationale.Span{Start: s.cur, End: end})
		} else if end > 0 {
			s.segs = append(s.segs, Segment{Span: rationale.Span{End: end}})
		}
	case s.lastClose.End == 0:
		s.add(true, rationale.Span{Start: s.cur, End: end})
		split.Unclosed = true
	default:
		s.add(true, rationale.Span{Start: s.cur, End: s.lastClose.Start})
		rest := rationale.Span{Start: s.lastClose.End, End: end}
		if s.reopen.End > 0 {
			rest.End = s.reopen.Start
		}
		s.add(false, rest)
		if s.reopen.End > 0 {
			s.add(true, rationale.Span{Start: s.reopen.End, End: end})
			split.Unclosed = true
		}
	}
	split.Segments = s.segs
	return split
}
