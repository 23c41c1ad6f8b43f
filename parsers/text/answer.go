package text

import (
	"github.com/rax-project/rax/parsers"
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
// calls. Its text becomes what remains for the user.
func Answered(a parsers.Answer, tools []string, asked bool) parsers.Answer {
	result := Parse(a.Text(), tools)
	stated := len(result.Unmatched) > 0
	for _, c := range result.Calls {
		stated = stated || c.Capture.Status != rationale.Missing
	}
	for _, c := range result.Calls {
		capture := c.Capture
		if !asked && !stated {
			capture.Status = rationale.Unasked
		}
		a.Calls = append(a.Calls, parsers.Call{Name: c.Name, Arguments: c.Arguments, Capture: capture})
	}
	a.Unmatched = result.Unmatched
	a.Warnings = append(a.Warnings, result.Warnings...)
	for _, r := range result.Rejected {
		a.Warnings = append(a.Warnings, "a call of "+r.Name+" cannot be run: "+r.Reason)
	}
	kept := a.Parts[:0:0]
	for _, p := range a.Parts {
		if p.Kind != parsers.PartText {
			kept = append(kept, p)
		}
	}
	a.Parts = append(kept, parsers.Part{Kind: parsers.PartText, Text: result.Text})
	return a
}
