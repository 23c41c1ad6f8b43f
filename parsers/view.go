package parsers

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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
	Usage   json.RawMessage `json:"usage,omitempty"`
	Tokens  Usage           `json:"tokens"`
	Builtin []Builtin       `json:"builtin"`
	Skipped map[string]int  `json:"skipped,omitempty"`
	Cut     bool            `json:"cut,omitempty"`
	// Error is what the provider reported after what stands here.
	Error    *ErrorView `json:"error,omitempty"`
	Warnings []string   `json:"warnings"`
}

// ErrorView is an error that a provider reported, in its own words.
type ErrorView struct {
	Status  int    `json:"status,omitempty"`
	Type    string `json:"type,omitempty"`
	Code    string `json:"code,omitempty"`
	Param   string `json:"param,omitempty"`
	Message string `json:"message"`
}

// ReasoningView is thinking as it was disclosed.
type ReasoningView struct {
	Format string `json:"format"`
	Text   string `json:"text"`
	// Tokens is what the provider counted for all thinking of the answer. It
	// stands with the first.
	Tokens *int64 `json:"tokens,omitempty"`
	Hidden bool   `json:"hidden"`
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
	// Reason says why there is no rationale.
	Reason string `json:"reason,omitempty"`
	// Written is set for a call that stands as text.
	Written  *Written `json:"written,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// UnmatchedView is a block that belongs to no call.
type UnmatchedView struct {
	Call   int    `json:"call"`
	Reason string `json:"reason"`
}

// NewView gives the view of an answer, every text of it scrubbed. What counts
// as text for the user has no rationale blocks.
//
// An exact view is one for machines: a text in which safety found no secret
// stays as it is, with its hidden characters and chat-template tokens. It is to
// be shown as JSON that went through [Defuse], and in no other way.
func NewView(a Answer, s *safety.Session, exact bool) View {
	scrub := func(field, text string) string {
		out := s.Stored(field, text)
		if utf8.RuneCountInString(text) == rationale.MaxWhy { // cut there: half a secret may end it
			out = s.Beginning(field, text)
		}
		if exact && harmless(out.Findings) {
			return text
		}
		return out.Text
	}
	raw := func(field string, doc []byte) json.RawMessage {
		if len(doc) == 0 {
			return nil
		}
		out, findings := s.JSON(nil, field, doc)
		if exact && harmless(findings) {
			return doc
		}
		return out
	}
	v := View{
		Format: a.Format, Model: scrub("model", a.Model), ID: scrub("id", a.ID),
		Text: scrub("content", rationale.Strip(a.Text())), Reasoning: []ReasoningView{}, Calls: []CallView{},
		Unmatched: []UnmatchedView{}, Finish: scrub("finish", a.Finish), Refusal: scrub("refusal", a.Refusal),
		Usage: raw("usage", a.Usage.Raw), Tokens: a.Usage, Builtin: []Builtin{},
		Cut: a.Cut, Warnings: []string{},
	}
	for kind, n := range a.Skipped { // the wire names the kinds
		if v.Skipped == nil {
			v.Skipped = map[string]int{}
		}
		v.Skipped[scrub("type", kind)] += n
	}
	v.Tokens.Raw = nil
	tokens := a.Usage.Reasoning
	for _, p := range a.Parts {
		if p.Kind == PartThinking {
			v.Reasoning = append(v.Reasoning, ReasoningView{
				Format: p.Format, Text: scrub("thinking", p.Text), Tokens: tokens, Hidden: p.Text == "",
			})
			tokens = nil
		}
	}
	for i, c := range a.Calls {
		view := callView(c, s, scrub, raw)
		if view.Reason == "" {
			view.Reason = a.silence(i)
		}
		v.Calls = append(v.Calls, view)
	}
	for _, u := range a.Unmatched {
		v.Unmatched = append(v.Unmatched, UnmatchedView{u.Call, scrub("rationaleReason", u.Reason)})
	}
	for _, b := range a.Builtin {
		v.Builtin = append(v.Builtin, Builtin{scrub("type", b.Type), scrub("id", b.ID), scrub("name", b.Name)})
	}
	for _, w := range a.Warnings {
		v.Warnings = append(v.Warnings, scrub("warning", w))
	}
	return v
}

func callView(c Call, s *safety.Session, scrub func(field, text string) string, raw func(string, []byte) json.RawMessage) CallView {
	args := c.Arguments
	if c.Invalid {
		args, _ = json.Marshal(string(c.Arguments)) // a string always encodes
	}
	v := CallView{
		Name: scrub("name", c.Name), ID: scrub("id", c.ID), Arguments: raw("args", args), Invalid: c.Invalid,
		Status: c.Capture.Status, Source: c.Capture.Source, Reason: scrub("rationaleReason", c.Capture.Reason),
		Written: c.Written,
	}
	for _, w := range c.Capture.Warnings {
		v.Warnings = append(v.Warnings, scrub("warning", w))
	}
	v.Rationale = scrubbed(c.Capture.Rationale, scrub)
	if refused(c.Capture.Rationale, s) {
		v.Status, v.Rationale, v.Reason = rationale.Blocked, nil, "refused by a safety rule"
	}
	return v
}

// refused reports a rationale of which safety refuses a text.
func refused(r *rationale.Rationale, s *safety.Session) bool {
	if r == nil {
		return false
	}
	blocked := s.Stored("why", r.Why).Blocked
	for _, ref := range r.Refs {
		blocked = blocked || s.Stored("refs", ref).Blocked
	}
	for _, alt := range r.Alternatives {
		blocked = blocked || s.Stored("option", alt.Option).Blocked || s.Stored("rejectedBecause", alt.RejectedBecause).Blocked
	}
	return blocked
}

// silence says why call i has no rationale, so far as the answer shows it; ""
// when it has one.
func (a *Answer) silence(i int) string {
	switch a.Calls[i].Capture.Status {
	case rationale.Unasked:
		return "nothing asked for one"
	case rationale.Missing:
	default:
		return ""
	}
	where := "the text"
	if a.Text() == "" {
		where = ""
	}
	if a.Thinking() != "" {
		where += " and the thinking"
	}
	switch where = strings.TrimPrefix(where, " and "); {
	case a.Calls[i].Written != nil:
		return fmt.Sprintf("no rationale stands beside the call, and no block for call %d in the text", i+1)
	case where != "":
		return fmt.Sprintf("no block for call %d in %s", i+1, where)
	case a.Withheld():
		return "no text beside the call, and the thinking is withheld"
	}
	return "no text beside the call"
}

// defused are the rules of safety that make a text harmless by changing what
// no secret is.
func defused(rule string) bool { return rule == "chat-template" || rule == "hidden-unicode" }

// harmless reports whether nothing was found that a JSON escape cannot defuse.
func harmless(findings []safety.Finding) bool {
	for _, f := range findings {
		if f.Action > safety.Review && !(f.Action == safety.Sanitize && defused(f.Rule)) {
			return false
		}
	}
	return true
}

// Defuse writes the hidden characters and the first characters of chat-template
// tokens in a JSON document as \u escapes: the JSON means the same, and its
// bytes hold neither. It reports false for a document that is longer than safety
// looks at.
func Defuse(doc []byte, s *safety.Session) ([]byte, bool) {
	var out []byte
	from := 0
	for _, f := range s.Text("response", string(doc)).Findings {
		if f.Rule == "length" {
			return nil, false
		}
		if !defused(f.Rule) || f.Span == nil || f.Span[0] < from {
			continue
		}
		out = append(out, doc[from:f.Span[0]]...)
		for from = f.Span[0]; from < f.Span[1]; {
			r, size := utf8.DecodeRune(doc[from:])
			if from += size; r > 0xffff {
				hi, lo := utf16.EncodeRune(r)
				out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			if f.Rule == "chat-template" {
				break
			}
		}
	}
	return append(out, doc[from:]...), true
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
