package rewrite

import (
	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// chatEditor edits OpenAI Chat and its dialects.
type chatEditor struct {
	a       *Answer
	choices map[int64]*chatChoice
}

// chatChoice is one choice of an answer.
type chatChoice struct {
	text  *track
	calls map[int64]*chatCall
	role  bool // its role has been told
}

// chatCall is a call while its arguments arrive; args is nil when they are left
// alone.
type chatCall struct {
	id   string
	args *track
}

func (e *chatEditor) event(f *frame, root gjson.Result) {
	f.pure = onlyNull(root, "usage", "error", "x_groq")
	n := 0
	each(root.Get("choices"), func(c gjson.Result) {
		n++
		e.choice(f, c)
	})
	f.pure = f.pure && n == 1
}

func (e *chatEditor) choice(f *frame, c gjson.Result) {
	index := c.Get("index").Int()
	choice := e.choices[index]
	if choice == nil {
		choice = &chatChoice{text: e.a.track(textTrack()), calls: map[int64]*chatCall{}}
		if e.choices == nil {
			e.choices = map[int64]*chatChoice{}
		}
		e.choices[index] = choice
	}
	message := c.Get("delta")
	if !message.IsObject() {
		message = c.Get("message")
	}
	if role := message.Get("role"); role.Exists() && !choice.role {
		choice.role, f.pure = true, false
	}
	f.pure = f.pure && onlyNull(c, "finish_reason", "usage", "error") &&
		nothingBut(message, "role", "content", "tool_calls", "function_call")
	switch content := message.Get("content"); {
	case content.IsArray(): // Mistral
		f.pure = false
		each(content, func(part gjson.Result) {
			switch str(part.Get("type")) {
			case "text", "output_text":
				f.text(choice.text, part.Get("text"))
			}
		})
	default:
		f.text(choice.text, content)
		e.blank(f, choice, message, content)
	}
	each(message.Get("tool_calls"), func(call gjson.Result) { e.call(f, choice, call) })
	if fn := message.Get("function_call"); fn.IsObject() {
		e.function(f, choice, -1, "", fn)
	}
	if str(c.Get("finish_reason")) != "" {
		f.closes = append(f.closes, choice.text)
		for _, call := range choice.calls {
			f.closes = append(f.closes, call.args)
		}
	}
}

// blank makes the text of a body null when nothing of it stays beside calls:
// what a model without the mandate would have written.
func (e *chatEditor) blank(f *frame, choice *chatChoice, message, content gjson.Result) {
	if e.a.split.kind != frameWhole || content.Type != gjson.String || !message.Get("tool_calls.0").Exists() {
		return
	}
	choice.text.close()
	if choice.text.cut && !choice.text.shown {
		f.segments = f.segments[:len(f.segments)-1]
		f.edits.replace(content, "null")
	}
}

func (e *chatEditor) call(f *frame, choice *chatChoice, call gjson.Result) {
	fn := call.Get("function")
	if fn.Get("name").Exists() || call.Get("custom").Exists() {
		f.pure = false
	}
	if !fn.IsObject() {
		return
	}
	e.function(f, choice, call.Get("index").Int(), str(call.Get("id")), fn)
}

// function edits a call or a piece of one. Calls are told apart by index; some
// vendors use one index for all, and then a new id begins a new call.
func (e *chatEditor) function(f *frame, choice *chatChoice, index int64, id string, fn gjson.Result) {
	name, args := str(fn.Get("name")), fn.Get("arguments")
	if e.a.split.kind == frameWhole || args.Exists() && args.Type != gjson.String {
		if e.a.injected(name) {
			f.arguments(args)
		}
		return
	}
	c := choice.calls[index]
	if c == nil || id != "" && c.id != id && name != "" {
		if c != nil {
			c.args.close()
		}
		c = &chatCall{id: id}
		if e.a.injected(name) {
			c.args = e.a.track(argumentsTrack())
		}
		choice.calls[index] = c
	}
	if c.args == nil {
		f.pure = f.pure && str(args) == ""
		return
	}
	f.text(c.args, args)
}

// arguments takes the argument out of the arguments of a call that are whole: a
// string, or an object.
func (f *frame) arguments(args gjson.Result) {
	if args.Type == gjson.String {
		f.edits.cutString(args, 0, rationale.ArgumentCuts(decode(args.Raw[1:len(args.Raw)-1])))
	} else if args.IsObject() {
		f.edits.cutRaw(args, rationale.ArgumentCuts(args.Raw))
	}
}

// whole strips a text that is whole.
func (f *frame) whole(text gjson.Result) {
	if text.Type == gjson.String {
		f.edits.cutString(text, 0, rationale.Cuts(decode(text.Raw[1:len(text.Raw)-1])))
	}
}

// onlyNull reports whether the named members are missing, null or empty.
func onlyNull(v gjson.Result, names ...string) bool {
	for _, name := range names {
		if r := v.Get(name); r.Exists() && r.Type != gjson.Null && r.Raw != `""` {
			return false
		}
	}
	return true
}

// nothingBut reports whether an object says nothing beside the named members.
func nothingBut(v gjson.Result, names ...string) bool {
	only := v.IsObject()
	v.ForEach(func(k, value gjson.Result) bool {
		known := false
		for _, name := range names {
			known = known || k.Str == name
		}
		if !known && value.Type != gjson.Null && value.Raw != `""` {
			only = false
		}
		return only
	})
	return only
}
