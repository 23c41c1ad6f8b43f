package kernel

import (
	"encoding/json"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// exchange is one round trip as the trace holds it. What the loop says about an
// answer is read from here, so that every origin points at stored characters.
type exchange struct {
	rec     trace.Record
	seq     int64
	content string
	// thinking is private reasoning that was disclosed word for word.
	thinking string
	// unmatched are the blocks that belong to no call.
	unmatched []rationale.Unmatched
}

// storedResponse is the response of an llm-exchange event. Content, toolCalls
// and stopReason are Reactive Agents' names.
type storedResponse struct {
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	ToolCalls  []storedCall `json:"toolCalls"`
	StopReason string       `json:"stopReason,omitempty"`
	Refusal    string       `json:"refusal,omitempty"`
	TokensIn   *int64       `json:"tokensIn,omitempty"`
	TokensOut  *int64       `json:"tokensOut,omitempty"`
}

type storedCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type storedMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// exchange stores a round trip. Of the conversation it holds what earlier
// exchanges do not, and of the system prompt what changed.
func (r *run) exchange(info ModelInfo, req provider.Request, reply Reply, ask Ask) (exchange, error) {
	a := reply.Answer
	ev := &trace.LLMExchange{
		Provider: info.Provider, Model: info.Name, RequestKind: "complete",
		MessageID: a.ID, StopReason: a.Finish, Cut: a.Cut,
		DurationMs: new(float64(reply.Duration.Milliseconds())),
		Tokens:     tokensOf(a.Usage), CostUsd: reply.CostUsd,
	}
	if req.Schema != nil {
		ev.RequestKind = "completeStructured"
	}
	for _, t := range req.Tools {
		ev.ToolSchemaNames = append(ev.ToolSchemaNames, t.Name)
	}
	if req.System != r.system {
		ev.SystemPrompt, r.system = req.System, req.System
	}
	from := 0
	if !ask.Fresh {
		kept := len(req.Messages) - len(ask.Extra)
		from = min(r.sent, kept)
		r.sent = kept
	}
	ev.MessagesFrom = from
	var err error
	if ev.Messages, err = json.Marshal(storedMessages(req.Messages[from:])); err != nil {
		return exchange{}, err
	}
	if ev.Response, err = json.Marshal(responseOf(a)); err != nil {
		return exchange{}, err
	}
	rec, err := r.emit(ev)
	if err != nil {
		return exchange{}, err
	}
	x := exchange{rec: rec, seq: ev.Seq}
	x.content, _ = trace.Pointer(rec, contentField)
	x.thinking, _ = trace.Pointer(rec, thinkingField)
	return x, nil
}

func responseOf(a parsers.Answer) storedResponse {
	s := storedResponse{
		Content: join(a, parsers.PartText), Thinking: join(a, parsers.PartThinking),
		ToolCalls: []storedCall{}, StopReason: a.Finish, Refusal: a.Refusal,
		TokensIn: a.Usage.Input, TokensOut: a.Usage.Output,
	}
	for _, c := range a.Calls {
		args := c.Arguments
		if c.Invalid || len(args) == 0 {
			args, _ = json.Marshal(string(c.Arguments)) // a string always encodes
		}
		s.ToolCalls = append(s.ToolCalls, storedCall{ID: c.ID, Name: c.Name, Arguments: args})
	}
	return s
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

func storedMessages(ms []provider.Message) []storedMessage {
	out := []storedMessage{}
	for _, m := range ms {
		var texts []string
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.BlockText, provider.BlockResult:
				texts = append(texts, b.Text)
			}
		}
		out = append(out, storedMessage{Role: string(m.Role), Content: strings.Join(texts, "\n")})
	}
	return out
}
