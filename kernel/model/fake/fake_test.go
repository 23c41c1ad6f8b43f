package fake_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/model/fake"
)

const (
	chat      = "/v1/chat/completions"
	responses = "/v1/responses"
	messages  = "/v1/messages"
	gemini    = "/v1beta/models/m:generateContent"
	ollama    = "/api/chat"
)

// post sends a body with all that a format wants in its headers.
func post(t *testing.T, s *fake.Server, path, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer " + s.Key,
		"X-Api-Key": s.Key, "Anthropic-Version": "2023-06-01", "X-Goog-Api-Key": s.Key,
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// TestRefusals has what each provider refuses, and beside it what it takes.
func TestRefusals(t *testing.T) {
	tool := func(name, schema string) string {
		return `"tools":[{"type":"function","function":{"name":"` + name + `","parameters":` + schema + `}}]`
	}
	for _, c := range []struct{ name, path, body, want string }{
		{"chat", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],` + tool("a", `{"type":"object"}`) + `}`, ""},
		{"no model", chat, `{"messages":[{"role":"user","content":"hi"}]}`, "model"},
		{"no messages", chat, `{"model":"m","messages":[]}`, "too short"},
		{"role", chat, `{"model":"m","messages":[{"role":"robot","content":"hi"}]}`, "robot"},
		{"content", chat, `{"model":"m","messages":[{"role":"user"}]}`, "content"},
		{"assistant says nothing", chat, `{"model":"m","messages":[{"role":"assistant","content":null}]}`, "got null"},
		{"unknown member", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"mood":1}`, "Unrecognized request argument supplied: mood"},
		{"stream options", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream_options":{}}`, "stream_options"},
		{"tool name", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],` + tool("a/b", `{"type":"object"}`) + `}`, "pattern"},
		{"tool schema", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],` + tool("a", `{"type":"array"}`) + `}`, "Invalid schema for function 'a'"},
		{"tool schema inside", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],` + tool("a", `{"type":"object","properties":{"x":{"type":7}}}`) + `}`, "Invalid schema for function 'a'"},
		{"tool choice", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],` + tool("a", `{"type":"object"}`) + `,"tool_choice":{"type":"function","function":{"name":"b"}}}`, "Tool choice"},
		{"result of nothing", chat, `{"model":"m","messages":[{"role":"tool","tool_call_id":"x","content":"r"}]}`, "must be a response"},
		{"call without result", chat, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"a","arguments":"{}"}}]},{"role":"user","content":"hi"}]}`, "did not have response messages: x"},
		{"arguments", chat, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"a","arguments":{}}}]}]}`, "tool_calls[0]"},
		{"strict schema", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}}`, "additionalProperties"},
		{"strict required", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","additionalProperties":false,"properties":{"x":{"type":"string"}}}}}}`, "Missing 'x'"},
		{"strict inside", chat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","additionalProperties":false,"required":["x"],"properties":{"x":{"type":"array","items":{"type":"object","properties":{}}}}}}}}`, "In context=(.x[])"},

		{"responses", responses, `{"model":"m","input":"hi"}`, ""},
		{"no input", responses, `{"model":"m","input":[]}`, "input"},
		{"kind of text", responses, `{"model":"m","input":[{"role":"user","content":[{"type":"output_text","text":"x"}]}]}`, "output_text"},
		{"no output", responses, `{"model":"m","input":[{"type":"function_call","call_id":"x","name":"a","arguments":"{}"}]}`, "No tool output found for function call x."},
		{"no call", responses, `{"model":"m","input":[{"type":"function_call_output","call_id":"x","output":"r"}]}`, "No tool call found"},
		{"reasoning kept nowhere", responses, `{"model":"m","input":[{"type":"reasoning","id":"r","summary":[]}]}`, "not persisted"},
		{"reasoning alone", responses, `{"model":"m","input":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}]}`, "required following item"},
		{"responses tool", responses, `{"model":"m","input":"hi","tools":[{"type":"function","name":"a","parameters":{"type":"object","properties":{}}}]}`, "additionalProperties"},

		{"messages", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`, ""},
		{"max tokens", messages, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "max_tokens: Field required"},
		{"who begins", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"assistant","content":"hi"}]}`, "first message"},
		{"empty text", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "non-empty"},
		{"empty message", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[]}]}`, "non-empty content"},
		{"system role", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"system","content":"hi"}]}`, "Unexpected role"},
		{"use without result", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"a","input":{}}]},{"role":"user","content":"hi"}]}`, "without `tool_result` blocks immediately after: x"},
		{"result of no use", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"r"}]}]}`, "unexpected `tool_use_id`"},
		{"result behind text", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"a","input":{}}]},{"role":"user","content":[{"type":"text","text":"so"},{"type":"tool_result","tool_use_id":"x","content":"r"}]}]}`, "must come first"},
		{"unsigned", messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}]}`, "signature: Field required"},
		{"budget", messages, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":3000},"messages":[{"role":"user","content":"hi"}]}`, "greater than `thinking.budget_tokens`"},
		{"temperature", messages, `{"model":"m","max_tokens":2000,"temperature":0,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"hi"}]}`, "temperature"},
		{"input schema", messages, `{"model":"m","max_tokens":5,"tools":[{"name":"a"}],"messages":[{"role":"user","content":"hi"}]}`, "input_schema"},
		{"extra", messages, `{"model":"m","max_tokens":5,"mood":1,"messages":[{"role":"user","content":"hi"}]}`, "mood: Extra inputs are not permitted"},

		{"gemini", gemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, ""},
		{"no contents", gemini, `{"contents":[]}`, "contents is not specified"},
		{"no parts", gemini, `{"contents":[{"role":"user","parts":[]}]}`, "parts must not be empty"},
		{"gemini role", gemini, `{"contents":[{"role":"assistant","parts":[{"text":"hi"}]}]}`, "valid role"},
		{"empty part", gemini, `{"contents":[{"role":"user","parts":[{}]}]}`, "oneof field"},
		{"gemini member", gemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"model":"m"}`, `Unknown name \"model\"`},
		{"apart", gemini, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}},{"functionCall":{"name":"a","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}]}`, "number of function response parts"},
		{"together", gemini, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}},{"functionCall":{"name":"a","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}},{"functionResponse":{"name":"a","response":{}}}]}]}`, ""},
		{"unanswered", gemini, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}}]}]}`, "immediately before a function response turn"},
		{"declaration", gemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a b"}]}]}`, "Invalid function name"},

		{"ollama", ollama, `{"model":"m","stream":false,"messages":[{"role":"user","content":"hi"}]}`, ""},
		{"ollama model", ollama, `{"messages":[]}`, "model is required"},
		{"ollama role", ollama, `{"model":"m","messages":[{"role":"developer","content":"hi"}]}`, "invalid role"},
		{"ollama arguments", ollama, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}]}`, "arguments"},
		{"ollama results", ollama, `{"model":"m","messages":[{"role":"tool","content":"r"}]}`, "answers no tool call"},

		{"no JSON", chat, `{`, "no JSON object"},
		{"elsewhere", "/v1/embeddings", `{}`, "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fake.New(fake.Step{Answer: fake.Answer{Text: "fine"}})
			defer s.Close()
			status, text := post(t, s, c.path, c.body)
			if c.want == "" && (status != http.StatusOK || !strings.Contains(text, "fine") || len(s.Problems()) != 0) {
				t.Errorf("%d %s", status, text)
			}
			if c.want != "" && (status < 400 || !strings.Contains(text, c.want) || !strings.Contains(text, "error") || len(s.Problems()) != 1) {
				t.Errorf("%d %s, want %q", status, text, c.want)
			}
		})
	}
}

// An answer without a step left is an error that nobody tries again.
func TestNoStep(t *testing.T) {
	s := fake.New()
	defer s.Close()
	if status, text := post(t, s, ollama, `{"model":"m","messages":[]}`); status != 400 || !strings.Contains(text, "no step left") {
		t.Errorf("%d %s", status, text)
	}
	s.Add(fake.Step{Body: "as it is", Status: 202})
	if status, text := post(t, s, ollama, `{"model":"m","messages":[]}`); status != 202 || text != "as it is" {
		t.Errorf("%d %s", status, text)
	}
}

func TestKeys(t *testing.T) {
	for path, want := range map[string]int{chat: 401, responses: 401, messages: 401, gemini: 403} {
		s := fake.New()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
		s.Close()
	}
}
