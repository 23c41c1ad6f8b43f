package rewrite

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
)

// P stands for the prompt, A for the one of the argument, in the rows below.
var placeholders = func(s string) string {
	s = strings.ReplaceAll(s, "«P»", escaped(rationale.Prompt()))
	return strings.ReplaceAll(s, "«A»", escaped(rationale.ArgumentPrompt))
}

var requestRows = []struct {
	name     string
	format   provider.Format
	channel  Channel
	in, want string // no want: the same, byte for byte
	note     string
}{
	{name: "chat string", format: provider.OpenAIChat,
		in:   `{"model":"m", "messages":[ {"role":"system","content":"Be <brief>. \u00e9"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"x":1.0}`,
		want: `{"model":"m", "messages":[ {"role":"system","content":"Be <brief>. \u00e9\n\n«P»"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"x":1.0}`},
	{name: "chat parts of a developer", format: provider.OpenAIChat,
		in:   `{"messages":[{"role":"developer","content":[{"type":"text","text":"a"} ]},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		want: `{"messages":[{"role":"developer","content":[{"type":"text","text":"a"} ,{"type":"text","text":"«P»"}]},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`},
	{name: "chat last of two", format: provider.OpenAIChat,
		in:   `{"messages":[{"role":"system","content":"a"},{"role":"system","content":""},{"role":"user","content":"hi"},{"role":"system","content":"later"}],"functions":[{"name":"f"}]}`,
		want: `{"messages":[{"role":"system","content":"a"},{"role":"system","content":"«P»"},{"role":"user","content":"hi"},{"role":"system","content":"later"}],"functions":[{"name":"f"}]}`},
	{name: "chat without", format: provider.OpenAIChat,
		in:   "{\n \"messages\": [\n  {\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}\n",
		want: "{\n \"messages\": [{\"role\":\"system\",\"content\":\"«P»\"},\n  {\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}\n"},
	{name: "chat argument", format: provider.OpenAIChat, channel: Argument,
		in:   `{"messages":[{"role":"system","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`,
		want: `{"messages":[{"role":"system","content":"a\n\n«A»"}],"tools":[{"type":"function","function":{"name":"f","parameters":` + injected(`{"type":"object","properties":{}}`, rationale.DialectDefault) + `}}]}`},
	{name: "chat argument of a strict tool without parameters", format: provider.OpenAIChat, channel: Argument,
		in:   `{"messages":[{"role":"system","content":"a"}],"tools":[{"type":"function","function":{"name":"f","strict":true}}]}`,
		want: `{"messages":[{"role":"system","content":"a\n\n«A»"}],"tools":[{"type":"function","function":{"parameters":` + injected(``, rationale.DialectStrict) + `,"name":"f","strict":true}}]}`},
	{name: "chat argument beside a free tool", format: provider.OpenAIChat, channel: Argument,
		in:   `{"messages":[{"role":"system","content":"a"}],"tools":[{"type":"custom","custom":{"name":"g"}},{"type":"function","function":{"name":"f","parameters":{}}}]}`,
		want: `{"messages":[{"role":"system","content":"a\n\n«A»\n«P»"}],"tools":[{"type":"custom","custom":{"name":"g"}},{"type":"function","function":{"name":"f","parameters":` + injected(`{}`, rationale.DialectDefault) + `}}]}`},
	{name: "chat structured text", format: provider.OpenAIChat,
		in:   `{"response_format":{"type":"json_object"},"messages":[{"role":"system","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}`,
		want: `{"response_format":{"type":"json_object"},"messages":[{"role":"system","content":"a\n\n«A»"}],"tools":[{"type":"function","function":{"name":"f","parameters":` + injected(`{}`, rationale.DialectDefault) + `}}]}`},
	{name: "chat no tools", format: provider.OpenAIChat, in: `{"messages":[{"role":"user","content":"hi"}]}`},
	{name: "chat empty tools", format: provider.OpenAIChat, in: `{"messages":[{"role":"user","content":"hi"}],"tools":[]}`},
	{name: "chat no choice", format: provider.OpenAIChat, in: `{"messages":[],"tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}]}`},
	{name: "chat twice", format: provider.OpenAIChat, note: "twice",
		in: `{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}],"tools":[{"type":"function","function":{"name":"f"}}]}`},
	{name: "chat no JSON", format: provider.OpenAIChat, in: `{"messages":[`, note: "no valid JSON"},
	{name: "chat own mandate", format: provider.OpenAIChat,
		in: placeholders(`{"messages":[{"role":"system","content":"x\n\n«P»"}],"tools":[{"type":"function","function":{"name":"f"}}]}`)},
	{name: "chat own argument", format: provider.OpenAIChat, channel: Argument,
		in: `{"messages":[{"role":"system","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":` + injected(`{}`, rationale.DialectDefault) + `}}]}`},
	{name: "responses", format: provider.OpenAIResponses,
		in:   `{"instructions":"a","input":"hi","tools":[{"type":"function","name":"f","parameters":{}}]}`,
		want: `{"instructions":"a\n\n«P»","input":"hi","tools":[{"type":"function","name":"f","parameters":{}}]}`},
	{name: "responses without", format: provider.OpenAIResponses,
		in:   `{"input":"hi","tools":[{"type":"custom","name":"f"}]}`,
		want: `{"instructions":"«P»","input":"hi","tools":[{"type":"custom","name":"f"}]}`},
	{name: "responses null", format: provider.OpenAIResponses,
		in:   `{"input":"hi","instructions":null,"tools":[{"type":"function","name":"f"}]}`,
		want: `{"input":"hi","instructions":"«P»","tools":[{"type":"function","name":"f"}]}`},
	{name: "responses stored prompt", format: provider.OpenAIResponses,
		in:   `{"prompt":{"id":"p"},"input":[{"role":"user","content":"hi"}],"tools":[{"type":"function","name":"f"}]}`,
		want: `{"prompt":{"id":"p"},"input":[{"type":"message","role":"developer","content":"«P»"},{"role":"user","content":"hi"}],"tools":[{"type":"function","name":"f"}]}`},
	{name: "responses stored prompt and text", format: provider.OpenAIResponses, note: "stored prompt",
		in: `{"prompt":{"id":"p"},"input":"hi","tools":[{"type":"function","name":"f"}]}`},
	{name: "responses argument is strict", format: provider.OpenAIResponses, channel: Argument,
		in:   `{"instructions":"","input":"hi","tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}}},{"type":"function","name":"g","strict":false,"parameters":null}]}`,
		want: `{"instructions":"«A»","input":"hi","tools":[{"type":"function","name":"f","parameters":` + injected(`{"type":"object","properties":{}}`, rationale.DialectStrict) + `},{"type":"function","name":"g","strict":false,"parameters":` + injected(``, rationale.DialectDefault) + `}]}`},
	{name: "responses run by the provider", format: provider.OpenAIResponses, in: `{"input":"hi","tools":[{"type":"web_search"},{"type":"mcp"}]}`},
	{name: "anthropic string", format: provider.AnthropicMessages,
		in:   `{"system":"a","messages":[],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
		want: `{"system":[{"type":"text","text":"a"},{"type":"text","text":"«P»"}],"messages":[],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`},
	{name: "anthropic cached blocks", format: provider.AnthropicMessages,
		in:   `{"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}],"messages":[],"tools":[{"type":"bash_20250124","name":"bash"}]}`,
		want: `{"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"«P»"}],"messages":[],"tools":[{"type":"bash_20250124","name":"bash"}]}`},
	{name: "anthropic without", format: provider.AnthropicMessages,
		in:   `{"messages":[],"tools":[{"name":"f","input_schema":{}}]}`,
		want: `{"system":"«P»","messages":[],"tools":[{"name":"f","input_schema":{}}]}`},
	{name: "anthropic empty", format: provider.AnthropicMessages,
		in:   `{"messages":[],"system":"","tools":[{"name":"f","input_schema":{}}]}`,
		want: `{"messages":[],"system":"«P»","tools":[{"name":"f","input_schema":{}}]}`},
	{name: "anthropic run by the provider", format: provider.AnthropicMessages,
		in: `{"messages":[],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`},
	{name: "anthropic no choice", format: provider.AnthropicMessages,
		in: `{"messages":[],"tool_choice":{"type":"none"},"tools":[{"name":"f","input_schema":{}}]}`},
	{name: "gemini parts", format: provider.Gemini,
		in:   `{"system_instruction":{"parts":[{"text":"a"}]},"contents":[],"tools":[{"function_declarations":[{"name":"f"}]}]}`,
		want: `{"system_instruction":{"parts":[{"text":"a"},{"text":"«P»"}]},"contents":[],"tools":[{"function_declarations":[{"name":"f"}]}]}`},
	{name: "gemini one part", format: provider.Gemini,
		in:   `{"systemInstruction":{"parts":{"text":"a"}},"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
		want: `{"systemInstruction":{"parts":[{"text":"a"},{"text":"«P»"}]},"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`},
	{name: "gemini without", format: provider.Gemini,
		in:   `{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
		want: `{"systemInstruction":{"parts":[{"text":"«P»"}]},"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`},
	{name: "gemini wrapped", format: provider.Gemini,
		in:   `{"model":"m","request":{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}}`,
		want: `{"model":"m","request":{"systemInstruction":{"parts":[{"text":"«P»"}]},"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}}`},
	{name: "gemini argument", format: provider.Gemini, channel: Argument,
		in:   `{"contents":[],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}},{"name":"g","parametersJsonSchema":{"type":"object"}}]}]}`,
		want: `{"systemInstruction":{"parts":[{"text":"«A»"}]},"contents":[],"tools":[{"functionDeclarations":[{"name":"f","parameters":` + injected(`{"type":"OBJECT"}`, rationale.DialectGemini) + `},{"name":"g","parametersJsonSchema":` + injected(`{"type":"object"}`, rationale.DialectDefault) + `}]}]}`},
	{name: "gemini cached", format: provider.Gemini, note: "cache",
		in: `{"cachedContent":"c","contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`},
	{name: "gemini no choice", format: provider.Gemini,
		in: `{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`},
	{name: "ollama", format: provider.OllamaNative,
		in:   `{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		want: `{"model":"m","messages":[{"role":"system","content":"a\n\n«P»"},{"role":"user","content":"b"}],"tools":[{"type":"function","function":{"name":"f"}}]}`},
	{name: "none asks for nothing", format: provider.OllamaNative, channel: None,
		in: `{"model":"m","messages":[{"role":"user","content":"b"}],"tools":[{"type":"function","function":{"name":"f"}}]}`},
	{name: "another format", format: provider.BedrockConverse, in: `{"messages":[],"toolConfig":{"tools":[{}]}}`},
}

func injected(schema string, dialect rationale.Dialect) string {
	out, ok, err := rationale.InjectArgument([]byte(schema), dialect)
	if err != nil || !ok {
		panic(schema)
	}
	return string(out)
}

func TestNewRequest(t *testing.T) {
	for _, row := range requestRows {
		t.Run(row.name, func(t *testing.T) {
			got := NewRequest(row.format, []byte(row.in), row.channel)
			want := placeholders(row.want)
			if row.want == "" {
				want = row.in
			}
			if string(got.Body) != want {
				t.Errorf("got\n%s\nwant\n%s", got.Body, want)
			}
			if got.Added != (row.want != "") || got.Own != strings.Contains(row.name, "own") {
				t.Errorf("added %v, own %v", got.Added, got.Own)
			}
			if row.note == "" && got.Note != "" || !strings.Contains(got.Note, row.note) {
				t.Errorf("note %q, want %q", got.Note, row.note)
			}
			if row.want == "" || row.format == provider.BedrockConverse {
				return
			}
			again := NewRequest(row.format, got.Body, row.channel)
			if again.Added || !again.Own || !bytes.Equal(again.Body, got.Body) {
				t.Errorf("asked twice: %s", again.Body)
			}
		})
	}
}

// TestRecordedRequests sends real requests: they differ from what the client
// wrote by the documented additions alone.
func TestRecordedRequests(t *testing.T) {
	sent := 0
	for _, format := range edited {
		for _, r := range requests(t, format) {
			for _, channel := range []Channel{Block, Argument, None} {
				got := NewRequest(format, r.body, channel)
				if !got.Added {
					if !bytes.Equal(got.Body, r.body) {
						t.Errorf("%s: changed, and nothing added", r.name)
					}
					continue
				}
				sent++
				checkAdded(t, format, r, got)
			}
		}
	}
	if sent < 50 {
		t.Errorf("%d requests were added to", sent)
	}
	t.Logf("%d requests added to", sent)
}

func requests(t *testing.T, format provider.Format) []recorded {
	t.Helper()
	return load(t, format, filepath.Join(dataFolder(t), "wire", string(format), "*", "*", "request.json"))
}

// checkAdded checks that taking the additions out again gives the client's own
// request: to the byte where there are none in schemas.
func checkAdded(t *testing.T, format provider.Format, r recorded, got Request) {
	t.Helper()
	before, err := provider.ParseRequest(format, r.body)
	if err != nil {
		t.Errorf("%s: %v", r.name, err)
		return
	}
	after, err := provider.ParseRequest(format, got.Body)
	if err != nil {
		t.Errorf("%s: %v", r.name, err)
		return
	}
	added, ok := strings.CutPrefix(after.System, before.System)
	if !ok || !strings.Contains(added, "MANDATORY") {
		t.Errorf("%s: the system prompt is %q", r.name, after.System)
	}
	for i, tool := range after.Tools {
		if slices.Contains(got.Injected, tool.Name) {
			after.Tools[i].Schema = json.RawMessage(without(t, tool.Schema))
			before.Tools[i].Schema = json.RawMessage(without(t, before.Tools[i].Schema))
		}
	}
	before.System, after.System = "", ""
	if !reflect.DeepEqual(before, after) {
		t.Errorf("%s: more than the mandate changed", r.name)
	}
	if len(got.Injected) > 0 {
		return
	}
	// One place, or two around the string that became a list.
	p, s := differ(got.Body, r.body), 0
	for s < len(r.body)-p && got.Body[len(got.Body)-1-s] == r.body[len(r.body)-1-s] {
		s++
	}
	if middle := r.body[p : len(r.body)-s]; !bytes.Contains(got.Body[p:len(got.Body)-s], middle) {
		t.Errorf("%s: %q is gone", r.name, middle)
	}
}

// without is a schema without the argument, in one spelling.
func without(t *testing.T, schema []byte) string {
	t.Helper()
	v := map[string]any{}
	if len(schema) > 0 {
		if err := json.Unmarshal(schema, &v); err != nil {
			t.Fatal(err)
		}
	}
	if properties, ok := v["properties"].(map[string]any); ok {
		delete(properties, rationale.ArgumentName)
		if len(properties) == 0 {
			delete(v, "properties")
		}
	}
	if required, ok := v["required"].([]any); ok {
		required = slices.DeleteFunc(required, func(e any) bool { return e == rationale.ArgumentName })
		v["required"] = required
		if len(required) == 0 {
			delete(v, "required")
		}
	}
	if v["type"] == "object" && len(v) == 1 {
		delete(v, "type")
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func FuzzNewRequest(f *testing.F) {
	for _, row := range requestRows {
		f.Add([]byte(row.in), uint8(slices.Index(edited, row.format)+1), uint8(row.channel))
	}
	f.Fuzz(func(t *testing.T, body []byte, format, channel uint8) {
		got := NewRequest(edited[int(format)%len(edited)], body, Channel(channel%3))
		if !got.Added && !bytes.Equal(got.Body, body) {
			t.Errorf("%q became %q", body, got.Body)
		}
		if got.Added && !json.Valid(got.Body) {
			t.Errorf("%q became %q", body, got.Body)
		}
	})
}
