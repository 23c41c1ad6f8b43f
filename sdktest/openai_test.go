package sdktest

import (
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/rax-project/rax/kernel/model/fake"
)

func openaiClient(s *fake.Server, retries int) openai.Client {
	return openai.NewClient(
		option.WithBaseURL(s.Getenv("OPENAI_BASE_URL")), option.WithAPIKey(s.Key), option.WithMaxRetries(retries),
	)
}

func chatParams(messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: modelName, Messages: messages,
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: schema}),
		},
	}
}

func chatAsk(t *testing.T, s *fake.Server, stream bool, p openai.ChatCompletionNewParams) (openai.ChatCompletion, error) {
	t.Helper()
	client := openaiClient(s, 0)
	if !stream {
		c, err := client.Chat.Completions.New(t.Context(), p)
		if err != nil {
			return openai.ChatCompletion{}, err
		}
		return *c, nil
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	events := client.Chat.Completions.NewStreaming(t.Context(), p)
	var acc openai.ChatCompletionAccumulator
	for events.Next() {
		if !acc.AddChunk(events.Current()) {
			t.Fatal("a chunk does not fit")
		}
	}
	return acc.ChatCompletion, events.Err()
}

func TestOpenAIChat(t *testing.T) {
	modes(t, func(t *testing.T, stream bool) {
		s := conversation(t)
		user := openai.UserMessage(task)
		c, err := chatAsk(t, s, stream, chatParams(user))
		if err != nil {
			t.Fatal(err)
		}
		m := c.Choices[0].Message
		// OpenAI's client knows no field for thinking, and nothing is signed.
		got := seen{
			Thinking: thinking, Signature: signature, Text: m.Content, Finish: c.Choices[0].FinishReason,
			Input: c.Usage.PromptTokens, Output: c.Usage.CompletionTokens,
		}
		results := []openai.ChatCompletionMessageParamUnion{user, m.ToParam()}
		for _, tool := range m.ToolCalls {
			got.Calls = append(got.Calls, call{tool.ID, tool.Function.Name, town(t, tool.Function.Arguments)})
			results = append(results, openai.ToolMessage("cold", tool.ID))
		}
		got.check(t, wanted("tool_calls"))
		if c.Usage.CompletionTokensDetails.ReasoningTokens != usage.Reasoning || c.Usage.PromptTokensDetails.CachedTokens != usage.CacheRead {
			t.Errorf("usage %+v", c.Usage)
		}

		c, err = chatAsk(t, s, stream, chatParams(results...))
		if err != nil {
			t.Fatal(err)
		}
		if c.Choices[0].Message.Content != last || c.Choices[0].FinishReason != "stop" {
			t.Errorf("%+v", c.Choices[0])
		}
		clean(t, s, 2)

		// A call without its result.
		_, err = chatAsk(t, s, stream, chatParams(results[:3]...))
		var api *openai.Error
		if !errors.As(err, &api) || api.StatusCode != 400 || !strings.Contains(api.Message, "call_graz") {
			t.Errorf("%v", err)
		}
	})
}

func TestOpenAIChatErrors(t *testing.T) {
	modes(t, func(t *testing.T, stream bool) {
		s := fake.New(fake.Step{Status: 429, Message: "Slow down"})
		defer s.Close()
		_, err := chatAsk(t, s, stream, chatParams(openai.UserMessage(task)))
		var api *openai.Error
		if !errors.As(err, &api) || api.StatusCode != 429 || api.Code != "rate_limit_exceeded" || api.Message != "Slow down" {
			t.Errorf("%v", err)
		}
	})
	t.Run("retried", func(t *testing.T) {
		s := fake.New(
			fake.Step{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}},
			fake.Step{Answer: fake.Answer{Text: last}},
		)
		defer s.Close()
		client := openaiClient(s, 2)
		if _, err := client.Chat.Completions.New(t.Context(), chatParams(openai.UserMessage(task))); err != nil {
			t.Error(err)
		}
		clean(t, s, 2)
	})
	t.Run("in a stream", func(t *testing.T) {
		s := fake.New(fake.Step{Answer: fake.Answer{Text: last}, Stop: fake.StopError, After: 3, Message: "gone"})
		defer s.Close()
		c, err := chatAsk(t, s, true, chatParams(openai.UserMessage(task)))
		if err == nil || !strings.Contains(err.Error(), "gone") || c.Choices[0].Message.Content == "" {
			t.Errorf("%v after %+v", err, c.Choices)
		}
	})
	t.Run("wrong key", func(t *testing.T) {
		s := fake.New()
		defer s.Close()
		client := openai.NewClient(option.WithBaseURL(s.Getenv("OPENAI_BASE_URL")), option.WithAPIKey("other"), option.WithMaxRetries(0))
		_, err := client.Chat.Completions.New(t.Context(), chatParams(openai.UserMessage(task)))
		var api *openai.Error
		if !errors.As(err, &api) || api.StatusCode != 401 || api.Code != "invalid_api_key" {
			t.Errorf("%v", err)
		}
	})
}

func responsesParams(input ...responses.ResponseInputItemUnionParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: modelName, Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: input},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "weather", Parameters: schema, Strict: openai.Bool(false),
		}}},
	}
}

func responsesAsk(t *testing.T, s *fake.Server, stream bool, p responses.ResponseNewParams) (responses.Response, string, error) {
	t.Helper()
	client := openaiClient(s, 0)
	if !stream {
		r, err := client.Responses.New(t.Context(), p)
		if err != nil {
			return responses.Response{}, "", err
		}
		return *r, r.OutputText(), nil
	}
	events := client.Responses.NewStreaming(t.Context(), p)
	var text strings.Builder
	var whole responses.Response
	for events.Next() {
		switch e := events.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text.WriteString(e.Delta)
		case responses.ResponseCompletedEvent:
			whole = e.Response
		case responses.ResponseErrorEvent:
			return whole, text.String(), errors.New(e.Message)
		}
	}
	return whole, text.String(), events.Err()
}

func TestOpenAIResponses(t *testing.T) {
	modes(t, func(t *testing.T, stream bool) {
		s := conversation(t)
		user := responses.ResponseInputItemParamOfMessage(task, responses.EasyInputMessageRoleUser)
		r, text, err := responsesAsk(t, s, stream, responsesParams(user))
		if err != nil {
			t.Fatal(err)
		}
		got := seen{Text: text, Finish: string(r.Status), Input: r.Usage.InputTokens, Output: r.Usage.OutputTokens}
		input := []responses.ResponseInputItemUnionParam{user}
		var results []responses.ResponseInputItemUnionParam
		for _, item := range r.Output {
			switch v := item.AsAny().(type) {
			case responses.ResponseReasoningItem:
				got.Thinking, got.Signature = v.Summary[0].Text, v.EncryptedContent
				p := v.ToParam()
				input = append(input, responses.ResponseInputItemUnionParam{OfReasoning: &p})
			case responses.ResponseFunctionToolCall:
				got.Calls = append(got.Calls, call{v.CallID, v.Name, town(t, v.Arguments)})
				p := v.ToParam()
				input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCall: &p})
				results = append(results, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
					CallID: param.NewOpt(v.CallID),
					Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: param.NewOpt("cold")},
				}})
			}
		}
		got.check(t, wanted("completed"))

		_, text, err = responsesAsk(t, s, stream, responsesParams(append(input, results...)...))
		if err != nil || text != last {
			t.Errorf("%q, %v", text, err)
		}
		clean(t, s, 2)

		// Reasoning left out, a result left out.
		for word, bad := range map[string][]responses.ResponseInputItemUnionParam{
			"'reasoning' item": append(append(input[:1:1], input[2:]...), results...),
			"No tool output":   append(input[:len(input):len(input)], results[0]),
		} {
			_, _, err := responsesAsk(t, s, stream, responsesParams(bad...))
			var api *openai.Error
			if !errors.As(err, &api) || api.StatusCode != 400 || !strings.Contains(api.Message, word) {
				t.Errorf("%s: %v", word, err)
			}
		}
	})
}

func TestOpenAIResponsesErrors(t *testing.T) {
	user := responses.ResponseInputItemParamOfMessage(task, responses.EasyInputMessageRoleUser)
	modes(t, func(t *testing.T, stream bool) {
		s := fake.New(fake.Step{Status: 500, Message: "oh"})
		defer s.Close()
		_, _, err := responsesAsk(t, s, stream, responsesParams(user))
		var api *openai.Error
		if !errors.As(err, &api) || api.StatusCode != 500 || api.Type != "server_error" {
			t.Errorf("%v", err)
		}
	})
	t.Run("in a stream", func(t *testing.T) {
		s := fake.New(fake.Step{Answer: fake.Answer{Text: last}, Stop: fake.StopError, After: 6, Message: "gone"})
		defer s.Close()
		_, text, err := responsesAsk(t, s, true, responsesParams(user))
		if err == nil || !strings.Contains(err.Error(), "gone") || text == "" {
			t.Errorf("%q, %v", text, err)
		}
	})
}
