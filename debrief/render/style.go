package render

import "strings"

// style paints text with ANSI colours where the caller allows it. While a line
// is built and clipped the colours stand as characters without width, which
// clean never lets through from foreign text; finish puts the escapes in their
// place. It is the only code of rax that writes an escape character into a view.
type style struct{ on bool }

const (
	markFail = "\u2061"
	markWarn = "\u2062"
	markDim  = "\u2063"
	markEnd  = "\u2064"
)

func (s style) paint(mark, text string) string {
	if !s.on {
		return text
	}
	return mark + text + markEnd
}

func (s style) fail(text string) string { return s.paint(markFail, text) }
func (s style) warn(text string) string { return s.paint(markWarn, text) }
func (s style) dim(text string) string  { return s.paint(markDim, text) }

// finish turns the marks of a finished text into escapes, closing on each line
// what clipping left open.
func (s style) finish(text string) string {
	if !s.on {
		return text
	}
	escapes := strings.NewReplacer(markFail, "\x1b[31m", markWarn, "\x1b[33m", markDim, "\x1b[2m", markEnd, "\x1b[0m")
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		body := strings.TrimSuffix(line, "\n")
		lines[i] = escapes.Replace(closed(body) + line[len(body):])
	}
	return strings.Join(lines, "")
}

// closed ends the colour that clipping left open.
func closed(line string) string {
	if strings.LastIndexAny(line, markFail+markWarn+markDim) > strings.LastIndex(line, markEnd) {
		return line + markEnd
	}
	return line
}
