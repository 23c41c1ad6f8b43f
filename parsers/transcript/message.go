package transcript

import (
	"encoding/json"
	"strings"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// message is one message of a model, collected until it is whole: rationale
// blocks may stand in any part of it.
type message struct {
	id    string
	key   string // tells it from other messages, with or without an id
	model string
	stop  string
	// at is the time of its first line.
	at   int64
	iter int
	// again says that a part of the message was closed before, because other
	// messages stood in between.
	again  bool
	tokens *trace.Tokens
	// items are its parts, its calls and the results that came before it was
	// whole, in the order of the file.
	items []item
}

// item is a text, thinking, call or result; one of the pointers is set.
type item struct {
	text   *textPart
	call   *callPart
	result *resultPart
}

// textPart is text or thinking.
type textPart struct {
	text     string
	at       int64
	thinking bool
	// hidden thinking has no text.
	hidden bool
	// format is how thinking was disclosed, as in trace.ReasoningRecorded.
	format string
	// place is where the string stands; Start and End are not set.
	place rationale.Origin
}

// origin is the place of a span of the text.
func (p *textPart) origin(s rationale.Span) *rationale.Origin {
	o := p.place
	o.Start, o.End = s.Start, s.End
	return &o
}

// callPart is a tool call.
type callPart struct {
	providerID string
	tool       string
	args       json.RawMessage
	at         int64
	timed      bool // the transcript says at what time
	// prompt is the task of a sub-agent, where the call starts one.
	prompt string
	// described is an argument in which the model says what the call does.
	described *textPart
	// open is the call until its result came; see run.begin.
	open *openCall
}

// resultPart is what came back for a call.
type resultPart struct {
	providerID string
	at         int64
	timed      bool // the transcript says at what time
	// failed is nil where the transcript does not say whether the call did.
	failed   *bool
	rejected bool
	// text is the beginning of the content.
	text    string
	content json.RawMessage
	// call is what it ends; see run.end.
	call *openCall
}

func (m *message) addText(p *textPart)     { m.items = append(m.items, item{text: p}) }
func (m *message) addCall(c *callPart)     { m.items = append(m.items, item{call: c}) }
func (m *message) addResult(r *resultPart) { m.items = append(m.items, item{result: r}) }

// calls counts the calls of the message.
func (m *message) calls() int {
	n := 0
	for _, it := range m.items {
		if it.call != nil {
			n++
		}
	}
	return n
}

// withheld reports whether the provider hid thinking of the message.
func (m *message) withheld() bool {
	for _, it := range m.items {
		if it.text != nil && it.text.hidden {
			return true
		}
	}
	return false
}

// answer is the text of a message without calls, as people read it: without
// rationale blocks.
func (m *message) answer() string {
	if m.calls() > 0 {
		return ""
	}
	var texts []string
	for _, it := range m.items {
		if it.text == nil || it.text.thinking {
			continue
		}
		if text := strings.TrimSpace(rationale.Strip(it.text.text)); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// narrative is the text beside a call.
type narrative struct {
	part  *textPart
	span  rationale.Span
	cut   bool
	scope string
}

// narratives gives the narrative of each call, nil for none: the nearest text
// before it in the message, else the argument in which the model describes the
// call. Text that several calls share speaks for the group.
func (m *message) narratives() []*narrative {
	var found []*narrative
	var last *narrative
	shared := make(map[*narrative]int)
	for _, it := range m.items {
		switch {
		case it.text != nil && !it.text.thinking:
			if n := newNarrative(it.text); n != nil {
				last = n
			}
		case it.call != nil && last != nil:
			shared[last]++
			found = append(found, last)
		case it.call != nil:
			found = append(found, described(it.call.described))
		}
	}
	for n, calls := range shared {
		if calls > 1 {
			n.scope = "group"
		}
	}
	return found
}

func described(p *textPart) *narrative {
	if p == nil {
		return nil
	}
	return newNarrative(p)
}

// newNarrative finds the narrative in a text, nil when there is none.
func newNarrative(p *textPart) *narrative {
	n := &narrative{part: p, scope: "call"}
	if n.span, n.cut = rationale.Narrative(p.text); n.span.Len() == 0 {
		return nil
	}
	return n
}
