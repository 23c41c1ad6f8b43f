package rewrite

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// responsesEditor edits OpenAI Responses. Items stay where they are, empty
// texts too: their ids and places tie reasoning to what followed it. Events
// that carry a sequence number stay as well, so that a client can take a stream
// up again where it broke.
type responsesEditor struct {
	a     *Answer
	texts map[[2]int64]*track
	calls map[int64]*track // nil for calls that are left alone
}

func (e *responsesEditor) event(f *frame, root gjson.Result) {
	if e.a.split.kind == frameWhole {
		e.response(f, root)
		return
	}
	item, part := root.Get("output_index").Int(), root.Get("content_index").Int()
	switch kind := str(root.Get("type")); kind {
	case "response.output_text.delta":
		f.pure = !root.Get("sequence_number").Exists()
		f.text(e.text(item, part), root.Get("delta"))
	case "response.output_text.done":
		f.closes = append(f.closes, e.text(item, part))
		f.whole(root.Get("text"))
	case "response.content_part.added", "response.content_part.done":
		e.part(f, root.Get("part"))
	case "response.function_call_arguments.delta":
		if t := e.calls[item]; t != nil {
			f.pure = !root.Get("sequence_number").Exists()
			f.text(t, root.Get("delta"))
		}
	case "response.function_call_arguments.done":
		if t := e.calls[item]; t != nil {
			f.closes = append(f.closes, t)
			f.arguments(root.Get("arguments"))
		}
	case "response.output_item.added", "response.output_item.done":
		v := root.Get("item")
		if str(v.Get("type")) == "function_call" && e.a.injected(str(v.Get("name"))) && e.calls[item] == nil {
			if e.calls == nil {
				e.calls = map[int64]*track{}
			}
			e.calls[item] = e.a.track(argumentsTrack())
		}
		if kind == "response.output_item.done" {
			for key, t := range e.texts {
				if key[0] == item {
					f.closes = append(f.closes, t)
				}
			}
			f.closes = append(f.closes, e.calls[item])
		}
		e.item(f, v)
	default:
		if response := root.Get("response"); response.IsObject() {
			if response.Get("output.0").Exists() {
				e.a.closeTracks()
			}
			e.response(f, response)
		}
	}
}

func (e *responsesEditor) text(item, part int64) *track {
	key := [2]int64{item, part}
	if e.texts == nil {
		e.texts = map[[2]int64]*track{}
	}
	if e.texts[key] == nil {
		e.texts[key] = e.a.track(textTrack())
	}
	return e.texts[key]
}

// response edits a whole response, and the instructions that it repeats.
func (e *responsesEditor) response(f *frame, response gjson.Result) {
	each(response.Get("output"), func(item gjson.Result) { e.item(f, item) })
	instructions := response.Get("instructions")
	if instructions.Type != gjson.String || e.a.pass {
		return
	}
	text := decode(instructions.Raw[1 : len(instructions.Raw)-1])
	at := strings.LastIndex(text, heading(rationale.Prompt())) // of both prompts, if both stand there
	if both := strings.Index(text, rationale.ArgumentPrompt); both >= 0 {
		at = both
	}
	switch {
	case at < 0:
	case at == 0:
		f.edits.replace(instructions, "null")
	default:
		own := strings.TrimSuffix(text[:at], "\n\n")
		f.edits.cutString(instructions, 0, []rationale.Cut{{Span: rationale.Span{Start: len(own), End: len(text)}}})
	}
}

func (e *responsesEditor) item(f *frame, item gjson.Result) {
	if e.a.pass {
		return
	}
	switch str(item.Get("type")) {
	case "message":
		each(item.Get("content"), func(part gjson.Result) { e.part(f, part) })
	case "function_call":
		if e.a.injected(str(item.Get("name"))) {
			f.arguments(item.Get("arguments"))
		}
	}
}

func (e *responsesEditor) part(f *frame, part gjson.Result) {
	switch str(part.Get("type")) {
	case "output_text", "text":
		if !e.a.pass {
			f.whole(part.Get("text"))
		}
	}
}
