package lenient

import (
	"strings"

	"github.com/tidwall/gjson"
)

// scalar reads a string, number or literal.
func (s *scanner) scalar(i int) (kind Kind, end int, repaired, ok bool) {
	if c := s.text[i]; c == '"' || c == '\'' {
		end, repaired, ok = s.quoted(i)
		return String, end, repaired, ok
	}
	if n := number(s.text[i:]); n > 0 {
		s.out.copy(s.text, i, i+n)
		return Number, i + n, false, true
	}
	word := s.text[i : i+identifier(s.text[i:])]
	end = i + len(word)
	switch word {
	case "true", "false":
		s.out.copy(s.text, i, end)
		return Bool, end, false, true
	case "null":
		s.out.copy(s.text, i, end)
		return Null, end, false, true
	case "True", "False":
		s.out.put(i, strings.ToLower(word))
		return Bool, end, true, true
	case "None":
		s.out.put(i, "null")
		return Null, end, true, true
	}
	return Null, i, false, false
}

// quoted reads the string that begins at i with either quotation mark. What is
// written says exactly what was read: escapes are spelled as JSON spells them,
// and everything else is copied.
func (s *scanner) quoted(i int) (end int, repaired, ok bool) {
	s.lastString = i
	text, quote := s.text, s.text[i]
	repaired = quote != '"'
	s.out.put(i, `"`)
	i++
	for from := i; i < len(text); {
		switch c := text[i]; {
		case c == quote:
			s.out.copy(text, from, i)
			s.out.put(i, `"`)
			return i + 1, repaired, true
		case c == '\\':
			spelled, length, ok := escape(text[i:])
			if !ok {
				return i, repaired, false
			}
			if spelled == "" {
				i += length
				continue
			}
			repaired = true
			s.out.copy(text, from, i)
			s.out.put(i, spelled)
			i += length
			from = i
		case c == '"' || c < ' ':
			repaired = true
			s.out.copy(text, from, i)
			s.out.put(i, spell(c))
			i++
			from = i
		default:
			i++
		}
	}
	return len(text), repaired, false
}

// escape reads the escape at the start of text. spelled is how JSON spells it
// when the text spells it otherwise; length is how much of the text it covers.
func escape(text string) (spelled string, length int, ok bool) {
	if len(text) < 2 {
		return "", 0, false
	}
	switch c := text[1]; {
	case strings.IndexByte(`"\/bfnrt`, c) >= 0:
		return "", 2, true
	case c == 'u':
		if len(text) < 6 {
			return "", 0, false
		}
		for _, h := range []byte(text[2:6]) {
			if !(h >= '0' && h <= '9' || h >= 'a' && h <= 'f' || h >= 'A' && h <= 'F') {
				return "", 0, false
			}
		}
		return "", 6, true
	case c == '\'':
		return "'", 2, true
	case c < ' ' || c >= 0x80 || c >= '0' && c <= '9' || strings.IndexByte("avxNU", c) >= 0:
		// A continued line, \0, \x41, \N{…}: escapes elsewhere, so what the
		// model meant is not known.
		return "", 0, false
	default:
		return `\\`, 1, true
	}
}

// spell returns the JSON escape of a quotation mark or control character.
func spell(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	const hex = "0123456789abcdef"
	return `\u00` + string([]byte{hex[c>>4], hex[c&15]})
}

// unescape decodes the content of a quoted member name.
func unescape(content string) string {
	return gjson.Parse(`"` + content + `"`).String()
}

// number returns the length of the JSON number at the start of text, or 0.
func number(text string) int {
	digits := func(i int) int {
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if i < len(text) && text[i] == '-' {
		i++
	}
	whole := digits(i)
	if whole == i || text[i] == '0' && whole > i+1 {
		return 0
	}
	i = whole
	if i < len(text) && text[i] == '.' {
		end := digits(i + 1)
		if end == i+1 {
			return 0
		}
		i = end
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		exp := i + 1
		if exp < len(text) && (text[exp] == '+' || text[exp] == '-') {
			exp++
		}
		end := digits(exp)
		if end == exp {
			return 0
		}
		i = end
	}
	return i
}

// identifier returns the length of the ASCII identifier at the start of text.
func identifier(text string) int {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}
