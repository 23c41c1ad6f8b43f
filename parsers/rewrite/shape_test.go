package rewrite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
)

// sse writes server-sent events.
func sse(docs ...string) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

func start(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func delta(i int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)
}

func stop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func textDelta(i int, s string) string { return delta(i, `{"type":"text_delta","text":`+quote(s)+`}`) }

const (
	textBlock = `{"type":"text","text":""}`
	toolBlock = `{"type":"tool_use","id":"t1","name":"f","input":{}}`
	thinking  = `{"type":"thinking","thinking":"","signature":""}`
	ended     = `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`
)

// TestShapes are answers whose shape changes when the reasons go.
func TestShapes(t *testing.T) {
	args := `{"rationale":{"why":"x"},"a":1}`
	for _, row := range []struct {
		name     string
		format   provider.Format
		stream   bool
		in, want string
		note     string
	}{
		{name: "anthropic text of a reason alone", format: provider.AnthropicMessages, stream: true,
			in: sse(start(0, thinking), delta(0, `{"type":"signature_delta","signature":"c2ln"}`), stop(0),
				start(1, textBlock), textDelta(1, stated[:30]), `{"type":"ping"}`, textDelta(1, stated[30:]+"\n\n"), stop(1),
				start(2, toolBlock), delta(2, `{"type":"input_json_delta","partial_json":"{}"}`), stop(2), ended),
			want: sse(start(0, thinking), delta(0, `{"type":"signature_delta","signature":"c2ln"}`), stop(0),
				`{"type":"ping"}`, start(1, toolBlock), delta(1, `{"type":"input_json_delta","partial_json":"{}"}`), stop(1), ended)},
		{name: "anthropic nothing but a reason", format: provider.AnthropicMessages, stream: true, note: onlyRationale,
			in:   sse(start(0, thinking), stop(0), start(1, textBlock), textDelta(1, stated), stop(1), ended),
			want: sse(start(0, thinking), stop(0), start(1, textBlock), textDelta(1, stated), stop(1), ended)},
		{name: "anthropic empty as it came", format: provider.AnthropicMessages, stream: true,
			in:   sse(start(0, textBlock), textDelta(0, ""), stop(0), start(1, toolBlock), stop(1), ended),
			want: sse(start(0, textBlock), textDelta(0, ""), stop(0), start(1, toolBlock), stop(1), ended)},
		{name: "anthropic argument", format: provider.AnthropicMessages, stream: true,
			in: sse(start(0, toolBlock), delta(0, `{"type":"input_json_delta","partial_json":""}`),
				delta(0, `{"type":"input_json_delta","partial_json":"{\"rationale\": {\"wh"}`),
				delta(0, `{"type":"input_json_delta","partial_json":"y\":\"x\"}"}`),
				delta(0, `{"type":"input_json_delta","partial_json":", \"a\": 1}"}`), stop(0), ended),
			want: sse(start(0, toolBlock), delta(0, `{"type":"input_json_delta","partial_json":""}`),
				delta(0, `{"type":"input_json_delta","partial_json":"{"}`),
				delta(0, `{"type":"input_json_delta","partial_json":"\"a\": 1}"}`), stop(0), ended)},
		{name: "anthropic body", format: provider.AnthropicMessages,
			in:   `{"role":"assistant","content":[{"type":"text","text":` + quote(stated) + `}, {"type":"tool_use","id":"t","name":"f","input":` + args + `}]}`,
			want: `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]}`},
		{name: "anthropic body of a reason alone", format: provider.AnthropicMessages, note: onlyRationale,
			in:   `{"role":"assistant","content":[{"type":"text","text":` + quote(stated) + `}]}`,
			want: `{"role":"assistant","content":[{"type":"text","text":` + quote(stated) + `}]}`},
		{name: "chat body of a reason alone", format: provider.OpenAIChat,
			in:   `{"choices":[{"message":{"content":` + quote(stated+"\n") + `,"tool_calls":[{"function":{"name":"f","arguments":` + quote(args) + `}}]}}]}`,
			want: `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}`},
		{name: "chat two choices", format: provider.OpenAIChat, stream: true,
			in: sse(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"<ratio"}}]}`,
				`{"choices":[{"index":1,"delta":{"role":"assistant","content":"b"}}]}`,
				`{"choices":[{"index":0,"delta":{"content":"nale>{\"why\":\"x\"}</rationale>a"}}]}`, `[DONE]`),
			want: sse(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
				`{"choices":[{"index":1,"delta":{"role":"assistant","content":"b"}}]}`,
				`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `[DONE]`)},
		{name: "chat the tool of another", format: provider.OpenAIChat,
			in:   `{"choices":[{"message":{"tool_calls":[{"function":{"name":"own","arguments":` + quote(args) + `}}]}}]}`,
			want: `{"choices":[{"message":{"tool_calls":[{"function":{"name":"own","arguments":` + quote(args) + `}}]}}]}`},
		{name: "escapes stay", format: provider.OpenAIChat, stream: true,
			in:   sse(`{"choices":[{"index":0,"delta":{"content":"\u00e9\ud83d\ude00\/ \u003crationale\u003e{\u0022why\":\"x\"}\u003c\/rationale\u003e\ud83d\ude00\/"}}]}`),
			want: sse(`{"choices":[{"index":0,"delta":{"content":"\u00e9\ud83d\ude00\/ \ud83d\ude00\/"}}]}`)},
		{name: "responses keep their items", format: provider.OpenAIResponses,
			in: `{"instructions":` + quote("Be brief.\n\n"+rationale.Prompt()) + `,"output":[{"type":"reasoning","id":"rs","encrypted_content":"x"},` +
				`{"type":"message","id":"m","content":[{"type":"output_text","text":` + quote(stated) + `}]},{"type":"function_call","name":"f","arguments":` + quote(args) + `}]}`,
			want: `{"instructions":"Be brief.","output":[{"type":"reasoning","id":"rs","encrypted_content":"x"},` +
				`{"type":"message","id":"m","content":[{"type":"output_text","text":""}]},{"type":"function_call","name":"f","arguments":"{\"a\":1}"}]}`},
		{name: "responses keep their numbers", format: provider.OpenAIResponses, stream: true,
			in:   sse(`{"type":"response.output_text.delta","sequence_number":4,"output_index":0,"content_index":0,"delta":` + quote(stated) + `}`),
			want: sse(`{"type":"response.output_text.delta","sequence_number":4,"output_index":0,"content_index":0,"delta":""}`)},
		{name: "gemini signed text", format: provider.Gemini, note: "a signed text holds a rationale",
			in:   `{"candidates":[{"content":{"parts":[{"text":` + quote(stated) + `,"thoughtSignature":"c2ln"}]}}]}`,
			want: `{"candidates":[{"content":{"parts":[{"text":` + quote(stated) + `,"thoughtSignature":"c2ln"}]}}]}`},
		{name: "gemini text of a reason alone", format: provider.Gemini,
			in:   `{"candidates":[{"content":{"parts":[{"text":` + quote(stated) + `},{"functionCall":{"name":"f","args":` + args + `},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`,
			want: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`},
		{name: "gemini array", format: provider.Gemini, stream: true,
			in:   "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a <ratio\"}]}}]}\n,\r\n{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"nale>{\\\"why\\\":\\\"x\\\"}</rationale>b\"}]},\"finishReason\":\"STOP\"}]}]\n",
			want: "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a \"}]}}]}\n,\r\n{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"}]},\"finishReason\":\"STOP\"}]}]\n"},
		{name: "ollama", format: provider.OllamaNative, stream: true,
			in: `{"message":{"role":"assistant","content":"<rationale>{\"why\":\"x\"}</rationale>"},"done":false}` + "\n" +
				`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":` + args + `}}]},"done":true}` + "\n",
			want: `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":true}` + "\n"},
		{name: "no JSON", format: provider.OpenAIChat, in: `{"choices":[`, want: `{"choices":[`, note: "the answer is no valid JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(6, 6))
			for range 8 {
				got, a := chunked(row.format, Rules{Stream: row.stream, Injected: []string{"f"}}, []byte(row.in), random)
				if string(got) != row.want {
					t.Fatalf("got\n%s\nwant\n%s", got, row.want)
				}
				if notes := strings.Join(a.Notes(), "; "); notes != row.note {
					t.Errorf("notes %q, want %q", notes, row.note)
				}
			}
		})
	}
}

// TestPrompt: whatever is no part of a reason goes on with the chunk that
// completes it.
func TestPrompt(t *testing.T) {
	a := NewAnswer(provider.OpenAIChat, Rules{Stream: true})
	event := func(text string) string {
		return sse(`{"choices":[{"index":0,"delta":{"content":` + quote(text) + `}}]}`)
	}
	for _, step := range []struct{ in, want string }{
		{": ping\n", ": ping\n"},
		{event("a < b"), event("a < b")},
		{event("c <"), ""},
		{": ping\n\n", ""},
		{event("d"), event("c <") + ": ping\n\n" + event("d")},
		{event("<rationale>{"), ""},
		{event(`"why":"x"}`), ""},
		{event("</rationale>"), ""},
		{event("e"), event("e")},
	} {
		if got := string(a.Write([]byte(step.in))); got != step.want {
			t.Errorf("%q gave %q, want %q", step.in, got, step.want)
		}
	}
}

// TestBounds: a reason without end is let go on in the end.
func TestBounds(t *testing.T) {
	a := NewAnswer(provider.AnthropicMessages, Rules{Stream: true, Injected: []string{"f"}})
	in := sse(start(0, textBlock), textDelta(0, stated), stop(0), start(1, toolBlock), delta(1, `{"type":"input_json_delta","partial_json":"{\"rationale\":\""}`))
	piece := sse(delta(1, `{"type":"input_json_delta","partial_json":"`+strings.Repeat("x", 1000)+`"}`))
	got := append([]byte{}, a.Write([]byte(in))...)
	for range 10_000 {
		got = append(got, a.Write([]byte(piece))...)
		if a.held > maxHeld+2*len(piece) {
			t.Fatalf("%d bytes are held", a.held)
		}
	}
	got = append(got, a.Close()...)
	if len(a.Notes()) != 1 || bytes.Count(got, []byte("xxx\"")) != 10_000 {
		t.Errorf("notes %q, %d pieces", a.Notes(), bytes.Count(got, []byte("xxx\"")))
	}
	if bytes.Contains(got, []byte(`"index":1`)) {
		t.Error("the blocks behind the one that went lost their new numbers")
	}
}

func BenchmarkAnswer(b *testing.B) {
	for _, r := range fixtures(b) {
		if !strings.HasPrefix(r.name, string(r.format)+"/rationale-parallel") || !r.stream() {
			continue
		}
		b.Run(string(r.format), func(b *testing.B) {
			b.SetBytes(int64(len(r.body)))
			for b.Loop() {
				a := NewAnswer(r.format, Rules{Stream: true})
				a.Write(r.body)
				a.Close()
			}
		})
	}
}
