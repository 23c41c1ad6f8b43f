package rationale

import (
	"bytes"
	"fmt"
)

// maxNesting bounds the nesting of an object inside a block.
const maxNesting = 16

// lexer finds the end of a JSON object that may be followed by anything, one
// piece at a time. It forgives what can be mended without changing a word: raw
// line breaks and tabs inside strings, and commas before a closing bracket.
// It checks the order of the pieces only; what it lets through is checked as
// JSON afterwards.
type lexer struct {
	// entity says that the quotes are written &quot;. The first one decides.
	entity bool
	// array has a bit for each open bracket: 1 for [.
	array uint32
	depth int
	want  want
	// key says that the string at hand is a member's name.
	key bool
}

// want is what the lexer accepts next.
type want int

const (
	wantObject want = iota
	wantFirstKey
	wantKey // or the end, after a trailing comma
	wantColon
	wantValue
	wantFirstElement
	wantElement // or the end, after a trailing comma
	wantComma   // or the end
	inLiteral
	inString
)

// step is what the lexer says of the piece at hand.
type step int

const (
	stepOn step = iota
	stepDone
	stepBad
	// stepWait: the text ends inside a piece.
	stepWait
)

// quoteAt returns the length of the quote at text[i], 0 when there is none.
func quoteAt(text []byte, i int, entity bool) (int, match) {
	if text[i] == '"' {
		return 1, yes
	}
	if !entity || text[i] != '&' {
		return 0, no
	}
	found := no
	for _, word := range [...]string{"&quot;", "&#34;"} {
		switch prefix(text[i:], word) {
		case yes:
			return len(word), yes
		case maybe:
			found = maybe
		}
	}
	return 0, found
}

// next reads the piece at text[i] and returns its length.
func (l *lexer) next(text []byte, i int) (int, step) {
	c := text[i]
	if l.want == inString {
		return l.inside(text, i)
	}
	if l.want == inLiteral {
		if literal(c) {
			return 1, stepOn
		}
		l.want = wantComma
	}
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		return 1, stepOn
	}
	switch l.want {
	case wantObject:
		if c == '{' {
			return 1, l.open(false)
		}
	case wantFirstKey, wantKey:
		if c == '}' {
			return 1, l.close(false)
		}
		// The first quote of the object decides how its quotes are written.
		entity := l.entity || l.want == wantFirstKey && l.depth == 1
		n, m := quoteAt(text, i, entity)
		if m == maybe {
			return 0, stepWait
		}
		if m == yes {
			l.entity = l.entity || n > 1
			l.want, l.key = inString, true
			return n, stepOn
		}
	case wantColon:
		if c == ':' {
			l.want = wantValue
			return 1, stepOn
		}
	case wantValue, wantFirstElement, wantElement:
		return l.value(text, i)
	case wantComma:
		switch {
		case c == ',' && l.array&1 == 1:
			l.want = wantElement
			return 1, stepOn
		case c == ',':
			l.want = wantKey
			return 1, stepOn
		case c == '}', c == ']':
			return 1, l.close(c == ']')
		}
	}
	return 0, stepBad
}

func (l *lexer) value(text []byte, i int) (int, step) {
	c := text[i]
	switch {
	case c == '{', c == '[':
		return 1, l.open(c == '[')
	case c == ']' && l.want != wantValue:
		return 1, l.close(true)
	case literal(c):
		l.want = inLiteral
		return 1, stepOn
	}
	n, m := quoteAt(text, i, l.entity)
	switch m {
	case yes:
		l.want, l.key = inString, false
		return n, stepOn
	case maybe:
		return 0, stepWait
	}
	return 0, stepBad
}

func (l *lexer) inside(text []byte, i int) (int, step) {
	if text[i] == '\\' {
		if i+1 == len(text) {
			return 0, stepWait
		}
		n, m := quoteAt(text, i+1, l.entity)
		switch m {
		case maybe:
			return 0, stepWait
		case yes:
			return 1 + n, stepOn
		}
		return 2, stepOn
	}
	n, m := quoteAt(text, i, l.entity)
	switch m {
	case maybe:
		return 0, stepWait
	case no:
		return 1, stepOn
	}
	if l.want = wantComma; l.key {
		l.want = wantColon
	}
	return n, stepOn
}

func (l *lexer) open(array bool) step {
	if l.depth == maxNesting {
		return stepBad
	}
	l.depth++
	l.array <<= 1
	l.want = wantFirstKey
	if array {
		l.array |= 1
		l.want = wantFirstElement
	}
	return stepOn
}

func (l *lexer) close(array bool) step {
	if array != (l.array&1 == 1) {
		return stepBad
	}
	l.depth--
	l.array >>= 1
	l.want = wantComma
	if l.depth == 0 {
		return stepDone
	}
	return stepOn
}

func literal(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '+' || c == '.'
}

// mended is an object made valid JSON, with the way back to its source.
type mended struct {
	json []byte
	// at has the source offset of every byte of json and of its end; nil when
	// the two are the same.
	at []int
}

// source translates a range of the JSON into one of the source.
func (m mended) source(s Span) Span {
	if m.at == nil {
		return s
	}
	return Span{Start: m.at[s.Start], End: m.at[s.End]}
}

// entities are the references that an escaped block is written with.
var entities = [...]struct {
	name string
	char byte
}{{"&quot;", '"'}, {"&#34;", '"'}, {"&apos;", '\''}, {"&#39;", '\''}, {"&#x27;", '\''}, {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}}

// mend undoes what the lexer forgives and, in an escaped block, the HTML
// escaping. src is an object whose end the lexer found. No word changes: a raw
// line break in a string becomes \n, a comma before a bracket goes.
func mend(src []byte, escaped, entity bool) mended {
	if !escaped && !entity && clean(src) {
		return mended{json: src}
	}
	out := mended{json: make([]byte, 0, len(src)+16), at: make([]int, 0, len(src)+17)}
	put := func(i int, s ...byte) {
		for _, c := range s {
			out.json = append(out.json, c)
			out.at = append(out.at, i)
		}
	}
	quoted := false
	for i := 0; i < len(src); {
		c, n, isEntity := src[i], 1, false
		if (escaped || entity) && c == '&' {
			if char, length := entityAt(src[i:]); length > 0 {
				c, n, isEntity = char, length, true
			}
		}
		switch {
		case c == '"' && isEntity && !entity:
			put(i, '\\', '"') // the quotes that count are plain
		case c == '"':
			quoted = !quoted
			put(i, '"')
		case quoted && c == '\\' && i+1 < len(src):
			put(i, '\\')
			i++
			if c, n = src[i], 1; (escaped || entity) && c == '&' {
				if char, length := entityAt(src[i:]); length > 0 {
					c, n = char, length
				}
			}
			put(i, c)
		case quoted && c < 0x20:
			put(i, []byte(fmt.Sprintf(`\u%04x`, c))...)
		case !quoted && c == ',' && trailing(src[i+1:]):
		default:
			put(i, c)
		}
		i += n
	}
	out.at = append(out.at, len(src))
	return out
}

func entityAt(src []byte) (char byte, length int) {
	for _, e := range entities {
		if prefix(src, e.name) == yes {
			return e.char, len(e.name)
		}
	}
	return 0, 0
}

// trailing reports whether only a closing bracket follows.
func trailing(src []byte) bool {
	src = bytes.TrimLeft(src, " \t\r\n")
	return len(src) > 0 && (src[0] == '}' || src[0] == ']')
}

// clean reports whether nothing in src needs mending.
func clean(src []byte) bool {
	quoted := false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted && c < 0x20, !quoted && c == ',' && trailing(src[i+1:]):
			return false
		}
	}
	return true
}
