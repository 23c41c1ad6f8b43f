// Package trace defines rax-trace/1: what an agent's run writes down, one JSON
// object a line, and how it is read back.
//
// Two layers meet here. A [Record] is a line as a file holds it, with its
// place; only [Reader] and [Writer] make one, and both scrub it, so that
// whoever holds a Record holds text that is safe to keep. [Decode] turns a
// Record into a typed [Event], the reference; [RowOf] picks out the few fields
// that a debrief shows without decoding them, the fast path.
//
// The package is part of the promised Go API.
package trace

import (
	"encoding/json"
)

// Format names the trace format that this package writes. A reader refuses a
// file that declares a later major version.
const Format = "rax-trace/1"

// NoIter is the value of Base.Iter outside the agent's loop.
const NoIter = -1

// Event is one event of a trace, as a pointer to one of the types of this
// package. Events of unknown kinds are [*Unknown].
type Event interface {
	// EventKind is the kind under which the event is written.
	EventKind() Kind
	// Common gives the fields that every event has.
	Common() *Base
}

// Base holds the fields that every event has.
type Base struct {
	// RunID names the run. It is a ULID where rax wrote the trace.
	RunID string `json:"runId"`
	// Timestamp is in milliseconds since the Unix epoch.
	Timestamp int64 `json:"timestamp"`
	// Iter is the iteration of the loop, NoIter outside of it.
	Iter int `json:"iter"`
	// Seq increases strictly within a run. The Writer sets it.
	Seq int64 `json:"seq"`
	// CallID is rax's own key of the tool call that the event is about. It is
	// unique in a run, which the ids of providers are not.
	CallID string `json:"callId,omitempty"`
	// RootRunID, ParentRunID and Depth place a sub-run below its parents; they
	// are empty and 0 on a root run.
	RootRunID   string `json:"rootRunId,omitempty"`
	ParentRunID string `json:"parentRunId,omitempty"`
	Depth       int    `json:"depth,omitempty"`
	// SessionID, ThreadID and Turn (1-based) place the event in a conversation
	// (specification 000); empty and 0 outside of one.
	SessionID string `json:"sessionId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
	Turn      int    `json:"turn,omitempty"`

	// Extra are the members that the event's type does not know, or knows with
	// another JSON type, in the order of the line and with their exact bytes.
	Extra []Member `json:"-"`
}

// Common implements [Event] for every type that embeds Base.
func (b *Base) Common() *Base { return b }

// Member is one name and value of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Unknown is an event of a kind that this version does not know. All its
// members but those of Base are in Extra.
type Unknown struct {
	Base
	Kind Kind `json:"-"`
}

// EventKind implements [Event].
func (e *Unknown) EventKind() Kind { return e.Kind }
