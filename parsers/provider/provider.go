// Package provider reads and writes the wire formats of language model
// providers: answers as bodies and as streams, and requests. Everything is read
// from raw bytes, one file a format.
//
// Whole body and stream meet in one place: each format's decoder feeds a
// builder, either with whole values or with the deltas of a stream, and the
// builder makes the same [parsers.Answer] of both.
//
//	format, err := provider.Detect(body)
//	answer, err := provider.Parse(format, body, provider.ParseOptions{})
//
//	stream := provider.NewStream(format, provider.ParseOptions{})
//	for chunk := range network {
//		stream.Write(chunk)
//	}
//	answer, err := stream.Close()
package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
)

// Format names a wire format.
type Format string

// The formats. Dialects of one format (DeepSeek, Groq, OpenRouter, Ollama /v1,
// vLLM, Azure, ... of OpenAI Chat) are read by one decoder.
const (
	OpenAIChat        Format = "openai-chat"
	OpenAIResponses   Format = "openai-responses"
	AnthropicMessages Format = "anthropic-messages"
	Gemini            Format = "gemini"
	OllamaNative      Format = "ollama-native"
	MistralChat       Format = "mistral-chat"
	BedrockConverse   Format = "bedrock-converse"
	BedrockInvoke     Format = "bedrock-invoke"
	CohereV2          Format = "cohere-v2"
)

// Formats lists every format.
var Formats = [...]Format{
	OpenAIChat, OpenAIResponses, AnthropicMessages, Gemini, OllamaNative,
	MistralChat, BedrockConverse, BedrockInvoke, CohereV2,
}

// Valid reports whether f is one of [Formats].
func (f Format) Valid() bool { return slices.Contains(Formats[:], f) }

// ErrUnknown means "not mine": the bytes are of no known format, or not of the
// one asked for. Any other error means that they are, and broken.
var ErrUnknown = errors.New("no known wire format")

// SyntaxError says that bytes of a known format are broken.
type SyntaxError struct {
	Format Format
	// Offset is the byte at which reading failed, counted from the start of the
	// body or stream.
	Offset int64
	Err    error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: offset %d: %v", e.Format, e.Offset, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// ParseOptions tell what the bytes themselves do not. The zero value is fine.
type ParseOptions struct {
	// Status is the HTTP status; 0 when unknown. From 400 on the body is read
	// as an error, whatever is in it.
	Status int
	// RetryAfter is what the Retry-After header said; 0 when it did not.
	RetryAfter time.Duration
	// Names maps tool names back from the wire; nil leaves them.
	Names *NameMap
	// KeepTags leaves <think> tags in the text.
	KeepTags bool
	// OnDelta is called by a [Stream] with what arrives, in order, from within
	// Write and Close.
	OnDelta func(Delta)
}

// DeltaKind tells the live events of a stream apart.
type DeltaKind string

// The kinds of deltas.
const (
	// DeltaText and DeltaThinking: Text was added.
	DeltaText     DeltaKind = "text"
	DeltaThinking DeltaKind = "thinking"
	// DeltaCall: call number Call (from 0, in the order of arrival) began; ID
	// and Name are set.
	DeltaCall DeltaKind = "call"
	// DeltaArguments: Text was added to the arguments of call number Call.
	DeltaArguments DeltaKind = "arguments"
	// DeltaRevised: what was shown as text turned out to be thinking or the
	// other way round (<think> tags); [Stream.Text] is right again.
	DeltaRevised DeltaKind = "revised"
)

// Delta is a live event of a stream. Deltas are for showing; what counts is the
// Answer at the end.
type Delta struct {
	Kind DeltaKind
	Text string
	Call int
	ID   string
	Name string
}

// decoder reads one format into a builder.
type decoder interface {
	// body reads a whole answer. It returns ErrUnknown for JSON that is no
	// answer of this format, and an *APIError beside what it could read.
	body(root gjson.Result) error
	// event reads one event of a stream; name is the SSE event, the event type
	// of an event stream, or empty.
	event(name string, data gjson.Result) error
	// close ends a stream and reports whether it was complete.
	close() (complete bool)
}

func newDecoder(format Format, b *builder) decoder {
	switch format {
	case OpenAIChat, MistralChat:
		return &chatDecoder{b: b}
	case OpenAIResponses:
		return &responsesDecoder{b: b}
	case AnthropicMessages:
		return &anthropicDecoder{b: b}
	case Gemini:
		return &geminiDecoder{b: b}
	case OllamaNative:
		return &ollamaDecoder{b: b}
	case BedrockConverse:
		return &converseDecoder{b: b}
	case BedrockInvoke:
		return &invokeDecoder{b: b}
	case CohereV2:
		return &cohereDecoder{b: b}
	}
	return nil
}

// Parse reads a whole answer: a body, or all bytes of a stream. An *[APIError]
// is returned beside an Answer that holds what arrived before it, if anything
// did. Errors other than [ErrUnknown] and *APIError are *[SyntaxError].
func Parse(format Format, body []byte, opts ParseOptions) (parsers.Answer, error) {
	opts.OnDelta = nil
	s := NewStream(format, opts)
	s.b.live = false
	if opts.Status < 400 && isStream(format, body) {
		_ = s.Write(body) // the error is Close's too
		return s.Close()
	}
	return s.whole(body)
}

// isStream tells the bytes of a stream from a body.
func isStream(format Format, body []byte) bool {
	switch framingOf(format) {
	case frameBinary:
		return isEventStream(body)
	case frameLines:
		_, err := validate(body)
		return err != nil // a body is one JSON value
	default:
		trimmed := bytes.TrimLeft(body, " \t\r\n\ufeff")
		return len(trimmed) > 0 && sseLike(trimmed, format)
	}
}

// sseLike reports whether bytes begin like server-sent events, or like the
// JSON array that Gemini streams when it is not asked for SSE.
func sseLike(b []byte, format Format) bool {
	if b[0] == '[' {
		return format == Gemini
	}
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(b, []byte(field)) {
			return true
		}
	}
	return false
}

// maxDepth bounds the nesting of JSON: gjson validates by recursion.
const maxDepth = 512

var errDepth = errors.New("nested too deeply")

// validate checks that data is one JSON value of bounded depth. The offset is
// that of the fault.
func validate(data []byte) (offset int64, err error) {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return int64(i), errDepth
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	if gjson.ValidBytes(data) {
		return 0, nil
	}
	// encoding/json only finds the place; what is valid gjson has decided.
	var raw json.RawMessage
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(data, &raw), &syntax) {
		if syntax.Offset >= int64(len(data)) {
			return int64(len(data)), errors.New("unexpected end of JSON")
		}
		return syntax.Offset, errors.New("invalid JSON")
	}
	return 0, errors.New("invalid JSON")
}

// str is the value of a JSON string, and empty for anything else.
func str(r gjson.Result) string {
	if r.Type == gjson.String {
		return r.Str
	}
	return ""
}

// each calls f with the elements of an array until f returns false. Anything
// else has none; gjson alone would take null for an element.
func each(array gjson.Result, f func(gjson.Result) bool) {
	if array.IsArray() {
		array.ForEach(func(_, v gjson.Result) bool { return f(v) })
	}
}
