package rewrite

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// chat reads a request of OpenAI Chat.
func (r *request) chat() error {
	m := membersOf(r.root, "messages", "tools", "functions", "tool_choice", "function_call", "response_format")
	if m.twice {
		return errDuplicate
	}
	if !m.get("messages").IsArray() {
		return errJSON
	}
	r.never = str(m.get("tool_choice")) == "none" || str(m.get("function_call")) == "none"
	switch str(m.get("response_format").Get("type")) {
	case "json_schema", "json_object":
		r.structured = true
	}
	each(m.get("tools"), func(t gjson.Result) {
		switch str(t.Get("type")) {
		case "function", "":
			r.function(t.Get("function"), rationale.DialectDefault)
		case "custom":
			r.tools = append(r.tools, tool{name: str(t.Get("custom.name")), free: true})
		}
	})
	each(m.get("functions"), func(f gjson.Result) { r.function(f, rationale.DialectDefault) })
	r.leadingSystem(m.get("messages"))
	return nil
}

// function reads the description of a function.
func (r *request) function(f gjson.Result, dialect rationale.Dialect) {
	if !f.IsObject() {
		return
	}
	if strict := f.Get("strict"); strict.Bool() {
		dialect = rationale.DialectStrict
	}
	r.tools = append(r.tools, tool{
		name: str(f.Get("name")), schema: f.Get("parameters"), holder: f, key: "parameters", dialect: dialect,
	})
}

// leadingSystem finds the system prompt of a list of messages: the last of the
// system and developer messages that stand before all others.
func (r *request) leadingSystem(messages gjson.Result) {
	var last gjson.Result
	leading := true
	var system strings.Builder
	each(messages, func(m gjson.Result) {
		role := str(m.Get("role"))
		if leading = leading && (role == "system" || role == "developer"); leading {
			last = m.Get("content")
			system.WriteString(textOf(last))
			system.WriteByte('\n')
		}
	})
	r.system = system.String()
	r.ask = func(text string) string {
		switch {
		case last.Type == gjson.String:
			r.edits.append(last, text)
		case last.IsArray():
			r.edits.element(last, `{"type":"text","text":`+quote(text)+`}`)
		case last.Exists():
			return "the system message has no text to go on from"
		case emptyInside(messages.Raw):
			return "the request has no messages"
		default:
			r.edits.insert(messages.Index+1, `{"role":"system","content":`+quote(text)+`},`)
		}
		return ""
	}
}

// textOf is the text of a content that is a string or a list of parts.
func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var b strings.Builder
	each(content, func(part gjson.Result) { b.WriteString(str(part.Get("text"))) })
	return b.String()
}

// responses reads a request of OpenAI Responses.
func (r *request) responses() error {
	m := membersOf(r.root, "input", "instructions", "tools", "tool_choice", "text", "prompt")
	if m.twice {
		return errDuplicate
	}
	input, instructions := m.get("input"), m.get("instructions")
	if !input.Exists() {
		return errJSON
	}
	r.never = str(m.get("tool_choice")) == "none"
	switch str(m.get("text").Get("format.type")) {
	case "json_schema", "json_object":
		r.structured = true
	}
	each(m.get("tools"), func(t gjson.Result) {
		switch kind := str(t.Get("type")); kind {
		case "function":
			// Without a word the provider takes it for strict.
			dialect := rationale.DialectStrict
			if t.Get("strict").Type == gjson.False {
				dialect = rationale.DialectDefault
			}
			r.function(t, dialect)
		case "custom", "local_shell", "shell", "apply_patch", "computer", "computer_use_preview":
			r.tools = append(r.tools, tool{name: str(t.Get("name")), free: true})
		}
	})
	r.system = str(instructions)
	each(input, func(item gjson.Result) {
		if role := str(item.Get("role")); role == "developer" || role == "system" {
			r.system += "\n" + textOf(item.Get("content"))
		}
	})
	r.ask = func(text string) string {
		switch {
		case instructions.Type == gjson.String:
			r.edits.append(instructions, text)
		case instructions.Exists() && instructions.Type != gjson.Null:
			return "the instructions are no text"
		case m.get("prompt").IsObject():
			// Instructions would take the place of the stored prompt's own.
			if !input.IsArray() || emptyInside(input.Raw) {
				return "the stored prompt leaves no place for the mandate"
			}
			r.edits.insert(input.Index+1, `{"type":"message","role":"developer","content":`+quote(text)+`},`)
		case instructions.Exists():
			r.edits.replace(instructions, quote(text))
		default:
			r.edits.member(r.root, `"instructions":`+quote(text))
		}
		return ""
	}
	return nil
}

// ollama reads a request of Ollama's /api/chat.
func (r *request) ollama() error {
	m := membersOf(r.root, "messages", "tools", "format")
	if m.twice {
		return errDuplicate
	}
	if !m.get("messages").IsArray() {
		return errJSON
	}
	if f := m.get("format"); f.IsObject() || str(f) != "" {
		r.structured = true
	}
	each(m.get("tools"), func(t gjson.Result) { r.function(t.Get("function"), rationale.DialectDefault) })
	r.leadingSystem(m.get("messages"))
	return nil
}
