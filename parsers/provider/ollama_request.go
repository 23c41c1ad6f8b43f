package provider

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

func (e *encoder) ollama() string {
	e.obj(func() {
		e.key("model").str(e.r.Model)
		e.key("messages").arr(func() {
			if e.r.System != "" {
				e.obj(func() { e.key("role").str("system"); e.key("content").str(e.r.System) })
			}
			for _, m := range e.r.Messages {
				e.ollamaMessage(m)
			}
		})
		e.chatTools() // Ollama has no tool choice
		switch effort := e.r.Thinking.Effort; effort {
		case "":
			if e.r.Thinking.Show {
				e.key("think").bool(true)
			}
		case "none":
			e.key("think").bool(false)
		default:
			e.key("think").str(effort)
		}
		if s := e.r.Schema; s != nil {
			e.key("format").raw(s.Schema)
		}
		if e.r.MaxTokens > 0 || e.r.Temperature != nil {
			e.key("options").obj(func() {
				if e.r.MaxTokens > 0 {
					e.key("num_predict").int(int64(e.r.MaxTokens))
				}
				if e.r.Temperature != nil {
					e.key("temperature").float(*e.r.Temperature)
				}
			})
		}
		e.key("stream").bool(e.r.Stream) // the server streams unless told not to
	})
	return "/api/chat"
}

func (e *encoder) ollamaMessage(m Message) {
	var thought strings.Builder
	var calls []Block
	for _, b := range m.Blocks {
		switch b.Kind {
		case BlockResult:
			e.obj(func() {
				e.key("role").str(string(RoleTool))
				e.key("content").str(b.Text)
				e.key("tool_name").str(e.names.Wire(b.Name))
			})
		case BlockThinking:
			if e.own(m) {
				thought.WriteString(b.Text)
			}
		case BlockCall:
			calls = append(calls, b)
		case BlockOther:
			e.other(Message{Format: "none"}, b)
		}
	}
	if m.Role == RoleTool {
		return
	}
	text, _ := joined(m)
	e.obj(func() {
		e.key("role").str(string(m.Role))
		e.key("content").str(text)
		if thought.Len() > 0 && len(calls) > 0 {
			e.key("thinking").str(thought.String())
		}
		if len(calls) > 0 {
			e.key("tool_calls").arr(func() {
				for _, b := range calls {
					e.obj(func() {
						e.key("function").obj(func() {
							e.key("name").str(e.names.Wire(b.Name))
							e.key("arguments").object(b.Arguments)
						})
					})
				}
			})
		}
	})
}

func parseOllama(root gjson.Result, r *Request) {
	parseChat(OllamaNative, root, r)
	r.MaxTokens = int(root.Get("options.num_predict").Int())
	if t := root.Get("options.temperature"); t.Type == gjson.Number {
		r.Temperature = &t.Num
	}
	switch think := root.Get("think"); {
	case think.Type == gjson.String:
		r.Thinking.Effort = think.Str
	case think.Type == gjson.True:
		r.Thinking.Show = true
	case think.Type == gjson.False:
		r.Thinking.Effort = "none"
	}
	if f := root.Get("format"); f.IsObject() {
		r.Schema = &Schema{Schema: json.RawMessage(f.Raw)}
	}
	if !root.Get("stream").Exists() {
		r.Stream = true
	}
}
