package sdktest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/rax-project/rax/kernel/model/fake"
)

const (
	modelName = "some-model"
	task      = "How warm is it in Oslo and in Graz?"
	thinking  = "The user wants two towns, so I ask for both – at once."
	sentence  = "I look up both towns."
	last      = "Oslo has 3 °C, Graz 11 °C."
)

var schema = map[string]any{
	"type":       "object",
	"properties": map[string]any{"town": map[string]any{"type": "string"}},
	"required":   []string{"town"},
}

// signature is base64, as every client wants it.
const signature = "c2lnbmVkLXRob3VnaHQ="

var usage = fake.Usage{Input: 120, Output: 34, Reasoning: 12, CacheRead: 20}

// conversation is the script that every client plays: two calls at once, then an
// answer.
func conversation(t *testing.T) *fake.Server {
	t.Helper()
	server := fake.New(
		fake.Step{Answer: fake.Answer{
			Thinking: thinking, Signature: signature, Text: sentence, Usage: usage,
			Calls: []fake.Call{
				{ID: "call_oslo", Name: "weather", Arguments: `{"town":"Oslo"}`},
				{ID: "call_graz", Name: "weather", Arguments: `{"town":"Graz"}`},
			},
		}},
		fake.Step{Answer: fake.Answer{Text: last, Usage: usage}},
	)
	t.Cleanup(server.Close)
	return server
}

// modes runs a test with bodies and with streams.
func modes(t *testing.T, f func(t *testing.T, stream bool)) {
	t.Run("body", func(t *testing.T) { f(t, false) })
	t.Run("stream", func(t *testing.T) { f(t, true) })
}

// seen is what a client made of an answer.
type seen struct {
	Thinking, Signature, Text, Finish string
	Calls                             []call
	Input, Output                     int64
}

type call struct{ ID, Name, Town string }

func wanted(finish string) seen {
	return seen{
		Thinking: thinking, Signature: signature, Text: sentence, Finish: finish, Input: usage.Input, Output: usage.Output,
		Calls: []call{{"call_oslo", "weather", "Oslo"}, {"call_graz", "weather", "Graz"}},
	}
}

func (s seen) check(t *testing.T, want seen) {
	t.Helper()
	if !reflect.DeepEqual(s, want) {
		t.Errorf("the client read\n%+v, want\n%+v", s, want)
	}
}

func town(t *testing.T, arguments string) string {
	t.Helper()
	var args struct{ Town string }
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		t.Fatalf("arguments: %v", err)
	}
	return args.Town
}

// clean checks that the server refused nothing and got so many requests.
func clean(t *testing.T, s *fake.Server, requests int) {
	t.Helper()
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("refused: %q", p)
	}
	if n := len(s.Requests()); n != requests {
		t.Errorf("%d requests, want %d", n, requests)
	}
}
