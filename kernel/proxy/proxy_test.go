package proxy_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// wire is a format with an answer that makes two calls, each with its reason.
type wire struct {
	format       provider.Format
	stream, body string
	contentType  string
}

var wires = []wire{
	{provider.OpenAIChat, "openai-chat/rationale-parallel.sse", "openai-chat/rationale-parallel.json", "text/event-stream"},
	{provider.OpenAIResponses, "openai-responses/rationale-parallel.sse", "openai-responses/rationale-parallel.json", "text/event-stream"},
	{provider.AnthropicMessages, "anthropic-messages/rationale-parallel.sse", "anthropic-messages/rationale-parallel.json", "text/event-stream"},
	{provider.Gemini, "gemini/rationale-parallel.sse", "gemini/rationale-parallel.json", "text/event-stream"},
	{provider.OllamaNative, "ollama-native/tools-thinking.ndjson", "ollama-native/tools-thinking.json", "application/x-ndjson"},
}

// TestTwoRounds runs an agent through the proxy for two rounds, in every format,
// as streams and as bodies.
func TestTwoRounds(t *testing.T) {
	for _, w := range wires {
		for _, stream := range []bool{true, false} {
			name, kind := w.stream, w.contentType
			if !stream {
				name, kind = w.body, "application/json"
			}
			t.Run(name, func(t *testing.T) {
				answer := fixture(t, name)
				r := newRig(t, proxy.Config{}, plays(kind, answer))
				req := provider.Request{
					Model: "test-model", System: "Be brief.", Tools: tools, Stream: stream,
					Messages: []provider.Message{text(provider.RoleUser, "What is left to do?")},
				}
				path, body := encode(t, w.format, req)
				_, got := r.post(path, body)
				seen := answerOf(t, w.format, got)
				sameAnswer(t, answerOf(t, w.format, answer), seen)

				req.Messages = append(req.Messages, provider.AssistantMessage(seen), results(seen, "3 found"))
				path, body = encode(t, w.format, req)
				r.post(path, body)

				files := r.end()
				if len(files) != 1 {
					t.Fatalf("%d runs, want 1; notes %q", len(files), r.noted())
				}
				all := events(t, files[0], "open-call") // the second round is not answered
				starts, ends := of[*trace.ToolCallStart](all), of[*trace.ToolCallEnd](all)
				if len(starts) != 2*len(seen.Calls) || len(ends) != len(seen.Calls) {
					t.Fatalf("%d calls and %d ends of %d", len(starts), len(ends), len(seen.Calls))
				}
				for _, s := range starts {
					if s.RationaleStatus != rationale.Present || s.RationaleSource != rationale.SourceBlock {
						t.Errorf("%s: %s %s", s.ToolName, s.RationaleStatus, s.RationaleReason)
					}
				}
				for i, e := range ends {
					if e.CallID != starts[i].CallID || string(e.Result) != `"3 found"` {
						t.Errorf("end %+v", e)
					}
					if known := e.OK != nil; known != (w.format == provider.AnthropicMessages) {
						t.Errorf("ok is known: %v", known)
					}
				}
				exchanges := of[*trace.LLMExchange](all)
				if len(exchanges) != 2 || exchanges[1].MessagesFrom != 1 || !strings.HasSuffix(exchanges[0].SystemPrompt, strings.TrimSpace(rationale.Prompt())+"\n") {
					t.Errorf("exchanges: %d, from %d, system %q", len(exchanges), exchanges[1].MessagesFrom, exchanges[0].SystemPrompt)
				}
				for _, sent := range r.up.asked() {
					if n := bytes.Count(sent.body, []byte("MANDATORY")); n != 1 {
						t.Errorf("the mandate stands %d times in a request", n)
					}
				}
				if d := debriefOf(t, files[0]); d.Goal != "What is left to do?" || d.Metrics.Present != len(starts) {
					t.Errorf("debrief of %q: %+v", d.Goal, d.Metrics)
				}
				if len(r.noted()) > 0 {
					t.Errorf("notes %q", r.noted())
				}
			})
		}
	}
}

// sameAnswer compares what the model wrote with what the client sees.
func sameAnswer(t *testing.T, before, after parsers.Answer) {
	t.Helper()
	if want := strings.TrimSpace(rationale.Strip(before.Text())); strings.TrimSpace(after.Text()) != want {
		t.Errorf("text %q, want %q", after.Text(), want)
	}
	if before.Thinking() != after.Thinking() || before.Finish != after.Finish || before.ID != after.ID ||
		string(before.Usage.Raw) != string(after.Usage.Raw) || len(before.Calls) != len(after.Calls) {
		t.Errorf("before %+v\nafter  %+v", before, after)
		return
	}
	for i := range before.Calls {
		b, a := before.Calls[i], after.Calls[i]
		if a.ID != b.ID || a.Name != b.Name || string(a.Arguments) != string(b.Arguments) {
			t.Errorf("call %+v, want %+v", a, b)
		}
	}
	for i, p := range before.Parts {
		if p.Signed != nil && (i >= len(after.Parts) || !bytes.Equal(after.Parts[i].Signed, p.Signed)) {
			t.Errorf("the signed part %d changed", i)
		}
	}
}
