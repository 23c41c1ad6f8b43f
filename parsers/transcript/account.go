package transcript

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

// Account says what was found in a transcript and what became of it. Every
// figure was counted; those without another word are of the main thread alone.
//
// Lines and objects add up: (Lines - BadLines) + Recovered objects were read,
// and each of them is counted in one of Objects, PassedOver and UnknownTypes.
type Account struct {
	Format Format `json:"format"`
	// RunID is the id of the root run; empty when there was none.
	RunID string `json:"runId,omitempty"`
	// Lines counts the lines that are not blank.
	Lines int `json:"lines"`
	// BadLines counts the lines that are not exactly one JSON object, and Bad
	// holds the first of them, at most maxBad. Recovered counts the objects
	// that were read from bad lines all the same.
	BadLines  int       `json:"badLines"`
	Recovered int       `json:"recovered"`
	Bad       []BadLine `json:"bad,omitempty"`
	// Events counts the events that were emitted, by kind.
	Events map[string]int `json:"events"`
	// Objects counts the objects that were used, by type.
	Objects map[string]int `json:"objects"`
	// PassedOver counts the objects of known types that say nothing about the
	// run, and UnknownTypes those of types that this version does not know.
	PassedOver   map[string]int `json:"passedOver"`
	UnknownTypes map[string]int `json:"unknownTypes"`
	// SkippedBlocks counts pieces of messages that are no text, thinking, call
	// or result, by type.
	SkippedBlocks map[string]int `json:"skippedBlocks"`

	// Models are the names of the models that answered, sorted, with the names
	// that the agent gives to messages of its own.
	Models []string `json:"models"`
	// Sessions counts the different session ids.
	Sessions int `json:"sessions"`
	// FirstTime and LastTime are the smallest and greatest timestamp, in ms
	// since the Unix epoch; 0 when there is none.
	FirstTime int64 `json:"firstTime"`
	LastTime  int64 `json:"lastTime"`
	// UserMessages counts what the agent recorded as said by the user:
	// requests, commands and their output, interruptions, summaries of a
	// compaction; no tool results and nothing marked as the agent's own.
	UserMessages int `json:"userMessages"`
	// Messages counts the different model messages, by their ids.
	Messages int `json:"messages"`
	Turns    int `json:"turns"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
	// Errors counts the results that say they are errors, Rejected those of
	// calls that the user refused.
	Errors   int `json:"errors"`
	Rejected int `json:"rejected"`
	// ParallelGroups counts the messages with several calls.
	ParallelGroups int `json:"parallelGroups"`
	// UnpairedCalls have no result, UnpairedResults no call.
	UnpairedCalls   int `json:"unpairedCalls"`
	UnpairedResults int `json:"unpairedResults"`
	// Tokens is the sum over the messages, as the provider reported them.
	Tokens      Tokens `json:"tokens"`
	Compactions int    `json:"compactions"`
	// Microcompactions cut single results out of the conversation.
	Microcompactions int `json:"microcompactions"`
	// APIErrors counts the answers that were errors of the model's API, and
	// APIRetries the attempts that were repeated.
	APIErrors  int `json:"apiErrors"`
	APIRetries int `json:"apiRetries"`

	// SidechainLines and AgentProgressLines belong to sub-agents, which are
	// runs of their own: SubRuns, with their calls and results.
	SidechainLines     int `json:"sidechainLines"`
	AgentProgressLines int `json:"agentProgressLines"`
	SubRuns            int `json:"subRuns"`
	SubCalls           int `json:"subCalls"`
	SubResults         int `json:"subResults"`

	// Warnings name what was odd, in words for a person, at most maxWarnings.
	Warnings []string `json:"warnings,omitempty"`
}

// warn notes what was odd.
func (a *Account) warn(format string, args ...any) {
	if len(a.Warnings) < maxWarnings {
		a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
	}
}

// BadLine is a line that is not exactly one JSON object.
type BadLine struct {
	Line int `json:"line"`
	// Offset is where the damage begins, in bytes from the beginning.
	Offset int64        `json:"offset"`
	Damage trace.Damage `json:"damage"`
	Reason string       `json:"reason"`
	// Recovered is how many objects were read from it all the same.
	Recovered int `json:"recovered"`
}

// Tokens is a count of tokens. Input does not include what the cache served.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
}

// The bounds of what an Account holds: a hostile file could make it as large as
// itself. Everything beyond them is still counted.
const (
	maxBad      = 1000
	maxWarnings = 100
	maxTypes    = 200
	maxTypeName = 80
	otherTypes  = "(other)"
)

func newAccount() *Account {
	return &Account{
		Events: make(map[string]int), Objects: make(map[string]int), PassedOver: make(map[string]int),
		UnknownTypes: make(map[string]int), SkippedBlocks: make(map[string]int), Models: []string{},
	}
}

// count counts one of a type that the file names.
func count(m map[string]int, name string) {
	if len(name) > maxTypeName {
		name = name[:maxTypeName]
		for !utf8.ValidString(name) && len(name) > maxTypeName-utf8.UTFMax {
			name = name[:len(name)-1]
		}
	}
	if _, known := m[name]; !known && len(m) >= maxTypes {
		name = otherTypes
	}
	m[name]++
}

// scrub takes out what a file put into the names and words of the account.
func (a *Account) scrub(s *safety.Session) {
	for _, counts := range []map[string]int{a.Events, a.Objects, a.PassedOver, a.UnknownTypes, a.SkippedBlocks} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			// A long name was cut, maybe within a secret.
			clean := s.Stored("type", name).Text
			if len(name) >= maxTypeName-utf8.UTFMax {
				clean = s.Beginning("type", name).Text
			}
			if clean != name {
				n := counts[name]
				delete(counts, name)
				counts[clean] += n
			}
		}
	}
	for _, texts := range [][]string{a.Models, a.Warnings} {
		for i, text := range texts {
			texts[i] = s.Stored("warning", text).Text
		}
	}
	for i := range a.Bad {
		a.Bad[i].Reason = s.Stored("reason", a.Bad[i].Reason).Text
	}
}

// tally counts the lines of a file as its objects and errors come along.
type tally struct {
	account *Account
	// line is the line of the last object or error.
	line int
	// bad says that this line is a bad one.
	bad bool
}

// object counts an object that stands on a line.
func (t *tally) object(line int) {
	if line != t.line {
		t.line, t.bad = line, false
		t.account.Lines++
	}
	if t.bad {
		t.account.Recovered++
		if n := len(t.account.Bad); n > 0 && t.account.Bad[n-1].Line == line {
			t.account.Bad[n-1].Recovered++
		}
	}
}

// damage counts a bad line.
func (t *tally) damage(e *trace.SyntaxError) {
	if e.Line == t.line && t.bad {
		return
	}
	if e.Line != t.line {
		t.account.Lines++
	}
	t.line, t.bad = e.Line, true
	t.account.BadLines++
	if len(t.account.Bad) < maxBad {
		t.account.Bad = append(t.account.Bad, BadLine{Line: e.Line, Offset: e.Offset, Damage: e.Damage, Reason: e.Reason})
	}
}
