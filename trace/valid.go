package trace

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// maxDepth is how deep JSON may nest, as in encoding/json. The validator is
// recursive, and a Go program cannot survive the end of its stack.
const maxDepth = 10_000

// validJSON reports whether b is one JSON value that does not nest too deep.
func validJSON(b []byte) bool { return !tooDeep(b) && gjson.ValidBytes(b) }

// tooDeep reports whether b nests deeper than maxDepth, whatever else it is.
func tooDeep(b []byte) bool {
	// Counting is much faster than looking, and settles nearly every line.
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) <= maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
