// Package convo keeps the conversation of a run as a log of entries, and
// compiles it into the messages of the next prompt (specification 002).
//
// Reasoning is an entry of its own, committed before the assistant's entry that
// it led to. It is left out of prompts unless asked for: what a model thought is
// kept to be looked at, not to be fed back.
package convo

import (
	"slices"

	"github.com/rax-project/rax/parsers/provider"
)

// Kind says whose an entry is.
type Kind string

// The kinds of entries.
const (
	KindUser      Kind = "user"
	KindReasoning Kind = "reasoning"
	KindAssistant Kind = "assistant"
	KindTool      Kind = "tool"
)

// Priority says whether an entry enters a prompt.
type Priority string

// The priorities. An annotation wins over what a kind has by default.
const (
	// Skip leaves the entry out. It is the default of reasoning.
	Skip Priority = "skip"
	// Normal takes it in, and may be compressed.
	Normal Priority = "normal"
	// Pinned takes it in as it is, always.
	Pinned Priority = "pinned"
)

// Entry is one entry of the log.
type Entry struct {
	// Number counts the entries of a log from 1.
	Number int
	Kind   Kind
	// Turn is the turn of the conversation that the entry belongs to, from 1.
	Turn int
	// Text is what the entry says, for people.
	Text string
	// Format is how reasoning was disclosed.
	Format string
	// Hidden says that there was reasoning of which no text was disclosed.
	Hidden bool
	// Tokens is what the provider counted for the entry; nil when it did not.
	Tokens *int64
	// Ref is the stable name of an observation, such as "obs:1".
	Ref      string
	Priority Priority
	// Reason is why an annotation set the priority; empty for the default.
	Reason string
	// Message is the entry as a prompt holds it; nil for reasoning.
	Message *provider.Message
}

// Log is the conversation of one run. The zero Log is empty and ready. It is
// not safe for concurrent use.
type Log struct {
	// DropReasoning leaves reasoning out of the log (commit_reasoning off).
	DropReasoning bool

	entries []Entry
	turn    int
}

func (l *Log) add(e Entry) *Entry {
	e.Number = len(l.entries) + 1
	e.Turn = l.turn
	if e.Priority == "" {
		e.Priority = Normal
	}
	l.entries = append(l.entries, e)
	return &l.entries[len(l.entries)-1]
}

// User opens a turn with what the user says.
func (l *Log) User(text string) Entry {
	l.turn++
	return *l.add(Entry{Kind: KindUser, Text: text, Message: &provider.Message{
		Role: provider.RoleUser, Blocks: []provider.Block{{Kind: provider.BlockText, Text: text}},
	}})
}

// Note adds text of the harness to the turn, as a user's message.
func (l *Log) Note(text string) Entry {
	return *l.add(Entry{Kind: KindUser, Text: text, Message: &provider.Message{
		Role: provider.RoleUser, Blocks: []provider.Block{{Kind: provider.BlockText, Text: text}},
	}})
}

// Reasoning commits thinking. It returns nil when the log drops reasoning.
func (l *Log) Reasoning(text, format string, hidden bool, tokens *int64) *Entry {
	if l.DropReasoning {
		return nil
	}
	return l.add(Entry{Kind: KindReasoning, Text: text, Format: format, Hidden: hidden, Tokens: tokens, Priority: Skip})
}

// Assistant commits an answer of the model.
func (l *Log) Assistant(text string, m provider.Message, tokens *int64) Entry {
	return *l.add(Entry{Kind: KindAssistant, Text: text, Message: &m, Tokens: tokens})
}

// Tool commits an observation: what a prompt is to hold of a call's result.
func (l *Log) Tool(ref, callID, name, content string, failed bool) Entry {
	return *l.add(Entry{Kind: KindTool, Ref: ref, Text: content, Message: &provider.Message{
		Role: provider.RoleTool,
		Blocks: []provider.Block{{
			Kind: provider.BlockResult, ID: callID, Name: name, Text: content, Failed: failed,
		}},
	}})
}

// Observation commits an observation as text, for calls that were not made by a
// provider's own means.
func (l *Log) Observation(ref, name, content string) Entry {
	return *l.add(Entry{Kind: KindTool, Ref: ref, Text: content, Message: &provider.Message{
		Role:   provider.RoleUser,
		Blocks: []provider.Block{{Kind: provider.BlockText, Text: "Result of " + name + ":\n" + content}},
	}})
}

// Annotate sets the priority of an entry, for a reason. It reports whether
// there is such an entry.
func (l *Log) Annotate(number int, p Priority, reason string) bool {
	if number < 1 || number > len(l.entries) {
		return false
	}
	l.entries[number-1].Priority, l.entries[number-1].Reason = p, reason
	return true
}

// Replace changes what a prompt holds of an observation, and reports whether
// there is one of that ref. The results of calls can be shortened; they cannot
// be left out, since a call without a result is refused by providers.
func (l *Log) Replace(ref, content string) bool {
	for i := range l.entries {
		e := &l.entries[i]
		if e.Kind == KindTool && e.Ref == ref {
			m := *e.Message
			m.Blocks = slices.Clone(m.Blocks)
			m.Blocks[0].Text = content
			e.Message, e.Text = &m, content
			return true
		}
	}
	return false
}

// Entries gives the log's entries. They must not be changed.
func (l *Log) Entries() []Entry { return l.entries }

// Turn is the number of the current turn, 0 before the first.
func (l *Log) Turn() int { return l.turn }

// Compile gives the messages of the next prompt. Reasoning is in it only where
// includeReasoning or an annotation asks for it. Signed thinking goes back
// unchanged within the current turn, as providers demand, and is left out of
// later ones.
func (l *Log) Compile(includeReasoning bool) []provider.Message {
	var out []provider.Message
	for _, e := range l.entries {
		p := e.Priority
		if e.Kind == KindReasoning && includeReasoning && p == Skip && e.Reason == "" {
			p = Normal
		}
		switch {
		case p == Skip && e.Kind != KindTool:
			continue
		case e.Kind == KindReasoning:
			if e.Text != "" {
				out = append(out, provider.Message{Role: provider.RoleAssistant, Blocks: []provider.Block{
					{Kind: provider.BlockText, Text: e.Text},
				}})
			}
		case e.Kind == KindAssistant && e.Turn < l.turn:
			out = append(out, withoutThinking(*e.Message))
		default:
			out = append(out, *e.Message)
		}
	}
	return out
}

func withoutThinking(m provider.Message) provider.Message {
	m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b provider.Block) bool { return b.Kind == provider.BlockThinking })
	return m
}
