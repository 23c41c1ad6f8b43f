package text

import (
	"fmt"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/rationale"
)

// Answer reads a model's bare text as an answer. asked says that reasons were
// asked for.
func Answer(message string, tools []string, asked bool) parsers.Answer {
	return Answered(parsers.Answer{
		Format: "text",
		Parts:  []parsers.Part{{Kind: parsers.PartText, Text: message, Span: rationale.Span{End: len(message)}}},
	}, tools, asked)
}

// Answered reads the calls that stand as text in an answer without native
// calls. Its text becomes what remains for the user, its thinking keeps what
// was in tags; neither can be placed in the body any more, nor can a capture.
func Answered(a parsers.Answer, tools []string, asked bool) parsers.Answer {
	message := a.Text()
	result := Parse(message, tools)
	if silent(result) {
		fromThinking(a, &result)
	}
	stated := len(result.Unmatched) > 0
	for _, c := range result.Calls {
		stated = stated || c.Capture.Status != rationale.Missing
	}
	for _, c := range result.Calls {
		capture := c.Capture
		capture.Part, capture.Span = -1, rationale.Span{}
		if !asked && !stated {
			capture.Status = rationale.Unasked
		}
		a.Calls = append(a.Calls, parsers.Call{
			Name: c.Name, Arguments: c.Arguments, Capture: capture,
			Written: &parsers.Written{Tier: int(c.Tier), Confidence: c.Confidence, Repaired: c.Repaired, Untyped: c.Untyped},
		})
	}
	a.Unmatched = result.Unmatched
	a.Warnings = append(a.Warnings, result.Warnings...)
	for _, r := range result.Rejected {
		name := "a call"
		if r.Name != "" {
			name = "a call of " + r.Name
		}
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s at byte %d cannot be run: %s", name, r.Span.Start, r.Reason))
	}
	kept := a.Parts[:0:0]
	for _, p := range a.Parts {
		if p.Kind != parsers.PartText {
			kept = append(kept, p)
		}
	}
	for _, span := range result.Thinking {
		tagged := span.In(message)
		if inner := thinking.SplitTags(tagged).Thinking(tagged); strings.TrimSpace(inner) != "" {
			kept = append(kept, parsers.Part{Kind: parsers.PartThinking, Text: inner, Format: string(thinking.ThinkTags)})
		}
	}
	if result.Text != "" {
		kept = append(kept, parsers.Part{Kind: parsers.PartText, Text: result.Text})
	}
	for i := range a.Calls {
		kept = append(kept, parsers.Part{Kind: parsers.PartCall, Call: i})
	}
	a.Parts = kept
	return a
}

// silent reports whether the text states no reason for any of its calls.
func silent(r Result) bool {
	for _, c := range r.Calls {
		if c.Capture.Status != rationale.Missing {
			return false
		}
	}
	return len(r.Unmatched) == 0
}

// fromThinking reads the blocks in thinking that stands outside the text. Where
// a call cannot be run, its number in the message is not known here, and none
// is read.
func fromThinking(a parsers.Answer, r *Result) {
	if len(r.Rejected) > 0 {
		return
	}
	var parts []rationale.Part
	for _, p := range a.Parts {
		if p.Kind == parsers.PartThinking && thinking.Format(p.Format).Verbatim() && p.Text != "" {
			parts = append(parts, rationale.Part{Text: p.Text, Thinking: true})
		}
	}
	captures, unmatched := rationale.Attach(parts, len(r.Calls))
	for i := range r.Calls {
		r.Calls[i].Capture = captures[i]
	}
	r.Unmatched = unmatched
}
