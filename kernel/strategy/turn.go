//go:build !noreasoning

package strategy

import (
	"encoding/json"
	"strings"

	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
)

// finish is the action that ends react.
const finish = "finish"

// turn is one turn of react.
type turn struct {
	thought string
	// thoughtSpan is the thought in the answer, between its quotation marks.
	thoughtSpan rationale.Span
	action      string
	input       json.RawMessage
	// answer is what finish gives; nil for any other action.
	answer  json.RawMessage
	capture rationale.Capture
	span    rationale.Span
	// more counts the turns behind the first: models like to write the
	// observation and what they would do next, too.
	more int
}

// parseTurn reads the first object with an action, in whatever prose and fences.
// The error is always an [*OutputError]. Time is linear in the answer.
func parseTurn(answer string) (turn, error) {
	bad := func(reason string) (turn, error) {
		return turn{}, &OutputError{Technique: "react", Reason: reason, Raw: answer}
	}
	visible := text.WithoutThinking(answer)
	objects := lenient.Scan(visible, []string{"thought", "action", "action_input", "rationale"})
	var o *lenient.Object
	more, end := 0, 0
	for i := range objects {
		if _, ok := objects[i].Member("action"); !ok || objects[i].Span.Start < end {
			continue
		}
		if end = objects[i].Span.End; o == nil {
			o = &objects[i]
		} else {
			more++
		}
	}
	switch {
	case strings.TrimSpace(visible) == "":
		return bad("it is empty")
	case o == nil:
		return bad("it holds no JSON object with an action")
	case o.Cut:
		return bad("the JSON is cut off")
	}
	t := turn{span: o.Span, more: more, input: json.RawMessage("{}"), capture: rationale.Capture{Status: rationale.Missing, Part: -1}}
	name, _ := o.Member("action")
	var ok bool
	if t.action, ok = stringAt(visible, name); !ok || strings.TrimSpace(t.action) == "" {
		return bad("action is no string")
	}
	t.action = strings.TrimSpace(t.action)
	if m, has := o.Member("thought"); has && m.Kind == lenient.String {
		t.thought, _ = stringAt(visible, m)
		t.thoughtSpan = rationale.Span{Start: m.Span.Start + 1, End: m.Span.End - 1}
	}
	if m, has := o.Member("action_input"); has && m.Kind != lenient.Null {
		if t.input = input(visible, m); t.input == nil {
			return bad("action_input cannot be read")
		}
	}
	if m, has := o.Member("rationale"); has && m.Kind != lenient.Null {
		t.capture = capture(visible, m)
	}
	if t.action != finish {
		return t, nil
	}
	m, has := o.Member("action_input")
	if has {
		inner, _, ok := lenient.At(visible, m.Span.Start, []string{"answer"})
		if ok && len(inner) > 0 && inner[0].Span == m.Span {
			if a, has := inner[0].Member("answer"); has && a.Kind != lenient.Null {
				t.answer = valueAt(visible, a)
			}
		}
	}
	if t.answer == nil {
		return bad("finish has no answer in its action_input")
	}
	return t, nil
}

// input reads an action_input. A string that holds an object is one: small
// models write arguments so.
func input(visible string, m lenient.Member) json.RawMessage {
	raw := valueAt(visible, m)
	if m.Kind != lenient.String || raw == nil {
		return raw
	}
	inner, _ := stringAt(visible, m)
	inner = strings.TrimSpace(inner)
	if _, end, ok := lenient.At(inner, 0, nil); ok && end == len(inner) && inner[0] == '{' && inner[end-1] == '}' {
		if n, ok := lenient.Normalize(inner, rationale.Span{End: end}); ok && json.Valid(n.JSON) {
			return n.JSON
		}
	}
	return raw
}

// capture reads the rationale beside an action.
func capture(visible string, m lenient.Member) rationale.Capture {
	n, ok := lenient.Normalize(visible, m.Span)
	if !ok || m.Cut {
		return rationale.Capture{
			Status: rationale.Malformed, Source: rationale.SourceSibling, Span: m.Span, Reason: "it is no JSON",
		}
	}
	return n.Capture(rationale.Span{End: len(n.JSON)}, rationale.SourceSibling)
}

// readTurn gives the call of a turn to the kernel. An answer that makes none is
// all text.
func readTurn(answer string) text.Result {
	t, err := parseTurn(answer)
	if err != nil || t.action == finish {
		return text.Result{Text: answer}
	}
	c := text.Call{
		Name: t.action, Arguments: t.input, Tier: text.TierObject, Span: t.span, Capture: t.capture,
	}
	if t.capture.Status == rationale.Present {
		c.WhySpan = t.capture.Span
	}
	return text.Result{Calls: []text.Call{c}, Text: t.thought}
}
