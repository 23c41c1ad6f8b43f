package rewrite

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// framing is how an answer is cut into frames.
type framing int

const (
	frameUnknown framing = iota
	// frameSSE: events, each with the empty line that ends it.
	frameSSE
	// frameLines: a JSON value a line.
	frameLines
	// frameArray: the elements of one JSON array (Gemini without alt=sse).
	frameArray
	// frameWhole: a body, edited once it is whole.
	frameWhole
)

// frame is the smallest piece of an answer that a client can use.
type frame struct {
	raw      []byte
	edits    splice
	segments []segment
	// lists are arrays whose elements go when their segment goes.
	lists []list
	// pure says that the frame holds nothing but its segments: it goes when
	// they go.
	pure bool
	// block is the content block that the frame belongs to, and opens says that
	// it is the frame with which that block begins (Anthropic).
	block *block
	opens bool
	// index is the number of that block in the frame.
	index gjson.Result
	// close is done when the frame has been read.
	closes []*track
}

// list is an array some of whose elements are a segment and nothing more.
type list struct {
	elements []gjson.Result
	// segment is the index in the frame's segments, -1 for other elements.
	segment []int
	// keep says that an empty list would say something else.
	keep bool
}

func (f *frame) add(s segment) int {
	f.segments = append(f.segments, s)
	return len(f.segments) - 1
}

// text adds a string value to a track.
func (f *frame) text(t *track, v gjson.Result) {
	if v.Type == gjson.String {
		f.add(t.feed(v))
	}
}

func (f *frame) ready() bool {
	for _, s := range f.segments {
		if !s.ready() {
			return false
		}
	}
	return !f.opens || f.block.settled()
}

// gone reports whether nothing is left to be sent.
func (f *frame) gone() bool {
	if f.block != nil && f.block.dropped {
		return true
	}
	if !f.pure {
		return false
	}
	gone := false
	for _, s := range f.segments {
		if s.gone() {
			gone = true
		} else if s.end > s.start {
			return false
		}
	}
	return gone
}

// emit appends the frame as it is to be sent.
func (f *frame) emit(dst []byte) []byte {
	for _, s := range f.segments {
		if cuts := s.touching(); len(cuts) > 0 {
			f.edits.cutString(s.value, s.start, cuts)
		}
	}
	for _, l := range f.lists {
		left := 0
		gone := func(i int) bool { return l.segment[i] >= 0 && f.segments[l.segment[i]].gone() }
		for i := range l.elements {
			if !gone(i) {
				left++
			}
		}
		if left > 0 || !l.keep {
			f.edits.without(l.elements, gone)
		}
	}
	if len(f.edits) == 0 {
		return append(dst, f.raw...)
	}
	return f.edits.apply(dst, f.raw)
}

// forget lets the tracks go on.
func (f *frame) forget() {
	for _, s := range f.segments {
		s.forget()
	}
}

// documents calls do with each JSON value of a frame and its place.
func documents(kind framing, raw []byte, do func(at int, data []byte)) {
	if kind != frameSSE {
		start := 0
		if kind == frameArray {
			start = max(bytes.IndexByte(raw, '{'), 0)
		}
		do(start, raw[start:])
		return
	}
	for at := 0; at < len(raw); {
		end := at
		for end < len(raw) && raw[end] != '\n' && raw[end] != '\r' {
			end++
		}
		line := raw[at:end]
		if at == 0 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			do(end-len(value), value)
		}
		at = end + 1
	}
}

// splitter finds the ends of frames in a buffer.
type splitter struct {
	kind framing
	// at is how far the buffer was looked at, line where its line begins.
	at, line      int
	depth         int
	quoted, slash bool
}

// next is the length of the first frame in buf, 0 while it is not whole.
func (s *splitter) next(buf []byte) int {
	switch s.kind {
	case frameSSE:
		return s.event(buf)
	case frameLines:
		if i := bytes.IndexByte(buf[s.at:], '\n'); i >= 0 {
			return s.take(s.at + i + 1)
		}
		s.at = len(buf)
	case frameArray:
		return s.element(buf)
	}
	return 0
}

func (s *splitter) take(n int) int {
	s.at, s.line = 0, 0
	return n
}

func (s *splitter) event(buf []byte) int {
	for ; s.at < len(buf); s.at++ {
		c := buf[s.at]
		if c != '\n' && c != '\r' {
			continue
		}
		if c == '\n' && s.at == s.line && s.at > 0 && buf[s.at-1] == '\r' {
			s.line = s.at + 1 // the second half of a line's end
			continue
		}
		if s.at > s.line {
			s.line = s.at + 1
			continue
		}
		end := s.at + 1
		if c == '\r' && end == len(buf) {
			return 0 // a line feed may belong to it
		}
		if c == '\r' && buf[end] == '\n' {
			end++
		}
		return s.take(end)
	}
	// A comment that keeps the connection alive must not wait for more.
	if s.line == len(buf) && comments(buf) {
		return s.take(len(buf))
	}
	return 0
}

// comments reports whether buf holds comments and nothing else.
func comments(buf []byte) bool {
	begins := true
	for _, c := range buf {
		if begins && c != ':' && c != '\n' && c != '\r' {
			return false
		}
		begins = c == '\n' || c == '\r'
	}
	return len(buf) > 0
}

func (s *splitter) element(buf []byte) int {
	for ; s.at < len(buf); s.at++ {
		switch c := buf[s.at]; {
		case s.slash:
			s.slash = false
		case s.quoted && c == '\\':
			s.slash = true
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth == 1 {
				return s.take(s.at + 1)
			}
		}
	}
	return 0
}
