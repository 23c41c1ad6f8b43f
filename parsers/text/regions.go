package text

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rax-project/rax/rationale"
)

// thoughts returns the regions of private reasoning. An opening tag counts at
// the start of a line only, where models write it and arguments do not. A
// closing tag without one ends thinking that the prompt opened, when it ends
// its line and no call stands before it.
func thoughts(text string) []rationale.Span {
	var found []rationale.Span
	opened := 0
	for at := 0; at < len(text); {
		start, tag := nextThink(text, at)
		if found == nil && opened == 0 {
			opened = 1
			if end := orphanClose(text[:start]); end > 0 {
				found = append(found, rationale.Span{End: end})
			}
		}
		if start == len(text) {
			break
		}
		closing := "</" + tag[1:]
		end := len(text)
		if i := strings.Index(text[start:], closing); i >= 0 {
			end = start + i + len(closing)
		}
		found = append(found, rationale.Span{Start: start, End: end})
		at = end
	}
	return found
}

// nextThink returns where the next opening tag stands, or the end of the text.
func nextThink(text string, at int) (start int, tag string) {
	for at < len(text) {
		i := strings.Index(text[at:], "<think")
		if i < 0 {
			break
		}
		start = at + i
		if startsLine(text, start) {
			for _, tag := range []string{"<think>", "<thinking>"} {
				if strings.HasPrefix(text[start:], tag) {
					return start, tag
				}
			}
		}
		at = start + len("<think")
	}
	return len(text), ""
}

// startsLine reports whether only blanks stand before the offset on its line.
func startsLine(text string, at int) bool {
	for at > 0 && (text[at-1] == ' ' || text[at-1] == '\t') {
		at--
	}
	return at == 0 || text[at-1] == '\n'
}

// orphanClose returns the end of a closing tag that has no opening one, or 0.
func orphanClose(text string) int {
	for _, tag := range []string{"</think>", "</thinking>"} {
		i := strings.Index(text, tag)
		if i < 0 || strings.Contains(text[:i], closeCall) {
			continue
		}
		end := i + len(tag)
		line, _, _ := strings.Cut(text[end:], "\n")
		if strings.TrimSpace(line) == "" {
			return end
		}
	}
	return 0
}

// blank returns the text with the spans filled, line breaks kept, so that every
// offset still points at what it did.
func blank(text string, spans []rationale.Span, fill byte) string {
	if len(spans) == 0 {
		return text
	}
	out := []byte(text)
	for _, s := range merged(spans) {
		for i := s.Start; i < s.End; i++ {
			if out[i] != '\n' {
				out[i] = fill
			}
		}
	}
	return string(out)
}

// without returns the text without the spans, trimmed, and with no more blank
// lines than one where a span stood.
func without(text string, spans []rationale.Span) string {
	spans = merged(spans)
	if len(spans) == 0 {
		return strings.TrimSpace(text)
	}
	out := make([]byte, 0, len(text))
	at := 0
	for _, s := range append(spans, rationale.Span{Start: len(text), End: len(text)}) {
		out = join(out, text[at:s.Start])
		at = s.End
	}
	return strings.TrimSpace(string(out))
}

// join appends a piece of text that once stood further away.
func join(out []byte, piece string) []byte {
	const space = " \t\r\n"
	left := bytes.TrimRight(out, space)
	right := strings.TrimLeft(piece, space)
	before, after := string(out[len(left):]), piece[:len(piece)-len(right)]
	out = left
	switch lines := max(strings.Count(before, "\n"), strings.Count(after, "\n")); {
	case len(out) == 0:
	case lines > 1:
		out = append(out, "\n\n"...)
	case lines == 1:
		out = append(out, '\n')
	case before != "" || after != "":
		out = append(out, ' ')
	}
	return append(out, right...)
}

// merged returns the spans in order, without empty ones and overlaps.
func merged(spans []rationale.Span) []rationale.Span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b rationale.Span) int { return a.Start - b.Start })
	out := spans[:0]
	for _, s := range spans {
		if s.Len() <= 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && s.Start <= out[last].End {
			out[last].End = max(out[last].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
