package sdktest

import (
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/rax-project/rax/kernel/model/fake"
)

func anthropicClient(s *fake.Server, retries int) anthropic.Client {
	return anthropic.NewClient(
		option.WithBaseURL(s.Getenv("ANTHROPIC_BASE_URL")), option.WithAPIKey(s.Key), option.WithMaxRetries(retries),
	)
}

func anthropicParams(messages ...anthropic.MessageParam) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: modelName, MaxTokens: 4096, Messages: messages,
		Thinking: anthropic.ThinkingConfigParamOfEnabled(1024),
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "weather",
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: schema["properties"], Required: schema["required"].([]string),
			},
		}}},
	}
}

func anthropicAsk(t *testing.T, s *fake.Server, stream bool, p anthropic.MessageNewParams) (anthropic.Message, error) {
	t.Helper()
	client := anthropicClient(s, 0)
	if !stream {
		m, err := client.Messages.New(t.Context(), p)
		if err != nil {
			return anthropic.Message{}, err
		}
		return *m, nil
	}
	events := client.Messages.NewStreaming(t.Context(), p)
	var m anthropic.Message
	for events.Next() {
		if err := m.Accumulate(events.Current()); err != nil {
			t.Fatal(err)
		}
	}
	return m, events.Err()
}

func TestAnthropic(t *testing.T) {
	modes(t, func(t *testing.T, stream bool) {
		s := conversation(t)
		user := anthropic.NewUserMessage(anthropic.NewTextBlock(task))
		m, err := anthropicAsk(t, s, stream, anthropicParams(user))
		if err != nil {
			t.Fatal(err)
		}
		// Cached tokens are counted apart.
		got := seen{Finish: string(m.StopReason), Input: m.Usage.InputTokens + m.Usage.CacheReadInputTokens, Output: m.Usage.OutputTokens}
		var results []anthropic.ContentBlockParamUnion
		for _, block := range m.Content {
			switch b := block.AsAny().(type) {
			case anthropic.ThinkingBlock:
				got.Thinking, got.Signature = b.Thinking, b.Signature
			case anthropic.TextBlock:
				got.Text = b.Text
			case anthropic.ToolUseBlock:
				got.Calls = append(got.Calls, call{b.ID, b.Name, town(t, string(b.Input))})
				results = append(results, anthropic.NewToolResultBlock(b.ID, "cold", false))
			}
		}
		got.check(t, wanted("tool_use"))

		m, err = anthropicAsk(t, s, stream, anthropicParams(user, m.ToParam(), anthropic.NewUserMessage(results...)))
		if err != nil {
			t.Fatal(err)
		}
		if text := m.Content[0].AsText().Text; text != last || m.StopReason != anthropic.StopReasonEndTurn {
			t.Errorf("%q, %s", text, m.StopReason)
		}
		clean(t, s, 2)
	})
}

// Without the thinking that led to the calls the server refuses to go on.
func TestAnthropicRefusals(t *testing.T) {
	s := conversation(t)
	user := anthropic.NewUserMessage(anthropic.NewTextBlock(task))
	m, err := anthropicAsk(t, s, false, anthropicParams(user))
	if err != nil {
		t.Fatal(err)
	}
	assistant := m.ToParam()
	result := anthropic.NewUserMessage(
		anthropic.NewToolResultBlock("call_oslo", "3", false), anthropic.NewToolResultBlock("call_graz", "11", false))
	bare := assistant
	bare.Content = assistant.Content[1:]
	for name, p := range map[string]anthropic.MessageNewParams{
		"`thinking`":    anthropicParams(user, bare, result),
		"`tool_result`": anthropicParams(user, assistant, anthropic.NewUserMessage(anthropic.NewToolResultBlock("call_oslo", "3", false))),
	} {
		_, err := anthropicAsk(t, s, false, p)
		var api *anthropic.Error
		if !errors.As(err, &api) || api.StatusCode != 400 || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnthropicErrors(t *testing.T) {
	modes(t, func(t *testing.T, stream bool) {
		s := fake.New(fake.Step{Status: 529, Message: "Overloaded"})
		defer s.Close()
		_, err := anthropicAsk(t, s, stream, anthropicParams(anthropic.NewUserMessage(anthropic.NewTextBlock(task))))
		var api *anthropic.Error
		if !errors.As(err, &api) || api.StatusCode != 529 || !strings.Contains(err.Error(), "overloaded_error") {
			t.Errorf("%v", err)
		}
	})
	t.Run("retried", func(t *testing.T) {
		s := fake.New(
			fake.Step{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}},
			fake.Step{Answer: fake.Answer{Text: last}},
		)
		defer s.Close()
		client := anthropicClient(s, 2)
		if _, err := client.Messages.New(t.Context(), anthropicParams(anthropic.NewUserMessage(anthropic.NewTextBlock(task)))); err != nil {
			t.Error(err)
		}
		clean(t, s, 2)
	})
	t.Run("in a stream", func(t *testing.T) {
		s := fake.New(fake.Step{Answer: fake.Answer{Text: last}, Stop: fake.StopError, After: 4, Message: "Overloaded"})
		defer s.Close()
		m, err := anthropicAsk(t, s, true, anthropicParams(anthropic.NewUserMessage(anthropic.NewTextBlock(task))))
		if err == nil || !strings.Contains(err.Error(), "overloaded_error") || len(m.Content) == 0 || m.Content[0].Text == "" {
			t.Errorf("%v after %+v", err, m.Content)
		}
	})
}
