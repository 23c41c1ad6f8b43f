package render

import (
	"fmt"
	"strings"
)

// Block makes foreign text of several lines safe for a terminal: lines, tabs and
// spaces stay, characters that control a terminal are shown as code points.
func Block(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && harmful(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && r != '\t' && harmful(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
