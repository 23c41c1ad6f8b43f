package provider

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers/thinking"
)

// anthropicMaxTokens is sent when the request names none: the API demands one.
const anthropicMaxTokens = 4096

func (e *encoder) anthropic() string {
	e.obj(func() {
		e.key("model").str(e.r.Model)
		n := e.r.MaxTokens
		if n <= 0 {
			n = anthropicMaxTokens
			if b := e.r.Thinking.Budget; b > 0 {
				n += b // the budget counts against the maximum
			}
		}
		e.key("max_tokens").int(int64(n))
		if e.r.System != "" {
			e.key("system").str(e.r.System)
		}
		e.key("messages").arr(e.anthropicMessages)
		if len(e.r.Tools) > 0 {
			e.key("tools").arr(func() {
				for _, t := range e.r.Tools {
					e.obj(func() {
						e.key("name").str(e.names.Wire(t.Name))
						if t.Description != "" {
							e.key("description").str(t.Description)
						}
						e.key("input_schema").schema(t.Schema)
					})
				}
			})
		}
		if c := e.r.Choice; c != (ToolChoice{}) {
			e.key("tool_choice").obj(func() {
				switch {
				case c.Name != "":
					e.key("type").str("tool")
					e.key("name").str(e.names.Wire(c.Name))
				case c.Mode == "required":
					e.key("type").str("any")
				default:
					e.key("type").str(c.Mode)
				}
			})
		}
		t := e.r.Thinking
		switch {
		case t.Effort == "none":
			e.key("thinking").obj(func() { e.key("type").str("disabled") })
		case t.Budget > 0:
			e.key("thinking").obj(func() {
				e.key("type").str("enabled")
				e.key("budget_tokens").int(int64(t.Budget))
			})
		}
		effort := t.Effort != "" && t.Effort != "none"
		if effort || e.r.Schema != nil {
			e.key("output_config").obj(func() {
				if effort {
					e.key("effort").str(t.Effort)
				}
				if s := e.r.Schema; s != nil {
					e.key("format").obj(func() {
						e.key("type").str("json_schema")
						e.key("schema").raw(s.Schema)
					})
				}
			})
		}
		if v := e.r.Temperature; v != nil {
			e.key("temperature").float(*v)
		}
		if e.r.Stream {
			e.key("stream").bool(true)
		}
	})
	return "/v1/messages"
}

// anthropicMessages writes the turns. All results of one answer must stand in
// one user's message, so neighbours of that role are joined.
func (e *encoder) anthropicMessages() {
	role := func(m Message) string {
		if m.Role == RoleAssistant {
			return "assistant"
		}
		return "user"
	}
	for i := 0; i < len(e.r.Messages); {
		this := role(e.r.Messages[i])
		e.obj(func() {
			e.key("role").str(this)
			e.key("content").arr(func() {
				for ; i < len(e.r.Messages) && role(e.r.Messages[i]) == this; i++ {
					for _, b := range e.r.Messages[i].Blocks {
						e.anthropicBlock(e.r.Messages[i], b)
					}
				}
			})
		})
	}
}

func (e *encoder) anthropicBlock(m Message, b Block) {
	switch b.Kind {
	case BlockText:
		if b.Text != "" { // the API refuses empty texts
			e.obj(func() { e.key("type").str("text"); e.key("text").str(b.Text) })
		}
	case BlockThinking:
		switch signed := gjson.ParseBytes(b.Signed); {
		case b.Signed == nil || !e.own(m):
		case signed.IsObject():
			e.raw(b.Signed)
		default:
			e.obj(func() {
				e.key("type").str("thinking")
				e.key("thinking").str(b.Text)
				e.key("signature").raw(b.Signed)
			})
		}
	case BlockCall:
		e.obj(func() {
			e.key("type").str("tool_use")
			e.key("id").str(b.ID)
			e.key("name").str(e.names.Wire(b.Name))
			e.key("input").object(b.Arguments)
		})
	case BlockResult:
		e.obj(func() {
			e.key("type").str("tool_result")
			e.key("tool_use_id").str(b.ID)
			e.key("content").str(b.Text)
			if b.Failed {
				e.key("is_error").bool(true)
			}
		})
	case BlockOther:
		e.other(m, b)
	}
}

func parseAnthropic(root gjson.Result, r *Request) {
	if system := root.Get("system"); system.IsArray() {
		each(system, func(s gjson.Result) bool {
			r.addSystem(str(s.Get("text")))
			return true
		})
	} else {
		r.addSystem(str(system))
	}
	each(root.Get("messages"), func(m gjson.Result) bool {
		msg := Message{Role: Role(str(m.Get("role"))), Format: AnthropicMessages}
		if c := m.Get("content"); c.Type == gjson.String {
			msg.Blocks = []Block{{Kind: BlockText, Text: c.Str}}
		}
		each(m.Get("content"), func(c gjson.Result) bool {
			kind := str(c.Get("type"))
			b := Block{Kind: BlockOther, Type: kind, Raw: json.RawMessage(c.Raw)}
			switch kind {
			case "text":
				b = Block{Kind: BlockText, Text: str(c.Get("text"))}
			case "thinking":
				b = Block{Kind: BlockThinking, Text: str(c.Get("thinking")), Format: string(thinking.Anthropic)}
				if s := str(c.Get("signature")); s != "" {
					b.Signed = quote(s)
				}
			case "redacted_thinking":
				b = Block{Kind: BlockThinking, Format: string(thinking.Hidden), Signed: json.RawMessage(c.Raw)}
			case "tool_use":
				b = Block{
					Kind: BlockCall, ID: str(c.Get("id")), Name: str(c.Get("name")),
					Arguments: json.RawMessage(argsOf(c.Get("input"))),
				}
			case "tool_result":
				b = Block{
					Kind: BlockResult, ID: str(c.Get("tool_use_id")), Text: contentText(c.Get("content")),
					Failed: c.Get("is_error").Bool(),
				}
			}
			msg.Blocks = append(msg.Blocks, b)
			return true
		})
		r.addTurn(msg)
		return true
	})
	each(root.Get("tools"), func(t gjson.Result) bool {
		r.addTool(t.Get("name"), t.Get("description"), t.Get("input_schema"), t.Get("type"))
		return true
	})
	switch kind := str(root.Get("tool_choice.type")); kind {
	case "any":
		r.Choice.Mode = "required"
	case "tool":
		r.Choice.Name = str(root.Get("tool_choice.name"))
	default:
		r.Choice.Mode = kind
	}
	r.MaxTokens = int(root.Get("max_tokens").Int())
	r.Thinking.Budget = int(root.Get("thinking.budget_tokens").Int())
	r.Thinking.Effort = str(root.Get("output_config.effort"))
	if str(root.Get("thinking.type")) == "disabled" {
		r.Thinking.Effort = "none"
	}
	if s := root.Get("output_config.format.schema"); s.Exists() {
		r.Schema = &Schema{Schema: json.RawMessage(s.Raw)}
	}
}
