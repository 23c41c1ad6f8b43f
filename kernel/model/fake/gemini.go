package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
)

// gemini is Gemini's generateContent and streamGenerateContent.
type gemini struct{}

func (gemini) name() string { return "gemini" }
func (gemini) match(path string) bool {
	return strings.Contains(path, "/models/") &&
		(strings.HasSuffix(path, ":generateContent") || strings.HasSuffix(path, ":streamGenerateContent"))
}

func (gemini) streams(r *http.Request, _ object) bool {
	return strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
}

func (gemini) sse(r *http.Request) bool { return r.URL.Query().Get("alt") == "sse" }

func (f gemini) contentType(r *http.Request) string {
	if f.sse(r) {
		return "text/event-stream"
	}
	return "application/json"
}

func (f gemini) check(r *http.Request, body object, s *Server) problem {
	switch r.Header.Get("X-Goog-Api-Key") {
	case s.Key:
	case "":
		return problem{http.StatusForbidden, "Method doesn't allow unregistered callers (callers without established identity)."}
	default:
		return refuse("API key not valid. Please pass a valid API key.")
	}
	if name := unknown(body, "contents", "systemInstruction", "tools", "toolConfig", "generationConfig",
		"safetySettings", "cachedContent"); name != "" {
		return refuse(`Invalid JSON payload received. Unknown name "%s": Cannot find field.`, name)
	}
	if name := unknown(dict(body["generationConfig"]), "maxOutputTokens", "temperature", "topP", "topK", "stopSequences",
		"candidateCount", "responseMimeType", "responseSchema", "responseJsonSchema", "thinkingConfig", "seed"); name != "" {
		return refuse(`Invalid JSON payload received. Unknown name "%s" at 'generation_config': Cannot find field.`, name)
	}
	for i, t := range list(body["tools"]) {
		for j, d := range list(dict(t)["functionDeclarations"]) {
			fn := dict(d)
			if !legalName(str(fn["name"])) {
				return refuse("GenerateContentRequest.tools[%d].function_declarations[%d].name: Invalid function name.", i, j)
			}
			if schema := fn["parametersJsonSchema"]; schema != nil {
				if why := legalSchema(schema); why != "" {
					return refuse("GenerateContentRequest.tools[%d].function_declarations[%d].parameters_json_schema: %s", i, j, why)
				}
			}
		}
	}
	return f.contents(list(body["contents"]), s)
}

// contents checks that the results of a turn of calls stand together in the
// next one, and that what was signed comes back so.
func (gemini) contents(contents []any, s *Server) problem {
	if len(contents) == 0 {
		return refuse("* GenerateContentRequest.contents: contents is not specified")
	}
	open := 0
	for i, v := range contents {
		c := dict(v)
		role := str(c["role"])
		if role != "user" && role != "model" {
			return refuse("Please use a valid role: user, model.")
		}
		parts := list(c["parts"])
		if len(parts) == 0 {
			return refuse("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
		}
		calls, results := 0, 0
		for _, p := range parts {
			part := dict(p)
			switch call, result := dict(part["functionCall"]), dict(part["functionResponse"]); {
			case call != nil:
				if calls++; !legalName(str(call["name"])) || role != "model" {
					return refuse("* GenerateContentRequest.contents[%d]: invalid function call", i)
				}
				if why := s.thoughtSignature(call, part, calls); why != "" {
					return refuse("%s (contents[%d])", why, i)
				}
			case result != nil:
				if results++; dict(result["response"]) == nil || role != "user" || str(result["name"]) == "" {
					return refuse("* GenerateContentRequest.contents[%d]: invalid function response", i)
				}
			case len(part) == 0:
				return refuse("* GenerateContentRequest.contents[%d].parts: required oneof field 'data' must have one initialized field", i)
			}
		}
		if results != open {
			return refuse("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		open = calls
	}
	if open > 0 {
		return refuse("Please ensure that function call turn comes immediately before a function response turn.")
	}
	return problem{}
}

// thoughtSignature says what is wrong with the signature of a call; empty when
// nothing is. Of parallel calls only the first has one.
func (s *Server) thoughtSignature(call, part object, number int) string {
	given, ok := s.given(func(_ int, a Answer) bool {
		for i, c := range a.Calls {
			if c.Name == str(call["name"]) && c.ID == str(call["id"]) && i+1 == number &&
				reflect.DeepEqual(parsed(c.Arguments), call["args"]) {
				return true
			}
		}
		return false
	})
	if !ok || given.Signature == "" || number != 1 {
		return ""
	}
	switch str(part["thoughtSignature"]) {
	case given.Signature:
		return ""
	case "":
		return fmt.Sprintf("Function call %#q is missing a `thought_signature`.", str(call["name"]))
	}
	return "Thought signature is not valid."
}

// parsed is the value of a JSON text, and the text itself where it is none.
func parsed(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

// parts are those of an answer, with texts cut into pieces by cut.
func (gemini) parts(a Answer, cut func(string) []string) []any {
	var out []any
	for _, s := range cut(a.Thinking) {
		out = append(out, object{"text": s, "thought": true})
	}
	texts := cut(a.Text)
	for i, s := range texts {
		p := object{"text": s}
		if i == len(texts)-1 && len(a.Calls) == 0 && a.Signature != "" {
			p["thoughtSignature"] = a.Signature
		}
		out = append(out, p)
	}
	for i, c := range a.Calls {
		call := object{"name": c.Name, "args": parsed(c.Arguments)}
		if c.ID != "" {
			call["id"] = c.ID
		}
		p := object{"functionCall": call}
		if i == 0 && a.Signature != "" {
			p["thoughtSignature"] = a.Signature
		}
		out = append(out, p)
	}
	return out
}

func (gemini) usage(u Usage) object {
	o := object{
		"promptTokenCount": u.Input, "candidatesTokenCount": u.Output - u.Reasoning, "totalTokenCount": u.Input + u.Output,
		"promptTokensDetails": []any{object{"modality": "TEXT", "tokenCount": u.Input}},
	}
	if u.Reasoning > 0 {
		o["thoughtsTokenCount"] = u.Reasoning
	}
	if u.CacheRead > 0 {
		o["cachedContentTokenCount"] = u.CacheRead
	}
	return o
}

func (f gemini) response(n int, model string, parts []any, finish string, u Usage) object {
	candidate := object{"content": object{"parts": parts, "role": "model"}, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{
		"candidates": []any{candidate}, "usageMetadata": f.usage(u),
		"modelVersion": model, "responseId": fmt.Sprintf("resp-%d", n),
	}
}

func (gemini) finish(a Answer) string {
	if a.Finish != "" {
		return a.Finish
	}
	return "STOP"
}

func (f gemini) answer(n int, model string, a Answer) any {
	whole := func(s string) []string {
		if s == "" {
			return nil
		}
		return []string{s}
	}
	return f.response(n, model, f.parts(a, whole), f.finish(a), a.Usage)
}

func (f gemini) events(n int, r *http.Request, _ object, a Answer) []string {
	_, model, _ := strings.Cut(r.URL.Path, "/models/")
	model, _, _ = strings.Cut(model, ":")
	parts := f.parts(a, pieces)
	if len(parts) == 0 {
		parts = []any{object{"text": ""}}
	}
	var out []string
	for i, p := range parts {
		finish := ""
		if i == len(parts)-1 {
			finish = f.finish(a)
		}
		event := line(f.response(n, model, []any{p}, finish, a.Usage))
		switch {
		case f.sse(r):
			event = "data: " + event + "\r\n\r\n"
		case i == 0:
			event = "[" + event
		default:
			event = ",\r\n" + event
		}
		if !f.sse(r) && finish != "" {
			event += "\n]"
		}
		out = append(out, event)
	}
	return out
}

func (gemini) failure(status int, message string) any {
	word := "INVALID_ARGUMENT"
	switch {
	case status == http.StatusForbidden:
		word = "PERMISSION_DENIED"
	case status == http.StatusNotFound:
		word = "NOT_FOUND"
	case status == http.StatusTooManyRequests:
		word = "RESOURCE_EXHAUSTED"
	case status == http.StatusServiceUnavailable:
		word = "UNAVAILABLE"
	case status >= 500:
		word = "INTERNAL"
	}
	return object{"error": object{"code": status, "message": message, "status": word}}
}

func (f gemini) failureEvent(message string) string {
	return "data: " + line(f.failure(http.StatusInternalServerError, message)) + "\r\n\r\n"
}
