package provider

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers/thinking"
)

func (e *encoder) gemini() string {
	e.obj(func() {
		if e.r.System != "" {
			e.key("systemInstruction").obj(func() {
				e.key("parts").arr(func() { e.obj(func() { e.key("text").str(e.r.System) }) })
			})
		}
		e.key("contents").arr(func() {
			for _, m := range joinResults(e.r.Messages) {
				e.geminiMessage(m)
			}
		})
		if len(e.r.Tools) > 0 {
			e.key("tools").arr(func() {
				e.obj(func() { e.key("functionDeclarations").arr(e.geminiTools) })
			})
		}
		if c := e.r.Choice; c != (ToolChoice{}) {
			e.key("toolConfig").obj(func() {
				e.key("functionCallingConfig").obj(func() {
					switch {
					case c.Name != "":
						e.key("mode").str("ANY")
						e.key("allowedFunctionNames").arr(func() { e.str(e.names.Wire(c.Name)) })
					case c.Mode == "required":
						e.key("mode").str("ANY")
					default:
						e.key("mode").str(strings.ToUpper(c.Mode))
					}
				})
			})
		}
		e.geminiConfig()
	})
	path := "/v1beta/models/" + url.PathEscape(e.r.Model)
	if e.r.Stream {
		return path + ":streamGenerateContent?alt=sse"
	}
	return path + ":generateContent"
}

// joinResults makes one message of neighbouring messages of results: Gemini
// refuses the results of parallel calls unless all stand in one turn.
func joinResults(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		if n := len(out) - 1; n >= 0 && m.Role == RoleTool && out[n].Role == RoleTool {
			out[n].Blocks = slices.Concat(out[n].Blocks, m.Blocks)
			continue
		}
		out = append(out, m)
	}
	return out
}

func (e *encoder) geminiTools() {
	for _, t := range e.r.Tools {
		e.obj(func() {
			e.key("name").str(e.names.Wire(t.Name))
			if t.Description != "" {
				e.key("description").str(t.Description)
			}
			if len(t.Schema) > 0 {
				e.key("parametersJsonSchema").schema(t.Schema)
			}
		})
	}
}

func (e *encoder) geminiConfig() {
	r := e.r
	think := r.Thinking != Thinking{}
	if r.MaxTokens <= 0 && r.Temperature == nil && r.Schema == nil && !think {
		return
	}
	e.key("generationConfig").obj(func() {
		if r.MaxTokens > 0 {
			e.key("maxOutputTokens").int(int64(r.MaxTokens))
		}
		if r.Temperature != nil {
			e.key("temperature").float(*r.Temperature)
		}
		if r.Schema != nil {
			e.key("responseMimeType").str("application/json")
			e.key("responseJsonSchema").raw(r.Schema.Schema)
		}
		if think {
			e.key("thinkingConfig").obj(func() {
				switch t := r.Thinking; {
				case t.Effort == "none":
					e.key("thinkingBudget").int(0)
				case t.Budget > 0:
					e.key("thinkingBudget").int(int64(t.Budget))
				case t.Effort != "":
					e.key("thinkingLevel").str(t.Effort)
				}
				if r.Thinking.Show {
					e.key("includeThoughts").bool(true)
				}
			})
		}
	})
}

func (e *encoder) geminiMessage(m Message) {
	role := "user"
	if m.Role == RoleAssistant {
		role = "model"
	}
	sign := func(b Block) {
		if b.Signed != nil && e.own(m) {
			e.key("thoughtSignature").raw(b.Signed)
		}
	}
	e.obj(func() {
		e.key("role").str(role)
		e.key("parts").arr(func() {
			for i, b := range m.Blocks {
				switch b.Kind {
				case BlockText:
					e.obj(func() { e.key("text").str(b.Text); sign(b) })
				case BlockThinking:
					// The signature of a text or call stands on that as well.
					next := i+1 < len(m.Blocks) && bytes.Equal(m.Blocks[i+1].Signed, b.Signed)
					if b.Signed == nil || !e.own(m) || (b.Text == "" && next) {
						continue
					}
					e.obj(func() {
						e.key("text").str(b.Text)
						if b.Text != "" {
							e.key("thought").bool(true)
						}
						sign(b)
					})
				case BlockCall:
					e.obj(func() {
						e.key("functionCall").obj(func() {
							if b.ID != "" {
								e.key("id").str(b.ID)
							}
							e.key("name").str(e.names.Wire(b.Name))
							e.key("args").object(b.Arguments)
						})
						sign(b)
					})
				case BlockResult:
					e.obj(func() {
						e.key("functionResponse").obj(func() {
							if b.ID != "" {
								e.key("id").str(b.ID)
							}
							e.key("name").str(e.names.Wire(b.Name))
							field := "output"
							if b.Failed {
								field = "error"
							}
							e.key("response").obj(func() { e.key(field).str(b.Text) })
						})
					})
				case BlockOther:
					e.other(m, b)
				}
			}
		})
	})
}

// either reads a member in camel case or in snake case, which Gemini takes too.
func either(v gjson.Result, camel, snake string) gjson.Result {
	return firstOf(v, camel, snake)
}

func parseGemini(root gjson.Result, r *Request) {
	each(either(root, "systemInstruction", "system_instruction").Get("parts"), func(p gjson.Result) bool {
		r.addSystem(str(p.Get("text")))
		return true
	})
	each(root.Get("contents"), func(c gjson.Result) bool {
		msg := Message{Role: RoleUser, Format: Gemini}
		if str(c.Get("role")) == "model" {
			msg.Role = RoleAssistant
		}
		each(c.Get("parts"), func(p gjson.Result) bool {
			msg.Blocks = append(msg.Blocks, geminiBlock(p))
			return true
		})
		r.addTurn(msg)
		return true
	})
	each(root.Get("tools"), func(t gjson.Result) bool {
		list := either(t, "functionDeclarations", "function_declarations")
		if !list.IsArray() {
			if name := firstKey(t); name != "" {
				r.Tools = append(r.Tools, Tool{Name: name})
			}
		}
		each(list, func(f gjson.Result) bool {
			schema := firstOf(f, "parametersJsonSchema", "parameters_json_schema", "parameters")
			r.addTool(f.Get("name"), f.Get("description"), schema, gjson.Result{})
			return true
		})
		return true
	})
	config := either(root, "generationConfig", "generation_config")
	r.MaxTokens = int(either(config, "maxOutputTokens", "max_output_tokens").Int())
	if t := config.Get("temperature"); t.Type == gjson.Number {
		r.Temperature = &t.Num
	}
	if s := firstOf(config, "responseJsonSchema", "response_json_schema", "responseSchema", "response_schema"); s.IsObject() {
		r.Schema = &Schema{Schema: json.RawMessage(s.Raw)}
	}
	think := either(config, "thinkingConfig", "thinking_config")
	r.Thinking.Budget = int(either(think, "thinkingBudget", "thinking_budget").Int())
	r.Thinking.Effort = strings.ToLower(str(either(think, "thinkingLevel", "thinking_level")))
	r.Thinking.Show = either(think, "includeThoughts", "include_thoughts").Bool()
	if b := either(think, "thinkingBudget", "thinking_budget"); b.Type == gjson.Number && b.Num == 0 {
		r.Thinking.Effort = "none"
	}
	calling := either(root, "toolConfig", "tool_config")
	calling = either(calling, "functionCallingConfig", "function_calling_config")
	allowed := either(calling, "allowedFunctionNames", "allowed_function_names").Array()
	switch mode := strings.ToLower(str(calling.Get("mode"))); {
	case mode == "any" && len(allowed) == 1:
		r.Choice.Name = str(allowed[0])
	case mode == "any":
		r.Choice.Mode = "required"
	default:
		r.Choice.Mode = mode
	}
}

func geminiBlock(p gjson.Result) Block {
	var signed json.RawMessage
	if s := str(either(p, "thoughtSignature", "thought_signature")); s != "" {
		signed = quote(s)
	}
	call := either(p, "functionCall", "function_call")
	result := either(p, "functionResponse", "function_response")
	switch {
	case call.IsObject():
		return Block{
			Kind: BlockCall, ID: str(call.Get("id")), Name: str(call.Get("name")),
			Arguments: json.RawMessage(argsOf(call.Get("args"))), Signed: signed,
		}
	case result.IsObject():
		b := Block{Kind: BlockResult, ID: str(result.Get("id")), Name: str(result.Get("name"))}
		response := result.Get("response")
		b.Text = response.Raw
		for _, field := range []string{"output", "result", "error"} {
			if v := response.Get(field); v.Exists() && len(response.Map()) == 1 {
				b.Text, b.Failed = argsOf(v), field == "error"
			}
		}
		return b
	case p.Get("text").Exists() && p.Get("thought").Bool():
		return Block{Kind: BlockThinking, Text: str(p.Get("text")), Format: string(thinking.Summary), Signed: signed}
	case p.Get("text").Exists():
		return Block{Kind: BlockText, Text: str(p.Get("text")), Signed: signed}
	}
	return Block{Kind: BlockOther, Type: firstKey(p), Raw: json.RawMessage(p.Raw)}
}
