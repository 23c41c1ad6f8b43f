package text

import (
	"sort"
	"strings"

	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
)

// The tags of tier 1.
const (
	openCall       = "<tool_call>"
	closeCall      = "</tool_call>"
	openFunction   = "<function="
	closeFunction  = "</function>"
	openParameter  = "<parameter="
	closeParameter = "</parameter>"
)

// tags are the offsets of the tier 1 tags in a text, found in one pass: looking
// for the closing tag of each block anew would make many open blocks slow.
type tags map[string][]int

func findTags(text string) tags {
	found := tags{}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			return found
		}
		at += i
		for _, tag := range [...]string{openCall, closeCall, openFunction, closeFunction, openParameter, closeParameter} {
			if strings.HasPrefix(text[at:], tag) {
				found[tag] = append(found[tag], at)
			}
		}
		at++
	}
}

// next returns the first tag at or after the offset, or end when there is none
// before it.
func (t tags) next(tag string, at, end int) int {
	offsets := t[tag]
	if i := sort.SearchInts(offsets, at); i < len(offsets) && offsets[i] < end {
		return offsets[i]
	}
	return end
}

// block is one tier 1 block: what stands between its tags, and the whole.
type block struct {
	body, whole rationale.Span
	closed      bool
}

// tagged reads tier 1.
func (p *parser) tagged() {
	t := findTags(p.text)
	blocks := p.blocks
	end := len(p.text)
	for at := 0; ; {
		start := t.next(openCall, at, end)
		bare := t.next(openFunction, at, start)
		if bare < start {
			if !startsLine(p.text, bare) {
				at = bare + 1
				continue
			}
			start = bare
		}
		if start == end {
			return
		}
		for len(blocks) > 0 && (blocks[0].End <= start || blocks[0].Start < at) {
			blocks = blocks[1:]
		}
		if len(blocks) > 0 && blocks[0].Start <= start {
			at = blocks[0].End
			continue
		}
		first, warned := len(p.drafts), len(p.result.Warnings)
		b := p.block(t, start)
		at = max(b.whole.End, start+1)
		if start > 0 && p.text[start-1] == '`' || p.inExample(start) {
			p.drafts, p.result.Warnings = p.drafts[:first], p.result.Warnings[:warned]
			if !b.closed { // the tag is only mentioned
				at = start + 1
				continue
			}
			p.example(b.whole)
			continue
		}
		if !b.closed {
			p.warn("the call block at byte %d is not closed", start)
		}
		for i := first; i < len(p.drafts); i++ {
			p.drafts[i].Tier = TierTagged
			p.drafts[i].removed = b.whole
		}
	}
}

// inExample reports whether the offset stands in a fence that is introduced as
// an example.
func (p *parser) inExample(offset int) bool {
	f, ok := p.fenceAround(offset)
	return ok && saysExample(p.text[:f.open.Start])
}

// block reads the block whose opening tag stands at start.
func (p *parser) block(t tags, start int) block {
	body := start
	if strings.HasPrefix(p.text[start:], openCall) {
		body = p.skipOpening(start + len(openCall))
	}
	if body < len(p.text) && (p.text[body] == '{' || p.text[body] == '[') {
		if b, ok := p.jsonBlock(t, start, body); ok {
			return b
		}
	}
	b := extent(t, start, body, len(p.text))
	content := b.body.In(p.text)
	switch {
	case strings.HasPrefix(content, openFunction):
		p.functions(t, b.body)
	case strings.HasPrefix(content, "{") || strings.HasPrefix(content, "["):
		p.reject(b.whole, "", "the JSON of the call cannot be read")
	default:
		p.lines(b.body)
	}
	return b
}

// skipOpening skips white space, a rationale block and the first line of a
// fence.
func (p *parser) skipOpening(at int) int {
	var rest string
	for {
		rest = strings.TrimLeft(p.text[at:], " \t\r\n")
		at = len(p.text) - len(rest)
		i := sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].Start >= at })
		if i == len(p.blocks) || p.blocks[i].Start != at {
			break
		}
		at = p.blocks[i].End
	}
	if strings.HasPrefix(rest, "```") {
		info := strings.TrimLeft(rest, "`")
		info = strings.TrimLeft(info, "abcdefghijklmnopqrstuvwxyz_")
		rest = strings.TrimLeft(info, " \t\r\n")
	}
	return len(p.text) - len(rest)
}

// extent finds the end of a block: its closing tag, or the next block, or the
// end of the text.
func extent(t tags, start, body, end int) block {
	if start == body { // <function=…> without <tool_call> around it
		next := t.next(openCall, body+1, end)
		next = t.next(openFunction, body+1, next)
		closing := t.next(closeFunction, body+1, next)
		if closing == next {
			return block{body: rationale.Span{Start: body, End: next}, whole: rationale.Span{Start: start, End: next}}
		}
		whole := rationale.Span{Start: start, End: closing + len(closeFunction)}
		return block{body: rationale.Span{Start: body, End: whole.End}, whole: whole, closed: true}
	}
	next := t.next(openCall, body, end)
	closing := t.next(closeCall, body, next)
	b := block{
		body:  rationale.Span{Start: body, End: closing},
		whole: rationale.Span{Start: start, End: closing},
	}
	if closing < next {
		b.closed = true
		b.whole.End += len(closeCall)
	}
	return b
}

// jsonBlock reads a block that holds one or more JSON values. A closing tag
// inside their strings is text.
func (p *parser) jsonBlock(t tags, start, body int) (block, bool) {
	b := block{body: rationale.Span{Start: body, End: body}}
	for at := body; at < len(p.text) && (p.text[at] == '{' || p.text[at] == '['); {
		objects, end, ok := p.json(p.text, at)
		if !ok {
			// Models forget the last brace and write the closing tag.
			if closing := t.next(closeCall, at, len(p.text)); closing < len(p.text) {
				objects, end, ok = p.json(p.text[:closing], at)
			}
		}
		if !ok {
			break
		}
		p.read(rationale.Span{Start: at, End: end}, objects)
		b.body.End = end
		at = end + len(p.text[end:]) - len(strings.TrimLeft(p.text[end:], " \t\r\n,;`"))
	}
	if b.body.End == body {
		return b, false
	}
	next := t.next(openCall, b.body.End, len(p.text))
	b.whole = rationale.Span{Start: start, End: b.body.End}
	if closing := t.next(closeCall, b.body.End, next); closing < next {
		b.closed = true
		b.whole.End = closing + len(closeCall)
		if strings.Trim(p.text[b.body.End:closing], " \t\r\n,;`") != "" {
			p.warn("the call block at byte %d holds more than JSON", start)
		}
	}
	return b, true
}

// json reads one value of a block within the budget.
func (p *parser) json(text string, at int) ([]lenient.Object, int, bool) {
	if p.budget < 0 {
		return nil, at, false
	}
	objects, end, ok := lenient.At(text, at, watched)
	if p.budget -= end - at; p.budget < 0 {
		p.warn("too much JSON is broken; what follows byte %d may be unread", at)
	}
	return objects, end, ok
}

// read takes the calls from one JSON value of a block. A value without any is
// a call that cannot be run.
func (p *parser) read(value rationale.Span, objects []lenient.Object) {
	p.objects = objects
	first, after := len(p.drafts), 0
	for i := range objects {
		if objects[i].Span.Start < after {
			continue
		}
		if d, ok := p.call(i); ok {
			after = objects[i].Span.End
			p.drafts = append(p.drafts, d)
		}
	}
	if len(p.drafts) > first {
		return
	}
	for i := range objects {
		o := &objects[i]
		if m, ok := firstMember(o, nameKeys[:]); ok && m.Kind == lenient.String {
			p.reject(o.Span, p.decodeString(m.Span), "no such tool, or no arguments")
			return
		}
	}
	p.reject(value, "", "the JSON of the call names no tool")
}

func (p *parser) reject(span rationale.Span, name, reason string) {
	p.drafts = append(p.drafts, draft{
		Call:     Call{Name: name, Span: span, Tier: TierTagged},
		removed:  span,
		rejected: reason,
	})
}
