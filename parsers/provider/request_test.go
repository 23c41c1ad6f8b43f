package provider

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
)

var encodable = []Format{OpenAIChat, OpenAIResponses, AnthropicMessages, Gemini, OllamaNative}

func pointer[T any](v T) *T { return &v }

// conversation is a request with two parallel calls and their results. The ids
// are missing, as after an answer of Gemini or Ollama.
func conversation() Request {
	return Request{
		Model:  "m-1",
		System: "Be brief.",
		Messages: []Message{
			{Role: RoleUser, Blocks: []Block{{Kind: BlockText, Text: "What is \"left\"? <ä>"}}},
			{Role: RoleAssistant, Blocks: []Block{
				{Kind: BlockText, Text: "Looking."},
				{Kind: BlockCall, Name: "github/list_issues", Arguments: json.RawMessage(`{"repo": "a",  "n":1.50}`)},
				{Kind: BlockCall, Name: "ping", Arguments: json.RawMessage(`{}`)},
			}},
			{Role: RoleTool, Blocks: []Block{
				{Kind: BlockResult, Name: "ping", Text: "pong"},
				{Kind: BlockResult, Name: "github/list_issues", Text: "none", Failed: true},
			}},
			{Role: RoleUser, Blocks: []Block{{Kind: BlockText, Text: "So?"}}},
		},
		Tools: []Tool{
			{Name: "github/list_issues", Description: "Lists.", Schema: json.RawMessage(`{"type":"object", "properties":{"repo":{"type":"string"}}}`)},
			{Name: "ping"},
		},
		Choice:      ToolChoice{Mode: "auto"},
		Thinking:    Thinking{Effort: "high", Show: true},
		MaxTokens:   100,
		Temperature: pointer(0.25),
		Stream:      true,
	}
}

// TestEncodeParse sends a conversation through every format and back.
func TestEncodeParse(t *testing.T) {
	r := conversation()
	names := NewNameMap([]string{"github/list_issues", "ping"})
	for _, format := range encodable {
		path, body, err := Encode(format, r)
		if err != nil || !gjson.ValidBytes(body) || path == "" || path[0] != '/' {
			t.Fatalf("%s: %s %s, %v", format, path, body, err)
		}
		if again, second, _ := Encode(format, conversation()); again != path || string(second) != string(body) {
			t.Errorf("%s: two encodings differ", format)
		}
		if strings.Contains(string(body), "github/list_issues") {
			t.Errorf("%s: an illegal name is sent", format)
		}
		got, err := ParseRequest(format, body)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if format != Gemini && (got.Model != r.Model || !got.Stream) {
			t.Errorf("%s: model %q, stream %v", format, got.Model, got.Stream)
		}
		if format == Gemini && path != "/v1beta/models/m-1:streamGenerateContent?alt=sse" {
			t.Errorf("path %s", path)
		}
		if got.System != r.System || got.MaxTokens != 100 || *got.Temperature != 0.25 || got.Thinking.Effort != "high" {
			t.Errorf("%s: got %+v", format, got)
		}
		if format != OllamaNative && got.Choice != r.Choice {
			t.Errorf("%s: choice %+v", format, got.Choice)
		}
		if len(got.Tools) != 2 || names.Name(got.Tools[0].Name) != "github/list_issues" || string(got.Tools[0].Schema) != string(r.Tools[0].Schema) {
			t.Errorf("%s: tools %+v", format, got.Tools)
		}
		checkConversation(t, format, names, got.Messages)
	}
}

// checkConversation looks at the order of everything, and that each result
// answers its own call although neither had an id.
func checkConversation(t *testing.T, format Format, names *NameMap, messages []Message) {
	t.Helper()
	var flat []string
	calls := map[string]string{}
	for _, m := range messages {
		for _, b := range m.Blocks {
			s := string(m.Role) + " " + string(b.Kind) + " " + b.Text
			switch b.Kind {
			case BlockCall:
				s = string(m.Role) + " call " + names.Name(b.Name)
				calls[b.ID] = b.Name
				if b.Name == "ping" && string(b.Arguments) != "{}" || b.Name != "ping" && string(b.Arguments) != `{"repo": "a",  "n":1.50}` {
					t.Errorf("%s: arguments %s", format, b.Arguments)
				}
			case BlockResult:
				name := b.Name
				if format != Gemini && format != OllamaNative {
					name = calls[b.ID]
				}
				s = string(m.Role) + " result " + names.Name(name) + " " + b.Text
			}
			flat = append(flat, s)
		}
	}
	want := []string{
		"user text What is \"left\"? <ä>", "assistant text Looking.", "assistant call github/list_issues", "assistant call ping",
		"tool result ping pong", "tool result github/list_issues none", "user text So?",
	}
	if !reflect.DeepEqual(flat, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", format, strings.Join(flat, "\n"), strings.Join(want, "\n"))
	}
}

func TestEncodeOptions(t *testing.T) {
	schema := &Schema{Name: "city", Schema: json.RawMessage(`{"type":"object"}`)}
	for _, c := range []struct {
		name   string
		format Format
		change func(*Request)
		path   string
		want   string
	}{
		{"max tokens", OpenAIChat, func(r *Request) {}, "max_completion_tokens", "100"},
		{"max tokens elsewhere", OpenAIChat, func(r *Request) { r.Compatible = true }, "max_tokens", "100"},
		{"usage in streams", OpenAIChat, func(r *Request) {}, "stream_options.include_usage", "true"},
		{"one tool", OpenAIChat, func(r *Request) { r.Choice = ToolChoice{Name: "ping"} }, "tool_choice.function.name", `"ping"`},
		{"one tool", AnthropicMessages, func(r *Request) { r.Choice = ToolChoice{Name: "ping"} }, "tool_choice", `{"type":"tool","name":"ping"}`},
		{"required", AnthropicMessages, func(r *Request) { r.Choice = ToolChoice{Mode: "required"} }, "tool_choice", `{"type":"any"}`},
		{"required", Gemini, func(r *Request) { r.Choice = ToolChoice{Mode: "required"} }, "toolConfig.functionCallingConfig.mode", `"ANY"`},
		{"one tool", Gemini, func(r *Request) { r.Choice = ToolChoice{Name: "ping"} }, "toolConfig.functionCallingConfig.allowedFunctionNames", `["ping"]`},
		{"budget", AnthropicMessages, func(r *Request) { r.Thinking = Thinking{Budget: 2000} }, "thinking", `{"type":"enabled","budget_tokens":2000}`},
		{"no thinking", AnthropicMessages, func(r *Request) { r.Thinking = Thinking{Effort: "none"} }, "thinking.type", `"disabled"`},
		{"no maximum", AnthropicMessages, func(r *Request) { r.MaxTokens = 0 }, "max_tokens", "4096"},
		{"no thinking", Gemini, func(r *Request) { r.Thinking = Thinking{Effort: "none"} }, "generationConfig.thinkingConfig.thinkingBudget", "0"},
		{"no thinking", OllamaNative, func(r *Request) { r.Thinking = Thinking{Effort: "none"} }, "think", "false"},
		{"no stream", OllamaNative, func(r *Request) { r.Stream = false }, "stream", "false"},
		{"summary", OpenAIResponses, func(r *Request) {}, "reasoning.summary", `"auto"`},
		{"stateless", OpenAIResponses, func(r *Request) {}, "include.0", `"reasoning.encrypted_content"`},
		{"schema", OpenAIChat, func(r *Request) { r.Schema = schema }, "response_format.json_schema.name", `"city"`},
		{"schema", OpenAIResponses, func(r *Request) { r.Schema = schema }, "text.format.schema", `{"type":"object"}`},
		{"schema", AnthropicMessages, func(r *Request) { r.Schema = schema }, "output_config.format.schema", `{"type":"object"}`},
		{"schema", Gemini, func(r *Request) { r.Schema = schema }, "generationConfig.responseJsonSchema", `{"type":"object"}`},
		{"schema", OllamaNative, func(r *Request) { r.Schema = schema }, "format", `{"type":"object"}`},
		{"no schema of arguments", OpenAIChat, func(r *Request) {}, "tools.1.function.parameters", `{"type":"object","properties":{}}`},
		{"failed result", AnthropicMessages, func(r *Request) {}, "messages.2.content.1.is_error", "true"},
		{"turns are joined", AnthropicMessages, func(r *Request) {}, "messages.#", "3"},
		{"failed result", Gemini, func(r *Request) {}, "contents.2.parts.1.functionResponse.response", `{"error":"none"}`},
	} {
		r := conversation()
		c.change(&r)
		_, body, err := Encode(c.format, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := gjson.GetBytes(body, c.path).Raw; got != c.want {
			t.Errorf("%s, %s: %s is %s, want %s", c.format, c.name, c.path, got, c.want)
		}
	}
}

// TestEchoSigned: signed thinking goes back byte for byte where it came from,
// and nowhere else.
func TestEchoSigned(t *testing.T) {
	for _, c := range []struct {
		format Format
		file   string
		signed []string
	}{
		{AnthropicMessages, "rationale-parallel.json", []string{`{"type":"thinking","thinking":"Two lookups, both read-only. Größe: 3 µs – fine.","signature":"c2lnbmVk+/8="}`}},
		{AnthropicMessages, "hidden.json", []string{`{"type":"thinking","thinking":"","signature":"c2lnbmVk"}`, `{"type":"redacted_thinking","data":"cmVkYWN0ZWQ="}`}},
		{OpenAIResponses, "rationale-parallel.json", []string{`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"ZW5jcnlwdGVk"}`}},
		{OpenAIResponses, "summary.json", []string{`"encrypted_content":"ZW5jcnlwdGVk"`}},
		{Gemini, "rationale-parallel.json", []string{`"args":{"repo":"acme/app","state":"open"}},"thoughtSignature":"c2lnbmVk"}`}},
		{Gemini, "signed-empty-text.json", []string{`{"text":"","thoughtSignature":"c2ln"}`}},
		{OpenAIChat, "openrouter-details.json", []string{`"signature":"c2lnbmVk+/8="`, `"data":"ZW5jcnlwdGVk"`}},
		{OpenAIChat, "rationale-parallel.json", []string{`"reasoning_content":"Two lookups, both`}},
	} {
		body, err := os.ReadFile(filepath.Join(fixtureDir, string(c.format), c.file))
		if err != nil {
			t.Fatal(err)
		}
		a, err := Parse(c.format, body, ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range encodable {
			_, out, err := Encode(to, Request{Model: "m", Messages: []Message{AssistantMessage(a)}})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.signed {
				if strings.Contains(string(out), s) != (to == c.format) || strings.Count(string(out), s) > 1 {
					t.Errorf("%s %s to %s: %s", c.format, c.file, to, out)
				}
			}
		}
	}
}

// TestEchoTaken: the model sees its call with the reason that it wrote.
func TestEchoTaken(t *testing.T) {
	const written = `{"rationale":{"why":"to see"},"repo":"a"}`
	a := parsers.Answer{Parts: []parsers.Part{{Kind: parsers.PartCall}}, Calls: []parsers.Call{{Name: "x", Arguments: json.RawMessage(written)}}}
	parsers.Attach(&a, true, "x")
	if string(a.Calls[0].Arguments) != `{"repo":"a"}` {
		t.Fatalf("arguments %s", a.Calls[0].Arguments)
	}
	if got := AssistantMessage(a).Blocks[0].Arguments; string(got) != written {
		t.Errorf("got %s", got)
	}
}

func TestEncodeRefuses(t *testing.T) {
	image := Request{Messages: []Message{{Role: RoleUser, Format: AnthropicMessages, Blocks: []Block{
		{Kind: BlockOther, Type: "image", Raw: json.RawMessage(`{"type":"image"}`)},
	}}}}
	for _, format := range encodable {
		_, body, err := Encode(format, image)
		if format == AnthropicMessages {
			if err != nil || !strings.Contains(string(body), `[{"type":"image"}]`) {
				t.Errorf("%s: %s, %v", format, body, err)
			}
		} else if !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s takes a foreign image: %v", format, err)
		}
	}
	if _, _, err := Encode(CohereV2, Request{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if _, _, err := Encode(OpenAIChat, Request{Tools: []Tool{{Name: "x", Schema: json.RawMessage(`{`)}}}); err == nil {
		t.Error("takes a broken schema")
	}
	// Broken arguments in the history do not break the request.
	for _, format := range encodable {
		r := Request{Messages: []Message{{Role: RoleAssistant, Blocks: []Block{{Kind: BlockCall, Name: "x", Arguments: json.RawMessage(`{"a":`)}}}}}
		_, body, err := Encode(format, r)
		if err != nil || !gjson.ValidBytes(body) || !strings.Contains(string(body), `{\"a\":`) {
			t.Errorf("%s: %s, %v", format, body, err)
		}
	}
}

// TestParseRecordedRequests reads what real clients sent: every message and
// every tool is there, in order.
func TestParseRecordedRequests(t *testing.T) {
	root := recordings(t)
	n := 0
	for _, format := range Formats {
		if format == BedrockInvoke {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(root, string(format), "*", "*", "request.json"))
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := ParseRequest(format, body)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			n++
			v := gjson.ParseBytes(body)
			list, tools := v.Get("messages"), v.Get("tools")
			switch format {
			case OpenAIResponses:
				list = v.Get("input")
			case Gemini:
				list, tools = v.Get("contents"), v.Get("tools.0.functionDeclarations")
				if v.Get("tools.#").Int() != 1 || !tools.Exists() {
					tools = gjson.Result{}
				}
			case BedrockConverse:
				tools = v.Get("toolConfig.tools")
			}
			blocks := 0
			for _, m := range r.Messages {
				blocks += len(m.Blocks)
				if m.Role == "" {
					t.Errorf("%s: a message without a role", file)
				}
			}
			if want := len(list.Array()); blocks+strings.Count(r.System, "\n\n")+1 < want && list.IsArray() {
				t.Errorf("%s: %d blocks of %d messages", file, blocks, want)
			}
			if tools.IsArray() && len(r.Tools) != len(tools.Array()) {
				t.Errorf("%s: %d tools of %d", file, len(r.Tools), len(tools.Array()))
			}
		}
	}
	t.Logf("%d requests", n)
}

// TestGeminiJoinsResults: the results of parallel calls stand in one turn.
func TestGeminiJoinsResults(t *testing.T) {
	result := func(id string) Message {
		return Message{Role: RoleTool, Blocks: []Block{{Kind: BlockResult, ID: id, Name: "clock", Text: "noon"}}}
	}
	messages := []Message{
		{Role: RoleAssistant, Blocks: []Block{{Kind: BlockCall, ID: "a", Name: "clock"}, {Kind: BlockCall, ID: "b", Name: "clock"}}},
		result("a"), result("b"),
		{Role: RoleUser, Blocks: []Block{{Kind: BlockText, Text: "and now?"}}},
	}
	_, body, err := Encode(Gemini, Request{Model: "m", Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Contents []struct{ Parts []json.RawMessage }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Contents) != 3 || len(got.Contents[1].Parts) != 2 {
		t.Errorf("%s", body)
	}
	if len(messages[1].Blocks) != 1 {
		t.Error("the request was changed")
	}
}
