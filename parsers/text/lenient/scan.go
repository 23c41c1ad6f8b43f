package lenient

import (
	"strings"

	"github.com/rax-project/rax/rationale"
)

// state is what the scanner expects next in the innermost open bracket.
type state uint8

const (
	wantFirst state = iota // a first member or element, or the closing bracket
	wantNext               // one after a comma; the closing bracket is a repair
	wantColon
	wantValue // a member's value
	wantComma // a comma or the closing bracket
)

// frame is one open bracket.
type frame struct {
	start    int
	array    bool
	state    state
	object   int // index in scanner.objects; -1 of an array
	member   int // index in scanner.watched of the member being read; -1 other
	some     bool
	repaired bool
}

// scanner reads values in one pass over the text without recursion. With out
// set it also writes them as strict JSON.
type scanner struct {
	text    string
	watched []string
	stack   []frame
	objects []Object
	out     *Normal
	// lastString and lastClosed are, in the current attempt, where the last
	// string began and the last bracket pair ended; -1 before there is one.
	lastString, lastClosed int
	// budget is how many bytes may be read a second time.
	budget int
}

func nextBracket(text string, at int) int {
	i := strings.IndexAny(text[at:], "{[")
	if i < 0 {
		return -1
	}
	return at + i
}

// attempt reads the value at start and returns where to look for the next.
//
// After a failure everything that was complete inside stays found, and what
// was open fails at the same place whatever bracket reading begins with. So
// looking goes on at the failure, or in the last string before it, which may
// have been no string but a quotation mark in prose. Each stretch between two
// quotation marks is thereby read as a string and once more as prose. Comments
// would make the second reading long, so going back has a budget.
func (s *scanner) attempt(start int) int {
	first := len(s.objects)
	end, ok := s.value(start)
	if ok {
		root := rationale.Span{Start: start, End: end}
		for i := first; i < len(s.objects); i++ {
			s.objects[i].Root = root
		}
		return end
	}
	for n := len(s.objects); n > first && s.objects[n-1].Span.End == 0; n-- {
		s.objects = s.objects[:n-1]
	}
	if s.lastString >= 0 {
		again := max(s.lastString+1, s.lastClosed)
		if s.budget -= end - again; s.budget >= 0 {
			return again
		}
	}
	return max(end, start+1)
}

// found returns the objects that were read whole and have watched members.
func (s *scanner) found() []Object {
	kept := s.objects[:0]
	for _, o := range s.objects {
		if o.Span.End == 0 || len(o.Members) == 0 {
			continue
		}
		if o.Root.End == 0 {
			o.Root = o.Span
		}
		kept = append(kept, o)
	}
	return kept
}

// value reads the object or array at start. It returns the offset after it, or
// the offset of what could not be read.
func (s *scanner) value(start int) (end int, ok bool) {
	s.stack = s.stack[:0]
	s.lastString, s.lastClosed = -1, -1
	s.push(start)
	for i := start + 1; ; {
		top := &s.stack[len(s.stack)-1]
		i = s.space(i, top)
		if i >= len(s.text) {
			if i > len(s.text) || top.state != wantComma {
				return len(s.text), false
			}
			for len(s.stack) > 0 {
				s.pop(i, true)
			}
			return i, true
		}
		c := s.text[i]
		switch {
		case c == '}' && !top.array || c == ']' && top.array:
			if top.state == wantColon || top.state == wantValue {
				return i, false
			}
			top.repaired = top.repaired || top.state == wantNext
			i++
			s.pop(i, false)
			if len(s.stack) == 0 {
				return i, true
			}
		case top.state == wantColon:
			if c != ':' {
				return i, false
			}
			s.out.put(i, ":")
			top.state = wantValue
			i++
		case top.state == wantComma:
			if c != ',' {
				return i, false
			}
			top.state = wantNext
			i++
		case !top.array && top.state != wantValue:
			if i, ok = s.name(i, top); !ok {
				return i, false
			}
		default:
			if top.array {
				s.separate(i, top)
			}
			if c == '{' || c == '[' {
				if len(s.stack) >= MaxDepth {
					return i, false
				}
				s.push(i)
				i++
				continue
			}
			kind, next, repaired, ok := s.scalar(i)
			if !ok {
				return next, false
			}
			s.ended(rationale.Span{Start: i, End: next}, kind, repaired, false)
			i = next
		}
	}
}

// separate writes the comma before every member or element but the first. The
// commas of the text are not copied, so that a trailing one needs no care.
func (s *scanner) separate(at int, top *frame) {
	if top.some {
		s.out.put(at, ",")
	}
	top.some = true
}

func (s *scanner) push(at int) {
	f := frame{start: at, array: s.text[at] == '[', object: -1, member: -1}
	if !f.array {
		parent := len(s.stack) - 1
		f.object = len(s.objects)
		s.objects = append(s.objects, Object{
			Span:    rationale.Span{Start: at},
			InArray: parent >= 0 && s.stack[parent].array,
		})
	}
	s.out.put(at, s.text[at:at+1])
	s.stack = append(s.stack, f)
}

// pop closes the innermost bracket, which ends at the given offset.
func (s *scanner) pop(end int, cut bool) {
	f := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	f.repaired = f.repaired || cut
	kind, bracket := Array, "]"
	if !f.array {
		kind, bracket = ObjectKind, "}"
		o := &s.objects[f.object]
		o.Span.End, o.Repaired, o.Cut = end, f.repaired, cut
		if len(o.Members) == 0 && f.object == len(s.objects)-1 {
			s.objects = s.objects[:f.object]
		}
	}
	s.out.put(end-1, bracket)
	s.lastClosed = end
	if len(s.stack) > 0 {
		s.ended(rationale.Span{Start: f.start, End: end}, kind, f.repaired, cut)
	}
}

// ended notes that a value inside the innermost bracket is complete.
func (s *scanner) ended(span rationale.Span, kind Kind, repaired, cut bool) {
	top := &s.stack[len(s.stack)-1]
	top.state = wantComma
	top.repaired = top.repaired || repaired
	if top.array || top.member < 0 {
		return
	}
	o := &s.objects[top.object]
	name := s.watched[top.member]
	if _, twice := o.Member(name); !twice {
		o.Members = append(o.Members, Member{Name: name, Kind: kind, Span: span, Repaired: repaired, Cut: cut})
	}
}

// name reads a member's name.
func (s *scanner) name(i int, top *frame) (next int, ok bool) {
	s.separate(i, top)
	var name string
	if c := s.text[i]; c == '"' || c == '\'' {
		end, repaired, ok := s.quoted(i)
		if !ok {
			return end, false
		}
		top.repaired = top.repaired || repaired
		name, next = s.text[i+1:end-1], end
		if strings.IndexByte(name, '\\') >= 0 {
			name = unescape(name)
		}
	} else {
		next = i + identifier(s.text[i:])
		if next == i {
			return i, false
		}
		top.repaired = true
		name = s.text[i:next]
		s.out.put(i, `"`)
		s.out.copy(s.text, i, next)
		s.out.put(next, `"`)
	}
	top.state, top.member = wantColon, -1
	for w := range s.watched {
		if s.watched[w] == name {
			top.member = w
		}
	}
	if top.member < 0 {
		s.objects[top.object].Others++
	}
	return next, true
}

// space skips white space and comments. It returns more than the length of the
// text when a comment does not end.
func (s *scanner) space(i int, top *frame) int {
	for i < len(s.text) {
		rest := s.text[i:]
		switch c := rest[0]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case c == '#' || strings.HasPrefix(rest, "//"):
			top.repaired = true
			line := strings.IndexByte(rest, '\n')
			if line < 0 {
				return len(s.text)
			}
			i += line
		case strings.HasPrefix(rest, "/*"):
			top.repaired = true
			close := strings.Index(rest[2:], "*/")
			if close < 0 {
				return len(s.text) + 1
			}
			i += 2 + close + 2
		default:
			return i
		}
	}
	return i
}
