package provider

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
)

// cohereDecoder reads Cohere's /v2/chat. tool_plan is the model's reflection
// before its calls and is kept as thinking.
type cohereDecoder struct {
	b     *builder
	ended bool
}

const (
	coherePlan = iota
	cohereContent
	cohereCalls
)

func (d *cohereDecoder) body(root gjson.Result) error {
	message := root.Get("message")
	if !message.IsObject() || !root.Get("finish_reason").Exists() {
		return ErrUnknown
	}
	d.b.answer.ID, d.b.answer.Model = str(root.Get("id")), str(root.Get("model"))
	d.plan(str(message.Get("tool_plan")))
	i := int64(0)
	each(message.Get("content"), func(c gjson.Result) bool {
		d.content(i, c)
		i++
		return true
	})
	i = 0
	each(message.Get("tool_calls"), func(c gjson.Result) bool {
		d.call(i, c)
		i++
		return true
	})
	d.b.answer.Finish = str(root.Get("finish_reason"))
	d.b.mergeUsage(root.Get("usage"))
	return nil
}

func (d *cohereDecoder) plan(s string) {
	if s == "" {
		return
	}
	p, _ := d.b.at(key{group: "plan"}, parsers.PartThinking, [2]int64{coherePlan})
	p.pointer, p.think = "/message/tool_plan", thinking.KindToolPlan
	d.b.addText(p, s)
}

// content reads an element of content, or what a stream adds to it.
func (d *cohereDecoder) content(i int64, c gjson.Result) {
	kind, field := parsers.PartText, "text"
	if c.Get("thinking").Type == gjson.String || str(c.Get("type")) == "thinking" {
		kind, field = parsers.PartThinking, "thinking"
	} else if c.Get("text").Type != gjson.String {
		d.b.skip(str(c.Get("type")))
		return
	}
	p, isNew := d.b.at(key{group: "content", a: i}, kind, [2]int64{cohereContent, i})
	if isNew {
		p.pointer, p.think = fmt.Sprintf("/message/content/%d/%s", i, field), thinking.KindContentThinking
	}
	if p.kind == kind {
		d.b.addText(p, str(c.Get(field)))
	}
}

func (d *cohereDecoder) call(i int64, c gjson.Result) {
	p, isNew := d.b.at(key{group: "call", a: i}, parsers.PartCall, [2]int64{cohereCalls, i})
	if isNew {
		p.pointer = fmt.Sprintf("/message/tool_calls/%d", i)
		p.id, p.name = str(c.Get("id")), str(c.Get("function.name"))
	}
	d.b.addArgs(p, argsOf(c.Get("function.arguments")))
}

func (d *cohereDecoder) event(_ string, root gjson.Result) error {
	kind := str(root.Get("type"))
	i := root.Get("index").Int()
	message := root.Get("delta.message")
	switch kind {
	case "message-start":
		d.b.answer.ID = str(root.Get("id"))
	case "content-start", "content-delta":
		d.content(i, message.Get("content"))
	case "tool-plan-delta":
		d.plan(str(message.Get("tool_plan")))
	case "tool-call-start", "tool-call-delta":
		d.call(i, message.Get("tool_calls"))
	case "message-end":
		d.b.answer.Finish, d.ended = str(root.Get("delta.finish_reason")), true
		d.b.mergeUsage(root.Get("delta.usage"))
		if s := str(root.Get("delta.error")); s != "" {
			return &APIError{Format: d.b.format, Type: d.b.answer.Finish, Message: s}
		}
	default:
		if !strings.HasSuffix(kind, "-end") && !strings.HasPrefix(kind, "citation-") && kind != "debug" {
			return ErrUnknown
		}
	}
	return nil
}

func (d *cohereDecoder) close() bool { return d.ended }
