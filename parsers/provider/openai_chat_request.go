package provider

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers/thinking"
)

func (e *encoder) chat() string {
	e.obj(func() {
		e.key("model").str(e.r.Model)
		e.key("messages").arr(func() {
			if e.r.System != "" {
				e.obj(func() {
					e.key("role").str("system")
					e.key("content").str(e.r.System)
				})
			}
			for _, m := range e.r.Messages {
				e.chatMessage(m)
			}
		})
		e.chatTools()
		switch c := e.r.Choice; {
		case c.Name != "":
			e.key("tool_choice").obj(func() {
				e.key("type").str("function")
				e.key("function").obj(func() { e.key("name").str(e.names.Wire(c.Name)) })
			})
		case c.Mode != "":
			e.key("tool_choice").str(c.Mode)
		}
		if e.r.Thinking.Effort != "" {
			e.key("reasoning_effort").str(e.r.Thinking.Effort)
		}
		if n := e.r.MaxTokens; n > 0 {
			name := "max_completion_tokens"
			if e.r.Compatible {
				name = "max_tokens"
			}
			e.key(name).int(int64(n))
		}
		if t := e.r.Temperature; t != nil {
			e.key("temperature").float(*t)
		}
		if s := e.r.Schema; s != nil {
			e.key("response_format").obj(func() {
				e.key("type").str("json_schema")
				e.key("json_schema").obj(func() {
					e.key("name").str(s.Name)
					e.key("schema").raw(s.Schema)
					e.key("strict").bool(true)
				})
			})
		}
		if e.r.Stream {
			e.key("stream").bool(true)
			e.key("stream_options").obj(func() { e.key("include_usage").bool(true) })
		}
	})
	return "/chat/completions"
}

// chatTools writes the tools in the shape that Ollama shares.
func (e *encoder) chatTools() {
	if len(e.r.Tools) == 0 {
		return
	}
	e.key("tools").arr(func() {
		for _, t := range e.r.Tools {
			e.obj(func() {
				e.key("type").str("function")
				e.key("function").obj(func() {
					e.key("name").str(e.names.Wire(t.Name))
					if t.Description != "" {
						e.key("description").str(t.Description)
					}
					e.key("parameters").schema(t.Schema)
				})
			})
		}
	})
}

func (e *encoder) key(name string) *encoder { e.jsonWriter.key(name); return e }

// chatMessage writes a message; every tool result is one of its own.
func (e *encoder) chatMessage(m Message) {
	text, plain := joined(m)
	var calls []Block
	for _, b := range m.Blocks {
		switch b.Kind {
		case BlockResult:
			e.obj(func() {
				e.key("role").str(string(RoleTool))
				e.key("tool_call_id").str(b.ID)
				e.key("content").str(b.Text)
			})
		case BlockCall:
			calls = append(calls, b)
		}
	}
	if m.Role == RoleTool {
		return
	}
	e.obj(func() {
		e.key("role").str(string(m.Role))
		switch {
		case !plain:
			e.key("content").arr(func() {
				for _, b := range m.Blocks {
					switch b.Kind {
					case BlockText:
						e.obj(func() { e.key("type").str("text"); e.key("text").str(b.Text) })
					case BlockOther:
						e.other(m, b)
					}
				}
			})
		case text == "" && len(calls) > 0:
			e.key("content").raw([]byte("null"))
		default:
			e.key("content").str(text)
		}
		e.chatThinking(m)
		if len(calls) > 0 {
			e.key("tool_calls").arr(func() {
				for _, b := range calls {
					e.obj(func() {
						e.key("id").str(b.ID)
						e.key("type").str("function")
						e.key("function").obj(func() {
							e.key("name").str(e.names.Wire(b.Name))
							e.key("arguments").str(argumentText(b))
						})
						if b.Signed != nil && e.own(m) { // Gemini behind OpenAI Chat
							e.key("extra_content").obj(func() {
								e.key("google").obj(func() { e.key("thought_signature").raw(b.Signed) })
							})
						}
					})
				}
			})
		}
	})
}

// argumentText is the arguments for a format that wants them in a string.
func argumentText(b Block) string {
	if len(b.Arguments) == 0 {
		return "{}"
	}
	return string(b.Arguments)
}

// chatThinking sends back what the vendor wants back: reasoning_details as they
// came (OpenRouter), reasoning_content (DeepSeek, while tools are called).
func (e *encoder) chatThinking(m Message) {
	if !e.own(m) {
		return
	}
	var raw strings.Builder
	var details []json.RawMessage
	for _, b := range m.Blocks {
		switch {
		case b.Kind != BlockThinking:
		case b.Signed != nil:
			details = append(details, b.Signed)
		case b.Format == string(thinking.Raw):
			raw.WriteString(b.Text)
		}
	}
	if raw.Len() > 0 {
		e.key("reasoning_content").str(raw.String())
	}
	if len(details) > 0 {
		e.key("reasoning_details").arr(func() {
			for _, d := range details {
				e.raw(d)
			}
		})
	}
}

// joined is the text of a message; plain is false when it holds more.
func joined(m Message) (text string, plain bool) {
	var b strings.Builder
	plain = true
	for _, block := range m.Blocks {
		switch block.Kind {
		case BlockText:
			b.WriteString(block.Text)
		case BlockOther:
			plain = false
		}
	}
	return b.String(), plain
}

// parseChat reads requests of OpenAI Chat, Mistral, Cohere and Ollama.
func parseChat(format Format, root gjson.Result, r *Request) {
	each(root.Get("messages"), func(m gjson.Result) bool {
		role := Role(str(m.Get("role")))
		if role == "developer" {
			role = RoleSystem
		}
		msg := Message{Role: role, Format: format}
		if role == RoleTool {
			msg.Blocks = []Block{{
				Kind: BlockResult, ID: str(m.Get("tool_call_id")), Text: contentText(m.Get("content")),
				Name: str(m.Get("name")) + str(m.Get("tool_name")),
			}}
			r.Messages = append(r.Messages, msg)
			return true
		}
		for _, f := range []struct {
			name   string
			format thinking.Format
		}{{"reasoning_content", thinking.Raw}, {"reasoning", thinking.Parsed}, {"thinking", thinking.Parsed}} {
			if s := str(m.Get(f.name)); s != "" {
				msg.Blocks = append(msg.Blocks, Block{Kind: BlockThinking, Text: s, Format: string(f.format)})
			}
		}
		each(m.Get("reasoning_details"), func(d gjson.Result) bool {
			msg.Blocks = append(msg.Blocks, Block{
				Kind: BlockThinking, Text: str(d.Get("text")), Format: string(thinking.Parsed), Signed: json.RawMessage(d.Raw),
			})
			return true
		})
		msg.Blocks = append(msg.Blocks, contentBlocks(m.Get("content"))...)
		each(m.Get("images"), func(gjson.Result) bool {
			msg.Blocks = append(msg.Blocks, Block{Kind: BlockOther, Type: "image"})
			return true
		})
		each(m.Get("tool_calls"), func(c gjson.Result) bool {
			msg.Blocks = append(msg.Blocks, Block{
				Kind: BlockCall, ID: str(c.Get("id")), Name: str(c.Get("function.name")),
				Arguments: json.RawMessage(argsOf(c.Get("function.arguments"))),
			})
			return true
		})
		r.addMessage(msg)
		return true
	})
	each(root.Get("tools"), func(t gjson.Result) bool {
		f := t.Get("function")
		r.addTool(f.Get("name"), f.Get("description"), f.Get("parameters"), t.Get("type"))
		return true
	})
	switch c := root.Get("tool_choice"); {
	case c.Type == gjson.String:
		r.Choice.Mode = strings.ToLower(c.Str)
	case c.Get("function.name").Exists():
		r.Choice.Name = str(c.Get("function.name"))
	}
	r.Thinking.Effort = str(root.Get("reasoning_effort"))
	r.MaxTokens = int(firstOf(root, "max_completion_tokens", "max_tokens").Int())
	if s := root.Get("response_format.json_schema"); s.IsObject() {
		r.Schema = &Schema{Name: str(s.Get("name")), Schema: json.RawMessage(s.Get("schema").Raw)}
	}
}
