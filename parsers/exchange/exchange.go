// Package exchange writes a round trip with a model into a trace, and reads from
// what was stored which calls the model decided on and why.
//
// What is said about an answer is read from the stored event, so that every
// origin points at stored characters; what is to be done is the answer's own.
package exchange

import (
	"encoding/json"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// The JSON Pointers of the texts in an llm-exchange event.
const (
	contentField  = "/response/content"
	thinkingField = "/response/thinking"
)

// response is the response of an llm-exchange event. Content, toolCalls and
// stopReason are Reactive Agents' names.
type response struct {
	Content    string `json:"content"`
	Thinking   string `json:"thinking,omitempty"`
	ToolCalls  []call `json:"toolCalls"`
	StopReason string `json:"stopReason,omitempty"`
	Refusal    string `json:"refusal,omitempty"`
	TokensIn   *int64 `json:"tokensIn,omitempty"`
	TokensOut  *int64 `json:"tokensOut,omitempty"`
}

type call struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Response is the response of an llm-exchange event: the answer as the model
// wrote it, with its reasons.
func Response(a parsers.Answer) (json.RawMessage, error) {
	s := response{
		Content: join(a, parsers.PartText), Thinking: join(a, parsers.PartThinking),
		ToolCalls: []call{}, StopReason: a.Finish, Refusal: a.Refusal,
		TokensIn: a.Usage.Input, TokensOut: a.Usage.Output,
	}
	for _, c := range a.Calls {
		args := c.Arguments
		if c.Invalid || len(args) == 0 {
			args, _ = json.Marshal(string(c.Arguments)) // a string always encodes
		}
		s.ToolCalls = append(s.ToolCalls, call{ID: c.ID, Name: c.Name, Arguments: args})
	}
	return json.Marshal(s)
}

// join puts the parts of a kind one after the other, one line apart. A
// provider's summary of thinking is not what the model wrote and stays out.
func join(a parsers.Answer, kind parsers.PartKind) string {
	var parts []string
	for _, p := range a.Parts {
		if p.Kind == kind && p.Text != "" && p.Format != string(thinking.Summary) {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Messages is the prompt of an llm-exchange event: of every message its role
// and its text.
func Messages(ms []provider.Message) (json.RawMessage, error) {
	out := []message{}
	for _, m := range ms {
		var texts []string
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.BlockText, provider.BlockResult:
				texts = append(texts, b.Text)
			}
		}
		out = append(out, message{Role: string(m.Role), Content: strings.Join(texts, "\n")})
	}
	return json.Marshal(out)
}

// Tokens are the counts of one answer; nil when the provider stated none.
func Tokens(u parsers.Usage) *trace.Tokens {
	t := trace.Tokens{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	if t == (trace.Tokens{}) {
		return nil
	}
	return &t
}

// Stored is a round trip as the trace holds it.
type Stored struct {
	rec trace.Record
	seq int64
	// Content and Thinking are the text and the private reasoning that was
	// disclosed word for word, as stored.
	Content, Thinking string
	captures          []rationale.Capture
	unmatched         []rationale.Unmatched
}

// Read reads back an llm-exchange event, by the record and the seq that the
// Writer gave it, of an answer with a number of calls.
func Read(rec trace.Record, seq int64, calls int) Stored {
	s := Stored{rec: rec, seq: seq}
	s.Content, _ = trace.Pointer(rec, contentField)
	s.Thinking, _ = trace.Pointer(rec, thinkingField)
	parts := []rationale.Part{{Text: s.Content}, {Text: s.Thinking, Thinking: true}}
	s.captures, s.unmatched = rationale.Attach(parts, calls)
	return s
}

// at is the origin of a span of a stored text: of the content, or of the
// thinking.
func (s Stored) at(part int, span rationale.Span) *rationale.Origin {
	field := contentField
	if part == 1 {
		field = thinkingField
	}
	return &rationale.Origin{Event: new(s.seq), Field: field, Start: span.Start, End: span.End}
}
