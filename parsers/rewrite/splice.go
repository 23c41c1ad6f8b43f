package rewrite

import (
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// edit puts text in the place of the bytes [start, end).
type edit struct {
	start, end int
	with       string
}

// splice is a set of edits of one text.
type splice []edit

func (s *splice) insert(at int, text string) { *s = append(*s, edit{at, at, text}) }

func (s *splice) replace(v gjson.Result, text string) {
	*s = append(*s, edit{v.Index, v.Index + len(v.Raw), text})
}

// member inserts a member in front of the others of an object.
func (s *splice) member(object gjson.Result, text string) {
	at := object.Index + 1
	if !emptyInside(object.Raw) {
		text += ","
	}
	s.insert(at, text)
}

// element appends an element to an array.
func (s *splice) element(array gjson.Result, text string) {
	if !emptyInside(array.Raw) {
		text = "," + text
	}
	s.insert(array.Index+len(array.Raw)-1, text)
}

// emptyInside reports whether nothing stands between a value's brackets.
func emptyInside(raw string) bool {
	for i := 1; i < len(raw)-1; i++ {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}

// without removes elements of an array, each with a comma.
func (s *splice) without(elements []gjson.Result, gone func(i int) bool) {
	kept := -1 // the last element that stays
	for i, e := range elements {
		end := e.Index + len(e.Raw)
		switch {
		case !gone(i):
			kept = i
		case i+1 < len(elements):
			*s = append(*s, edit{e.Index, elements[i+1].Index, ""})
		case kept >= 0:
			last := elements[kept]
			*s = append(*s, edit{last.Index + len(last.Raw), end, ""})
		default:
			*s = append(*s, edit{e.Index, end, ""})
		}
	}
}

// apply appends src with the edits to dst. Overlapping ones are joined.
func (s splice) apply(dst, src []byte) []byte {
	slices.SortStableFunc(s, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	at := 0
	for _, e := range s {
		if e.start > at {
			dst = append(dst, src[at:e.start]...)
		}
		dst = append(dst, e.with...)
		at = max(at, e.end)
	}
	return append(dst, src[at:]...)
}

// cutString leaves cuts out of a JSON string that stands at v. The cuts are in
// bytes of the decoded text; from is the offset in it at which v begins.
func (s *splice) cutString(v gjson.Result, from int, cuts []rationale.Cut) {
	raw := v.Raw[1 : len(v.Raw)-1]
	at, text := 0, from // in raw, in the text
	advance := func(to int, whole bool) int {
		for at < len(raw) && text < to {
			n, _, m := char(raw, at)
			if text+m > to && !whole {
				break
			}
			at, text = at+n, text+m
		}
		return v.Index + 1 + at
	}
	for _, c := range cuts {
		e := edit{start: advance(c.Start, false)}
		e.end = advance(c.End, true)
		if c.With != "" && c.Start >= from {
			with := quote(c.With)
			e.with = with[1 : len(with)-1]
		}
		if e.start < e.end {
			*s = append(*s, e)
		}
	}
}

// cutRaw leaves cuts out of a value that is no string.
func (s *splice) cutRaw(v gjson.Result, cuts []rationale.Cut) {
	for _, c := range cuts {
		*s = append(*s, edit{v.Index + c.Start, v.Index + c.End, ""})
	}
}

// decode is the text of a JSON string without its quotes.
func decode(raw string) string {
	i := 0
	for i < len(raw) && raw[i] != '\\' {
		i++
	}
	if i == len(raw) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	out = append(out, raw[:i]...)
	for i < len(raw) {
		n, text, m := char(raw, i)
		out = append(out, text[:m]...)
		i += n
	}
	return string(out)
}

// char reads one character of a JSON string as it is written: its length there,
// and its text of m bytes. What is not escaped is taken byte by byte.
func char(raw string, i int) (n int, text [utf8.UTFMax]byte, m int) {
	text[0] = raw[i]
	if raw[i] != '\\' || i+1 == len(raw) {
		return 1, text, 1
	}
	switch c := raw[i+1]; c {
	case 'b':
		text[0] = '\b'
	case 'f':
		text[0] = '\f'
	case 'n':
		text[0] = '\n'
	case 'r':
		text[0] = '\r'
	case 't':
		text[0] = '\t'
	case 'u':
		r := hex4(raw[i+2:])
		n = 6
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if i+7 < len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' {
				pair = utf16.DecodeRune(r, hex4(raw[i+8:]))
			}
			if r = pair; pair != utf8.RuneError {
				n = 12
			}
		}
		return min(n, len(raw)-i), text, utf8.EncodeRune(text[:], r)
	default:
		text[0] = c
	}
	return 2, text, 1
}

func hex4(s string) (r rune) {
	for i := range min(4, len(s)) {
		c := rune(s[i])
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		}
		r = r<<4 | c&15
	}
	return r
}
