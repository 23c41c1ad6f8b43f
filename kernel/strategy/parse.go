//go:build !noreasoning

package strategy

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
)

// Reading says in which form an answer was readable.
type Reading string

// The readings, in the order in which they are tried (specification 003, AC5).
const (
	ReadJSON       Reading = "json"
	ReadMarkdown   Reading = "markdown"
	ReadDelimiters Reading = "delimiters"
)

// CotOutput is the result of cot (specification 003).
type CotOutput struct {
	Thinking string `json:"thinking"`
	// Answer is a JSON value; text that was not written as JSON is a string.
	Answer json.RawMessage `json:"answer"`
	// Reading says in which form both were read.
	Reading Reading `json:"reading"`
	// Repaired says that they were JSON only after its punctuation was mended,
	// as package lenient does; no word of a string was changed.
	Repaired bool `json:"repaired,omitempty"`
}

// Text is the answer for people: a string as it is, anything else as JSON.
func (o CotOutput) Text() string { return valueText(o.Answer) }

// ParseCot reads an answer that states its thinking and its answer:
//
//  1. JSON: one object with the members thinking (a string) and answer (any
//     value), alone or in prose.
//  2. Markdown: such an object in a code fence, or a section Thinking before a
//     section Answer, each named by a heading or a bold label.
//  3. Delimiters: <thinking>…</thinking>, then <answer>…</answer>, an object
//     with the member answer, or text, all of which is the answer.
//
// What two of the same form contradict, or what is cut off, is not read. The
// error is always an [*OutputError]. Time is linear in the answer.
func ParseCot(answer string) (CotOutput, error) { return parseCot(answer, "") }

// parseCot is ParseCot of an answer out of which a decoder may have taken the
// thinking in tags.
func parseCot(answer, tagged string) (CotOutput, error) {
	p := cotParser{raw: answer, visible: text.WithoutThinking(answer), tagged: tagged}
	p.fences = fences(p.visible)
	for _, read := range []func() (CotOutput, bool){p.json, p.markdown, p.delimiters} {
		if out, ok := read(); ok {
			return out, nil
		}
		if p.reason != "" {
			break
		}
	}
	if p.reason == "" {
		p.reason = "it is none of JSON with thinking and answer, Markdown with both, and <thinking> tags"
	}
	if strings.TrimSpace(answer) == "" && tagged == "" {
		p.reason = "it is empty"
	}
	return CotOutput{}, &OutputError{Technique: "cot", Reason: p.reason, Raw: answer}
}

// cotParser reads one answer. reason is set by a reading that found its form and
// could not read it: another one would find something else than was meant.
type cotParser struct {
	raw, visible, tagged string
	fences               []rationale.Span
	reason               string
}

func (p *cotParser) json() (CotOutput, bool)   { return p.object(ReadJSON, false) }
func (p *cotParser) fenced() (CotOutput, bool) { return p.object(ReadMarkdown, true) }

func (p *cotParser) markdown() (CotOutput, bool) {
	if out, ok := p.fenced(); ok || p.reason != "" {
		return out, ok
	}
	return p.sections()
}

// object reads the one object with thinking and answer that stands outside, or
// inside, of code fences.
func (p *cotParser) object(how Reading, inFence bool) (CotOutput, bool) {
	var found *lenient.Object
	objects := lenient.Scan(p.visible, []string{"thinking", "answer"})
	end := 0
	for i := range objects {
		o := &objects[i]
		_, thinking := o.Member("thinking")
		_, answer := o.Member("answer")
		if o.Span.Start < end || !thinking || !answer || within(p.fences, o.Span.Start) != inFence {
			continue
		}
		if end = o.Span.End; found != nil {
			p.reason = "it holds several objects with thinking and answer"
			return CotOutput{}, false
		}
		found = o
	}
	if found == nil {
		return CotOutput{}, false
	}
	thinking, _ := found.Member("thinking")
	answer, _ := found.Member("answer")
	out := CotOutput{Reading: how, Repaired: found.Repaired}
	var ok bool
	switch {
	case found.Cut:
		p.reason = "the JSON is cut off"
	case thinking.Kind != lenient.String:
		p.reason = "thinking is no string"
	case answer.Kind == lenient.Null:
		p.reason = "answer is null"
	default:
		out.Thinking, ok = stringAt(p.visible, thinking)
		if out.Answer = valueAt(p.visible, answer); !ok || out.Answer == nil {
			p.reason = "the JSON cannot be read"
		}
	}
	if p.reason == "" && strings.TrimSpace(out.Thinking) == "" {
		p.reason = "thinking is empty"
	}
	return out, p.reason == ""
}

// sections reads Markdown with a section Thinking and, after it, a section
// Answer.
func (p *cotParser) sections() (CotOutput, bool) {
	var parts [2]rationale.Span // thinking, answer
	seen := 0
	for at := 0; at < len(p.visible); {
		end := lineEnd(p.visible, at)
		name, rest := label(p.visible[at:end])
		if name != "" && !within(p.fences, at) {
			if seen == 2 || name != [2]string{"thinking", "answer"}[seen] {
				return CotOutput{}, false
			}
			if seen == 1 {
				parts[0].End = at
			}
			parts[seen].Start = at + rest
			seen++
		}
		at = min(end+1, len(p.visible))
	}
	if seen < 2 {
		return CotOutput{}, false
	}
	parts[1].End = len(p.visible)
	thinking, answer := strings.TrimSpace(parts[0].In(p.visible)), strings.TrimSpace(parts[1].In(p.visible))
	if thinking == "" || answer == "" {
		p.reason = "a section of the Markdown is empty"
		return CotOutput{}, false
	}
	return CotOutput{Thinking: thinking, Answer: quoted(answer), Reading: ReadMarkdown}, true
}

// label reads the name of a section in a line and where the text after it
// begins: "## Thinking", "**Answer:** 42".
func label(line string) (name string, rest int) {
	t := strings.TrimLeft(line, " \t")
	heading, bold := strings.HasPrefix(t, "#"), strings.HasPrefix(t, "**")
	if !heading && !bold {
		return "", 0
	}
	t = strings.TrimLeft(t, "#* \t")
	for _, n := range []string{"thinking", "answer"} {
		if len(t) < len(n) || !strings.EqualFold(t[:len(n)], n) {
			continue
		}
		after := t[len(n):]
		mark := len(after) - len(strings.TrimLeft(after, ":* \t\r"))
		if heading && mark != len(after) || bold && !strings.Contains(after[:mark], "**") {
			return "", 0
		}
		return n, len(line) - len(after) + mark
	}
	return "", 0
}

// delimiters reads thinking in tags and what follows it.
func (p *cotParser) delimiters() (CotOutput, bool) {
	thinking, rest := p.tagged, p.raw
	if thinking == "" {
		var ok bool
		if thinking, rest, ok = p.tags(); !ok {
			return CotOutput{}, false
		}
	}
	thinking, rest = strings.TrimSpace(thinking), strings.TrimSpace(rest)
	if inner, after, found := cutTag(rest, "answer"); found {
		if after < 0 {
			p.reason = "<answer> is never closed"
			return CotOutput{}, false
		}
		rest = strings.TrimSpace(inner)
	}
	switch {
	case thinking == "":
		p.reason = "the thinking is empty"
	case rest == "":
		p.reason = "nothing follows the thinking"
	default:
		answer, repaired := answerOf(rest)
		return CotOutput{Thinking: thinking, Answer: answer, Reading: ReadDelimiters, Repaired: repaired}, true
	}
	return CotOutput{}, false
}

func (p *cotParser) tags() (thinking, rest string, ok bool) {
	for _, tag := range []string{"thinking", "think"} {
		inner, after, found := cutTag(p.raw, tag)
		switch {
		case !found:
		case after < 0:
			p.reason = "<" + tag + "> is never closed"
			return "", "", false
		default:
			return inner, p.raw[after:], true
		}
	}
	return "", "", false
}

// cutTag gives what stands between the first <tag> and the next </tag>, and the
// offset behind it; after is -1 where nothing closes it.
func cutTag(s, tag string) (inner string, after int, found bool) {
	start := strings.Index(s, "<"+tag+">")
	if start < 0 {
		return "", 0, false
	}
	start += len(tag) + 2
	n := strings.Index(s[start:], "</"+tag+">")
	if n < 0 {
		return "", -1, true
	}
	return s[start : start+n], start + n + len(tag) + 3, true
}

// answerOf is the answer in a text: the member answer of an object that is all
// of it, or the text.
func answerOf(s string) (answer json.RawMessage, repaired bool) {
	objects, end, ok := lenient.At(s, 0, []string{"answer"})
	if ok && end == len(s) && len(objects) > 0 && objects[0].Span.Start == 0 && !objects[0].Cut {
		if m, has := objects[0].Member("answer"); has && m.Kind != lenient.Null {
			if v := valueAt(s, m); v != nil {
				return v, objects[0].Repaired
			}
		}
	}
	return quoted(s), false
}

// valueAt gives a member's value as strict JSON; nil when it cannot be read.
func valueAt(s string, m lenient.Member) json.RawMessage {
	n, ok := lenient.Normalize(s, m.Span)
	if !ok || m.Cut || !json.Valid(n.JSON) {
		return nil
	}
	return n.JSON
}

func stringAt(s string, m lenient.Member) (string, bool) {
	var out string
	raw := valueAt(s, m)
	return out, raw != nil && json.Unmarshal(raw, &out) == nil && m.Kind == lenient.String
}

// quoted is a text as a JSON string.
func quoted(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	return raw
}

// valueText is a JSON value for people: a string as it is, anything else as JSON.
func valueText(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// fences are the spans of Markdown's code fences, their marks included.
func fences(s string) []rationale.Span {
	var out []rationale.Span
	open, mark := -1, ""
	for at := 0; at < len(s); {
		end := min(lineEnd(s, at)+1, len(s))
		line := strings.TrimSpace(s[at:end])
		switch {
		case open < 0 && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			open, mark = at, line[:3]
		case open >= 0 && strings.HasPrefix(line, mark) && strings.Trim(line, mark[:1]) == "":
			out = append(out, rationale.Span{Start: open, End: end})
			open = -1
		}
		at = end
	}
	if open >= 0 {
		out = append(out, rationale.Span{Start: open, End: len(s)})
	}
	return out
}

// within reports whether an offset stands in one of the spans, which are in
// order.
func within(spans []rationale.Span, at int) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].End > at })
	return i < len(spans) && spans[i].Start <= at
}

// lineEnd is where the line that holds the offset ends, without its line break.
func lineEnd(s string, at int) int {
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(s)
}
