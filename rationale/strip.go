package rationale

import "bytes"

// Strip returns text without its rationale blocks, for people to read: exactly
// what [ParseBlocks] reads as blocks goes, and tags that belong to no block.
// Prose that mentions the tag stays. Strip(Strip(text)) equals Strip(text).
//
// A block that has its lines to itself takes its line break with it, and blank
// lines after it when one stands before it already; behind a space or a line
// break it takes the spaces that follow on its line. Where the text before a
// removal ends in half a tag, a line break takes the place of what went, so
// that nothing new comes together.
func Strip(text string) string {
	var s Stripper
	return s.Write(text) + s.Close()
}

// maxIndent bounds the white space that is held back behind a removed line.
const maxIndent = 256

// Stripper does [Strip] for text that arrives piece by piece. However the text
// is cut, the concatenated output is Strip of the whole, and no part of a block
// is ever shown. It holds back less than [MaxBlock] and a few kilobytes, and
// nothing in ordinary prose. The zero Stripper is ready to use.
type Stripper struct {
	scan scanner
	out  []byte
	// tail is the end of what was written, long enough to hold half a tag.
	tail []byte
	wake wake
	// indent is white space held back in wakeLines.
	indent []byte
	// log is told what becomes of the text, for a [Cutter]; nil otherwise.
	log *cutLog
}

// keepTail is the length of the longest half of a tag.
const keepTail = maxTag + len("&gt;")

// wake is what becomes of white space behind a removed block.
type wake int

const (
	wakeNone wake = iota
	// wakeSpaces: spaces go, up to the end of the line.
	wakeSpaces
	// wakeBreak: spaces go, and the line break behind them.
	wakeBreak
	// wakeLines: blank lines go, the indentation of the next line stays.
	wakeLines
)

// Write takes the next piece of text and returns what can be shown of it.
func (s *Stripper) Write(chunk string) string {
	s.scan.text = append(s.scan.text, chunk...)
	return s.drain()
}

// Close returns what was held back. The Stripper must not be used afterwards.
func (s *Stripper) Close() string {
	s.scan.final = true
	out := s.drain()
	if len(s.indent) > 0 {
		s.log.keep(len(s.indent))
		out += string(s.indent)
		s.indent = nil
	}
	return out
}

func (s *Stripper) drain() string {
	s.out = s.out[:0]
	for p, ok := s.scan.next(); ok; p, ok = s.scan.next() {
		if p.kind == textPiece {
			s.show(s.scan.text[p.Start:p.End])
		} else {
			s.remove(p.Len())
		}
	}
	s.scan.forget()
	return string(s.out)
}

// forget drops the text that has been decided. It waits until that is half of
// what is held, so that each byte is moved a bounded number of times.
func (s *scanner) forget() {
	if s.pos == 0 || s.pos < len(s.text)-s.pos {
		return
	}
	s.before = s.text[s.pos-1]
	s.text = s.text[:copy(s.text, s.text[s.pos:])]
	if s.try != nil {
		s.try.shift(s.pos)
	}
	s.behind -= s.pos
	s.pos = 0
}

// show writes prose, without the white space that the last removal claims.
func (s *Stripper) show(text []byte) {
	for s.wake != wakeNone && len(text) > 0 {
		c := text[0]
		space := c == ' ' || c == '\t' || c == '\r'
		switch {
		case s.wake == wakeLines && c == '\n':
			s.log.drop(len(s.indent)+1, "")
			s.indent = s.indent[:0]
		case s.wake == wakeLines && space && len(s.indent) < maxIndent:
			s.indent = append(s.indent, c)
		case s.wake == wakeLines:
			s.wake = wakeNone
			s.log.keep(len(s.indent))
			s.emit(s.indent)
			s.indent = s.indent[:0]
			continue
		case space && c != '\r', space && s.wake == wakeBreak:
			s.log.drop(1, "")
		case c == '\n' && s.wake == wakeBreak:
			s.log.drop(1, "")
			s.wake = wakeNone
			if s.atBlank() {
				s.wake = wakeLines
			}
		default:
			s.wake = wakeNone
			continue
		}
		text = text[1:]
	}
	s.log.keep(len(text))
	s.emit(text)
}

// remove notes that a block or tag of n bytes went.
func (s *Stripper) remove(n int) {
	n += len(s.indent)
	s.indent = s.indent[:0]
	if s.halfTag() {
		s.log.drop(n, "\n")
		s.emit([]byte("\n"))
	} else {
		s.log.drop(n, "")
	}
	switch {
	case s.atLine():
		s.wake = wakeBreak
	case s.tail[len(s.tail)-1] == ' ', s.tail[len(s.tail)-1] == '\t':
		s.wake = wakeSpaces
	default:
		s.wake = wakeNone
	}
}

func (s *Stripper) emit(text []byte) {
	s.out = append(s.out, text...)
	if len(text) > keepTail {
		s.tail = s.tail[:0]
		text = text[len(text)-keepTail:]
	}
	if s.tail = append(s.tail, text...); len(s.tail) >= 4*keepTail {
		s.tail = s.tail[:copy(s.tail, s.tail[len(s.tail)-keepTail:])]
	}
}

// atLine reports whether the output is at the beginning of a line.
func (s *Stripper) atLine() bool { return len(s.tail) == 0 || s.tail[len(s.tail)-1] == '\n' }

// atBlank reports whether the output is at its beginning or behind a blank line.
func (s *Stripper) atBlank() bool {
	if len(s.tail) == 0 {
		return true
	}
	head := bytes.TrimRight(bytes.TrimSuffix(s.tail, []byte("\n")), "\r")
	return len(head) == 0 || head[len(head)-1] == '\n'
}

// halfTag reports whether the output ends in the beginning of a tag.
func (s *Stripper) halfTag() bool {
	if s.atLine() {
		return false
	}
	for i := max(0, len(s.tail)-keepTail); i < len(s.tail); i++ {
		if c := s.tail[i]; c == '<' || c == '&' {
			if _, m := matchTag(s.tail, i); m == maybe {
				return true
			}
		}
	}
	return false
}
