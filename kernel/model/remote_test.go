package model_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/model/fake"
	"github.com/rax-project/rax/parsers/provider"
)

const tool = "weather/current" // illegal on the wire

var tools = []provider.Tool{
	{Name: tool, Description: "the weather", Schema: json.RawMessage(`{"type":"object","properties":{"town":{"type":"string"}}}`)},
	{Name: "clock"},
}

var usage = fake.Usage{Input: 120, Output: 34, Reasoning: 12, CacheRead: 20}

// TestToolLoop holds a conversation with two parallel calls, one of which fails,
// against every provider. The servers refuse it if a call is left unanswered or
// signed thinking does not come back as it was sent.
func TestToolLoop(t *testing.T) {
	wire := provider.NewNameMap([]string{tool, "clock"}).Wire(tool)
	if wire == tool {
		t.Fatal("the tool's name must be illegal on the wire")
	}
	signature := base64.StdEncoding.EncodeToString([]byte("signed <&> thought"))
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		s := serve(t,
			fake.Step{Answer: fake.Answer{
				Thinking: "Two towns – both at once.", Signature: signature, Text: "I look them up.", Usage: usage,
				Calls: []fake.Call{
					{ID: "call_1", Name: wire, Arguments: `{"town":"Oslo"}`},
					{ID: "call_2", Name: wire, Arguments: `{"town":"Graz"}`},
				},
			}},
			fake.Step{Answer: fake.Answer{Text: "3 °C in Oslo.", Usage: usage}},
		)
		price := model.Price{Input: 3, Output: 15, CacheRead: new(0.3)}
		m := open(t, s, spec, func(o *model.Options) { o.Prices = map[string]model.Price{spec: price} })
		req := question()
		req.Tools = tools
		reply, h, err := ask(t, m, stream, req)
		if err != nil {
			t.Fatalf("%v; refused: %q", err, s.Problems())
		}
		a := reply.Answer
		if a.Text() != "I look them up." || a.Thinking() != "Two towns – both at once." || a.Cut {
			t.Errorf("text %q, thinking %q, cut %v", a.Text(), a.Thinking(), a.Cut)
		}
		if len(a.Calls) != 2 || call(a, 0) != tool+` {"town":"Oslo"}` || call(a, 1) != tool+` {"town":"Graz"}` {
			t.Fatalf("calls %+v", a.Calls)
		}
		if stream && (h.text != a.Text() || h.thinking != a.Thinking() || len(h.calls) != 2 || !strings.HasSuffix(h.calls[1], `{"town":"Graz"}`)) {
			t.Errorf("heard %+v", h)
		}
		if *a.Usage.Input != 120 || *a.Usage.Output != 34 {
			t.Errorf("usage %s", a.Usage.Raw)
		}
		cost := (100*3 + 20*0.3 + 34*15) / 1e6
		if m.Info().Provider == "ollama" { // it knows no cache
			cost = (120*3 + 34*15) / 1e6
		}
		if reply.CostUsd == nil || *reply.CostUsd < cost*0.999 || *reply.CostUsd > cost*1.001 || reply.Attempts != 1 {
			t.Errorf("cost %v, want %v; %d attempts", reply.CostUsd, cost, reply.Attempts)
		}

		result := func(i int, text string, failed bool) provider.Message {
			return provider.Message{Role: provider.RoleTool, Blocks: []provider.Block{{
				Kind: provider.BlockResult, ID: a.Calls[i].ID, Name: a.Calls[i].Name, Text: text, Failed: failed,
			}}}
		}
		req.Messages = append(req.Messages, provider.AssistantMessage(a), result(0, "3", false), result(1, "no such town", true))
		before := len(req.Messages)
		reply, _, err = ask(t, m, stream, req)
		if err != nil {
			t.Fatalf("%v; refused: %q", err, s.Problems())
		}
		if reply.Answer.Text() != "3 °C in Oslo." || len(reply.Answer.Calls) != 0 {
			t.Errorf("%+v", reply.Answer)
		}
		if len(req.Messages) != before || len(req.Messages[2].Blocks) != 1 {
			t.Error("the request was changed")
		}
		for _, r := range s.Requests() {
			if r.Stream != stream || strings.Contains(r.Path, s.Key) || strings.Contains(string(r.Body), s.Key) {
				t.Errorf("request %s, stream %v", r.Path, r.Stream)
			}
		}
	})
}

// Where nobody watches a stream may be asked for all the same, and a server may
// send what it was not asked for.
func TestStreamByOption(t *testing.T) {
	for _, spec := range specs {
		s := serve(t, fake.Step{Answer: fake.Answer{Text: "hello"}})
		m := open(t, s, spec, func(o *model.Options) { o.Stream = true })
		reply, err := m.Complete(t.Context(), question(), nil)
		if err != nil || reply.Answer.Text() != "hello" || !s.Requests()[0].Stream {
			t.Errorf("%s: %q, %v", spec, reply.Answer.Text(), err)
		}
	}
	body := `{"choices":[{"message":{"role":"assistant","content":"at once"},"finish_reason":"stop"}]}`
	s := serve(t, fake.Step{Body: body})
	reply, _, err := ask(t, open(t, s, "openai:m"), true, question())
	if err != nil || reply.Answer.Text() != "at once" {
		t.Errorf("%q, %v", reply.Answer.Text(), err)
	}
}

func TestStructured(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		s := serve(t, fake.Step{Answer: fake.Answer{Text: `{"n":1}`}})
		req := question()
		req.Schema = &provider.Schema{Name: "count", Schema: json.RawMessage(
			`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}
		req.MaxTokens = 77
		if _, _, err := ask(t, open(t, s, spec), stream, req); err != nil {
			t.Fatalf("%v; refused: %q", err, s.Problems())
		}
		body := string(s.Requests()[0].Body)
		if !strings.Contains(body, `"additionalProperties":false`) || !strings.Contains(body, "77") {
			t.Errorf("body %s", body)
		}
	})
}

func TestInfo(t *testing.T) {
	s := serve(t)
	for spec, want := range map[string]provider.Format{
		"openai:a": provider.OpenAIChat, "openai-responses:a": provider.OpenAIResponses,
		"anthropic:a": provider.AnthropicMessages, "gemini:a": provider.Gemini, "ollama:a:1b": provider.OllamaNative,
	} {
		m := open(t, s, spec, func(o *model.Options) { o.Windows = map[string]int64{spec: 1000} })
		info := m.Info()
		name, model, _ := strings.Cut(spec, ":")
		if info.Provider != name || info.Name != model || info.Format != want || !info.NativeTools || info.Window != 1000 {
			t.Errorf("%s: %+v", spec, info)
		}
		if other := strings.HasPrefix(spec, "openai"); info.Structured == other { // the server is not OpenAI's
			t.Errorf("%s: structured %v", spec, info.Structured)
		}
	}
	m, err := model.Open("openai:a", model.Options{Getenv: only("OPENAI_API_KEY", "k")})
	if err != nil || !m.Info().Structured || m.Info().Window != 0 {
		t.Errorf("%v", err)
	}
	for _, spec := range []string{"", "gpt", "gpt:", "other:m", ":m"} {
		var e *model.SpecError
		if _, err := model.Open(spec, model.Options{}); !errors.As(err, &e) || !strings.Contains(e.Hint(), "anthropic:MODEL") {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

// only gives an environment of one variable.
func only(name, value string) func(string) string {
	return func(n string) string {
		if n == name {
			return value
		}
		return ""
	}
}

// A server that is not OpenAI's knows max_tokens, and may want no key.
func TestCompatible(t *testing.T) {
	s := serve(t, fake.Step{Answer: fake.Answer{Text: "hello"}})
	req := question()
	req.MaxTokens = 5
	if _, _, err := ask(t, open(t, s, "openai:m"), false, req); err != nil {
		t.Fatal(err)
	}
	if body := string(s.Requests()[0].Body); !strings.Contains(body, `"max_tokens":5`) {
		t.Errorf("body %s", body)
	}
	m := open(t, s, "openai:m", func(o *model.Options) { o.Getenv = only("OPENAI_BASE_URL", s.URL+"/v1/") })
	var api *provider.APIError
	if _, _, err := ask(t, m, false, req); !errors.As(err, &api) || api.Status != 401 {
		t.Errorf("%v", err)
	}
	if h := s.Requests()[1].Header; h.Get("Authorization") != "" {
		t.Errorf("header %q", h)
	}
}

func TestReplyDuration(t *testing.T) {
	s := serve(t, fake.Step{Status: 500, Header: map[string]string{"Retry-After": "3"}}, fake.Step{Answer: fake.Answer{Text: "hello"}})
	reply, _, err := ask(t, open(t, s, "anthropic:m"), false, question())
	if err != nil || reply.Duration != 3*time.Second || reply.Attempts != 2 || reply.CostUsd != nil {
		t.Errorf("%+v, %v", reply, err)
	}
}
