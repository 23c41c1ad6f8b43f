package provider

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
)

// geminiDecoder reads Gemini's generateContent and streamGenerateContent. A
// stream is a row of answers with whole parts; text goes on from one to the
// next. Calls have mostly no id and are known by their order.
type geminiDecoder struct {
	b *builder
	// last is the last part, opened says that it came with this event.
	last   *piece
	opened bool
	parts  int64
}

func (d *geminiDecoder) body(root gjson.Result) error {
	if root.IsArray() { // a stream without alt=sse
		var err error
		each(root, func(e gjson.Result) bool {
			err = d.event("", e)
			return err == nil
		})
		return err
	}
	return d.event("", root)
}

func (d *geminiDecoder) event(_ string, root gjson.Result) error {
	if r := root.Get("response"); r.IsObject() && !root.Get("candidates").Exists() {
		root = r // Code Assist wraps it
	}
	candidates, feedback := root.Get("candidates"), root.Get("promptFeedback")
	if !candidates.IsArray() && !feedback.IsObject() && !root.Get("usageMetadata").IsObject() {
		return ErrUnknown
	}
	a := &d.b.answer
	if a.ID == "" {
		a.ID = str(root.Get("responseId"))
	}
	if s := str(root.Get("modelVersion")); s != "" {
		a.Model = s
	}
	if u := root.Get("usageMetadata"); u.IsObject() {
		d.b.usage = []byte(u.Raw) // each event has the sums so far
	}
	if s := str(feedback.Get("blockReason")); s != "" {
		a.Finish = s
		d.b.refuse(str(feedback.Get("blockReasonMessage")))
		d.b.warn("the prompt was blocked by the provider")
	}
	n := 0
	d.opened = false
	each(candidates, func(c gjson.Result) bool {
		if n++; n > 1 || c.Get("index").Int() != 0 {
			d.b.warn("further candidates are left out")
			return true
		}
		each(c.Get("content.parts"), func(part gjson.Result) bool {
			d.part(part)
			d.opened = true
			return true
		})
		if s := str(c.Get("finishReason")); s != "" {
			a.Finish = s
			if s == "MALFORMED_FUNCTION_CALL" {
				d.b.warn("the model wrote a call that the provider could not read and left out")
			}
		}
		return true
	})
	return nil
}

func (d *geminiDecoder) part(part gjson.Result) {
	signature := str(part.Get("thoughtSignature"))
	text := part.Get("text")
	switch {
	case text.Type == gjson.String:
		thought := part.Get("thought").Bool()
		kind := parsers.PartText
		if thought {
			kind = parsers.PartThinking
		}
		// A signature is bound to its own part.
		if d.opened || d.last == nil || d.last.kind != kind || len(d.last.signature) > 0 || signature != "" {
			if text.Str == "" && signature == "" {
				return
			}
			d.last = d.next(kind, signature, "text")
			d.last.think = thinking.KindThought
		}
		d.b.addText(d.last, text.Str)
	case part.Get("functionCall").IsObject():
		d.call(part.Get("functionCall"), signature)
	case part.Get("executableCode").IsObject():
		p := d.next(parsers.PartBuiltin, signature, "executableCode")
		p.builtin = parsers.Builtin{Type: "executableCode", ID: str(part.Get("executableCode.id"))}
	case part.Get("toolCall").IsObject():
		t := part.Get("toolCall")
		p := d.next(parsers.PartBuiltin, signature, "toolCall")
		p.builtin = parsers.Builtin{Type: "toolCall", ID: str(t.Get("id")), Name: str(t.Get("toolType"))}
	default:
		kind := ""
		part.ForEach(func(k, v gjson.Result) bool {
			if v.IsObject() {
				kind = k.Str
			}
			return kind == ""
		})
		if kind == "" && signature == "" {
			return // an empty part
		}
		if kind != "" {
			d.b.skip(kind)
		}
		d.hidden(signature)
		d.parts++
		d.last = nil
	}
}

// call reads a call. Arguments in fragments, each for one path in the object,
// are not put together: they are kept as they came, and so are no valid JSON.
func (d *geminiDecoder) call(f gjson.Result, signature string) {
	p := d.last
	if p == nil || p.kind != parsers.PartCall || !p.open || str(f.Get("name")) != "" {
		p = d.next(parsers.PartCall, signature, "functionCall")
		p.id, p.name = str(f.Get("id")), str(f.Get("name"))
	}
	p.open = f.Get("willContinue").Bool()
	if partial := f.Get("partialArgs"); partial.Exists() {
		d.b.warn("the arguments of a call came in fragments and were not put together")
		d.b.addArgs(p, partial.Raw+"\n")
		p.fragments = true
		return
	}
	d.b.addArgs(p, argsOf(f.Get("args")))
}

// next begins a part. A signature on it is hidden thinking before it.
func (d *geminiDecoder) next(kind parsers.PartKind, signature, field string) *piece {
	if kind != parsers.PartThinking {
		d.hidden(signature)
	}
	p, _ := d.b.at(key{group: "part", a: d.parts}, kind, [2]int64{d.parts, 1})
	p.pointer = fmt.Sprintf("/candidates/0/content/parts/%d", d.parts)
	if kind == parsers.PartText || kind == parsers.PartThinking {
		p.pointer += "/" + field
	}
	p.signature = []byte(signature)
	d.parts++
	d.last = p
	return p
}

func (d *geminiDecoder) hidden(signature string) {
	if signature == "" {
		return
	}
	p, _ := d.b.at(key{group: "signature", a: d.parts}, parsers.PartThinking, [2]int64{d.parts})
	p.pointer = fmt.Sprintf("/candidates/0/content/parts/%d/thoughtSignature", d.parts)
	p.think, p.signature = thinking.KindThoughtSignature, []byte(signature)
}

func (d *geminiDecoder) close() bool { return d.b.answer.Finish != "" }
