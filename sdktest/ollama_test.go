package sdktest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/rax-project/rax/kernel/model/fake"
)

func ollamaAsk(t *testing.T, s *fake.Server, stream bool, messages ...api.Message) (api.ChatResponse, int, error) {
	t.Helper()
	base, err := url.Parse(s.Getenv("OLLAMA_HOST"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{map[string]any{
		"type": "function", "function": map[string]any{"name": "weather", "parameters": schema},
	}})
	if err != nil {
		t.Fatal(err)
	}
	req := &api.ChatRequest{Model: modelName, Messages: messages, Stream: &stream}
	if err := json.Unmarshal(text, &req.Tools); err != nil {
		t.Fatal(err)
	}
	var whole api.ChatResponse
	chunks := 0
	err = api.NewClient(base, http.DefaultClient).Chat(t.Context(), req, func(r api.ChatResponse) error {
		m := whole.Message
		whole = r
		whole.Message.Content = m.Content + r.Message.Content
		whole.Message.Thinking = m.Thinking + r.Message.Thinking
		whole.Message.ToolCalls = append(m.ToolCalls, r.Message.ToolCalls...)
		chunks++
		return nil
	})
	return whole, chunks, err
}

func TestOllama(t *testing.T) {
	modes(t, func(t *testing.T, stream bool) {
		s := conversation(t)
		user := api.Message{Role: "user", Content: task}
		r, chunks, err := ollamaAsk(t, s, stream, user)
		if err != nil {
			t.Fatal(err)
		}
		if stream != (chunks > 1) {
			t.Errorf("%d chunks", chunks)
		}
		// Nothing is signed.
		got := seen{
			Thinking: r.Message.Thinking, Signature: signature, Text: r.Message.Content, Finish: r.DoneReason,
			Input: int64(r.PromptEvalCount), Output: int64(r.EvalCount),
		}
		messages := []api.Message{user, r.Message}
		for i, c := range r.Message.ToolCalls {
			got.Calls = append(got.Calls, call{c.ID, c.Function.Name, town(t, c.Function.Arguments.String())})
			if c.Function.Index != i {
				t.Errorf("call %d has index %d", i, c.Function.Index)
			}
			messages = append(messages, api.Message{Role: "tool", Content: "cold", ToolName: c.Function.Name, ToolCallID: c.ID})
		}
		got.check(t, wanted("stop"))

		r, _, err = ollamaAsk(t, s, stream, messages...)
		if err != nil || r.Message.Content != last || !r.Done {
			t.Errorf("%+v, %v", r.Message, err)
		}
		clean(t, s, 2)
	})
}

func TestOllamaErrors(t *testing.T) {
	user := api.Message{Role: "user", Content: task}
	modes(t, func(t *testing.T, stream bool) {
		s := fake.New(fake.Step{Status: 404, Message: "model 'some-model' not found"})
		defer s.Close()
		_, _, err := ollamaAsk(t, s, stream, user)
		var status api.StatusError
		if !errors.As(err, &status) || status.StatusCode != 404 || !strings.Contains(status.ErrorMessage, "not found") {
			t.Errorf("%v", err)
		}
	})
	t.Run("in a stream", func(t *testing.T) {
		s := fake.New(fake.Step{Answer: fake.Answer{Text: last}, Stop: fake.StopError, After: 2, Message: "gone"})
		defer s.Close()
		r, _, err := ollamaAsk(t, s, true, user)
		if err == nil || !strings.Contains(err.Error(), "gone") || r.Message.Content == "" {
			t.Errorf("%v after %q", err, r.Message.Content)
		}
	})
}
