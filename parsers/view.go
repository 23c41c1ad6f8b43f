package parsers

import (
	"encoding/json"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
)

// View is an answer as it is shown: scrubbed, plain data. It is what "rax
// diagnose parse --json" prints.
type View struct {
	Format    string          `json:"format"`
	Model     string          `json:"model,omitempty"`
	ID        string          `json:"id,omitempty"`
	Text      string          `json:"text"`
	Reasoning []ReasoningView `json:"reasoning"`
	Calls     []CallView      `json:"calls"`
	// Unmatched are rationale blocks that belong to no call.
	Unmatched []UnmatchedView `json:"unmatched"`
	Finish    string          `json:"finish,omitempty"`
	Refusal   string          `json:"refusal,omitempty"`
	// Usage is the provider's own object; Tokens are its figures under one name
	// for all providers.
	Usage    json.RawMessage `json:"usage,omitempty"`
	Tokens   Usage           `json:"tokens"`
	Builtin  []Builtin       `json:"builtin"`
	Skipped  map[string]int  `json:"skipped,omitempty"`
	Cut      bool            `json:"cut,omitempty"`
	Warnings []string        `json:"warnings"`
}

// ReasoningView is thinking as it was disclosed.
type ReasoningView struct {
	Format string `json:"format"`
	Text   string `json:"text,omitempty"`
	// Tokens is what the provider counted for all thinking of the answer.
	Tokens *int64 `json:"tokens,omitempty"`
	Hidden bool   `json:"hidden,omitempty"`
}

// CallView is a tool call with what became of its rationale.
type CallView struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
	// Arguments is a string when the model's are no valid JSON.
	Arguments json.RawMessage      `json:"arguments"`
	Invalid   bool                 `json:"invalid,omitempty"`
	Status    rationale.Status     `json:"status"`
	Source    rationale.Source     `json:"source,omitempty"`
	Rationale *rationale.Rationale `json:"rationale,omitempty"`
	Reason    string               `json:"reason,omitempty"`
	Warnings  []string             `json:"warnings,omitempty"`
}

// UnmatchedView is a block that belongs to no call.
type UnmatchedView struct {
	Call   int    `json:"call"`
	Reason string `json:"reason"`
}

// NewView gives the view of an answer, every text of it scrubbed. What counts
// as text for the user has no rationale blocks.
func NewView(a Answer, s *safety.Session) View {
	scrub := func(field, text string) string { return s.Text(field, text).Text }
	raw := func(field string, doc []byte) json.RawMessage {
		if len(doc) == 0 {
			return nil
		}
		out, _ := s.JSON(nil, field, doc)
		return out
	}
	v := View{
		Format: a.Format, Model: scrub("model", a.Model), ID: scrub("id", a.ID),
		Text: scrub("text", rationale.Strip(a.Text())), Reasoning: []ReasoningView{}, Calls: []CallView{},
		Unmatched: []UnmatchedView{}, Finish: scrub("finish", a.Finish), Refusal: scrub("refusal", a.Refusal),
		Usage: raw("usage", a.Usage.Raw), Tokens: a.Usage, Builtin: append([]Builtin{}, a.Builtin...),
		Skipped: a.Skipped, Cut: a.Cut, Warnings: append([]string{}, a.Warnings...),
	}
	v.Tokens.Raw = nil
	for _, p := range a.Parts {
		if p.Kind == PartThinking {
			v.Reasoning = append(v.Reasoning, ReasoningView{
				Format: p.Format, Text: scrub("thinking", p.Text), Tokens: a.Usage.Reasoning, Hidden: p.Text == "",
			})
		}
	}
	for _, c := range a.Calls {
		args := c.Arguments
		if c.Invalid {
			args, _ = json.Marshal(string(c.Arguments)) // a string always encodes
		}
		cv := CallView{
			Name: scrub("name", c.Name), ID: scrub("id", c.ID), Arguments: raw("args", args), Invalid: c.Invalid,
			Status: c.Capture.Status, Source: c.Capture.Source, Reason: c.Capture.Reason, Warnings: c.Capture.Warnings,
		}
		cv.Rationale = scrubbed(c.Capture.Rationale, scrub)
		if c.Capture.Rationale != nil && s.Text("why", c.Capture.Rationale.Why).Blocked {
			cv.Status, cv.Rationale, cv.Reason = rationale.Blocked, nil, "refused by a safety rule"
		}
		v.Calls = append(v.Calls, cv)
	}
	for _, u := range a.Unmatched {
		v.Unmatched = append(v.Unmatched, UnmatchedView{u.Call, u.Reason})
	}
	return v
}

func scrubbed(r *rationale.Rationale, scrub func(field, text string) string) *rationale.Rationale {
	if r == nil {
		return nil
	}
	out := *r
	out.Why = scrub("why", r.Why)
	out.Refs = nil
	for _, ref := range r.Refs {
		out.Refs = append(out.Refs, scrub("refs", ref))
	}
	out.Alternatives = nil
	for _, alt := range r.Alternatives {
		out.Alternatives = append(out.Alternatives, rationale.Alternative{
			Option: scrub("alternatives", alt.Option), RejectedBecause: scrub("alternatives", alt.RejectedBecause),
		})
	}
	return &out
}
