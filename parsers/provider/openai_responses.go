package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
)

// responsesDecoder reads OpenAI Responses. The parts stand in the order of the
// output items. The last event of a stream repeats the whole response: the
// answer is read from that, and from the items and deltas only when it is
// missing or empty.
type responsesDecoder struct {
	b     *builder
	items map[int64]gjson.Result // finished items of a stream
	ended bool
}

func (d *responsesDecoder) body(root gjson.Result) error {
	output := root.Get("output")
	if !output.IsArray() {
		return ErrUnknown
	}
	i := int64(0)
	each(output, func(item gjson.Result) bool {
		d.item(i, item)
		i++
		return true
	})
	return d.head(root)
}

// head reads what stands around the output.
func (d *responsesDecoder) head(root gjson.Result) error {
	a := &d.b.answer
	a.ID, a.Model, a.Finish = str(root.Get("id")), str(root.Get("model")), str(root.Get("status"))
	if u := root.Get("usage"); u.IsObject() {
		d.b.usage = []byte(u.Raw)
	}
	if s := str(root.Get("incomplete_details.reason")); s != "" {
		d.b.warn("the response is incomplete: %s", safeWord(s))
	}
	if root.Get("error").IsObject() {
		return errorOf(d.b.format, root, d.b.opts)
	}
	return nil
}

// clientTools are the built-in tools whose calls the client executes, with the
// member that holds what to do.
func clientTool(kind string) (name, args string, ok bool) {
	switch kind {
	case "local_shell_call", "shell_call", "computer_call":
		return strings.TrimSuffix(kind, "_call"), "action", true
	case "apply_patch_call":
		return "apply_patch", "operation", true
	}
	return "", "", false
}

// item reads a finished output item.
func (d *responsesDecoder) item(i int64, item gjson.Result) {
	kind := str(item.Get("type"))
	base := fmt.Sprintf("/output/%d", i)
	switch kind {
	case "reasoning":
		d.reasoning(i, item)
	case "message":
		n := int64(0)
		each(item.Get("content"), func(c gjson.Result) bool {
			switch t := str(c.Get("type")); t {
			case "output_text", "text":
				d.b.addText(d.piece("text", i, n, parsers.PartText), str(c.Get("text")))
			case "refusal":
				d.b.refuse(str(c.Get("refusal")))
			default:
				d.b.skip(t)
			}
			n++
			return true
		})
	case "function_call", "custom_tool_call":
		p := d.call(i, item)
		field := "arguments"
		if p.free {
			field = "input"
		}
		d.b.addArgs(p, argsOf(item.Get(field)))
	default:
		if name, args, ok := clientTool(kind); ok {
			p := d.piece("call", i, 0, parsers.PartCall)
			p.id, p.name = str(item.Get("call_id")), name
			d.b.addArgs(p, argsOf(item.Get(args)))
		} else if strings.HasSuffix(kind, "_call") {
			p, _ := d.b.at(key{group: "builtin", a: i}, parsers.PartBuiltin, [2]int64{i})
			p.pointer = base
			p.builtin = parsers.Builtin{Type: kind, ID: str(item.Get("id")), Name: str(item.Get("name"))}
		} else {
			d.b.skip(kind)
		}
	}
}

// reasoning reads a reasoning item: its content verbatim, else the provider's
// summary, else only the fact. The item goes back whole.
func (d *responsesDecoder) reasoning(i int64, item gjson.Result) {
	signed := json.RawMessage(item.Raw)
	read := func(list, group string) {
		n := int64(0)
		each(item.Get(list), func(c gjson.Result) bool {
			if s := str(c.Get("text")); s != "" {
				p := d.piece(group, i, n, parsers.PartThinking)
				d.b.addText(p, s)
				p.signed, signed = signed, nil
			}
			n++
			return true
		})
	}
	read("content", "content")
	read("summary", "summary")
	if signed != nil {
		p, _ := d.b.at(key{group: "hidden", a: i}, parsers.PartThinking, [2]int64{i})
		p.think, p.pointer, p.signed = thinking.KindItemEncrypted, fmt.Sprintf("/output/%d", i), signed
		if item.Get("encrypted_content").Exists() {
			p.pointer += "/encrypted_content"
		}
	}
}

// piece returns part n of item i in a group.
func (d *responsesDecoder) piece(group string, i, n int64, kind parsers.PartKind) *piece {
	order := [2]int64{i, n}
	if group == "summary" {
		order[1] += 1 << 32 // after the content
	}
	p, isNew := d.b.at(key{group, i, n}, kind, order)
	if isNew {
		switch group {
		case "text":
			p.pointer = fmt.Sprintf("/output/%d/content/%d/text", i, n)
		case "content":
			p.think, p.pointer = thinking.KindItemText, fmt.Sprintf("/output/%d/content/%d/text", i, n)
		case "summary":
			p.think, p.pointer = thinking.KindItemSummary, fmt.Sprintf("/output/%d/summary/%d/text", i, n)
		default:
			p.pointer = fmt.Sprintf("/output/%d", i)
		}
	}
	return p
}

func (d *responsesDecoder) call(i int64, item gjson.Result) *piece {
	p := d.piece("call", i, 0, parsers.PartCall)
	p.id, p.name = str(item.Get("call_id")), str(item.Get("name"))
	p.free = str(item.Get("type")) == "custom_tool_call"
	return p
}

func (d *responsesDecoder) event(name string, root gjson.Result) error {
	kind := str(root.Get("type"))
	i, n := root.Get("output_index").Int(), root.Get("content_index").Int()
	delta := str(root.Get("delta"))
	switch kind {
	case "response.created", "response.in_progress", "response.queued":
		response := root.Get("response")
		d.b.answer.ID, d.b.answer.Model = str(response.Get("id")), str(response.Get("model"))
	case "response.output_item.added":
		if item := root.Get("item"); item.Get("name").Exists() {
			switch str(item.Get("type")) {
			case "function_call", "custom_tool_call":
				d.b.begin(d.call(i, item))
			}
		}
	case "response.output_item.done":
		if d.items == nil {
			d.items = map[int64]gjson.Result{}
		}
		d.items[i] = root.Get("item")
	case "response.output_text.delta":
		d.b.addText(d.piece("text", i, n, parsers.PartText), delta)
	case "response.refusal.delta":
		d.b.refuse(delta)
	case "response.reasoning_text.delta":
		d.b.addText(d.piece("content", i, n, parsers.PartThinking), delta)
	case "response.reasoning_summary_text.delta":
		d.b.addText(d.piece("summary", i, root.Get("summary_index").Int(), parsers.PartThinking), delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		d.b.addArgs(d.piece("call", i, 0, parsers.PartCall), delta)
	case "response.output_text.done": // some servers send no deltas
		if p := d.piece("text", i, n, parsers.PartText); !p.written {
			d.b.addText(p, str(root.Get("text")))
		}
	case "response.function_call_arguments.done":
		if p := d.piece("call", i, 0, parsers.PartCall); len(p.args) == 0 {
			d.b.addArgs(p, str(root.Get("arguments")))
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return d.complete(root.Get("response"))
	case "error":
		return errorOf(d.b.format, root, d.b.opts)
	default:
		if !strings.HasPrefix(kind, "response.") && kind != "keepalive" {
			return ErrUnknown
		}
	}
	return nil
}

// complete reads the response that the last event repeats.
func (d *responsesDecoder) complete(response gjson.Result) error {
	d.ended = true
	if output := response.Get("output"); len(output.Array()) == 0 {
		d.settle()
		return d.head(response)
	}
	d.b.reset()
	d.items = nil
	var err error
	d.b.muted(true, func() { err = d.body(response) })
	return err
}

// settle puts finished items in the place of their deltas.
func (d *responsesDecoder) settle() {
	if d.items == nil {
		return
	}
	d.b.closeSplits()
	for _, p := range d.b.pieces {
		if _, whole := d.items[p.order[0]]; whole {
			p.kind = ""
		}
	}
	maps.DeleteFunc(d.b.find, func(_ key, p *piece) bool { return p.kind == "" })
	d.b.pieces = slices.DeleteFunc(d.b.pieces, func(p *piece) bool { return p.kind == "" })
	refusal := d.b.refusal
	d.b.muted(true, func() {
		for _, i := range slices.Sorted(maps.Keys(d.items)) {
			d.item(i, d.items[i])
		}
	})
	if refusal != nil {
		d.b.refusal = refusal // its deltas came before its item
	}
	d.items = nil
}

func (d *responsesDecoder) close() bool {
	d.settle()
	return d.ended
}
