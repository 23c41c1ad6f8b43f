// Package text reads the tool calls that a model writes as text, for small
// local models without native function calling (seed 004, path 2).
//
// # Tiers
//
// Three ways of writing a call are read:
//
//  1. a <tool_call> block that holds JSON (Hermes, Qwen), lines of "name: value"
//     or <function=…><parameter=…> tags (Qwen3-Coder);
//  2. a JSON object in prose, at any depth;
//  3. a JSON array of calls.
//
// When a message has a block of tier 1, JSON outside the blocks is data and no
// call. Strict JSON is read as it is; what package lenient can read besides is
// marked Repaired.
//
// # What is no call
//
// Running a tool that the model did not ask for is worse than asking again, so
// in doubt an object is data:
//
//   - one that names no tool of the list; without a list, one without arguments;
//   - a named tool without arguments beside members that belong to no call, such
//     as {"name":"search","age":3};
//   - a "tool" with its arguments beside it, as in {"tool":"read","path":"a"},
//     when it also has a type or a result;
//   - the definition of a tool (a description, or a JSON Schema as parameters);
//   - anything in thinking, or inside the arguments of another call;
//   - an example: tier 2 or 3 where the sentence before the JSON, or before the
//     fence around it, says so ("for example", "e.g.", "such as", "you could",
//     "例えば"), and JSON joined to such an example by nothing but "or", "and"
//     or punctuation. A <tool_call> block is an example only inside a fence or
//     behind a backtick. Fenced JSON without such words is a call: that is how
//     small models write one. Examples are reported, not dropped silently.
//
// # Rationales
//
// A reason is read from <rationale call="N"> blocks outside the calls, as with
// native function calling, or from a "rationale" object beside the arguments;
// the block wins. N counts every call the model wrote, also those that cannot
// be run, so that no reason moves to another call.
package text

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
)

// Tier is the way in which a call was written.
type Tier int

// The tiers, surest first but for the order of 2 and 3, which is the seed's.
const (
	TierTagged Tier = 1 // a <tool_call> block
	TierObject Tier = 2 // a JSON object in prose
	TierArray  Tier = 3 // an element of a JSON array
)

// Call is a tool call that was written as text.
type Call struct {
	Name string
	// Arguments is a JSON object: the bytes of the text, or strict JSON made
	// from them when Repaired.
	Arguments json.RawMessage
	// Untyped says that every argument is a string because the way of writing
	// has no types. A caller who has the tool's schema converts them.
	Untyped bool
	Tier    Tier
	// Confidence orders calls by how plainly they were written. It is looked
	// up, not measured: .95 tagged, .85 in an array, .75 an object, less .15
	// when Repaired, less .2 without a list of tools.
	Confidence float64
	// Repaired says that name, arguments or rationale were not strict JSON.
	Repaired bool
	// Span is the call in the text.
	Span rationale.Span
	// WhySpan is the stated reason in the text, between its quotation marks;
	// the zero Span unless the rationale is present.
	WhySpan rationale.Span
	// Capture is what became of its rationale. Its Part is 0 for every place
	// outside thinking and 1 inside, and its Span is one of the text.
	Capture rationale.Capture
}

// Rejected is a call that the model plainly meant and that cannot be run. It
// counts in the numbers of rationale blocks.
type Rejected struct {
	// Name is the tool that it names; empty when it cannot be read.
	Name   string
	Tier   Tier
	Span   rationale.Span
	Reason string
}

// Result is what a message says.
type Result struct {
	// Calls are in the order of the text.
	Calls []Call
	// Tiers counts the calls by [Tier]; element 0 is not used.
	Tiers [4]int
	// Rejected are calls that cannot be run, in the order of the text.
	Rejected []Rejected
	// Examples are the calls that the message only shows.
	Examples []rationale.Span
	// Thinking are the <think> regions, tags included.
	Thinking []rationale.Span
	// Unmatched are rationale blocks that belong to no call.
	Unmatched []rationale.Unmatched
	// Text is what remains for the user: the message without thinking, calls
	// and rejected calls (with the JSON value or fence around them) and
	// rationale blocks.
	Text string
	// Warnings name what was odd, in words for a person.
	Warnings []string
}

// draft is a call or a rejected call while it is being read.
type draft struct {
	Call
	rejected string
	// removed is what goes from the user's text with it.
	removed rationale.Span
	sibling *rationale.Capture
}

// maxWarnings bounds Result.Warnings.
const maxWarnings = 50

// parser holds one message.
type parser struct {
	// text has thinking blanked out; offsets are those of the message.
	text    string
	tools   map[string]bool
	fences  []fence
	blocks  []rationale.Span
	drafts  []draft
	objects []lenient.Object
	result  *Result
	unsaid  int // warnings beyond maxWarnings
	// budget is how many bytes tier 1 may still read as JSON. Every block may
	// be read up to wherever its JSON breaks off, which may be far behind its
	// end; the budget keeps the sum linear.
	budget int
}

// WithoutThinking returns the message with its thinking made white, so that
// every offset still points at what it did.
func WithoutThinking(text string) string {
	return blank(text, thoughts(text), ' ')
}

// Parse reads the calls in a message of a model. tools are the names of those
// that can be called; with none any name is one. It never fails: what cannot
// be read is reported in the result. The time is linear in the text.
func Parse(text string, tools []string) Result {
	result := Result{Thinking: thoughts(text)}
	p := parser{text: blank(text, result.Thinking, ' '), result: &result}
	if len(tools) > 0 {
		p.tools = make(map[string]bool, len(tools))
		for _, name := range tools {
			p.tools[name] = true
		}
	}
	p.budget = 4*len(text) + 1024
	p.fences = fences(p.text)
	p.blocks = blockSpans(p.text)
	p.tagged()
	if len(p.drafts) == 0 {
		p.untagged()
	}
	p.finish(text)
	return result
}

// finish attaches the rationales and hands over the drafts.
func (p *parser) finish(text string) {
	removed := append([]rationale.Span(nil), p.result.Thinking...)
	calls := make([]rationale.Span, 0, len(p.drafts))
	for _, d := range p.drafts {
		removed = append(removed, d.removed)
		calls = append(calls, d.Span)
		if d.Tier != TierTagged { // nor is what else the JSON says prose
			calls = append(calls, d.removed)
		}
	}
	captures := p.attach(text, calls)
	for i, d := range p.drafts {
		if d.rejected != "" {
			p.result.Rejected = append(p.result.Rejected, Rejected{Name: d.Name, Tier: d.Tier, Span: d.Span, Reason: d.rejected})
			continue
		}
		d.Capture = captures[i]
		if d.Capture.Status == rationale.Present {
			d.WhySpan = d.Capture.Span
		}
		d.Confidence = p.confidence(d.Call)
		p.result.Tiers[d.Tier]++
		p.result.Calls = append(p.result.Calls, d.Call)
	}
	if p.unsaid > 0 {
		p.result.Warnings = append(p.result.Warnings, fmt.Sprintf("%d more warnings", p.unsaid))
	}
	p.result.Text = strings.TrimSpace(rationale.Strip(without(text, removed)))
}

func (p *parser) confidence(c Call) float64 {
	percent := 75
	switch c.Tier {
	case TierTagged:
		percent = 95
	case TierArray:
		percent = 85
	}
	if c.Repaired {
		percent -= 15
	}
	if p.tools == nil {
		percent -= 20
	}
	return float64(percent) / 100
}

// warn notes something odd. After maxWarnings it only counts.
func (p *parser) warn(format string, args ...any) {
	if len(p.result.Warnings) == maxWarnings {
		p.unsaid++
		return
	}
	p.result.Warnings = append(p.result.Warnings, fmt.Sprintf(format, args...))
}

// callable reports whether a call can have this name.
func (p *parser) callable(name string) bool {
	if p.tools == nil {
		return name != ""
	}
	return p.tools[name]
}
