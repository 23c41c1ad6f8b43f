package rewrite

import (
	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// geminiEditor edits Gemini's answers. A part that carries a signature is left
// as it is, but for the argument in its call, which the tool must not get.
type geminiEditor struct {
	a     *Answer
	texts map[int64]*track // the open text of a candidate
}

func (e *geminiEditor) event(f *frame, root gjson.Result) {
	if r := root.Get("response"); r.IsObject() && !root.Get("candidates").Exists() {
		root = r // Code Assist wraps it
	}
	f.pure = onlyNull(root, "promptFeedback", "error")
	n := 0
	each(root.Get("candidates"), func(c gjson.Result) {
		n++
		e.candidate(f, c)
	})
	f.pure = f.pure && n == 1
}

func (e *geminiEditor) candidate(f *frame, c gjson.Result) {
	index := c.Get("index").Int()
	final := c.Get("finishReason").Exists()
	// A frame that ends the candidate, or says more than its parts, stays.
	f.pure = f.pure && !final && nothingBut(c, "index", "content", "safetyRatings", "tokenCount", "avgLogprobs")
	l := list{keep: true}
	each(c.Get("content.parts"), func(part gjson.Result) {
		l.elements = append(l.elements, part)
		l.segment = append(l.segment, e.part(f, index, part))
	})
	f.lists = append(f.lists, l)
	for _, s := range l.segment {
		f.pure = f.pure && s >= 0
	}
	if final || e.a.split.kind == frameWhole {
		f.closes = append(f.closes, e.texts[index])
		delete(e.texts, index)
	}
}

// part reads a part and returns the number of its segment, -1 for none.
func (e *geminiEditor) part(f *frame, index int64, part gjson.Result) int {
	text := part.Get("text")
	signed := str(first(part, "thoughtSignature", "thought_signature")) != ""
	if text.Type == gjson.String && !part.Get("thought").Bool() && !signed {
		if e.a.split.kind == frameWhole { // each part is a text of its own
			e.endText(index)
		}
		if e.texts == nil {
			e.texts = map[int64]*track{}
		}
		if e.texts[index] == nil {
			e.texts[index] = e.a.track(textTrack())
		}
		n := f.add(e.texts[index].feed(text))
		if !nothingBut(part, "text") {
			return -1
		}
		return n
	}
	e.endText(index)
	if signed && text.Type == gjson.String && len(rationale.ParseBlocks(text.Str)) > 0 {
		e.a.note("a signed text holds a rationale")
	}
	if call := first(part, "functionCall", "function_call"); call.IsObject() && e.a.injected(str(call.Get("name"))) && !e.a.pass {
		f.arguments(call.Get("args"))
	}
	return -1
}

func (e *geminiEditor) endText(index int64) {
	e.texts[index].close()
	delete(e.texts, index)
}
