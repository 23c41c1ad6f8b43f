package provider

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
)

// invokeDecoder reads Amazon Bedrock's InvokeModel, which passes on whatever
// the model's vendor writes: Anthropic Messages, the shape of Converse (Nova),
// OpenAI Chat, Cohere, or a text in a member of its own (Titan, Llama, Mistral,
// Jurassic).
type invokeDecoder struct {
	b     *builder
	inner decoder
	ended bool
}

// choose returns the decoder for a body or an event of this shape; nil for a
// plain text.
func (d *invokeDecoder) choose(root gjson.Result) decoder {
	kind := str(root.Get("type"))
	switch {
	case kind == "message" || strings.HasPrefix(kind, "message_") || strings.HasPrefix(kind, "content_block_"):
		d.b.dialect = AnthropicMessages
		return &anthropicDecoder{b: d.b}
	case root.Get("output.message").Exists() || root.Get("messageStart").Exists():
		d.b.dialect = BedrockConverse
		return &converseDecoder{b: d.b}
	case root.Get("choices").IsArray():
		d.b.dialect = OpenAIChat
		return &chatDecoder{b: d.b}
	case root.Get("message.content").IsArray() || kind == "message-start":
		d.b.dialect = CohereV2
		return &cohereDecoder{b: d.b}
	}
	return nil
}

func (d *invokeDecoder) body(root gjson.Result) error {
	if d.inner = d.choose(root); d.inner != nil {
		return d.inner.body(root)
	}
	return d.text(root)
}

func (d *invokeDecoder) event(_ string, root gjson.Result) error {
	if metrics := root.Get("amazon-bedrock-invocationMetrics"); metrics.IsObject() && d.b.usage == nil {
		d.b.usage = []byte(metrics.Raw)
		d.b.dialect = BedrockInvoke
	}
	if d.inner == nil {
		d.inner = d.choose(root)
	}
	if d.inner != nil {
		return d.inner.event("", root)
	}
	return d.text(root)
}

// text reads the vendors whose answer is one text.
func (d *invokeDecoder) text(root gjson.Result) error {
	known := false
	for _, at := range []struct{ text, pointer, finish string }{
		{"results.0.outputText", "/results/0/outputText", "results.0.completionReason"}, // Titan
		{"outputText", "/results/0/outputText", "completionReason"},                     // Titan, stream
		{"generation", "/generation", "stop_reason"},                                    // Llama
		{"outputs.0.text", "/outputs/0/text", "outputs.0.stop_reason"},                  // Mistral
		{"generations.0.text", "/generations/0/text", "generations.0.finish_reason"},    // Cohere
		{"completions.0.data.text", "/completions/0/data/text", "completions.0.finishReason.reason"},
		{"completion", "/completion", "stop_reason"}, // Claude 2
		{"text", "/text", "finish_reason"},           // Command R
	} {
		v := root.Get(at.text)
		if v.Type != gjson.String {
			continue
		}
		known = true
		p, isNew := d.b.at(key{group: "text"}, parsers.PartText, [2]int64{})
		if isNew {
			p.pointer = at.pointer
		}
		d.b.addText(p, v.Str)
		if s := str(root.Get(at.finish)); s != "" {
			d.b.answer.Finish, d.ended = s, true
		}
		break
	}
	if s := str(root.Get("amazon-bedrock-guardrailAction")); s == "INTERVENED" {
		d.b.warn("a guardrail intervened")
		d.ended = true
	}
	var w jsonWriter
	w.obj(func() {
		for _, name := range []string{
			"inputTextTokenCount", "totalOutputTextTokenCount", "prompt_token_count", "generation_token_count",
		} {
			if v := root.Get(name); v.Type == gjson.Number {
				w.key(name).raw([]byte(v.Raw))
			}
		}
		if v := root.Get("results.0.tokenCount"); v.Type == gjson.Number {
			w.key("tokenCount").raw([]byte(v.Raw))
		}
	})
	if len(w.buf) > 2 {
		d.b.mergeUsage(gjson.ParseBytes(w.buf))
	}
	if !known && len(w.buf) == 2 && !root.Get("amazon-bedrock-invocationMetrics").Exists() {
		return ErrUnknown
	}
	return nil
}

func (d *invokeDecoder) close() bool {
	if d.inner != nil {
		return d.inner.close()
	}
	return d.ended
}
