package provider

import (
	"bytes"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/tidwall/gjson"
)

// Detect recognises the format of an answer, a body or the beginning of a
// stream, from its bytes. [ErrUnknown] means that they are of no format known
// here. A *[SyntaxError] means that they begin like one and are broken.
//
// Two things cannot be told from the bytes: Mistral from OpenAI Chat unless the
// model is named like one of Mistral's (both are read alike), and what Bedrock
// passes on from InvokeModel from the vendor's own format. An error body has
// the format of the first provider that writes errors so.
func Detect(body []byte) (Format, error) {
	if isEventStream(body) {
		return detectBinary(body)
	}
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\ufeff")), " \t\r\n")
	if len(trimmed) == 0 {
		return "", ErrUnknown
	}
	at := int64(len(body) - len(trimmed))
	if trimmed[0] == '{' || trimmed[0] == '[' {
		return detectJSON(trimmed, at)
	}
	if !sseLike(trimmed, OpenAIChat) {
		return "", ErrUnknown
	}
	return detectSSE(body)
}

func detectBinary(body []byte) (Format, error) {
	msg, err := eventstream.NewDecoder().Decode(bytes.NewReader(body), nil)
	if err != nil {
		return "", &SyntaxError{Format: BedrockConverse, Err: err}
	}
	if v, ok := msg.Headers.Get(":event-type").(eventstream.StringValue); ok && v == "chunk" {
		return BedrockInvoke, nil
	}
	return BedrockConverse, nil
}

// detectJSON reads a body, or the lines of an Ollama stream.
func detectJSON(b []byte, at int64) (Format, error) {
	if off, err := validate(b); err != nil {
		line, _, more := bytes.Cut(b, []byte("\n"))
		if _, lineErr := validate(line); more && lineErr == nil {
			if f := formatOf(gjson.ParseBytes(line)); f == OllamaNative {
				return f, nil
			}
		}
		// Broken JSON whose first members tell whose it is.
		if f := formatOf(gjson.ParseBytes(b)); f != "" {
			return f, &SyntaxError{Format: f, Offset: at + off, Err: err}
		}
		return "", ErrUnknown
	}
	if f := formatOf(gjson.ParseBytes(b)); f != "" {
		return f, nil
	}
	return "", ErrUnknown
}

func detectSSE(body []byte) (Format, error) {
	var s sseSplitter
	var found Format
	var broken error
	const enough = 64 // events to look at: comments and pings come first
	n := 0
	look := func(_ string, data [][]byte, at int64) error {
		if n++; found != "" || n > enough {
			return nil
		}
		for _, d := range data {
			if off, err := validate(d); err == nil {
				if f := formatOf(gjson.ParseBytes(d)); found == "" {
					found = f
				}
			} else if broken == nil && string(bytes.TrimSpace(d)) != "[DONE]" {
				broken = &SyntaxError{Format: "sse", Offset: at + off, Err: err}
			}
		}
		return nil
	}
	for rest := body; len(rest) > 0 && found == "" && n <= enough; {
		step := min(len(rest), 16<<10)
		if err := s.write(rest[:step], look); err != nil {
			return "", ErrUnknown
		}
		rest = rest[step:]
	}
	if found == "" && n <= enough {
		_ = s.close(look) // look keeps its errors
	}
	switch {
	case found != "":
		return found, nil
	case broken != nil:
		return "", broken
	}
	return "", ErrUnknown
}

// formatOf tells the format of a body or of one event by its members.
func formatOf(v gjson.Result) Format {
	if v.IsArray() {
		v = v.Get("0")
	}
	if !v.IsObject() {
		return ""
	}
	kind, object := str(v.Get("type")), str(v.Get("object"))
	model := str(v.Get("model"))
	switch {
	case v.Get("choices").IsArray():
		if id := str(v.Get("id")); mistralModel(model) && len(id) == 32 && !strings.Contains(id, "-") {
			return MistralChat
		}
		return OpenAIChat
	case object == "response" || strings.HasPrefix(kind, "response."):
		return OpenAIResponses
	case v.Get("candidates").IsArray() || v.Get("promptFeedback").IsObject() ||
		v.Get("usageMetadata").IsObject() || v.Get("response.candidates").IsArray():
		return Gemini
	case kind == "message" || kind == "ping" || strings.HasPrefix(kind, "message_") || strings.HasPrefix(kind, "content_block_"):
		return AnthropicMessages
	case kind == "message-start" || strings.HasPrefix(kind, "content-") || strings.HasPrefix(kind, "tool-"):
		return CohereV2
	case v.Get("output.message").IsObject():
		return BedrockConverse
	case v.Get("message").IsObject() && v.Get("finish_reason").Exists():
		return CohereV2
	case v.Get("done").IsBool() && (v.Get("message").IsObject() || v.Get("response").Exists()):
		return OllamaNative
	case v.Get("results.0.outputText").Exists() || v.Get("generation").Exists() ||
		v.Get("outputs.0.text").Exists() || v.Get("inputTextTokenCount").Exists() ||
		v.Get("generations.0.text").Exists() || v.Get("completions.0.data.text").Exists() ||
		v.Get("completion").Exists() && v.Get("stop_reason").Exists():
		return BedrockInvoke
	}
	return errorFormat(v, kind, object)
}

// errorFormat tells whose an error body is.
func errorFormat(v gjson.Result, kind, object string) Format {
	e := v.Get("error")
	switch {
	case kind == "error" && e.IsObject():
		return AnthropicMessages
	case e.IsObject() && e.Get("status").Type == gjson.String && e.Get("code").Type == gjson.Number:
		return Gemini
	case e.IsObject():
		return OpenAIChat
	case e.Type == gjson.String:
		return OllamaNative
	case object == "error" || bareDetail(v):
		return MistralChat
	case v.Get("__type").Exists():
		return BedrockConverse
	case bareMessage(v) && v.Get("id").Exists():
		return CohereV2
	case bareMessage(v):
		return BedrockConverse
	}
	return ""
}

func mistralModel(model string) bool {
	if strings.Contains(model, "/") {
		return false // a router's name for it
	}
	for _, prefix := range []string{
		"mistral", "magistral", "ministral", "codestral", "devstral", "pixtral", "voxtral",
		"open-mistral", "open-mixtral", "labs-devstral",
	} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}
