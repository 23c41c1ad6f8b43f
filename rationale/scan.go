package rationale

import (
	"bytes"
	"fmt"
)

// The bounds of a block in bytes. They keep the reading linear and what a
// [Stripper] holds back small, and they are part of what a block is: the whole
// text and any stream of it are read alike.
const (
	// MaxBlock is the longest block. A longer one is malformed.
	MaxBlock = 64 << 10
	// maxLead is the longest text between the opening tag and the object.
	maxLead = 1 << 10
	// maxTail is the longest text between the object and the closing tag.
	maxTail = 1 << 10
)

type pieceKind int

const (
	textPiece pieceKind = iota
	blockPiece
	// orphanPiece is a tag that belongs to no block and mentions none.
	orphanPiece
)

// piece is a stretch of the text that has been decided.
type piece struct {
	kind pieceKind
	Span
	// The rest describes a block.
	tag tag
	// object is the range of the JSON object; empty when problem is set.
	object Span
	entity bool
	// problem says why the block cannot be read.
	problem string
	// open says that no closing tag was found.
	open bool
}

// scanner cuts text into prose, blocks and orphaned tags. It can be fed piece
// by piece: it never decides on what later text could change.
//
//  1. Outside a block it looks for tags. A tag inside inline code, a backtick on
//     either side, is prose. A closing tag is an orphan. An opening tag begins
//     an attempt.
//  2. Between the opening tag and the object there may be white space, a code
//     fence or, when a closing tag follows, prose: maxLead bytes at most. A
//     closing tag here ends a block without an object. Another opening tag, or
//     no object, makes the first a mention and thus prose; when nothing but
//     white space or a fence stands between two opening tags, the first is an
//     orphan.
//  3. The object is read to its end; tags inside its strings are content.
//  4. After it a closing tag is looked for, maxTail bytes at most. Without one
//     the block ends with its object.
//  5. When the object cannot be read, the block ends at the first tag after its
//     opening brace, else with the line in which reading failed. The text there
//     is looked at twice; as attempts can overlap only by nesting inside each
//     other's objects, whose depth is bounded, the whole stays linear.
type scanner struct {
	text []byte
	// before is the byte in front of text; 0 at the very beginning.
	before byte
	// pos is where the undecided text begins.
	pos int
	// behind is the end of the last block or orphan. Its last byte is no backtick
	// in front of a tag: it will not be seen.
	behind int
	// final says that no more text will come.
	final bool
	// try is the attempt under way; nil outside of one.
	try *attempt
}

// attempt is a block whose opening tag has been read.
type attempt struct {
	tag   tag
	phase func(*scanner, *attempt) (piece, bool)
	// pos is where reading goes on.
	pos  int
	lead lead
	lex  lexer
	// object is what is known of the object's range.
	object Span
	// second says that another brace follows the object.
	second bool
	// failed is where reading the object failed, and problem why.
	failed  int
	problem string
	// lineEnd is the end of the line of failed, -1 until it is known.
	lineEnd int
}

// next returns the next piece, or false when more text is needed (or, of a
// final text, when there is none left).
func (s *scanner) next() (piece, bool) {
	if s.try != nil {
		return s.resume()
	}
	for i := s.pos; i < len(s.text); i++ {
		if c := s.text[i]; c != '<' && c != '&' {
			continue
		}
		t, m := s.tagAt(i)
		if m == no {
			continue
		}
		if i > s.pos {
			return s.take(piece{Span: Span{s.pos, i}}), true
		}
		switch {
		case m == maybe:
			return piece{}, false
		case t.kind != openTag:
			return s.take(piece{kind: orphanPiece, Span: Span{t.start, t.end}}), true
		case t.alone:
			return s.take(piece{kind: blockPiece, Span: Span{t.start, t.end}, tag: t, problem: "empty"}), true
		}
		t.attrs = bytes.Clone(t.attrs) // text moves when it is fed
		s.try = &attempt{tag: t, phase: (*scanner).leadPhase, pos: t.end, lineEnd: -1}
		return s.resume()
	}
	if s.pos < len(s.text) {
		return s.take(piece{Span: Span{s.pos, len(s.text)}}), true
	}
	return piece{}, false
}

func (s *scanner) resume() (piece, bool) {
	p, ok := s.try.phase(s, s.try)
	if ok {
		s.try = nil
		s.take(p)
	}
	return p, ok
}

func (s *scanner) take(p piece) piece {
	s.pos = p.End
	if p.kind != textPiece {
		s.behind = p.End
	}
	return p
}

// tagAt reads the tag at i. In a final text nothing is maybe.
func (s *scanner) tagAt(i int) (tag, match) {
	if i+1 < len(s.text) { // most brackets are no tag's
		switch s.text[i+1] {
		case '/', 'r', 'R', 'l', 'L':
		default:
			return tag{}, no
		}
	}
	t, m := matchTag(s.text, i)
	if m == maybe && s.final {
		if t.kind == tornTag {
			return t, yes
		}
		return t, no
	}
	if m != yes {
		return t, m
	}
	before := s.before
	if i > 0 {
		before = s.text[i-1]
	}
	if before == '`' && i != s.behind {
		switch {
		case t.end < len(s.text) && s.text[t.end] == '`':
			return t, no
		case t.end == len(s.text) && !s.final:
			return t, maybe
		}
	}
	return t, yes
}

// lead follows what stands before the object: white space, then a fence of
// backticks with a word, then white space. Anything else is prose, for good.
type lead int

const (
	leadSpace lead = iota
	leadFence
	leadWord
	leadAfter
	leadProse
)

func (l lead) add(c byte) lead {
	space := c == ' ' || c == '\t' || c == '\n' || c == '\r'
	switch {
	case l == leadSpace && space, l == leadAfter && space:
		return l
	case c == '`' && l <= leadFence:
		return leadFence
	case l == leadFence && lower(c) >= 'a' && lower(c) <= 'z', l == leadWord && lower(c) >= 'a' && lower(c) <= 'z':
		return leadWord
	case l == leadFence && space, l == leadWord && space:
		return leadAfter
	}
	return leadProse
}

func (s *scanner) leadPhase(a *attempt) (piece, bool) {
	for ; a.pos < len(s.text); a.pos++ {
		c := s.text[a.pos]
		switch {
		case a.pos-a.tag.end >= maxLead:
			return a.mention(), true
		case c == '{':
			a.object.Start = a.pos
			a.phase = (*scanner).objectPhase
			return s.objectPhase(a)
		case c == '<', c == '&':
			t, m := s.tagAt(a.pos)
			switch {
			case m == maybe:
				return piece{}, false
			case m == yes && t.kind == openTag && a.lead != leadProse:
				return piece{kind: orphanPiece, Span: Span{a.tag.start, a.tag.end}}, true
			case m == yes && t.kind == openTag:
				return a.mention(), true
			case m == yes && t.kind == closeTag && a.lead == leadSpace:
				return a.malformed(t.end, "empty"), true
			case m == yes && t.kind == closeTag:
				return a.malformed(t.end, "holds no JSON object"), true
			case m == yes: // a torn tag ends the text
				return s.cutLead(a), true
			}
		}
		a.lead = a.lead.add(c)
	}
	if !s.final {
		return piece{}, false
	}
	return s.cutLead(a), true
}

// cutLead ends an attempt at the end of the text. Cut off right behind its tag
// a block without a number may be a mention.
func (s *scanner) cutLead(a *attempt) piece {
	if _, numbered := attribute(string(a.tag.attrs), "call"); numbered && a.lead != leadProse {
		p := a.malformed(len(s.text), "cut off before its object")
		p.open = true
		return p
	}
	return a.mention()
}

func (s *scanner) objectPhase(a *attempt) (piece, bool) {
	for a.pos < len(s.text) {
		if a.pos-a.tag.start >= MaxBlock {
			return s.fail(a, fmt.Sprintf("longer than %d bytes", MaxBlock))
		}
		n, step := a.lex.next(s.text, a.pos)
		if step == stepWait {
			break
		}
		if step == stepBad {
			return s.fail(a, errNotJSON.Error())
		}
		a.pos += n
		if step == stepDone {
			a.object.End = a.pos
			a.phase = (*scanner).tailPhase
			return s.tailPhase(a)
		}
	}
	if !s.final {
		return piece{}, false
	}
	a.pos = len(s.text)
	return s.fail(a, "cut off inside its object")
}

func (s *scanner) tailPhase(a *attempt) (piece, bool) {
	for ; a.pos < len(s.text) && a.pos-a.object.End < maxTail; a.pos++ {
		switch s.text[a.pos] {
		case '{':
			a.second = true
		case '<', '&':
			t, m := s.tagAt(a.pos)
			switch {
			case m == maybe:
				return piece{}, false
			case m == yes && t.kind == closeTag && a.second:
				return a.malformed(t.end, "holds more than one object"), true
			case m == yes && t.kind == closeTag:
				return a.readable(t.end), true
			case m == yes && t.kind == openTag:
				return s.unclosed(a), true
			}
		}
	}
	if a.pos == len(s.text) && a.pos-a.object.End < maxTail && !s.final {
		return piece{}, false
	}
	return s.unclosed(a), true
}

// unclosed ends a block with its object, and with the fence around it.
func (s *scanner) unclosed(a *attempt) piece {
	if a.lead == leadProse {
		return a.mention()
	}
	end := a.object.End
	if a.lead != leadSpace {
		i := end
		for i < len(s.text) && i-end < maxTail && (s.text[i] == '\n' || s.text[i] == '\r' || s.text[i] == ' ') {
			i++
		}
		for i < len(s.text) && i-a.object.End < maxTail && s.text[i] == '`' {
			i++
			end = i
		}
	}
	p := a.readable(end)
	p.open = true
	return p
}

// fail begins the search for the end of a block that cannot be read.
func (s *scanner) fail(a *attempt, problem string) (piece, bool) {
	a.failed, a.problem = a.pos, problem
	a.pos = a.object.Start
	a.phase = (*scanner).failPhase
	return s.failPhase(a)
}

func (s *scanner) failPhase(a *attempt) (piece, bool) {
	for ; a.pos < len(s.text) && a.pos-a.failed < maxTail; a.pos++ {
		switch s.text[a.pos] {
		case '\n':
			if a.lineEnd < 0 && a.pos >= a.failed {
				a.lineEnd = a.pos
			}
		case '<', '&':
			t, m := s.tagAt(a.pos)
			switch {
			case m == maybe:
				return piece{}, false
			case m == yes && t.kind == closeTag:
				return a.malformed(t.end, a.problem), true
			case m == yes && t.kind == openTag && a.lead == leadProse:
				return a.mention(), true
			case m == yes && t.kind == openTag:
				p := a.malformed(t.start, a.problem)
				p.open = true
				return p, true
			}
		}
	}
	if a.pos == len(s.text) && a.pos-a.failed < maxTail && !s.final {
		return piece{}, false
	}
	if a.lead == leadProse {
		return a.mention(), true
	}
	end := a.lineEnd
	if end < 0 {
		end = a.pos
	}
	p := a.malformed(end, a.problem)
	p.open = true
	return p, true
}

func (a *attempt) mention() piece { return piece{Span: Span{a.tag.start, a.tag.end}} }

func (a *attempt) malformed(end int, problem string) piece {
	return piece{kind: blockPiece, Span: Span{a.tag.start, end}, tag: a.tag, problem: problem}
}

func (a *attempt) readable(end int) piece {
	return piece{kind: blockPiece, Span: Span{a.tag.start, end}, tag: a.tag,
		object: a.object, entity: a.lex.entity}
}

// shift moves an attempt along when n bytes in front of it are forgotten.
func (a *attempt) shift(n int) {
	a.tag.start -= n
	a.tag.end -= n
	a.pos -= n
	a.object.Start -= n
	a.object.End -= n
	a.failed -= n
	if a.lineEnd >= 0 {
		a.lineEnd -= n
	}
}
