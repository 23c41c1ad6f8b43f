package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
)

// chatDecoder reads OpenAI Chat Completions and its dialects, Mistral's too.
// The members of a message have no order of their own; the parts are thinking,
// provider-run tools, content, calls.
type chatDecoder struct {
	b    *builder
	done bool // [DONE]
	// Of a stream: the call that an index means now, the calls so far, and the
	// content as a list (Mistral).
	current map[int64]*piece
	last    *piece
	content []*piece
	listed  bool
	details map[*piece]*detail
}

// Groups of the parts of a chat message.
const (
	chatThinking = iota
	chatBuiltin
	chatContent
	chatCalls
)

const chatBase = "/choices/0"

const otherChoices = "further choices are left out"

func (d *chatDecoder) body(root gjson.Result) error {
	choices := root.Get("choices")
	if !choices.IsArray() {
		return ErrUnknown
	}
	d.head(root)
	var chosen gjson.Result
	n := 0
	each(choices, func(c gjson.Result) bool {
		if n++; n == 1 || c.Get("index").Int() == 0 && chosen.Get("index").Int() != 0 {
			chosen = c
		}
		return true
	})
	switch {
	case n == 0:
		d.b.warn("the answer has no choices")
	case n > 1:
		d.b.warn(otherChoices)
	}
	err := d.choice(chosen, false)
	d.place()
	if root.Get("error").IsObject() {
		err = errorOf(d.b.format, root, d.b.opts)
	}
	return err
}

func (d *chatDecoder) head(root gjson.Result) {
	a := &d.b.answer
	if a.ID == "" {
		a.ID = str(root.Get("id"))
	}
	if a.Model == "" {
		a.Model = str(root.Get("model"))
	}
	for _, path := range []string{"choices.0.usage", "x_groq.usage", "usage"} { // Moonshot, Groq, all others
		if u := root.Get(path); u.IsObject() {
			d.b.usage = []byte(u.Raw) // each is whole
		}
	}
}

func (d *chatDecoder) event(_ string, root gjson.Result) error {
	choices := root.Get("choices")
	failed := root.Get("error")
	if !choices.IsArray() {
		if root.Get("usage").IsObject() && !failed.Exists() {
			d.head(root)
			return nil
		}
		return ErrUnknown
	}
	d.head(root)
	var err error
	each(choices, func(c gjson.Result) bool {
		if c.Get("index").Int() != 0 {
			d.b.warn(otherChoices)
		} else if e := d.choice(c, true); e != nil {
			err = e
		}
		return true
	})
	switch groq := root.Get("x_groq"); {
	case failed.IsObject():
		err = errorOf(d.b.format, root, d.b.opts)
	case str(groq.Get("error")) != "":
		err = errorOf(d.b.format, groq, d.b.opts)
	}
	return err
}

// choice reads a choice of a body or of an event.
func (d *chatDecoder) choice(c gjson.Result, delta bool) error {
	m := c.Get("delta")
	if !m.IsObject() {
		m = c.Get("message")
	}
	if m.IsObject() {
		d.message(m, delta)
	} else if text := str(c.Get("text")); text != "" { // legacy completions
		p, _ := d.b.at(key{group: "content"}, parsers.PartText, [2]int64{chatContent})
		p.pointer = chatBase + "/text"
		d.b.addText(p, text)
	}
	if f := str(c.Get("finish_reason")); f != "" {
		d.b.answer.Finish = f
	}
	if c.Get("error").IsObject() {
		return errorOf(d.b.format, c, ParseOptions{})
	}
	return nil
}

func (d *chatDecoder) close() bool {
	d.place()
	return d.done || d.b.answer.Finish != ""
}

// message reads a message, or a delta of one.
func (d *chatDecoder) message(m gjson.Result, delta bool) {
	const base = chatBase + "/message"
	shown := false
	for i, f := range []struct {
		name string
		kind thinking.Kind
	}{{"reasoning", thinking.KindReasoning}, {"reasoning_content", thinking.KindReasoningContent}} {
		if s := str(m.Get(f.name)); s != "" {
			p, _ := d.b.at(key{group: f.name}, parsers.PartThinking, [2]int64{chatThinking, int64(i)})
			p.pointer, p.think = base+"/"+f.name, f.kind
			d.b.muted(shown, func() { d.b.addText(p, s) })
			shown = true
		}
	}
	d.b.muted(shown, func() { d.reasoningDetails(m.Get("reasoning_details"), base, delta) })

	switch content := m.Get("content"); {
	case content.IsArray():
		d.listed = true
		each(content, func(part gjson.Result) bool {
			d.contentPart(part, delta)
			return true
		})
	case content.Type == gjson.String && content.Str != "":
		d.b.addText(d.contentPiece(parsers.PartText, delta), content.Str)
	}
	d.b.refuse(str(m.Get("refusal")))
	each(m.Get("tool_calls"), func(call gjson.Result) bool {
		if delta {
			d.callDelta(call)
		} else {
			d.newCall(call, int64(d.b.calls))
		}
		return true
	})
	if f := m.Get("function_call"); str(f.Get("name")) != "" || (delta && str(f.Get("arguments")) != "" && d.find("function_call") != nil) {
		p, isNew := d.b.at(key{group: "function_call"}, parsers.PartCall, [2]int64{chatCalls, -1})
		if isNew {
			p.name, p.pointer = str(f.Get("name")), base+"/function_call"
		}
		d.b.addArgs(p, argsOf(f.Get("arguments")))
	}
	each(m.Get("executed_tools"), func(t gjson.Result) bool { // Groq
		i := t.Get("index").Int()
		p, isNew := d.b.at(key{group: "executed", a: i}, parsers.PartBuiltin, [2]int64{chatBuiltin, i})
		if isNew {
			p.builtin = parsers.Builtin{Type: "executed_tools", Name: str(t.Get("type"))}
			p.pointer = fmt.Sprintf("%s/executed_tools/%d", base, i)
		}
		return true
	})
	each(m.Get("images"), func(gjson.Result) bool { d.b.skip("image"); return true })
	// Snowflake sends an audio object without audio.
	if audio := m.Get("audio"); str(audio.Get("data")) != "" {
		d.b.skip("audio")
	}
}

func (d *chatDecoder) find(group string) *piece { return d.b.find[key{group: group}] }

// contentPiece returns the piece that content of a kind belongs to: of a stream
// the last one if it is of that kind.
func (d *chatDecoder) contentPiece(kind parsers.PartKind, delta bool) *piece {
	if n := len(d.content); delta && n > 0 && d.content[n-1].kind == kind {
		return d.content[n-1]
	}
	n := int64(len(d.content))
	p, _ := d.b.at(key{group: "content", a: n}, kind, [2]int64{chatContent, n})
	p.think = thinking.KindContentThinking
	d.content = append(d.content, p)
	return p
}

// contentPart reads one element of a content list.
func (d *chatDecoder) contentPart(part gjson.Result, delta bool) {
	switch kind := str(part.Get("type")); kind {
	case "text", "output_text":
		d.b.addText(d.contentPiece(parsers.PartText, delta), str(part.Get("text")))
	case "thinking": // Mistral
		p := d.contentPiece(parsers.PartThinking, delta)
		if t := part.Get("thinking"); t.IsArray() {
			each(t, func(e gjson.Result) bool {
				d.b.addText(p, str(e.Get("text")))
				return true
			})
		} else {
			d.b.addText(p, str(t))
		}
	case "refusal":
		d.b.refuse(str(part.Get("refusal")))
		d.content = append(d.content, &piece{})
	default:
		d.b.skip(kind)
		d.content = append(d.content, &piece{}) // it has a place in the list, and text does not go on behind it
	}
}

func (d *chatDecoder) newCall(call gjson.Result, index int64) *piece {
	p, _ := d.b.at(key{group: "call", a: int64(d.b.calls)}, parsers.PartCall, [2]int64{chatCalls, index})
	p.id = str(call.Get("id"))
	p.signature = []byte(str(call.Get("extra_content.google.thought_signature")))
	fn := call.Get("function")
	p.name = str(fn.Get("name"))
	args := fn.Get("arguments")
	if name := str(call.Get("custom.name")); p.name == "" && name != "" {
		p.name, p.free = name, true
		args = call.Get("custom.input")
	}
	if p.name != "" {
		d.b.addArgs(p, argsOf(args))
	} else {
		p.args = append(p.args, argsOf(args)...)
	}
	return p
}

// callDelta reads a piece of a call. Calls are told apart by index; some
// vendors use one index for all, or none, and then a new id begins a new call,
// or without ids a name behind arguments that are whole.
func (d *chatDecoder) callDelta(call gjson.Result) {
	if d.current == nil {
		d.current = map[int64]*piece{}
	}
	id, name := str(call.Get("id")), str(call.Get("function.name"))
	index := call.Get("index")
	n := index.Int()
	p := d.current[n]
	if index.Type != gjson.Number {
		p, n = d.last, int64(d.b.calls)
		if id != "" && p != nil && p.id != id {
			p = nil
		}
	}
	if p == nil || name != "" && (id != "" && p.id != "" && p.id != id || id == "" && p.whole()) {
		d.last = d.newCall(call, n)
		d.current[n] = d.last
		return
	}
	d.last = p
	if p.id == "" {
		p.id = id
	}
	if p.name == "" {
		p.name = name
	}
	args := call.Get("function.arguments")
	if p.free {
		args = call.Get("custom.input")
	}
	d.b.addArgs(p, argsOf(args))
}

// whole reports whether the arguments of a call are a JSON object that nothing
// can follow. Large ones are not looked at, for the sake of time.
func (p *piece) whole() bool {
	return len(p.args) <= 16<<10 && bytes.HasPrefix(p.args, []byte("{")) && gjson.ValidBytes(p.args)
}

// place gives the pieces their pointers, which only the whole shows.
func (d *chatDecoder) place() {
	const base = chatBase + "/message"
	for i, p := range d.content {
		switch {
		case p.pointer != "" || p.kind == "":
		case !d.listed:
			p.pointer = base + "/content"
		case p.kind == parsers.PartThinking:
			p.pointer = base + "/content/" + strconv.Itoa(i) + "/thinking/0/text"
		default:
			p.pointer = base + "/content/" + strconv.Itoa(i) + "/text"
		}
	}
	var calls []*piece
	for _, p := range d.b.pieces {
		if p.kind == parsers.PartCall && p.pointer == "" {
			calls = append(calls, p)
		}
	}
	slices.SortStableFunc(calls, func(p, q *piece) int { return slices.Compare(p.order[:], q.order[:]) })
	for i, p := range calls {
		p.pointer = base + "/tool_calls/" + strconv.Itoa(i)
	}
	for p, det := range d.details {
		p.signed = det.json(string(p.text))
	}
}

// detail is an element of reasoning_details (OpenRouter, Snowflake), which must
// go back as it came.
type detail struct {
	raw    json.RawMessage // while it is one delta
	names  []string
	values map[string]json.RawMessage
	signed bool
}

func (d *chatDecoder) reasoningDetails(list gjson.Result, base string, delta bool) {
	n := int64(-1)
	each(list, func(e gjson.Result) bool {
		n++
		var kind thinking.Kind
		var text string
		switch str(e.Get("type")) {
		case "reasoning.text":
			kind, text = thinking.KindDetailText, str(e.Get("text"))
		case "reasoning.summary":
			kind, text = thinking.KindDetailSummary, str(e.Get("summary"))
		case "reasoning.encrypted":
			kind = thinking.KindDetailEncrypted
		default:
			d.b.skip(str(e.Get("type")))
			return true
		}
		i := n
		if at := e.Get("index"); delta && at.Type == gjson.Number {
			i = at.Int()
		}
		p, isNew := d.b.at(key{group: "detail/" + string(kind), a: i}, parsers.PartThinking, [2]int64{chatThinking, max(2, i+2)})
		if isNew {
			field := "text"
			if kind == thinking.KindDetailSummary {
				field = "summary"
			}
			p.think, p.pointer = kind, fmt.Sprintf("%s/reasoning_details/%d/%s", base, i, field)
			if kind == thinking.KindDetailEncrypted {
				p.pointer = fmt.Sprintf("%s/reasoning_details/%d/data", base, i)
			}
			if d.details == nil {
				d.details = map[*piece]*detail{}
			}
			d.details[p] = &detail{}
		}
		d.b.addText(p, text)
		d.details[p].add(e)
		return true
	})
}

func (t *detail) add(e gjson.Result) {
	t.signed = t.signed || str(e.Get("signature")) != "" || str(e.Get("data")) != ""
	if t.values == nil {
		t.values, t.raw = map[string]json.RawMessage{}, json.RawMessage(e.Raw)
	} else {
		t.raw = nil
	}
	e.ForEach(func(k, v gjson.Result) bool {
		old, seen := t.values[k.Str]
		if !seen {
			t.names = append(t.names, k.Str)
		}
		if !seen || string(old) == "null" || (v.Type != gjson.Null && v.Raw != `""`) {
			t.values[k.Str] = json.RawMessage(v.Raw)
		}
		return true
	})
}

// json is the element put together; nil when nothing in it is signed.
func (t *detail) json(text string) json.RawMessage {
	if !t.signed || t.raw != nil {
		if !t.signed {
			return nil
		}
		return t.raw
	}
	var w jsonWriter
	w.obj(func() {
		for _, name := range t.names {
			w.key(name)
			if name == "text" || name == "summary" {
				w.str(text)
			} else {
				w.raw(t.values[name])
			}
		}
	})
	return w.buf
}
