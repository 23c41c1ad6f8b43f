package safety

import "fmt"

// Severity says how bad it is that a text holds what a rule found.
type Severity uint8

// The severities, mildest first.
const (
	Low Severity = iota + 1
	Medium
	High
	Critical
)

var severityNames = [...]string{Low: "low", Medium: "medium", High: "high", Critical: "critical"}

// String returns the lower-case name, or "severity(N)" for a value that is none.
func (s Severity) String() string {
	if s < Low || s > Critical {
		return fmt.Sprintf("severity(%d)", uint8(s))
	}
	return severityNames[s]
}

// MarshalText writes the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Action is what the policy does about a finding.
type Action uint8

// The actions of the policy (seed 000 §6).
const (
	// Warn notes the finding and leaves the text as it is.
	Warn Action = iota + 1
	// Review is Warn for what a person should look at.
	Review
	// Sanitize defuses the text so that it stays readable and cannot act.
	Sanitize
	// Redact puts a mark in place of the secret.
	Redact
	// Block redacts, and in a field of reasoning also says that the text
	// must not be stored at all (Result.Blocked). In payloads it is Redact.
	Block
)

var actionNames = [...]string{Warn: "warn", Review: "review", Sanitize: "sanitize", Redact: "redact", Block: "block"}

// String returns the lower-case name, or "action(N)" for a value that is none.
func (a Action) String() string {
	if a < Warn || a > Block {
		return fmt.Sprintf("action(%d)", uint8(a))
	}
	return actionNames[a]
}

// MarshalText writes the name.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a name, so that a configuration may hold actions.
func (a *Action) UnmarshalText(text []byte) error {
	for i, name := range actionNames {
		if name != "" && name == string(text) {
			*a = Action(i)
			return nil
		}
	}
	return fmt.Errorf("unknown action, want warn, review, sanitize, redact or block")
}

// Finding says that a rule applied to a text, and never what the text was.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Action   Action   `json:"action"`
	// Field is the field that held it: the name given to Text, or the path
	// of the member inside a JSON value ("args.env.TOKEN"; arrays add nothing).
	Field string `json:"field,omitempty"`
	// Span is the half-open byte range in the decoded text that was scanned
	// (for the length guard: what was cut). Nil where there is no one range.
	Span *[2]int `json:"span,omitempty"`
}

// Result is a text that may be stored.
type Result struct {
	// Text is the scrubbed text. It is safe to show even when Blocked is set.
	Text string
	// Findings is nil when no rule applied.
	Findings []Finding
	// Blocked says that the policy refuses to store the text at all.
	Blocked bool
}
