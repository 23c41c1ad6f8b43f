// Package render shows debriefs and records: as a tree, tables, Markdown and
// JSON. Every view reads plain data, takes an io.Writer and returns its write
// errors. Text that a trace holds is hostile: it cannot break a line, forge a
// branch, or reach a terminal as a control character.
package render

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Clean makes foreign text safe for one line of a terminal: white space becomes
// single spaces, and characters that control a terminal or the direction of
// text are shown as their code points.
func Clean(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			plain = false
			break
		}
	}
	if plain && !strings.Contains(s, "  ") && strings.TrimSpace(s) == s {
		return s
	}
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		if harmful(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// harmful reports whether a terminal or a reader could be fooled by r: control
// and format characters, tags, private use. The joiners that words and emoji
// are written with stay.
func harmful(r rune) bool {
	switch {
	case r == utf8.RuneError, r == 0x200c, r == 0x200d:
		return false
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
		return true
	}
	return false
}

// Quote puts clean text in double quotes, those inside escaped, so
// that the end of what was stated is always plain to see.
func Quote(s string) string { return `"` + strings.ReplaceAll(Clean(s), `"`, `\"`) + `"` }

// width counts the columns that text takes on a terminal.
func width(s string) int { return runewidth.StringWidth(s) }

// clip cuts a line to so many columns, 0 meaning any.
func clip(line string, columns int) string {
	if columns <= 0 || width(line) <= columns {
		return line
	}
	return runewidth.Truncate(line, columns, "…")
}

// Lines writes text of several clean lines, each cut to so many columns.
func Lines(w io.Writer, text string, columns int) error {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if body, ended := strings.CutSuffix(line, "\n"); ended {
			lines[i] = clip(body, columns) + "\n"
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, ""))
	return err
}
