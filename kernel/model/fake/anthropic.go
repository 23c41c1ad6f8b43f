package fake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// anthropic is Anthropic's Messages.
type anthropic struct{}

func (anthropic) name() string                              { return "anthropic-messages" }
func (anthropic) match(path string) bool                    { return strings.HasSuffix(path, "/v1/messages") }
func (anthropic) streams(_ *http.Request, body object) bool { return body["stream"] == true }
func (anthropic) contentType(*http.Request) string          { return "text/event-stream" }

func (f anthropic) check(r *http.Request, body object, s *Server) problem {
	if r.Header.Get("X-Api-Key") != s.Key {
		return problem{http.StatusUnauthorized, "invalid x-api-key"}
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return refuse("anthropic-version: header is required")
	}
	if name := unknown(body, "model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking",
		"output_config", "temperature", "top_p", "top_k", "stop_sequences", "stream", "metadata", "service_tier",
		"cache_control", "container"); name != "" {
		return refuse("%s: Extra inputs are not permitted", name)
	}
	limit, isNumber := body["max_tokens"].(float64)
	switch {
	case str(body["model"]) == "":
		return refuse("model: Field required")
	case !isNumber || limit < 1:
		return refuse("max_tokens: Field required")
	}
	if think := dict(body["thinking"]); think["type"] == "enabled" {
		budget, _ := think["budget_tokens"].(float64)
		t, hot := body["temperature"].(float64)
		switch {
		case budget < 1024:
			return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		case budget >= limit:
			return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
		case hot && t != 1:
			return refuse("`temperature` may only be set to 1 when thinking is enabled.")
		}
	}
	for i, v := range list(body["tools"]) {
		t := dict(v)
		if !legalName(str(t["name"])) {
			return refuse("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if why := legalSchema(t["input_schema"]); why != "" {
			return refuse("tools.%d.custom.input_schema: JSON schema is invalid: %s", i, why)
		}
	}
	return f.messages(list(body["messages"]), s)
}

func (f anthropic) messages(messages []any, s *Server) problem {
	if len(messages) == 0 {
		return refuse("messages: at least one message is required")
	}
	var open []string
	for i, v := range messages {
		m := dict(v)
		role := str(m["role"])
		if role != "user" && role != "assistant" {
			return refuse("messages: Unexpected role \"%s\".", role)
		}
		if i == 0 && role != "user" {
			return refuse("messages: first message must use the \"user\" role")
		}
		blocks := list(m["content"])
		if text, isText := m["content"].(string); isText {
			blocks = []any{object{"type": "text", "text": text}}
		}
		if len(blocks) == 0 {
			return refuse("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		var calls []string
		other := false
		for j, b := range blocks {
			block := dict(b)
			switch kind := str(block["type"]); kind {
			case "text":
				other = true
				if str(block["text"]) == "" {
					return refuse("messages: text content blocks must be non-empty")
				}
			case "tool_use":
				if str(block["id"]) == "" || !legalName(str(block["name"])) || dict(block["input"]) == nil || role != "assistant" {
					return refuse("messages.%d.content.%d.tool_use: invalid", i, j)
				}
				calls = append(calls, str(block["id"]))
			case "tool_result":
				at := index(open, str(block["tool_use_id"]))
				if at < 0 || role != "user" {
					return refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, str(block["tool_use_id"]))
				}
				if other {
					return refuse("messages.%d: tool_result blocks must come first", i)
				}
				open = append(open[:at:at], open[at+1:]...)
			case "thinking", "redacted_thinking":
				if role != "assistant" || kind == "thinking" && str(block["signature"]) == "" {
					return refuse("messages.%d.content.%d.thinking.signature: Field required", i, j)
				}
			}
		}
		if len(open) > 0 {
			return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, strings.Join(open, ", "))
		}
		open = calls
		if p := f.signed(i, blocks, calls, s); p.status != 0 && f.inLoop(messages[i+1:]) {
			return p
		}
	}
	if len(open) > 0 {
		return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s.", len(messages)-1, strings.Join(open, ", "))
	}
	return problem{}
}

// inLoop reports whether only results follow: the tool loop of the current turn,
// in which thinking must come back.
func (anthropic) inLoop(rest []any) bool {
	return !slices.ContainsFunc(rest, func(v any) bool {
		m := dict(v)
		return m["role"] == "user" && !slices.ContainsFunc(list(m["content"]), func(b any) bool {
			return dict(b)["type"] == "tool_result"
		})
	})
}

// signed checks that the thinking that led to calls stands before them as it was
// sent.
func (anthropic) signed(i int, blocks []any, calls []string, s *Server) problem {
	if len(calls) == 0 {
		return problem{}
	}
	given, ok := s.withCall("toolu_", calls[0])
	if !ok || given.Signature == "" {
		return problem{}
	}
	first := dict(blocks[0])
	switch {
	case first["type"] != "thinking":
		return refuse("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.", i, str(first["type"]))
	case first["thinking"] != given.Thinking:
		return refuse("messages.%d.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", i)
	case first["signature"] != given.Signature:
		return refuse("messages.%d.content.0: Invalid `signature` in `thinking` block", i)
	}
	return problem{}
}

// usage counts as Anthropic does: cached tokens apart from the others.
func (anthropic) usage(u Usage) object {
	return object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"service_tier": "standard",
	}
}

func (anthropic) finish(a Answer) string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (f anthropic) message(n int, model string, content []any) object {
	return object{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": model,
		"content": content, "stop_reason": nil, "stop_sequence": nil,
	}
}

func (f anthropic) answer(n int, model string, a Answer) any {
	content := []any{}
	if a.Thinking != "" || a.Signature != "" {
		content = append(content, object{"type": "thinking", "thinking": a.Thinking, "signature": a.Signature})
	}
	if a.Text != "" {
		content = append(content, object{"type": "text", "text": a.Text})
	}
	for i, c := range a.Calls {
		content = append(content, object{
			"type": "tool_use", "id": callID("toolu_", n, i, c), "name": c.Name, "input": parsed(c.Arguments),
		})
	}
	m := f.message(n, model, content)
	m["stop_reason"], m["usage"] = f.finish(a), f.usage(a.Usage)
	return m
}

func (f anthropic) events(n int, _ *http.Request, body object, a Answer) []string {
	var out []string
	add := func(kind string, o object) {
		o["type"] = kind
		out = append(out, "event: "+kind+"\ndata: "+line(o)+"\n\n")
	}
	start := f.message(n, str(body["model"]), []any{})
	begun := f.usage(a.Usage)
	begun["output_tokens"] = 1
	start["usage"] = begun
	add("message_start", object{"message": start})
	at := 0
	block := func(first object, kind, field string, texts []string, more ...object) {
		add("content_block_start", object{"index": at, "content_block": first})
		if at == 0 {
			add("ping", object{})
		}
		for _, s := range texts {
			add("content_block_delta", object{"index": at, "delta": object{"type": kind, field: s}})
		}
		for _, d := range more {
			add("content_block_delta", object{"index": at, "delta": d})
		}
		add("content_block_stop", object{"index": at})
		at++
	}
	if a.Thinking != "" || a.Signature != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", pieces(a.Thinking),
			object{"type": "signature_delta", "signature": a.Signature})
	}
	if a.Text != "" {
		block(object{"type": "text", "text": ""}, "text_delta", "text", pieces(a.Text))
	}
	for i, c := range a.Calls {
		first := object{"type": "tool_use", "id": callID("toolu_", n, i, c), "name": c.Name, "input": object{}}
		block(first, "input_json_delta", "partial_json", append([]string{""}, pieces(c.Arguments)...))
	}
	add("message_delta", object{
		"delta": object{"stop_reason": f.finish(a), "stop_sequence": nil}, "usage": object{"output_tokens": a.Usage.Output},
	})
	add("message_stop", object{})
	return out
}

func (anthropic) failure(status int, message string) any {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusNotFound:
		kind = "not_found_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status == 529:
		kind = "overloaded_error"
	case status >= 500:
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"}
}

func (f anthropic) failureEvent(message string) string {
	return "event: error\ndata: " + line(f.failure(529, message)) + "\n\n"
}
