package rationale

import (
	"bytes"
	"html"
	"strconv"
	"strings"
)

// maxTag bounds a tag in bytes. The attributes of a longer one are no tag's.
const maxTag = 256

// tagName is matched without regard to case.
const tagName = "rationale"

type tagKind int

const (
	openTag tagKind = iota + 1
	closeTag
	// tornTag is the beginning of a tag, its name complete, at the very end of
	// the text.
	tornTag
)

// tag is one <rationale …> or </rationale>, also written &lt;rationale …&gt;.
type tag struct {
	kind       tagKind
	start, end int
	// escaped says that the tag is written with HTML entities.
	escaped bool
	// alone says that the tag closes itself: <rationale call="1"/>.
	alone bool
	// attrs are the characters between the name and the end.
	attrs []byte
}

// match is the result of comparing text that may still grow.
type match int

const (
	no match = iota
	yes
	// maybe: the text ends inside what may yet become a match.
	maybe
)

// matchTag reads the tag at text[i]. Attributes hold neither a line break nor
// a further tag bracket; that is what lets a removal end a half-written tag.
func matchTag(text []byte, i int) (tag, match) {
	t := tag{kind: openTag, start: i}
	lt, gt := "<", ">"
	if text[i] == '&' {
		t.escaped, lt, gt = true, "&lt;", "&gt;"
	}
	if m := prefixFold(text[i:], lt); m != yes {
		return t, m
	}
	i += len(lt)
	if i < len(text) && text[i] == '/' {
		t.kind = closeTag
		i++
	}
	if m := prefixFold(text[i:], tagName); m != yes {
		return t, m
	}
	i += len(tagName)
	attrs := i
	for ; i < len(text); i++ {
		switch m := prefixFold(text[i:], gt); {
		case m == yes:
			t.end, t.attrs = i+len(gt), text[attrs:i]
			t.alone = t.kind == openTag && bytes.HasSuffix(t.attrs, []byte("/"))
			return t, yes
		case m == maybe:
			return torn(t, text), maybe
		}
		c := text[i]
		space := c == ' ' || c == '\t'
		switch {
		case i-t.start >= maxTag, c == '\n', c == '\r', c == '<', c == '>':
			return t, no
		case i == attrs && !space && c != '/':
			return t, no // a longer name
		case t.kind == closeTag && !space:
			return t, no
		case t.escaped && c == '&':
			if m := prefixFold(text[i:], "&lt;"); m == yes {
				return t, no
			}
		}
	}
	return torn(t, text), maybe
}

func torn(t tag, text []byte) tag {
	t.kind, t.end = tornTag, len(text)
	return t
}

// prefixFold compares the beginning of text with a lower-case ASCII word,
// without regard to case.
func prefixFold(text []byte, word string) match {
	for i := range len(word) {
		if i == len(text) {
			return maybe
		}
		if lower(text[i]) != word[i] {
			return no
		}
	}
	return yes
}

// prefix compares the beginning of text with a word.
func prefix(text []byte, word string) match {
	n := min(len(text), len(word))
	switch {
	case string(text[:n]) != word[:n]:
		return no
	case n < len(word):
		return maybe
	}
	return yes
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// maxCall bounds the numbers that can be meant: no message has more calls.
const maxCall = 100_000

// call returns the number that the tag states, 0 for none, and the reason when
// it states one that can be no number of a call.
func (t tag) call() (stated int, reason string) {
	value, ok := attribute(html.UnescapeString(string(t.attrs)), "call")
	if !ok {
		return 0, ""
	}
	value = strings.Trim(value, " \t\"'`\\“”‘’")
	n, err := strconv.Atoi(value)
	switch {
	case err != nil && strings.Trim(value, "0123456789") != "", value == "":
		return 0, "its call attribute is no number"
	case err != nil, n > maxCall:
		return n, "its number is larger than any number of calls"
	case n < 1:
		return n, "its number is less than 1"
	}
	return n, ""
}

// attribute returns the first value of the named attribute. Values stand in
// double, single, escaped or no quotes.
func attribute(attrs, name string) (string, bool) {
	for {
		attrs = strings.TrimLeft(attrs, " \t/,")
		if attrs == "" {
			return "", false
		}
		end := strings.IndexAny(attrs, " \t=")
		if end < 0 {
			return "", false // a name without a value
		}
		key := attrs[:end]
		attrs = strings.TrimLeft(attrs[end:], " \t")
		if !strings.HasPrefix(attrs, "=") {
			continue
		}
		attrs = strings.TrimLeft(attrs[1:], " \t")
		end = valueEnd(attrs)
		value := attrs[:end]
		attrs = attrs[end:]
		if strings.EqualFold(key, name) {
			return value, true
		}
	}
}

// valueEnd is the end of the attribute value that s begins with, its closing
// quote included.
func valueEnd(s string) int {
	body := strings.TrimPrefix(s, `\`)
	skipped := len(s) - len(body)
	if body != "" && (body[0] == '"' || body[0] == '\'') {
		if end := strings.IndexByte(body[1:], body[0]); end >= 0 {
			return skipped + 1 + end + 1
		}
	}
	if end := strings.IndexAny(s, " \t/"); end >= 0 {
		return end
	}
	return len(s)
}
