// Package thinking reads the private reasoning that providers disclose beside
// an answer (specification 002): it names the ways of disclosure, settles which
// of several copies of one text counts, and takes <think> tags out of a text.
//
// Nothing is summarised or moved: a thinking text is a range of characters of
// what the provider sent, or it is absent and only the fact is kept.
package thinking

// Format says how a provider disclosed thinking. The first four are the
// formats of specification 002; Summary and Hidden are rax's own.
type Format string

// The formats.
const (
	// Parsed: the provider took the thinking out of the text and gave it a
	// field or a block of its own.
	Parsed Format = "parsed"
	// Raw: message.reasoning_content.
	Raw Format = "raw"
	// ThinkTags: <think> or <thinking> in the text.
	ThinkTags Format = "think_tags"
	// Anthropic: a content block of type thinking.
	Anthropic Format = "anthropic"
	// Summary: written by the provider about the thinking; not the model's
	// own words.
	Summary Format = "summary"
	// Hidden: encrypted, redacted, signed without a text, or counted in tokens
	// only. Such thinking has no text.
	Hidden Format = "hidden"
)

// Verbatim reports whether a text of this format is what the model wrote.
func (f Format) Verbatim() bool { return f != Summary && f != Hidden }

// Kind names the place on the wire in which a provider puts thinking.
type Kind string

// The kinds, in the order of the priority chain.
const (
	KindReasoning        Kind = "reasoning"                   // message.reasoning: Cerebras, Groq, OpenRouter, Ollama /v1, vLLM
	KindReasoningContent Kind = "reasoning_content"           // message.reasoning_content: DeepSeek, Z.ai
	KindDetailText       Kind = "reasoning_details.text"      // OpenRouter, Snowflake
	KindDetailSummary    Kind = "reasoning_details.summary"   // OpenRouter
	KindDetailEncrypted  Kind = "reasoning_details.encrypted" // OpenRouter
	KindThinking         Kind = "thinking"                    // Anthropic
	KindRedacted         Kind = "redacted_thinking"           // Anthropic
	KindItemText         Kind = "reasoning.content"           // OpenAI Responses
	KindItemSummary      Kind = "reasoning.summary"           // OpenAI Responses
	KindItemEncrypted    Kind = "reasoning.encrypted"         // OpenAI Responses
	KindThought          Kind = "part.thought"                // Gemini: thought summaries
	KindThoughtSignature Kind = "part.thoughtSignature"       // Gemini
	KindContentThinking  Kind = "content.thinking"            // Mistral, Cohere
	KindToolPlan         Kind = "message.tool_plan"           // Cohere
	KindMessageThinking  Kind = "message.thinking"            // Ollama
	KindReasoningContext Kind = "reasoningContent"            // Bedrock Converse
	KindRedactedContent  Kind = "reasoningContent.redacted"   // Bedrock Converse
	KindTags             Kind = "think_tags"                  // any text
	KindTokens           Kind = "usage"                       // counted, no text
)

// FormatOf is the table kind to format. An unknown kind is Parsed.
func FormatOf(kind Kind) Format {
	switch kind {
	case KindReasoningContent:
		return Raw
	case KindThinking:
		return Anthropic
	case KindDetailSummary, KindItemSummary, KindThought:
		return Summary
	case KindDetailEncrypted, KindRedacted, KindItemEncrypted,
		KindThoughtSignature, KindRedactedContent, KindTokens:
		return Hidden
	case KindTags:
		return ThinkTags
	default:
		return Parsed
	}
}

// rank is the place of a kind in the chain of specification 002: the parsed
// field, the raw field, blocks of the message, and tags in the text last.
func rank(kind Kind) int {
	switch kind {
	case KindReasoning:
		return 0
	case KindReasoningContent:
		return 1
	case KindTags:
		return 3
	case KindTokens:
		return 4
	default:
		return 2
	}
}
