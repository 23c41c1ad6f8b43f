package provider

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers/thinking"
)

// responses writes a request that keeps nothing at the provider: reasoning
// items go back encrypted instead.
func (e *encoder) responses() string {
	e.obj(func() {
		e.key("model").str(e.r.Model)
		if e.r.System != "" {
			e.key("instructions").str(e.r.System)
		}
		e.key("input").arr(func() {
			for _, m := range e.r.Messages {
				e.responsesMessage(m)
			}
		})
		if len(e.r.Tools) > 0 {
			e.key("tools").arr(func() {
				for _, t := range e.r.Tools {
					e.obj(func() {
						e.key("type").str("function")
						e.key("name").str(e.names.Wire(t.Name))
						if t.Description != "" {
							e.key("description").str(t.Description)
						}
						e.key("parameters").schema(t.Schema)
						e.key("strict").bool(false)
					})
				}
			})
		}
		switch c := e.r.Choice; {
		case c.Name != "":
			e.key("tool_choice").obj(func() {
				e.key("type").str("function")
				e.key("name").str(e.names.Wire(c.Name))
			})
		case c.Mode != "":
			e.key("tool_choice").str(c.Mode)
		}
		if t := e.r.Thinking; t.Effort != "" || t.Show {
			e.key("reasoning").obj(func() {
				if t.Effort != "" {
					e.key("effort").str(t.Effort)
				}
				if t.Show {
					e.key("summary").str("auto")
				}
			})
		}
		e.key("store").bool(false)
		e.key("include").arr(func() { e.str("reasoning.encrypted_content") })
		if e.r.MaxTokens > 0 {
			e.key("max_output_tokens").int(int64(e.r.MaxTokens))
		}
		if t := e.r.Temperature; t != nil {
			e.key("temperature").float(*t)
		}
		if s := e.r.Schema; s != nil {
			e.key("text").obj(func() {
				e.key("format").obj(func() {
					e.key("type").str("json_schema")
					e.key("name").str(s.Name)
					e.key("schema").raw(s.Schema)
					e.key("strict").bool(true)
				})
			})
		}
		if e.r.Stream {
			e.key("stream").bool(true)
		}
	})
	return "/responses"
}

// responsesMessage writes the items of a message in their order.
func (e *encoder) responsesMessage(m Message) {
	kind := "input_text"
	if m.Role == RoleAssistant {
		kind = "output_text"
	}
	for i := 0; i < len(m.Blocks); i++ {
		switch b := m.Blocks[i]; b.Kind {
		case BlockText, BlockOther:
			e.obj(func() {
				e.key("type").str("message")
				e.key("role").str(string(m.Role))
				e.key("content").arr(func() {
					for ; i < len(m.Blocks); i++ {
						switch b := m.Blocks[i]; b.Kind {
						case BlockText:
							e.obj(func() { e.key("type").str(kind); e.key("text").str(b.Text) })
						case BlockOther:
							e.other(m, b)
						default:
							i--
							return
						}
					}
				})
			})
		case BlockThinking:
			if b.Signed != nil && e.own(m) && gjson.ParseBytes(b.Signed).IsObject() {
				e.raw(b.Signed)
			}
		case BlockCall:
			e.obj(func() {
				e.key("type").str("function_call")
				e.key("call_id").str(b.ID)
				e.key("name").str(e.names.Wire(b.Name))
				e.key("arguments").str(argumentText(b))
			})
		case BlockResult:
			e.obj(func() {
				e.key("type").str("function_call_output")
				e.key("call_id").str(b.ID)
				e.key("output").str(b.Text)
			})
		}
	}
}

func parseResponses(root gjson.Result, r *Request) {
	r.addSystem(str(root.Get("instructions")))
	if s := root.Get("input"); s.Type == gjson.String {
		r.Messages = []Message{{Role: RoleUser, Format: OpenAIResponses, Blocks: []Block{{Kind: BlockText, Text: s.Str}}}}
	}
	each(root.Get("input"), func(item gjson.Result) bool {
		r.responsesItem(item)
		return true
	})
	each(root.Get("tools"), func(t gjson.Result) bool {
		r.addTool(t.Get("name"), t.Get("description"), t.Get("parameters"), t.Get("type"))
		return true
	})
	switch c := root.Get("tool_choice"); {
	case c.Type == gjson.String:
		r.Choice.Mode = c.Str
	case c.IsObject():
		r.Choice.Name = str(c.Get("name"))
	}
	r.Thinking.Effort = str(root.Get("reasoning.effort"))
	r.Thinking.Show = root.Get("reasoning.summary").Type == gjson.String
	r.MaxTokens = int(root.Get("max_output_tokens").Int())
	if f := root.Get("text.format"); str(f.Get("type")) == "json_schema" {
		r.Schema = &Schema{Name: str(f.Get("name")), Schema: json.RawMessage(f.Get("schema").Raw)}
	}
}

// responsesItem adds an item: items of the assistant and results that follow
// one another are one message.
func (r *Request) responsesItem(item gjson.Result) {
	role := RoleAssistant
	var blocks []Block
	switch kind := str(item.Get("type")); kind {
	case "", "message":
		role = Role(str(item.Get("role")))
		if role == "developer" {
			role = RoleSystem
		}
		blocks = contentBlocks(item.Get("content"))
	case "function_call", "custom_tool_call":
		args := firstOf(item, "arguments", "input")
		blocks = []Block{{
			Kind: BlockCall, ID: str(item.Get("call_id")), Name: str(item.Get("name")),
			Arguments: json.RawMessage(argsOf(args)),
		}}
	case "function_call_output", "custom_tool_call_output":
		role = RoleTool
		blocks = []Block{{Kind: BlockResult, ID: str(item.Get("call_id")), Text: contentText(item.Get("output"))}}
	case "reasoning":
		b := Block{Kind: BlockThinking, Format: string(thinking.Hidden), Signed: json.RawMessage(item.Raw)}
		if s := contentText(item.Get("content")); s != "" {
			b.Text, b.Format = s, string(thinking.Parsed)
		} else if s := contentText(item.Get("summary")); s != "" {
			b.Text, b.Format = s, string(thinking.Summary)
		}
		blocks = []Block{b}
	default:
		blocks = []Block{{Kind: BlockOther, Type: kind, Raw: json.RawMessage(item.Raw)}}
	}
	n := len(r.Messages) - 1
	if n >= 0 && r.Messages[n].Role == role && (role == RoleAssistant || role == RoleTool) {
		r.Messages[n].Blocks = append(r.Messages[n].Blocks, blocks...)
		return
	}
	r.addMessage(Message{Role: role, Format: OpenAIResponses, Blocks: blocks})
}
