package trace

import (
	"bytes"
	"sync"

	"github.com/tidwall/gjson"
)

// fieldIndex finds the Field of a JSON name.
var fieldIndex = sync.OnceValue(func() map[string]Field {
	m := make(map[string]Field, numFields)
	for f, name := range fieldNames {
		m[name] = Field(f)
	}
	return m
})

func fieldOf(name []byte) (Field, bool) {
	f, ok := fieldIndex()[string(name)]
	return f, ok
}

// walkMembers calls visit for each member of the JSON object in line, with the
// decoded name and the range of the value. The line is valid JSON; on anything
// else the walk ends early and visits nothing out of range.
func walkMembers(line []byte, visit func(name []byte, start, end int)) {
	i := bytes.IndexByte(line, '{') + 1
	if i == 0 {
		return
	}
	for {
		i = skipTo(line, i, '"')
		if i >= len(line) {
			return
		}
		end := stringEnd(line, i)
		name := line[min(i+1, end):max(i+1, end-1)]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(gjson.ParseBytes(line[i:end]).String())
		}
		i = skipTo(line, end, ':') + 1
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		start := i
		i = valueEnd(line, i)
		if i > len(line) || i == start {
			return
		}
		visit(name, start, i)
	}
}

// skipTo gives the index of the next c at or after i, or len(line) when a
// closing brace or the end comes first.
func skipTo(line []byte, i int, c byte) int {
	for ; i < len(line); i++ {
		if line[i] == c {
			return i
		}
		if line[i] == '}' {
			return len(line)
		}
	}
	return len(line)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// stringEnd gives the index after the string that starts at i.
func stringEnd(line []byte, i int) int {
	for i++; i < len(line); {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return len(line)
		}
		i += n
		backslashes := 0
		for j := i - 1; line[j] == '\\'; j-- {
			backslashes++
		}
		i++
		if backslashes%2 == 0 {
			return i
		}
	}
	return len(line)
}

// valueEnd gives the index after the value that starts at i.
func valueEnd(line []byte, i int) int {
	if i >= len(line) {
		return i
	}
	switch line[i] {
	case '"':
		return stringEnd(line, i)
	case '{', '[':
		depth := 0
		for i < len(line) {
			switch line[i] {
			case '"':
				i = stringEnd(line, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(line)
	default:
		for i < len(line) && line[i] != ',' && line[i] != '}' && line[i] != ']' && !isSpace(line[i]) {
			i++
		}
		return i
	}
}
