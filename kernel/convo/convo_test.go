package convo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/convo"
	"github.com/rax-project/rax/parsers/provider"
)

func assistant(text string) provider.Message {
	return provider.Message{Role: provider.RoleAssistant, Blocks: []provider.Block{
		{Kind: provider.BlockThinking, Text: "secret thought", Signed: json.RawMessage(`"sig"`)},
		{Kind: provider.BlockText, Text: text},
	}}
}

func texts(ms []provider.Message) string {
	var out []string
	for _, m := range ms {
		for _, b := range m.Blocks {
			out = append(out, string(m.Role)+":"+b.Text)
		}
	}
	return strings.Join(out, " | ")
}

func TestReasoningIsCommittedBeforeTheAnswerAndLeftOut(t *testing.T) {
	var l convo.Log
	l.User("one")
	if e := l.Reasoning("because", "anthropic", false, new(int64(7))); e == nil || *e.Tokens != 7 || e.Priority != convo.Skip {
		t.Fatalf("%+v", e)
	}
	l.Assistant("two", assistant("two"), nil)
	kinds := ""
	for _, e := range l.Entries() {
		kinds += string(e.Kind) + " "
	}
	if kinds != "user reasoning assistant " {
		t.Errorf("order: %s", kinds)
	}
	if got := texts(l.Compile(false)); strings.Contains(got, "because") {
		t.Errorf("reasoning is in the prompt: %s", got)
	}
	if got := texts(l.Compile(true)); !strings.Contains(got, "assistant:because") {
		t.Errorf("reasoning was asked for: %s", got)
	}
}

func TestAnnotationsWin(t *testing.T) {
	var l convo.Log
	l.User("one")
	n := l.Reasoning("because", "parsed", false, nil).Number
	l.Annotate(n, convo.Pinned, "important step")
	if got := texts(l.Compile(false)); !strings.Contains(got, "because") {
		t.Errorf("a pinned entry is left out: %s", got)
	}
	l.Annotate(n, convo.Skip, "not now")
	if got := texts(l.Compile(true)); strings.Contains(got, "because") {
		t.Errorf("an annotation loses against the flag: %s", got)
	}
	if l.Annotate(99, convo.Skip, "") || l.Annotate(0, convo.Skip, "") {
		t.Error("an entry that does not exist was annotated")
	}
}

func TestDropReasoning(t *testing.T) {
	l := convo.Log{DropReasoning: true}
	l.User("one")
	if e := l.Reasoning("because", "parsed", false, nil); e != nil {
		t.Errorf("%+v", e)
	}
	if len(l.Entries()) != 1 {
		t.Errorf("%d entries", len(l.Entries()))
	}
}

func TestSignedThinkingStaysWithinItsTurn(t *testing.T) {
	var l convo.Log
	l.User("one")
	l.Assistant("two", assistant("two"), nil)
	l.Tool("obs:1", "call_1", "search", "[obs:1] found", false)
	if got := texts(l.Compile(false)); !strings.Contains(got, "secret thought") {
		t.Errorf("signed thinking is missing in its turn: %s", got)
	}
	l.User("three")
	if got := texts(l.Compile(false)); strings.Contains(got, "secret thought") || !strings.Contains(got, "assistant:two") {
		t.Errorf("in a later turn: %s", got)
	}
}

func TestReplaceShortensAnObservation(t *testing.T) {
	var l convo.Log
	l.User("one")
	l.Tool("obs:1", "call_1", "search", "a very long text", false)
	before := l.Compile(false)
	if !l.Replace("obs:1", "short") || l.Replace("obs:2", "x") {
		t.Error("Replace reports the wrong thing")
	}
	if got := texts(l.Compile(false)); !strings.Contains(got, "tool:short") {
		t.Errorf("%s", got)
	}
	if got := texts(before); !strings.Contains(got, "a very long text") {
		t.Error("a compiled prompt changed afterwards")
	}
}
