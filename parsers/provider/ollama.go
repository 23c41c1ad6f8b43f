package provider

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
)

// ollamaDecoder reads Ollama's /api/chat and /api/generate. A body is a stream
// of one line. Calls have mostly no id and are known by their order.
type ollamaDecoder struct {
	b     *builder
	done  bool
	calls int64
}

func (d *ollamaDecoder) body(root gjson.Result) error {
	err := d.event("", root)
	if err == nil && !d.done {
		d.b.answer.Cut = true
	}
	return err
}

func (d *ollamaDecoder) event(_ string, root gjson.Result) error {
	message := root.Get("message")
	content, thought, base := message.Get("content"), message.Get("thinking"), "/message"
	if r := root.Get("response"); r.Type == gjson.String && !message.Exists() { // /api/generate
		content, thought, base = r, root.Get("thinking"), ""
	} else if !message.IsObject() {
		return ErrUnknown
	}
	a := &d.b.answer
	if a.Model == "" {
		a.Model = str(root.Get("model"))
	}
	if s := str(thought); s != "" {
		p, _ := d.b.at(key{group: "thinking"}, parsers.PartThinking, [2]int64{0})
		p.pointer, p.think = base+"/thinking", thinking.KindMessageThinking
		d.b.addText(p, s)
	}
	if s := str(content); s != "" {
		p, _ := d.b.at(key{group: "content"}, parsers.PartText, [2]int64{1})
		p.pointer = base + "/content"
		if base == "" {
			p.pointer = "/response"
		}
		d.b.addText(p, s)
	}
	each(message.Get("tool_calls"), func(call gjson.Result) bool {
		p, _ := d.b.at(key{group: "call", a: d.calls}, parsers.PartCall, [2]int64{2, d.calls})
		p.pointer = "/message/tool_calls/" + strconv.FormatInt(d.calls, 10)
		p.id, p.name = str(call.Get("id")), str(call.Get("function.name"))
		d.calls++
		d.b.addArgs(p, argsOf(call.Get("function.arguments")))
		return true
	})
	each(message.Get("images"), func(gjson.Result) bool { d.b.skip("image"); return true })
	if !root.Get("done").Bool() {
		return nil
	}
	d.done = true
	a.Finish = str(root.Get("done_reason"))
	var w jsonWriter
	w.obj(func() {
		for _, name := range []string{
			"prompt_eval_count", "eval_count", "total_duration",
			"load_duration", "prompt_eval_duration", "eval_duration",
		} {
			if v := root.Get(name); v.Type == gjson.Number {
				w.key(name).raw([]byte(v.Raw))
			}
		}
	})
	if len(w.buf) > 2 {
		d.b.usage = w.buf
	}
	return nil
}

func (d *ollamaDecoder) close() bool { return d.done }
