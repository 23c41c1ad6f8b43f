package control

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
)

// Verdict is what a policy says about a call.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Valid reports whether v is one of the verdicts.
func (v Verdict) Valid() bool { return v == Allow || v == Ask || v == Deny }

// Rule gives a verdict on some calls.
type Rule struct {
	// Tool is a tool's name, or a pattern of path.Match such as "github/*".
	Tool string `json:"tool"`
	// Effects restricts the rule to tools with one of these effects; empty
	// means any.
	Effects []string `json:"effects,omitempty"`
	// Args restricts the rule to calls whose arguments match: a regular
	// expression (RE2) for each named argument. Text is matched as it is, other
	// values as their JSON; an argument that is not there matches nothing.
	Args    map[string]string `json:"args,omitempty"`
	Verdict Verdict           `json:"verdict"`
	// Code and Message say why, in the trace and to the model.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Policy decides which calls may be made. The first rule that fits decides; a
// call that none fits is allowed.
type Policy struct {
	Rules []Rule `json:"rules,omitempty"`
}

// DefaultPolicy asks before anything is changed outside of the run.
func DefaultPolicy() Policy {
	return Policy{Rules: []Rule{{
		Tool: "*", Effects: []string{"write", "execute"}, Verdict: Ask,
		Code: "side-effect", Message: "the call changes something outside of the run",
	}}}
}

// Decide gives the rule that decides about a call, and a rule that allows when
// none fits.
func (p Policy) Decide(tool, effects string, args json.RawMessage) Rule {
	for _, r := range p.Rules {
		if r.fits(tool, effects, args) {
			return r
		}
	}
	return Rule{Tool: tool, Verdict: Allow}
}

func (r Rule) fits(tool, effects string, args json.RawMessage) bool {
	if fits, err := path.Match(r.Tool, tool); r.Tool != "*" && (err != nil || !fits) {
		return false
	}
	if len(r.Effects) > 0 && !slices.Contains(r.Effects, effects) {
		return false
	}
	if len(r.Args) == 0 {
		return true
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return false
	}
	for name, pattern := range r.Args {
		value, ok := given[name]
		if !ok {
			return false
		}
		text := string(value)
		var s string
		if json.Unmarshal(value, &s) == nil {
			text = s
		}
		if matched, err := regexp.MatchString(pattern, text); err != nil || !matched {
			return false
		}
	}
	return true
}

// Validate reports the first rule that cannot be used.
func (p Policy) Validate() error {
	for i, r := range p.Rules {
		if !r.Verdict.Valid() {
			return fmt.Errorf("rule %d: unknown verdict %q: want allow, ask or deny", i+1, r.Verdict)
		}
		if _, err := path.Match(r.Tool, ""); err != nil || r.Tool == "" {
			return fmt.Errorf("rule %d: %q is no tool name or pattern", i+1, r.Tool)
		}
		for name, pattern := range r.Args {
			if _, err := regexp.Compile(pattern); err != nil {
				return fmt.Errorf("rule %d: argument %s: %w", i+1, name, err)
			}
		}
	}
	return nil
}

// Request asks a person for leave to make a call.
type Request struct {
	ID      string
	Tool    string
	Args    json.RawMessage
	Message string
	// Why is the reason that the model stated for the call; empty without one.
	Why string
}

// Approver asks a person. An error counts as a denial.
type Approver func(ctx context.Context, r Request) (approved bool, by string, err error)
