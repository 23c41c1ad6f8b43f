package provider

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
)

// converseDecoder reads Amazon Bedrock's Converse and ConverseStream, and the
// same shape inside InvokeModel (Nova).
type converseDecoder struct {
	b *builder
}

func (d *converseDecoder) body(root gjson.Result) error {
	content := root.Get("output.message.content")
	if !content.IsArray() {
		return ErrUnknown
	}
	i := int64(0)
	each(content, func(block gjson.Result) bool {
		d.block(i, block)
		i++
		return true
	})
	d.b.answer.Finish = str(root.Get("stopReason"))
	d.b.mergeUsage(root.Get("usage"))
	return nil
}

func (d *converseDecoder) block(i int64, block gjson.Result) {
	switch {
	case block.Get("text").Type == gjson.String:
		d.b.addText(d.piece(i, parsers.PartText), block.Get("text").Str)
	case block.Get("toolUse").IsObject():
		d.toolUse(i, block.Get("toolUse"))
	case block.Get("reasoningContent").IsObject():
		d.reasoning(i, block.Get("reasoningContent"))
	case block.Get("citationsContent.content").IsArray():
		p := d.piece(i, parsers.PartText)
		p.pointer = fmt.Sprintf("/output/message/content/%d/citationsContent/content/0/text", i)
		each(block.Get("citationsContent.content"), func(c gjson.Result) bool {
			d.b.addText(p, str(c.Get("text")))
			return true
		})
	default:
		d.b.skip(firstKey(block))
	}
}

// firstKey names an object by its first member, which is how the tagged unions
// of Bedrock tell their kind.
func firstKey(v gjson.Result) (name string) {
	v.ForEach(func(k, _ gjson.Result) bool { name = k.Str; return false })
	return name
}

func (d *converseDecoder) piece(i int64, kind parsers.PartKind) *piece {
	p, isNew := d.b.at(key{group: "block", a: i}, kind, [2]int64{i})
	if isNew {
		p.pointer = fmt.Sprintf("/output/message/content/%d", i)
		switch kind {
		case parsers.PartText:
			p.pointer += "/text"
		case parsers.PartThinking:
			p.pointer, p.think = p.pointer+"/reasoningContent/reasoningText/text", thinking.KindReasoningContext
		}
	}
	return p
}

func (d *converseDecoder) toolUse(i int64, t gjson.Result) {
	if str(t.Get("type")) == "server_tool_use" {
		p := d.piece(i, parsers.PartBuiltin)
		p.builtin = parsers.Builtin{Type: "server_tool_use", ID: str(t.Get("toolUseId")), Name: str(t.Get("name"))}
		return
	}
	p := d.piece(i, parsers.PartCall)
	p.id, p.name = str(t.Get("toolUseId")), str(t.Get("name"))
	d.b.addArgs(p, argsOf(t.Get("input")))
}

// reasoning reads a block, or a delta, which is one level flatter.
func (d *converseDecoder) reasoning(i int64, r gjson.Result) {
	p := d.piece(i, parsers.PartThinking)
	if p.kind != parsers.PartThinking {
		return
	}
	if t := r.Get("reasoningText"); t.IsObject() {
		r = t
	}
	d.b.addText(p, str(r.Get("text")))
	p.signature = append(p.signature, str(r.Get("signature"))...)
	if s := str(r.Get("redactedContent")); s != "" {
		p.think = thinking.KindRedactedContent
		p.pointer = fmt.Sprintf("/output/message/content/%d/reasoningContent/redactedContent", i)
		p.signature = append(p.signature, s...)
	}
}

func (d *converseDecoder) event(name string, root gjson.Result) error {
	if name == "" { // Nova in InvokeModel: {"contentBlockDelta":{...}}
		root.ForEach(func(k, v gjson.Result) bool {
			name, root = k.Str, v
			return false
		})
	}
	i := root.Get("contentBlockIndex").Int()
	switch name {
	case "messageStart", "contentBlockStop":
	case "contentBlockStart":
		if t := root.Get("start.toolUse"); t.IsObject() {
			d.toolUse(i, t)
		} else if k := firstKey(root.Get("start")); k != "" {
			d.b.skip(k)
		}
	case "contentBlockDelta":
		d.delta(i, root.Get("delta"))
	case "messageStop":
		d.b.answer.Finish = str(root.Get("stopReason"))
	case "metadata":
		d.b.mergeUsage(root.Get("usage"))
	default:
		return ErrUnknown
	}
	return nil
}

func (d *converseDecoder) delta(i int64, delta gjson.Result) {
	switch {
	case delta.Get("text").Type == gjson.String:
		if p := d.piece(i, parsers.PartText); p.kind == parsers.PartText {
			d.b.addText(p, delta.Get("text").Str)
		}
	case delta.Get("toolUse").IsObject():
		if p := d.b.find[key{group: "block", a: i}]; p != nil && p.kind == parsers.PartCall {
			d.b.addArgs(p, str(delta.Get("toolUse.input")))
		}
	case delta.Get("reasoningContent").IsObject():
		d.reasoning(i, delta.Get("reasoningContent"))
	}
}

func (d *converseDecoder) close() bool { return d.b.answer.Finish != "" }
