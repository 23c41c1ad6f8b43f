package fake

import (
	"fmt"
	"net/http"
	"strings"
)

// chat is OpenAI's Chat Completions. Thinking goes out as reasoning_content,
// which OpenAI's own servers do not have and many others do.
type chat struct{}

func (chat) name() string                              { return "openai-chat" }
func (chat) match(path string) bool                    { return strings.HasSuffix(path, "/chat/completions") }
func (chat) streams(_ *http.Request, body object) bool { return body["stream"] == true }
func (chat) contentType(*http.Request) string          { return "text/event-stream" }

func (chat) check(r *http.Request, body object, s *Server) problem {
	if p := s.bearer(r); p.status != 0 {
		return p
	}
	if name := unknown(body, "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream",
		"stream_options", "temperature", "top_p", "n", "stop", "seed", "user", "max_tokens", "max_completion_tokens",
		"reasoning_effort", "response_format", "store", "metadata", "frequency_penalty", "presence_penalty",
		"logprobs", "top_logprobs", "logit_bias", "modalities", "service_tier", "verbosity"); name != "" {
		return refuse("Unrecognized request argument supplied: %s", name)
	}
	if str(body["model"]) == "" {
		return refuse("you must provide a model parameter")
	}
	if body["stream_options"] != nil && body["stream"] != true {
		return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if p := chatTools(body); p.status != 0 {
		return p
	}
	if f := dict(body["response_format"]); f["type"] == "json_schema" {
		schema := dict(f["json_schema"])
		if !legalName(str(schema["name"])) {
			return refuse("Invalid 'response_format.json_schema.name'")
		}
		if why := strictSchema(schema["schema"], ""); schema["strict"] == true && why != "" {
			return refuse("Invalid schema for response_format '%s': %s", str(schema["name"]), why)
		}
	}
	return chatMessages(list(body["messages"]))
}

// chatTools checks tools in the shape that Ollama shares.
func chatTools(body object) problem {
	seen := map[string]bool{}
	for i, v := range list(body["tools"]) {
		f := dict(dict(v)["function"])
		name := str(f["name"])
		switch why := legalSchema(f["parameters"]); {
		case dict(v)["type"] != "function" || f == nil:
			return refuse("Missing required parameter: 'tools[%d].function'.", i)
		case !legalName(name):
			return refuse("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
		case seen[name]:
			return refuse("tools[%d]: a second tool of one name", i)
		case f["parameters"] != nil && why != "":
			return refuse("Invalid schema for function '%s': %s", name, why)
		}
		seen[name] = true
	}
	if body["tools"] != nil && len(seen) == 0 {
		return refuse("[] is too short - 'tools'")
	}
	if name := str(dict(dict(body["tool_choice"])["function"])["name"]); name != "" && !seen[name] {
		return refuse("Tool choice '%s' not found in 'tools' parameter.", name)
	}
	return problem{}
}

// chatMessages checks that every call is answered, at once and only once.
func chatMessages(messages []any) problem {
	if len(messages) == 0 {
		return refuse("[] is too short - 'messages'")
	}
	var open []string
	for i, v := range messages {
		m := dict(v)
		role := str(m["role"])
		if role != "tool" && len(open) > 0 {
			break
		}
		content := m["content"]
		switch {
		case role == "tool":
			at := index(open, str(m["tool_call_id"]))
			if at < 0 {
				return refuse("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'. (messages[%d])", i)
			}
			open = append(open[:at:at], open[at+1:]...)
		case role == "assistant":
			for j, c := range list(m["tool_calls"]) {
				call := dict(c)
				f := dict(call["function"])
				_, isText := f["arguments"].(string)
				if str(call["id"]) == "" || call["type"] != "function" || !legalName(str(f["name"])) || !isText {
					return refuse("Invalid 'messages[%d].tool_calls[%d]'", i, j)
				}
				open = append(open, str(call["id"]))
			}
			if content == nil && len(open) == 0 {
				return refuse("Invalid value for 'content': expected a string, got null. (messages[%d])", i)
			}
			continue
		case role != "user" && role != "system" && role != "developer":
			return refuse("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", role)
		}
		if _, isText := content.(string); !isText && len(list(content)) == 0 {
			return refuse("Invalid type for 'messages[%d].content'", i)
		}
	}
	if len(open) > 0 {
		return refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	return problem{}
}

func index(ids []string, id string) int {
	for i, have := range ids {
		if have == id {
			return i
		}
	}
	return -1
}

func (chat) finish(a Answer) string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (chat) usage(u Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning, "audio_tokens": 0},
	}
}

func (f chat) answer(n int, model string, a Answer) any {
	message := object{"role": "assistant", "content": a.Text, "refusal": nil, "annotations": []any{}}
	if a.Text == "" && len(a.Calls) > 0 {
		message["content"] = nil
	}
	if a.Thinking != "" {
		message["reasoning_content"] = a.Thinking
	}
	var calls []any
	for i, c := range a.Calls {
		calls = append(calls, object{
			"id": callID("call_", n, i, c), "type": "function",
			"function": object{"name": c.Name, "arguments": c.Arguments},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return object{
		"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion", "created": created, "model": model,
		"choices": []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": f.finish(a)}},
		"usage":   f.usage(a.Usage), "service_tier": "default", "system_fingerprint": nil,
	}
}

func (f chat) events(n int, _ *http.Request, body object, a Answer) []string {
	var out []string
	add := func(choices []any, usage any) {
		e := object{
			"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion.chunk", "created": created,
			"model": str(body["model"]), "choices": choices, "system_fingerprint": nil,
		}
		if dict(body["stream_options"])["include_usage"] == true {
			e["usage"] = usage
		}
		out = append(out, "data: "+line(e)+"\n\n")
	}
	delta := func(d object, finish any) {
		add([]any{object{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	delta(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, s := range pieces(a.Thinking) {
		delta(object{"reasoning_content": s}, nil)
	}
	for _, s := range pieces(a.Text) {
		delta(object{"content": s}, nil)
	}
	for i, c := range a.Calls {
		delta(object{"tool_calls": []any{object{
			"index": i, "id": callID("call_", n, i, c), "type": "function",
			"function": object{"name": c.Name, "arguments": ""},
		}}}, nil)
		for _, s := range pieces(c.Arguments) {
			delta(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": s}}}}, nil)
		}
	}
	delta(object{}, f.finish(a))
	if dict(body["stream_options"])["include_usage"] == true {
		add([]any{}, f.usage(a.Usage))
	}
	return append(out, "data: [DONE]\n\n")
}

func (chat) failure(status int, message string) any {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case status >= 500:
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

func (f chat) failureEvent(message string) string {
	return "data: " + line(f.failure(http.StatusInternalServerError, message)) + "\n\n"
}
