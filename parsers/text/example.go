package text

import (
	"sort"
	"strings"

	"github.com/rax-project/rax/rationale"
)

// exampleWords introduce JSON that is shown and not meant. They are looked for
// in one sentence only, since the words are common.
var exampleWords = [...]string{
	"for example", "an example", "example:", "examples:", "example call", "e.g.",
	"for instance", "such as", "you could", "you might", "you would",
	"would look like", "could look like", "例えば", "たとえば", "例:", "例：",
}

// maxLead is how many bytes before a call are searched for [exampleWords], and
// maxGap how many more may be white space.
const (
	maxLead = 200
	maxGap  = 800
)

// lead is what precedes a JSON value.
type lead struct {
	// root is the value, around the fence that holds nothing else, or root.
	root, around rationale.Span
	example      bool
}

// leadIn judges the value at root; last is the one judged before it.
func (p *parser) leadIn(root rationale.Span, last lead) lead {
	now := lead{root: root, around: root}
	start := root.Start
	if f, ok := p.fenceAround(root.Start); ok {
		start = f.open.Start
		if f.inner == root {
			now.around = rationale.Span{Start: f.open.Start, End: f.close.End}
		}
	}
	from := min(last.around.End, start)
	now.example = saysExample(p.text[from:start]) || last.example && joins(p.text[from:start])
	return now
}

func (p *parser) example(span rationale.Span) {
	p.result.Examples = append(p.result.Examples, span)
	p.warn("the call at byte %d is introduced as an example and was not taken as a call", span.Start)
}

// saysExample reports whether the last sentence of the text announces an
// example.
func saysExample(before string) bool {
	before = before[max(0, len(before)-maxGap-maxLead):]
	before = strings.TrimRight(before, " \t\r\n`")
	before = before[max(0, len(before)-maxLead):]
	sentence := 0
	for i := len(before) - 3; i >= 0; i-- {
		capital := before[i+2] >= 'A' && before[i+2] <= 'Z'
		stop := strings.IndexByte(".!?", before[i]) >= 0 && before[i+1] == ' ' && capital
		if stop || before[i:i+2] == "\n\n" || before[i:i+3] == "。" {
			sentence = i + 1
			break
		}
	}
	words := strings.ToLower(before[sentence:])
	for _, word := range exampleWords {
		if strings.Contains(words, word) {
			return true
		}
	}
	return false
}

// joins reports whether the text between two values makes the second one more
// of what the first is.
func joins(between string) bool {
	words := strings.FieldsFunc(strings.ToLower(between), func(r rune) bool {
		return (r < 'a' || r > 'z') && r < 0x80
	})
	for _, word := range words {
		if word != "or" && word != "and" && word != "json" {
			return false
		}
	}
	return true
}

// fence is a Markdown code fence: its first line, its last line and what stands
// between them without the white space around it. The last line of one that
// does not end is empty and stands at the end of the text.
type fence struct{ open, close, inner rationale.Span }

func fences(text string) []fence {
	var found []fence
	open := rationale.Span{Start: -1}
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := strings.TrimLeft(text[at:end], " \t")
		switch {
		case !strings.HasPrefix(line, "```"):
		case open.Start < 0:
			// What is not one word after the ticks is code on the line itself.
			if info := strings.TrimSpace(strings.TrimLeft(line, "`")); !strings.ContainsAny(info, "`{[<") {
				open = rationale.Span{Start: at, End: end}
			}
		case strings.Trim(line, "` \t\r\n") == "":
			found = append(found, newFence(text, open, rationale.Span{Start: at, End: end}))
			open.Start = -1
		}
		at = end
	}
	if open.Start >= 0 {
		found = append(found, newFence(text, open, rationale.Span{Start: len(text), End: len(text)}))
	}
	return found
}

func newFence(text string, open, close rationale.Span) fence {
	return fence{open: open, close: close, inner: trimmed(text, open.End, close.Start)}
}

// fenceAround returns the fence in which the offset stands.
func (p *parser) fenceAround(offset int) (fence, bool) {
	i := sort.Search(len(p.fences), func(i int) bool { return p.fences[i].close.Start > offset })
	if i < len(p.fences) && p.fences[i].open.End <= offset {
		return p.fences[i], true
	}
	return fence{}, false
}
