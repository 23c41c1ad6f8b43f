package fake

import (
	"net/http"
	"strings"
)

// ollama is Ollama's /api/chat.
type ollama struct{}

func (ollama) name() string                              { return "ollama-native" }
func (ollama) match(path string) bool                    { return strings.HasSuffix(path, "/api/chat") }
func (ollama) streams(_ *http.Request, body object) bool { return body["stream"] != false }
func (ollama) contentType(*http.Request) string          { return "application/x-ndjson" }

func (ollama) check(_ *http.Request, body object, _ *Server) problem {
	if str(body["model"]) == "" {
		return refuse("model is required")
	}
	if p := chatTools(body); p.status != 0 && body["tools"] != nil && len(list(body["tools"])) > 0 {
		return p
	}
	open := 0
	for i, v := range list(body["messages"]) {
		m := dict(v)
		if _, isText := m["content"].(string); m["content"] != nil && !isText {
			return refuse("json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string")
		}
		switch str(m["role"]) {
		case "assistant":
			open = len(list(m["tool_calls"]))
			for _, c := range list(m["tool_calls"]) {
				f := dict(dict(c)["function"])
				if str(f["name"]) == "" || dict(f["arguments"]) == nil {
					return refuse("json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type map[string]interface {}")
				}
			}
		case "tool":
			// Ollama itself takes any number of results; more than there were calls
			// are a mistake all the same.
			if open--; open < 0 {
				return refuse("messages[%d] answers no tool call", i)
			}
		case "user", "system":
		default:
			return refuse("invalid role: %s, role must be one of [system, user, assistant, tool]", str(m["role"]))
		}
	}
	return problem{}
}

func (ollama) head(model string, message object) object {
	return object{"model": model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false}
}

// end adds what the last line has beside the others. Ollama counts thinking as
// output and knows no cache.
func (ollama) end(o object, a Answer) object {
	o["done"], o["done_reason"] = true, "stop"
	if a.Finish != "" {
		o["done_reason"] = a.Finish
	}
	o["total_duration"], o["load_duration"] = 5_000_000, 1_000_000
	o["prompt_eval_count"], o["prompt_eval_duration"] = a.Usage.Input, 1_000_000
	o["eval_count"], o["eval_duration"] = a.Usage.Output, 3_000_000
	return o
}

func (ollama) calls(a Answer) []any {
	var out []any
	for i, c := range a.Calls {
		call := object{"function": object{"index": i, "name": c.Name, "arguments": parsed(c.Arguments)}}
		if c.ID != "" {
			call["id"] = c.ID
		}
		out = append(out, call)
	}
	return out
}

func (f ollama) answer(_ int, model string, a Answer) any {
	m := object{"role": "assistant", "content": a.Text}
	if a.Thinking != "" {
		m["thinking"] = a.Thinking
	}
	if len(a.Calls) > 0 {
		m["tool_calls"] = f.calls(a)
	}
	return f.end(f.head(model, m), a)
}

func (f ollama) events(_ int, _ *http.Request, body object, a Answer) []string {
	var out []string
	model := str(body["model"])
	for _, s := range pieces(a.Thinking) {
		out = append(out, line(f.head(model, object{"role": "assistant", "content": "", "thinking": s}))+"\n")
	}
	for _, s := range pieces(a.Text) {
		out = append(out, line(f.head(model, object{"role": "assistant", "content": s}))+"\n")
	}
	for _, call := range f.calls(a) {
		out = append(out, line(f.head(model, object{"role": "assistant", "content": "", "tool_calls": []any{call}}))+"\n")
	}
	return append(out, line(f.end(f.head(model, object{"role": "assistant", "content": ""}), a))+"\n")
}

func (ollama) failure(_ int, message string) any    { return object{"error": message} }
func (f ollama) failureEvent(message string) string { return line(f.failure(0, message)) + "\n" }
