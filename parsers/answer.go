// Package parsers turns what models and other tools wrote into one shape. Its
// children read one kind of writing each: provider answers, tool calls written
// as text, plans, thinking, transcripts of other agents.
//
// Everything is read from raw bytes, so that what rax says about an answer can
// be traced to the characters that the provider sent.
package parsers

import (
	"encoding/json"

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
	// Cut says that the stream stopped before its end: what arrived is kept.
	Cut bool
	// Skipped counts content that is no text, thinking or call, by its type
	// ("image", "audio", ...).
	Skipped map[string]int
	// Warnings name what was odd, in words for a person.
	Warnings []string
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
	// Signed is the provider's signature or encrypted payload of a thinking
	// part, byte for byte as it must be sent back.
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
	// injected rationale argument. It is not valid JSON when Invalid is set.
	Arguments json.RawMessage
	// Invalid says that the arguments are no valid JSON and are kept raw.
	Invalid bool
	// Pointer is the JSON Pointer of the call in the whole body.
	Pointer string
	// Capture is what became of its rationale.
	Capture rationale.Capture
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
	Input      *int64 `json:"input,omitempty"`
	Output     *int64 `json:"output,omitempty"`
	Reasoning  *int64 `json:"reasoning,omitempty"`
	CacheRead  *int64 `json:"cacheRead,omitempty"`
	CacheWrite *int64 `json:"cacheWrite,omitempty"`
	Total      *int64 `json:"total,omitempty"`
	// Raw is the provider's own usage object, unchanged.
	Raw json.RawMessage `json:"raw,omitempty"`
}
