package fake

import (
	"fmt"
	"net/http"
	"strings"
)

// responses is OpenAI's Responses, without anything kept at the server.
type responses struct{}

func (responses) name() string                              { return "openai-responses" }
func (responses) match(path string) bool                    { return strings.HasSuffix(path, "/responses") }
func (responses) streams(_ *http.Request, body object) bool { return body["stream"] == true }
func (responses) contentType(*http.Request) string          { return "text/event-stream" }

func (f responses) check(r *http.Request, body object, s *Server) problem {
	if p := s.bearer(r); p.status != 0 {
		return p
	}
	if name := unknown(body, "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream",
		"stream_options", "temperature", "top_p", "max_output_tokens", "max_tool_calls", "reasoning", "include", "store",
		"text", "metadata", "previous_response_id", "truncation", "user", "service_tier", "background"); name != "" {
		return refuse("Unknown parameter: '%s'.", name)
	}
	if str(body["model"]) == "" {
		return refuse("Missing required parameter: 'model'.")
	}
	for i, v := range list(body["tools"]) {
		t := dict(v)
		if t["type"] != "function" {
			continue // of OpenAI's own
		}
		if !legalName(str(t["name"])) {
			return refuse("Invalid 'tools[%d].name': string does not match pattern.", i)
		}
		if why := legalSchema(t["parameters"]); why != "" {
			return refuse("Invalid schema for function '%s': %s", str(t["name"]), why)
		}
		if why := strictSchema(t["parameters"], ""); t["strict"] != false && why != "" {
			return refuse("Invalid schema for function '%s': %s", str(t["name"]), why)
		}
	}
	if format := dict(dict(body["text"])["format"]); format["type"] == "json_schema" {
		if why := strictSchema(format["schema"], ""); format["strict"] == true && why != "" {
			return refuse("Invalid schema for response_format '%s': %s", str(format["name"]), why)
		}
		if !legalName(str(format["name"])) {
			return refuse("Invalid 'text.format.name'")
		}
	}
	if str(body["input"]) != "" {
		return problem{}
	}
	return f.items(list(body["input"]), s)
}

// items checks that calls and results pair, and that what was reasoned before a
// call comes back with it.
func (responses) items(items []any, s *Server) problem {
	if len(items) == 0 {
		return refuse("Missing required parameter: 'input'.")
	}
	var open []string
	reasoned := map[string]string{} // encrypted content by item id
	for i, v := range items {
		item := dict(v)
		switch kind := str(item["type"]); kind {
		case "", "message":
			role := str(item["role"])
			want := "input_text"
			if role == "assistant" {
				want = "output_text"
			}
			for j, c := range list(item["content"]) {
				if t := str(dict(c)["type"]); strings.HasSuffix(t, "_text") && t != want {
					return refuse("Invalid value: '%s'. Supported values are: '%s'. (input[%d].content[%d])", t, want, i, j)
				}
			}
		case "reasoning":
			if str(item["encrypted_content"]) == "" {
				return refuse("Item '%s' of type 'reasoning' not found. Items are not persisted when `store` is set to false.", str(item["id"]))
			}
			if _, isList := item["summary"].([]any); !isList {
				return refuse("Missing required parameter: 'input[%d].summary'.", i)
			}
			if i == len(items)-1 {
				return refuse("Item '%s' of type 'reasoning' was provided without its required following item.", str(item["id"]))
			}
			reasoned[str(item["id"])] = str(item["encrypted_content"])
		case "function_call":
			id := str(item["call_id"])
			_, isText := item["arguments"].(string)
			if id == "" || !legalName(str(item["name"])) || !isText {
				return refuse("Invalid 'input[%d]'", i)
			}
			open = append(open, id)
			if given, ok := s.withCall("call_", id); ok && given.Signature != "" {
				if got, ok := reasoned[reasoningID(given.number)]; !ok {
					return refuse("Item '%s' of type 'function_call' was provided without its required 'reasoning' item.", id)
				} else if got != given.Signature {
					return refuse("The encrypted content for item %s could not be verified.", reasoningID(given.number))
				}
			}
		case "function_call_output":
			id := str(item["call_id"])
			at := index(open, id)
			if at < 0 {
				return refuse("No tool call found for function call output with call_id %s.", id)
			}
			if item["output"] == nil {
				return refuse("Missing required parameter: 'input[%d].output'.", i)
			}
			open = append(open[:at:at], open[at+1:]...)
		}
	}
	if len(open) > 0 {
		return refuse("No tool output found for function call %s.", open[0])
	}
	return problem{}
}

func reasoningID(n int) string { return fmt.Sprintf("rs_%d", n) }

// output are the finished items of an answer.
func (responses) output(n int, a Answer) []object {
	var out []object
	if a.Thinking != "" || a.Signature != "" {
		summary := []any{}
		if a.Thinking != "" {
			summary = append(summary, object{"type": "summary_text", "text": a.Thinking})
		}
		item := object{"id": reasoningID(n), "type": "reasoning", "summary": summary}
		if a.Signature != "" {
			item["encrypted_content"] = a.Signature
		}
		out = append(out, item)
	}
	if a.Text != "" {
		out = append(out, object{
			"id": fmt.Sprintf("msg_%d", n), "type": "message", "status": "completed", "role": "assistant",
			"content": []any{object{"type": "output_text", "text": a.Text, "annotations": []any{}, "logprobs": []any{}}},
		})
	}
	for i, c := range a.Calls {
		out = append(out, object{
			"id": fmt.Sprintf("fc_%d_%d", n, i), "type": "function_call", "status": "completed",
			"call_id": callID("call_", n, i, c), "name": c.Name, "arguments": c.Arguments,
		})
	}
	return out
}

func (f responses) response(n int, model, status string, output []object, usage any) object {
	if output == nil {
		output = []object{}
	}
	return object{
		"id": fmt.Sprintf("resp_%d", n), "object": "response", "created_at": created, "status": status,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "model": model,
		"output": output, "parallel_tool_calls": true, "temperature": 1, "tool_choice": "auto", "tools": []any{},
		"top_p": 1, "store": false, "usage": usage,
	}
}

func (responses) usage(u Usage) object {
	return object{
		"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
}

func (f responses) status(a Answer) string {
	if a.Finish != "" {
		return a.Finish
	}
	return "completed"
}

func (f responses) answer(n int, model string, a Answer) any {
	return f.response(n, model, f.status(a), f.output(n, a), f.usage(a.Usage))
}

func (f responses) events(n int, _ *http.Request, body object, a Answer) []string {
	var out []string
	add := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, len(out)
		out = append(out, "event: "+kind+"\ndata: "+line(o)+"\n\n")
	}
	model := str(body["model"])
	add("response.created", object{"response": f.response(n, model, "in_progress", nil, nil)})
	add("response.in_progress", object{"response": f.response(n, model, "in_progress", nil, nil)})
	output := f.output(n, a)
	for i, item := range output {
		id := item["id"]
		started := object{}
		for k, v := range item {
			started[k] = v
		}
		at := func(o object) object {
			o["output_index"], o["item_id"] = i, id
			return o
		}
		switch item["type"] {
		case "reasoning":
			started["summary"] = []any{}
			delete(started, "encrypted_content")
			add("response.output_item.added", object{"output_index": i, "item": started})
			if a.Thinking != "" {
				part := func() object { return at(object{"summary_index": 0}) }
				with := func(o object, k string, v any) object { o[k] = v; return o }
				add("response.reasoning_summary_part.added", with(part(), "part", object{"type": "summary_text", "text": ""}))
				for _, s := range pieces(a.Thinking) {
					add("response.reasoning_summary_text.delta", with(part(), "delta", s))
				}
				add("response.reasoning_summary_text.done", with(part(), "text", a.Thinking))
				add("response.reasoning_summary_part.done", with(part(), "part", object{"type": "summary_text", "text": a.Thinking}))
			}
		case "message":
			started["content"], started["status"] = []any{}, "in_progress"
			add("response.output_item.added", object{"output_index": i, "item": started})
			text := func(s string) object {
				return object{"type": "output_text", "text": s, "annotations": []any{}, "logprobs": []any{}}
			}
			add("response.content_part.added", at(object{"content_index": 0, "part": text("")}))
			for _, s := range pieces(a.Text) {
				add("response.output_text.delta", at(object{"content_index": 0, "delta": s, "logprobs": []any{}}))
			}
			add("response.output_text.done", at(object{"content_index": 0, "text": a.Text, "logprobs": []any{}}))
			add("response.content_part.done", at(object{"content_index": 0, "part": text(a.Text)}))
		case "function_call":
			started["arguments"], started["status"] = "", "in_progress"
			add("response.output_item.added", object{"output_index": i, "item": started})
			for _, s := range pieces(str(item["arguments"])) {
				add("response.function_call_arguments.delta", at(object{"delta": s}))
			}
			add("response.function_call_arguments.done", at(object{"name": item["name"], "arguments": item["arguments"]}))
		}
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	status := f.status(a)
	add("response."+status, object{"response": f.response(n, model, status, output, f.usage(a.Usage))})
	return out
}

func (responses) failure(status int, message string) any { return chat{}.failure(status, message) }

func (responses) failureEvent(message string) string {
	return "event: error\ndata: " + line(object{
		"type": "error", "code": "server_error", "message": message, "param": nil, "sequence_number": 99,
	}) + "\n\n"
}
