// Package parsers turns what models and other tools wrote into one shape. Its
// children read one kind of writing each: provider answers, tool calls written
// as text, plans, thinking, transcripts of other agents.
//
// Everything is read from raw bytes, so that what rax says about an answer can
// be traced to the characters that the provider sent.
package parsers

import (
	"encoding/json"
	"strings"

	"github.com/rax-project/rax/rationale"
)

// Answer is one answer of a model, whatever wire format it came in.
type Answer struct {
	// Format names the wire format: "openai-chat", "anthropic-messages", ...
	Format string
	// Model and ID are as the provider states them; empty when it does not.
	Model string
	ID    string
	// Parts are the pieces of the answer in the order in which the model wrote
	// them, unchanged: texts with their rationale blocks, thinking, calls.
	Parts []Part
	// Calls are the tool calls that the client is to execute, in order; call N
	// of a rationale block is Calls[N-1].
	Calls []Call
	// Builtin are the tools that the provider ran itself (web search, code
	// execution, MCP). They are no calls of the client and ask for no reason.
	Builtin []Builtin
	// Unmatched are rationale blocks that belong to no call.
	Unmatched []rationale.Unmatched
	// Finish is the provider's own finish or stop reason; empty when none came.
	Finish string
	// Refusal is the text with which the model refused, where the format has a
	// field for it.
	Refusal string
	// Usage is what the provider counted.
	Usage Usage
	// Cut says that the stream stopped before its end: what arrived is kept, and
	// no call of it is to be executed.
	Cut bool
	// Skipped counts content that is no text, thinking or call, by its type
	// ("image", "audio", ...).
	Skipped map[string]int
	// Warnings name what was odd, in words for a person.
	Warnings []string
}

// Empty reports whether nothing of an answer arrived.
func (a *Answer) Empty() bool {
	return len(a.Parts) == 0 && a.Finish == "" && a.Refusal == "" && len(a.Skipped) == 0
}

// Text is what the model wrote to the user: its text parts joined.
func (a *Answer) Text() string { return a.join(PartText) }

// Thinking is the thinking that was disclosed, joined; summaries that the
// provider wrote are in it.
func (a *Answer) Thinking() string { return a.join(PartThinking) }

// reasoningFormats is the order in which [Answer.Reasoning] looks for thinking:
// the chain of specification 002, with what is not verbatim behind it.
var reasoningFormats = [...]string{"parsed", "raw", "anthropic", "think_tags", "summary"}

// Reasoning is the thinking as specification 002 has it: one text and the one
// format in which it was disclosed. A format of "hidden" has no text; without
// any thinking both are empty.
func (a *Answer) Reasoning() (text, format string) {
	for _, format := range reasoningFormats {
		var b strings.Builder
		for _, p := range a.Parts {
			if p.Kind == PartThinking && p.Format == format {
				b.WriteString(p.Text)
			}
		}
		if b.Len() > 0 {
			return b.String(), format
		}
	}
	if a.Withheld() {
		return "", "hidden"
	}
	return "", ""
}

func (a *Answer) join(kind PartKind) string {
	var b strings.Builder
	for _, p := range a.Parts {
		if p.Kind == kind {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Withheld reports whether the model thought and the provider kept the words
// to itself: hidden thinking and no text of thinking at all.
func (a *Answer) Withheld() bool {
	hidden := false
	for _, p := range a.Parts {
		if p.Kind == PartThinking {
			if p.Text != "" {
				return false
			}
			hidden = true
		}
	}
	return hidden
}

// PartKind tells the pieces of an answer apart.
type PartKind string

// The kinds of parts.
const (
	PartText     PartKind = "text"
	PartThinking PartKind = "thinking"
	PartCall     PartKind = "call"
	PartBuiltin  PartKind = "builtin"
)

// Part is one piece of an answer.
type Part struct {
	Kind PartKind
	// Text is what the model wrote; for hidden thinking it is empty.
	Text string
	// Pointer is the JSON Pointer of Text in the whole body, such as
	// "/content/0/text". Of a stream it is the place that the text has in the
	// assembled body.
	Pointer string
	// Span is the range of Text in the string at Pointer. It is the whole
	// string but for text that shares a string with <think> tags.
	Span rationale.Span
	// Format says how the provider disclosed thinking: parsed, raw, think_tags,
	// anthropic, summary or hidden (specification 002, widened).
	Format string
	// Signed is the provider's signature or encrypted payload, byte for byte as
	// it must be sent back: a JSON string with the signature alone, or the
	// whole object where the format wants it back whole. It belongs to
	// thinking; Gemini also signs texts and calls.
	Signed json.RawMessage
	// Call is the index in Calls (PartCall) or Builtin (PartBuiltin).
	Call int
}

// Call is a tool call that the client is to execute.
type Call struct {
	// ID is the provider's; empty where the format has none (Gemini, Ollama).
	ID   string
	Name string
	// Arguments is the argument object as the provider sent it, without an
	// injected rationale argument; {} when it sent none. The free text of a
	// custom tool is a JSON string. It is not valid JSON when Invalid is set.
	Arguments json.RawMessage
	// Taken is the value of the injected rationale argument that [Attach] took
	// out of Arguments, as the model wrote it; nil when there was none. Of
	// arguments that are no valid JSON it is a copy: they stay raw.
	Taken json.RawMessage
	// Invalid says that the arguments are no valid JSON and are kept raw.
	Invalid bool
	// Pointer is the JSON Pointer of the call in the whole body.
	Pointer string
	// Written says how a call that stands as text was written; nil for others.
	Written *Written
	// Capture is what became of its rationale. Its Part is an index in the
	// answer's Parts; for source argument its Span lies in Taken.
	Capture rationale.Capture
}

// Written says how a call was written as text (see package text).
type Written struct {
	// Tier is 1 for a tagged block, 2 for an object in prose, 3 for an array.
	Tier int `json:"tier"`
	// Confidence orders calls by how plainly they were written, in [0,1].
	Confidence float64 `json:"confidence"`
	// Repaired says that the JSON was not strict.
	Repaired bool `json:"repaired,omitempty"`
	// Untyped says that every argument is a string because the way of writing
	// has no types.
	Untyped bool `json:"untyped,omitempty"`
}

// Builtin is a tool that the provider ran itself.
type Builtin struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Usage is a provider's count of tokens. A nil field was not stated.
type Usage struct {
	// Input includes cached tokens, whatever the provider's own convention.
	Input *int64 `json:"input,omitempty"`
	// Output includes reasoning tokens, whatever the provider's own convention.
	Output     *int64 `json:"output,omitempty"`
	Reasoning  *int64 `json:"reasoning,omitempty"`
	CacheRead  *int64 `json:"cacheRead,omitempty"`
	CacheWrite *int64 `json:"cacheWrite,omitempty"`
	Total      *int64 `json:"total,omitempty"`
	// Raw is the provider's own usage object: of a stream that sends it in
	// halves both merged, of Ollama the members of the answer that count.
	Raw json.RawMessage `json:"raw,omitempty"`
}
