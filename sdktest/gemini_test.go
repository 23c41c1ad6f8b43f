package sdktest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/rax-project/rax/kernel/model/fake"
)

var geminiConfig = &genai.GenerateContentConfig{
	ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true},
	Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
		{Name: "weather", ParametersJsonSchema: schema},
	}}},
}

// geminiAnswer is what the client got, with the parts of all chunks.
type geminiAnswer struct {
	parts  []*genai.Part
	finish string
	usage  *genai.GenerateContentResponseUsageMetadata
}

func (a *geminiAnswer) add(r *genai.GenerateContentResponse) {
	for _, c := range r.Candidates {
		if c.Content != nil {
			a.parts = append(a.parts, c.Content.Parts...)
		}
		if c.FinishReason != "" {
			a.finish = string(c.FinishReason)
		}
	}
	a.usage = r.UsageMetadata
}

func geminiAsk(t *testing.T, s *fake.Server, stream bool, contents ...*genai.Content) (geminiAnswer, error) {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: s.Key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	var a geminiAnswer
	if !stream {
		r, err := client.Models.GenerateContent(t.Context(), modelName, contents, geminiConfig)
		if err == nil {
			a.add(r)
		}
		return a, err
	}
	for r, err := range client.Models.GenerateContentStream(t.Context(), modelName, contents, geminiConfig) {
		if err != nil {
			return a, err
		}
		a.add(r)
	}
	return a, nil
}

func TestGemini(t *testing.T) {
	modes(t, func(t *testing.T, stream bool) {
		s := conversation(t)
		user := genai.NewContentFromText(task, genai.RoleUser)
		a, err := geminiAsk(t, s, stream, user)
		if err != nil {
			t.Fatal(err)
		}
		// Thoughts are counted apart.
		got := seen{Finish: a.finish, Input: int64(a.usage.PromptTokenCount), Output: int64(a.usage.CandidatesTokenCount + a.usage.ThoughtsTokenCount)}
		var results []*genai.Part
		for _, p := range a.parts {
			switch {
			case p.Thought:
				got.Thinking += p.Text
			case p.FunctionCall != nil:
				args, err := json.Marshal(p.FunctionCall.Args)
				if err != nil {
					t.Fatal(err)
				}
				got.Calls = append(got.Calls, call{p.FunctionCall.ID, p.FunctionCall.Name, town(t, string(args))})
				got.Signature += base64.StdEncoding.EncodeToString(p.ThoughtSignature)
				result := genai.NewPartFromFunctionResponse(p.FunctionCall.Name, map[string]any{"output": "cold"})
				result.FunctionResponse.ID = p.FunctionCall.ID
				results = append(results, result)
			default:
				got.Text += p.Text
			}
		}
		got.check(t, wanted("STOP"))

		model := genai.NewContentFromParts(a.parts, genai.RoleModel)
		b, err := geminiAsk(t, s, stream, user, model, genai.NewContentFromParts(results, genai.RoleUser))
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, p := range b.parts {
			text += p.Text
		}
		if text != last {
			t.Errorf("%q", text)
		}
		clean(t, s, 2)

		// A signature left out, results apart.
		var bare []*genai.Part
		for _, p := range a.parts {
			q := *p
			q.ThoughtSignature = nil
			bare = append(bare, &q)
		}
		for word, bad := range map[string][]*genai.Content{
			"thought_signature":  {user, genai.NewContentFromParts(bare, genai.RoleModel), genai.NewContentFromParts(results, genai.RoleUser)},
			"number of function": {user, model, genai.NewContentFromParts(results[:1], genai.RoleUser), genai.NewContentFromParts(results[1:], genai.RoleUser)},
		} {
			_, err := geminiAsk(t, s, stream, bad...)
			var api genai.APIError
			if !errors.As(err, &api) || api.Code != 400 || api.Status != "INVALID_ARGUMENT" || !strings.Contains(api.Message, word) {
				t.Errorf("%s: %v", word, err)
			}
		}
	})
}

func TestGeminiErrors(t *testing.T) {
	user := genai.NewContentFromText(task, genai.RoleUser)
	modes(t, func(t *testing.T, stream bool) {
		s := fake.New(fake.Step{Status: 400, Message: "no"})
		defer s.Close()
		_, err := geminiAsk(t, s, stream, user)
		var api genai.APIError
		if !errors.As(err, &api) || api.Code != 400 || api.Status != "INVALID_ARGUMENT" || api.Message != "no" {
			t.Errorf("%v", err)
		}
	})
	t.Run("in a stream", func(t *testing.T) {
		s := fake.New(fake.Step{Answer: fake.Answer{Text: last}, Stop: fake.StopError, After: 2, Message: "gone"})
		defer s.Close()
		a, err := geminiAsk(t, s, true, user)
		if err == nil || !strings.Contains(err.Error(), "gone") || len(a.parts) != 2 {
			t.Errorf("%v after %d parts", err, len(a.parts))
		}
	})
}
