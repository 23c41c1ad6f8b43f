package text

import (
	"testing"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/rationale"
)

func TestAnswer(t *testing.T) {
	const message = "<think>\nI <b>look</b>.\n</think>\nLet me see. {'name':'web_search','arguments':{'q':'a'},'rationale':{'why':'to see'}} Done."
	a := Answer(message, []string{"web_search"}, true)
	if a.Text() != "Let me see. Done." || a.Thinking() != "\nI <b>look</b>.\n" || a.Parts[0].Format != "think_tags" {
		t.Errorf("text %q, thinking %q", a.Text(), a.Thinking())
	}
	if len(a.Calls) != 1 || a.Parts[len(a.Parts)-1].Kind != parsers.PartCall {
		t.Fatalf("got %+v", a)
	}
	c := a.Calls[0]
	if c.Capture.Status != rationale.Present || c.Capture.Source != rationale.SourceSibling || c.Capture.Part != -1 {
		t.Errorf("capture %+v", c.Capture)
	}
	if w := c.Written; w == nil || w.Tier != 2 || !w.Repaired || w.Confidence != .6 {
		t.Errorf("written %+v", w)
	}

	const silent = `{"name":"web_search","arguments":{}}`
	for asked, want := range map[bool]rationale.Status{true: rationale.Missing, false: rationale.Unasked} {
		if a := Answer(silent, nil, asked); len(a.Calls) != 1 || a.Calls[0].Capture.Status != want || len(a.Parts) != 1 {
			t.Errorf("asked %v: %+v", asked, a)
		}
	}
	if a := Answer(`<tool_call>{"name":"x"}</tool_call>`, []string{"y"}, true); len(a.Warnings) != 1 {
		t.Errorf("warnings %q", a.Warnings)
	}
}

// TestAnsweredThinking: a provider gives thinking beside the text, and a block in
// it counts when the text has none.
func TestAnsweredThinking(t *testing.T) {
	const block = `<rationale call="1">{"why":"from thinking"}</rationale>`
	const call = `{"name":"web_search","arguments":{}}`
	for _, c := range []struct {
		format, text string
		want         rationale.Status
		why          string
	}{
		{"parsed", call, rationale.Present, "from thinking"},
		{"summary", call, rationale.Missing, ""},
		{"parsed", `{"name":"web_search","arguments":{},"rationale":{"why":"beside"}}`, rationale.Present, "beside"},
		{"parsed", `<tool_call>{"name":"nope","arguments":{}}</tool_call><tool_call>` + call + `</tool_call>`, rationale.Missing, ""},
	} {
		a := Answered(parsers.Answer{Parts: []parsers.Part{
			{Kind: parsers.PartThinking, Format: c.format, Text: block},
			{Kind: parsers.PartText, Text: c.text},
		}}, []string{"web_search"}, true)
		got := a.Calls[0].Capture
		why := ""
		if got.Rationale != nil {
			why = got.Rationale.Why
		}
		if got.Status != c.want || why != c.why {
			t.Errorf("%s %s: %s %q", c.format, c.text, got.Status, why)
		}
	}
}
