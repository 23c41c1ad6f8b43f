package parsers

import (
	"encoding/json"
	"testing"

	"github.com/rax-project/rax/rationale"
)

func answer(text string, calls ...Call) Answer {
	a := Answer{Calls: calls}
	if text != "" {
		a.Parts = append(a.Parts, Part{Kind: PartText, Text: text, Pointer: "/content/0/text", Span: rationale.Span{Start: 10, End: 10 + len(text)}})
	}
	for i := range calls {
		a.Parts = append(a.Parts, Part{Kind: PartCall, Call: i})
	}
	return a
}

func call(name, args string) Call { return Call{Name: name, Arguments: json.RawMessage(args)} }

func TestAttach(t *testing.T) {
	const block = `<rationale call="1">{"why":"to see"}</rationale>`
	const argument = `{"rationale":{"why":"to read"},"path":"a"}`
	for _, c := range []struct {
		name     string
		answer   Answer
		asked    bool
		injected []string
		status   []rationale.Status
		source   rationale.Source
		why      string
		args     string
	}{
		{name: "unasked", answer: answer("hi", call("x", `{}`)), status: []rationale.Status{rationale.Unasked}},
		{name: "missing", answer: answer("hi", call("x", `{}`)), asked: true, status: []rationale.Status{rationale.Missing}},
		{name: "block", answer: answer(block, call("x", `{}`)), asked: true, status: []rationale.Status{rationale.Present}, source: rationale.SourceBlock, why: "to see"},
		{name: "a block that nobody asked for", answer: answer(block, call("x", `{}`), call("y", `{}`)),
			status: []rationale.Status{rationale.Present, rationale.Missing}, source: rationale.SourceBlock, why: "to see"},
		{name: "argument", answer: answer("", call("x", argument)), asked: true, injected: []string{"x"},
			status: []rationale.Status{rationale.Present}, source: rationale.SourceArgument, why: "to read", args: `{"path":"a"}`},
		{name: "argument and block", answer: answer(block, call("x", argument)), asked: true, injected: []string{"x"},
			status: []rationale.Status{rationale.Present}, source: rationale.SourceArgument, why: "to read", args: `{"path":"a"}`},
		{name: "the tool's own argument", answer: answer("", call("x", argument)), asked: true,
			status: []rationale.Status{rationale.Missing}, args: argument},
		{name: "argument without a why", answer: answer("", call("x", `{"rationale":{"why":""},"path":"a"}`)), asked: true, injected: []string{"x"},
			status: []rationale.Status{rationale.Malformed}, source: rationale.SourceArgument, args: `{"path":"a"}`},
		{name: "arguments that break off behind the argument", answer: answer("", Call{Name: "x", Arguments: json.RawMessage(argument[:len(argument)-2]), Invalid: true}), asked: true, injected: []string{"x"},
			status: []rationale.Status{rationale.Present}, source: rationale.SourceArgument, why: "to read", args: argument[:len(argument)-2]},
		{name: "injected and left out", answer: answer("", call("x", `{"path":"a"}`)), asked: true, injected: []string{"x"},
			status: []rationale.Status{rationale.Missing}, args: `{"path":"a"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := c.answer
			Attach(&a, c.asked, c.injected...)
			for i, want := range c.status {
				if got := a.Calls[i].Capture.Status; got != want {
					t.Errorf("call %d: %s, want %s", i, got, want)
				}
			}
			got := a.Calls[0]
			if got.Capture.Source != c.source {
				t.Errorf("source %q", got.Capture.Source)
			}
			if r := got.Capture.Rationale; (r != nil) != (c.why != "") || (r != nil && r.Why != c.why) {
				t.Errorf("rationale %+v", r)
			}
			if c.args != "" && string(got.Arguments) != c.args {
				t.Errorf("arguments %s", got.Arguments)
			}
			switch got.Capture.Source {
			case rationale.SourceArgument:
				if c.why != "" && got.Capture.Span.In(string(got.Taken)) != c.why {
					t.Errorf("span %v of %s", got.Capture.Span, got.Taken)
				}
			case rationale.SourceBlock:
				if got.Capture.Span.In(a.Parts[got.Capture.Part].Text) != c.why {
					t.Errorf("span %v", got.Capture.Span)
				}
				at, in := a.Place(got.Capture.Part, got.Capture.Span)
				if at != "/content/0/text" || in.Start != got.Capture.Span.Start+10 {
					t.Errorf("place %s %v", at, in)
				}
			}
		})
	}
}

// TestAttachSummary: what the provider wrote about the thinking is not what the
// model stated.
func TestAttachSummary(t *testing.T) {
	const block = `<rationale call="1">{"why":"to see"}</rationale>`
	for format, want := range map[string]rationale.Status{"summary": rationale.Missing, "anthropic": rationale.Present} {
		a := Answer{
			Parts: []Part{{Kind: PartThinking, Format: "hidden"}, {Kind: PartThinking, Format: format, Text: block}, {Kind: PartCall}},
			Calls: []Call{call("x", `{}`)},
		}
		Attach(&a, true)
		got := a.Calls[0].Capture
		if got.Status != want {
			t.Errorf("%s: %s", format, got.Status)
		}
		if got.Status == rationale.Present && got.Part != 1 {
			t.Errorf("part %d", got.Part)
		}
	}
}

func TestAttachUnmatched(t *testing.T) {
	a := answer(`<rationale call="3">{"why":"to see"}</rationale>`, call("x", `{}`))
	a.Parts = append([]Part{{Kind: PartBuiltin}}, a.Parts...)
	Attach(&a, false)
	if len(a.Unmatched) != 1 || a.Unmatched[0].Part != 1 || a.Calls[0].Capture.Status != rationale.Missing {
		t.Errorf("got %+v, %+v", a.Unmatched, a.Calls[0].Capture)
	}
	if pointer, _ := a.Place(99, rationale.Span{}); pointer != "" {
		t.Error("a part that is not there has a place")
	}
}

func TestAnswer(t *testing.T) {
	a := Answer{Parts: []Part{
		{Kind: PartThinking, Format: "hidden"}, {Kind: PartText, Text: "a"}, {Kind: PartCall}, {Kind: PartText, Text: "b"},
	}}
	if a.Text() != "ab" || a.Thinking() != "" || !a.Withheld() {
		t.Errorf("got %q %q %v", a.Text(), a.Thinking(), a.Withheld())
	}
	if text, format := a.Reasoning(); text != "" || format != "hidden" {
		t.Errorf("reasoning %q %q", text, format)
	}
	a.Parts = append(a.Parts, Part{Kind: PartThinking, Text: "t", Format: "think_tags"}, Part{Kind: PartThinking, Text: "p", Format: "raw"})
	if text, format := a.Reasoning(); text != "p" || format != "raw" {
		t.Errorf("reasoning %q %q", text, format)
	}
	if text, format := (&Answer{}).Reasoning(); text != "" || format != "" {
		t.Errorf("reasoning %q %q", text, format)
	}
	if a.Withheld() || (&Answer{}).Withheld() {
		t.Error("disclosed thinking is withheld")
	}
}
