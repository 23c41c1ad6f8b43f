package proxy_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

const (
	reason = `{"why":"the newest price decides","confidence":0.7}`
	// silent is an answer with a call and without a reason, argued with one as
	// an argument, final without calls.
	silent = `{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"list_issues","arguments":"{\"repo\": \"a\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
	final  = `{"id":"c9","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"All done."},"finish_reason":"stop"}]}`
)

var argued = strings.Replace(silent, `{\"repo\"`, `{\"rationale\":`+strings.ReplaceAll(reason, `"`, `\"`)+`,\"repo\"`, 1)

func chatRequest(tb testing.TB, messages ...provider.Message) string {
	tb.Helper()
	_, body := encode(tb, provider.OpenAIChat, provider.Request{Model: "m", System: "Be brief.", Tools: tools, Messages: messages})
	return body
}

const chatPath = "/v1/chat/completions"

// TestArgument: the model states its reason in an argument, and the client
// never sees it.
func TestArgument(t *testing.T) {
	r := newRig(t, proxy.Config{Mode: proxy.ModeArgument}, plays("application/json", []byte(argued)))
	resp, got := r.post(chatPath, chatRequest(t, text(provider.RoleUser, "hi")))
	if string(got) != silent || resp.ContentLength != int64(len(silent)) {
		t.Errorf("got %s", got)
	}
	all := events(t, r.end()[0], "open-call")
	start := of[*trace.ToolCallStart](all)[0]
	if start.RationaleSource != rationale.SourceArgument || start.Rationale.Why != "the newest price decides" || string(start.Args) != `{"repo": "a"}` {
		t.Errorf("%+v", start)
	}
}

// TestAuto: a model that states nothing in blocks is asked for arguments.
func TestAuto(t *testing.T) {
	r := newRig(t, proxy.Config{Mode: proxy.ModeAuto}, plays("application/json", []byte(silent)), plays("application/json", []byte(argued)))
	_, first := r.post(chatPath, chatRequest(t, text(provider.RoleUser, "hi")))
	r.proxy.Flush()
	seen := answerOf(t, provider.OpenAIChat, first)
	_, second := r.post(chatPath, chatRequest(t, text(provider.RoleUser, "hi"), provider.AssistantMessage(seen), results(seen, "none")))
	if string(first) != silent || string(second) != silent {
		t.Errorf("got %s\nand %s", first, second)
	}
	sent := r.up.asked()
	if bytes.Contains(sent[0].body, []byte(`"rationale":{`)) || !bytes.Contains(sent[1].body, []byte(`"rationale":{`)) {
		t.Error("the argument is not in the second request alone")
	}
	starts := of[*trace.ToolCallStart](events(t, r.end()[0], "open-call"))
	if starts[0].RationaleStatus != rationale.Missing || starts[1].RationaleStatus != rationale.Present {
		t.Errorf("%s, %s", starts[0].RationaleStatus, starts[1].RationaleStatus)
	}
}

// TestObserve changes nothing on either side, and records.
func TestObserve(t *testing.T) {
	answer := fixture(t, "anthropic-messages/rationale-parallel.sse")
	r := newRig(t, proxy.Config{Mode: proxy.ModeObserve}, plays("text/event-stream", answer), plays("application/json", []byte(silent)))
	path, body := encode(t, provider.AnthropicMessages, provider.Request{Model: "m", Tools: tools, Stream: true, Messages: []provider.Message{text(provider.RoleUser, "hi")}})
	_, got := r.post(path, body)
	if !bytes.Equal(got, answer) || string(r.up.asked()[0].body) != body {
		t.Error("something changed")
	}
	_, got = r.post(chatPath, chatRequest(t, text(provider.RoleUser, "hi")))
	if string(got) != silent {
		t.Error("something changed")
	}
	files := r.end()
	for i, want := range []rationale.Status{rationale.Present, rationale.Unasked} {
		for _, s := range of[*trace.ToolCallStart](events(t, files[i], "open-call")) {
			if s.RationaleStatus != want {
				t.Errorf("%s, want %s", s.RationaleStatus, want)
			}
		}
	}
}

// TestUntouched: what offers no tools, and what is no request to a model, passes
// byte for byte and leaves no trace.
func TestUntouched(t *testing.T) {
	for _, mode := range []proxy.Mode{proxy.ModeBlock, proxy.ModeArgument, proxy.ModeOff} {
		for path, body := range map[string]string{
			chatPath + "?a=%2Fb&a=1":    `{"messages": [ {"role":"user","content":"<rationale call=\"1\">{\"why\":\"x\"}</rationale>"} ], "model":"m"}`,
			"/v1/embeddings":            `{"input":"x", "tools":[1]}`,
			"/v1/files/a%2Fb/content":   "\x00\xff\x1f binary",
			"/v1/messages/count_tokens": `{"messages":[],"tools":[{"name":"f","input_schema":{}}]}`,
			"/v1/responses":             `not JSON`,
		} {
			answer := []byte(`{"choices":[{"message":{"content":"<rationale call=\"1\">{\"why\":\"x\"}</rationale>"}}]}`)
			r := newRig(t, proxy.Config{Mode: mode}, plays("application/json", answer))
			resp, got := r.post(path, body, "Authorization", "Bearer key")
			sent := r.up.asked()[0]
			if string(sent.body) != body || sent.path != path || !bytes.Equal(got, answer) || resp.Header.Get("X-Request-Id") != "req_1" {
				t.Errorf("%s %s: sent %q to %s, got %q", mode, path, sent.body, sent.path, got)
			}
			if files := r.end(); len(files) > 0 {
				t.Errorf("%s %s: a trace of %s", mode, path, files[0])
			}
		}
	}
}

// TestPlain records conversations without tools where that is asked for.
func TestPlain(t *testing.T) {
	r := newRig(t, proxy.Config{Plain: true}, plays("application/json", []byte(final)))
	r.post(chatPath, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	d := debriefOf(t, r.end()[0])
	if d.Goal != "hi" || d.Verdict.Status != "completed" {
		t.Errorf("%+v", d)
	}
}

// TestRefused: a request that the provider refuses with the mandate is sent
// again without it, and soon no more with it.
func TestRefused(t *testing.T) {
	var r *rig
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		sent := r.up.asked()
		if bytes.Contains(sent[len(sent)-1].body, []byte("MANDATORY")) {
			http.Error(w, `{"error":{"message":"too long","type":"invalid_request_error"}}`, http.StatusBadRequest)
			return
		}
		plays("application/json", []byte(silent))(w, nil)
	}
	r = newRig(t, proxy.Config{}, refuse)
	body := chatRequest(t, text(provider.RoleUser, "hi"))
	for range 4 {
		resp, got := r.post(chatPath, body)
		if resp.StatusCode != http.StatusOK || string(got) != silent {
			t.Errorf("%d %s", resp.StatusCode, got)
		}
	}
	sent := r.up.asked()
	if len(sent) != 6 {
		t.Errorf("%d requests, want two refused and four taken", len(sent))
	}
	if string(sent[1].body) != body || string(sent[5].body) != body {
		t.Error("what was sent again is not what the client wrote")
	}
	all := events(t, r.end()[0], "open-call")
	if s := of[*trace.ToolCallStart](all)[0]; s.RationaleStatus != rationale.Unasked {
		t.Errorf("status %s", s.RationaleStatus)
	}
	if e := of[*trace.ErrorRaised](all); len(e) != 1 || !strings.Contains(e[0].Message, "refused") {
		t.Errorf("errors %+v", e)
	}
	if x := of[*trace.LLMExchange](all)[0]; x.SystemPrompt != "Be brief." {
		t.Errorf("the trace says that %q was sent", x.SystemPrompt)
	}
}

// TestUpstreamErrors pass as they are.
func TestUpstreamErrors(t *testing.T) {
	for _, status := range []int{400, 401, 404, 413, 422, 429, 500, 503, 529} {
		body := `{"type":"error","error":{"type":"x","message":"<rationale call=\"1\">{\"why\":\"x\"}</rationale>"}}`
		r := newRig(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "17")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		resp, got := r.post(chatPath, chatRequest(t, text(provider.RoleUser, "hi")))
		if resp.StatusCode != status || string(got) != body || resp.Header.Get("Retry-After") != "17" {
			t.Errorf("%d became %d %s", status, resp.StatusCode, got)
		}
		if d := debriefOf(t, r.end()[0]); d.Verdict.Status != "failure" {
			t.Errorf("%d: verdict %+v", status, d.Verdict)
		}
	}
}
