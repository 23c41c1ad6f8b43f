package provider

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
)

// anthropicDecoder reads Anthropic Messages. The parts stand in the order of
// the content blocks.
type anthropicDecoder struct {
	b       *builder
	stopped bool
}

func (d *anthropicDecoder) body(root gjson.Result) error {
	content := root.Get("content")
	if !content.IsArray() || str(root.Get("role")) != "assistant" {
		return ErrUnknown
	}
	d.head(root)
	i := int64(0)
	each(content, func(block gjson.Result) bool {
		d.block(i, block)
		i++
		return true
	})
	return nil
}

func (d *anthropicDecoder) head(m gjson.Result) {
	a := &d.b.answer
	a.ID, a.Model = str(m.Get("id")), str(m.Get("model"))
	if s := str(m.Get("stop_reason")); s != "" {
		a.Finish = s
	}
	d.b.mergeUsage(m.Get("usage"))
}

// block reads a whole block, or the start of one in a stream.
func (d *anthropicDecoder) block(i int64, block gjson.Result) {
	kind := str(block.Get("type"))
	switch kind {
	case "text":
		d.b.addText(d.piece(i, parsers.PartText), str(block.Get("text")))
	case "thinking":
		p := d.piece(i, parsers.PartThinking)
		d.b.addText(p, str(block.Get("thinking")))
		p.signature = append(p.signature, str(block.Get("signature"))...)
	case "redacted_thinking":
		p := d.piece(i, parsers.PartThinking)
		p.think, p.pointer = thinking.KindRedacted, fmt.Sprintf("/content/%d/data", i)
		p.signed = json.RawMessage(block.Raw)
	case "tool_use":
		p := d.piece(i, parsers.PartCall)
		p.id, p.name = str(block.Get("id")), str(block.Get("name"))
		if input := block.Get("input"); input.IsObject() && strings.Trim(input.Raw, "{} \t\r\n") == "" {
			d.b.begin(p) // a stream sends {} here and the arguments later
		} else {
			d.b.addArgs(p, argsOf(input))
		}
	case "server_tool_use", "mcp_tool_use":
		p := d.piece(i, parsers.PartBuiltin)
		p.builtin = parsers.Builtin{Type: kind, ID: str(block.Get("id")), Name: str(block.Get("name"))}
	default:
		d.b.skip(kind)
	}
}

func (d *anthropicDecoder) piece(i int64, kind parsers.PartKind) *piece {
	p, isNew := d.b.at(key{group: "block", a: i}, kind, [2]int64{i})
	if isNew {
		p.pointer = fmt.Sprintf("/content/%d", i)
		switch kind {
		case parsers.PartText:
			p.pointer += "/text"
		case parsers.PartThinking:
			p.pointer, p.think = p.pointer+"/thinking", thinking.KindThinking
		}
	}
	return p
}

func (d *anthropicDecoder) event(_ string, root gjson.Result) error {
	i := root.Get("index").Int()
	switch str(root.Get("type")) {
	case "message_start":
		d.head(root.Get("message"))
	case "content_block_start":
		d.block(i, root.Get("content_block"))
	case "content_block_delta":
		d.delta(i, root.Get("delta"))
	case "message_delta":
		if s := str(root.Get("delta.stop_reason")); s != "" {
			d.b.answer.Finish = s
		}
		d.b.mergeUsage(root.Get("usage"))
	case "message_stop":
		d.stopped = true
	case "content_block_stop", "ping":
	case "error":
		return errorOf(d.b.format, root, d.b.opts)
	default:
		return ErrUnknown
	}
	return nil
}

func (d *anthropicDecoder) delta(i int64, delta gjson.Result) {
	switch str(delta.Get("type")) {
	case "text_delta":
		if p := d.piece(i, parsers.PartText); p.kind == parsers.PartText {
			d.b.addText(p, str(delta.Get("text")))
		}
	case "thinking_delta":
		if p := d.piece(i, parsers.PartThinking); p.kind == parsers.PartThinking {
			d.b.addText(p, str(delta.Get("thinking")))
		}
	case "signature_delta":
		if p := d.piece(i, parsers.PartThinking); p.kind == parsers.PartThinking {
			p.signature = append(p.signature, str(delta.Get("signature"))...)
		}
	case "input_json_delta":
		// A tool that the provider runs has its arguments here as well.
		if p := d.b.find[key{group: "block", a: i}]; p != nil && p.kind == parsers.PartCall {
			d.b.addArgs(p, str(delta.Get("partial_json")))
		}
	}
}

func (d *anthropicDecoder) close() bool { return d.stopped || d.b.answer.Finish != "" }
