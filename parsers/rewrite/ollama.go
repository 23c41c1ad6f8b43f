package rewrite

import "github.com/tidwall/gjson"

// ollamaEditor edits answers of Ollama's /api/chat.
type ollamaEditor struct {
	a    *Answer
	text *track
}

func (e *ollamaEditor) event(f *frame, root gjson.Result) {
	if e.text == nil {
		e.text = e.a.track(textTrack())
	}
	message := root.Get("message")
	done := root.Get("done").Bool()
	f.pure = !done && nothingBut(message, "role", "content") && onlyNull(root, "error")
	f.text(e.text, message.Get("content"))
	each(message.Get("tool_calls"), func(call gjson.Result) {
		fn := call.Get("function")
		if e.a.injected(str(fn.Get("name"))) && !e.a.pass {
			f.arguments(fn.Get("arguments"))
		}
	})
	if done {
		f.closes = append(f.closes, e.text)
	}
}
