// Package safety is the one door through which every text passes before it
// reaches a file, a socket or a screen (seed 000 §6):
//
//	length guard → hidden characters → leak detector → policy → sanitizer
//
// The length guard cuts what is too long. Hidden characters go before the leak
// detector looks, or a key with a zero-width space inside would slip past it
// and come out whole. The leak detector finds secrets, the policy says what
// becomes of each, and the sanitizer defuses chat-template tokens and notes the
// usual phrases of an injection.
//
// Scrubbing is idempotent: a mark is never touched. See docs/safety.md.
package safety

import (
	"crypto/rand"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Version names the rule set and its behaviour; run-started carries it.
const Version = "rax-safety/1"

// Config adjusts a Pipeline. The zero value means the defaults.
type Config struct {
	// Allow lists secrets that are none (test keys): a match equal to an entry
	// is left alone; an entry that ends in "*" stands for every match that
	// begins with what precedes it.
	Allow []string
	// Policy overrides the action of single rules, by rule name.
	Policy map[string]Action
	// Limits are the bounds of the length guard.
	Limits Limits
}

// Limits are the bounds of the length guard, in bytes of decoded text a
// string. Zero means the default, a negative value no limit.
type Limits struct {
	// Text bounds every string that is no payload. Default 1 MiB.
	Text int
	// Payload bounds strings in args, result and their like. Default 16 MiB.
	Payload int
}

const (
	defaultText    = 1 << 20
	defaultPayload = 16 << 20
	// minLimit leaves room for the mark of a cut.
	minLimit = 64
	noLimit  = int(^uint(0) >> 1)
)

// Pipeline is a compiled configuration. It is safe for concurrent use.
type Pipeline struct {
	set     *ruleset
	actions []Action // by ruleID
	allow   map[string]bool
	prefix  []string
	limits  Limits
}

// New checks a configuration and returns its pipeline. It fails on a policy
// for a rule that does not exist, on an action that the rule cannot have (the
// phrases are only noted, length and hidden-unicode only sanitized), on an empty
// entry of the allow list and on a limit under 64 bytes.
func New(cfg Config) (*Pipeline, error) {
	p := &Pipeline{set: theRules(), allow: map[string]bool{}}
	p.actions = make([]Action, len(p.set.rules))
	for i, r := range p.set.rules {
		p.actions[i] = r.action
	}
	for name, action := range cfg.Policy {
		if err := p.setAction(name, action); err != nil {
			return nil, err
		}
	}
	for i, entry := range cfg.Allow {
		head, wild := strings.CutSuffix(entry, "*")
		switch {
		case head == "":
			return nil, fmt.Errorf("safety: allow entry %d allows everything or nothing", i+1)
		case wild:
			p.prefix = append(p.prefix, head)
		default:
			p.allow[head] = true
		}
	}
	var err error
	if p.limits.Text, err = limit("text", cfg.Limits.Text, defaultText); err != nil {
		return nil, err
	}
	if p.limits.Payload, err = limit("payload", cfg.Limits.Payload, defaultPayload); err != nil {
		return nil, err
	}
	return p, nil
}

func limit(name string, n, def int) (int, error) {
	switch {
	case n == 0:
		return def, nil
	case n < 0:
		return noLimit, nil
	case n < minLimit:
		return 0, fmt.Errorf("safety: %s limit %d is under %d bytes", name, n, minLimit)
	}
	return n, nil
}

func (p *Pipeline) setAction(name string, action Action) error {
	if action < Warn || action > Block {
		return fmt.Errorf("safety: rule %s: unknown action", name)
	}
	known := false
	for i, r := range p.set.rules {
		if r.name != name || r.severity == 0 {
			continue
		}
		known = true
		switch {
		case r.kind == phrase && action > Review, (r.kind == hidden || r.kind == length) && action != Sanitize:
			return fmt.Errorf("safety: rule %s cannot %s", name, action)
		}
		p.actions[i] = action
	}
	if !known {
		return fmt.Errorf("safety: no rule is named %q", name)
	}
	return nil
}

var defaultPipeline = sync.OnceValue(func() *Pipeline {
	p, err := New(Config{})
	if err != nil {
		panic(err) // the zero Config is valid
	}
	return p
})

// Default returns the pipeline of the zero Config. All callers share it.
func Default() *Pipeline { return defaultPipeline() }

// Rule describes one rule of the set.
type Rule struct {
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	Action   Action   `json:"action"`
}

// Rules lists the rules with the actions that this pipeline gives them, by
// severity, worst first, then by name.
func (p *Pipeline) Rules() []Rule {
	var list []Rule
	seen := map[string]bool{}
	for i, r := range p.set.rules {
		if r.severity != 0 && !seen[r.name] {
			seen[r.name] = true
			list = append(list, Rule{r.name, r.severity, p.actions[i]})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Severity != list[j].Severity {
			return list[i].Severity > list[j].Severity
		}
		return list[i].Name < list[j].Name
	})
	return list
}

// allowed reports a secret that the allow list names.
func (p *Pipeline) allowed(secret []byte) bool {
	if p.allow[string(secret)] {
		return true
	}
	for _, head := range p.prefix {
		if strings.HasPrefix(string(secret), head) {
			return true
		}
	}
	return false
}

// limit is the bound for the strings of a field.
func (p *Pipeline) limit(field string) int {
	if payload(field) {
		return p.limits.Payload
	}
	return p.limits.Text
}

// short reports a string that no limit cuts, whatever its field.
func (p *Pipeline) short(n int) bool { return n <= min(p.limits.Text, p.limits.Payload) }

// payload reports a field that carries what went through the run rather than
// what a model said about it.
func payload(field string) bool {
	top, _, _ := strings.Cut(field, ".")
	switch top {
	case "args", "arguments", "input", "result", "output", "content", "request", "response", "toolUseResult", "payload", "body":
		return true
	}
	return false
}

// reasoning reports a field in which Block means that the text must go.
func reasoning(field string) bool {
	if payload(field) {
		return false
	}
	switch field[strings.LastIndexByte(field, '.')+1:] {
	case "why", "narrative", "rationale", "rejectedBecause", "option", "refs", "reasoning", "thinking", "thought", "text",
		"rationaleReason", "assumption", "critique":
		return true
	}
	return false
}

// Session starts the numbering of one run.
func (p *Pipeline) Session() *Session {
	s := &Session{p: p, numbers: map[numberKey]int{}, last: map[string]int{}}
	// Without a random key the hashes in memory could be compared with those of
	// another run; crypto/rand.Read never fails.
	_, _ = rand.Read(s.key[:])
	return s
}
