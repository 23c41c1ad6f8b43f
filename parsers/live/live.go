// Package live is the one pipe through which text of a model reaches a person
// while it arrives:
//
//	provider decoder → thinking split → block stripper → safety stream → sink
//
// Its contract: whatever the pieces in which an answer comes, the text that the
// sink has at the end is scrub(strip(whole)), the text of the whole answer
// without its rationale blocks and scrubbed; and nothing that it was ever given
// holds a block or a secret. A sink takes a [Chunk], which only this package can
// make, so that no loose text of a model can be put in its place.
package live

import (
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
)

// Kind says what a Chunk is.
type Kind string

// The kinds of chunks.
const (
	// Text and Thinking add to what was shown of that kind.
	Text     Kind = "text"
	Thinking Kind = "thinking"
	// Call says that a tool call began; the text is the tool's name. Arguments
	// come with the record of the call: half a JSON string cannot be scrubbed.
	Call Kind = "call"
	// TextAgain and ThinkingAgain take back all that was shown of that kind: it
	// comes anew. This happens where a closing <think> tag shows that what came
	// before it was thinking.
	TextAgain     Kind = "text-again"
	ThinkingAgain Kind = "thinking-again"
)

// Chunk is a piece of an answer that may be shown. Only a [Pipe] makes one.
type Chunk struct {
	kind Kind
	text string
	call int
}

// Kind says what the chunk is.
func (c Chunk) Kind() Kind { return c.kind }

// Text is scrubbed; it is empty for TextAgain and ThinkingAgain.
func (c Chunk) Text() string { return c.text }

// Call is the number of the call, from 0 in the order of arrival.
func (c Chunk) Call() int { return c.call }

// Pipe turns the deltas of one answer into chunks. It is not safe for concurrent
// use; the session behind it is.
type Pipe struct {
	session        *safety.Session
	sink           func(Chunk)
	text, thinking channel
	closed         bool
}

// New makes the pipe of one answer. The session is the one of the run, so that
// marks are numbered as in its trace. The sink is called from within Delta and
// Close.
func New(s *safety.Session, sink func(Chunk)) *Pipe {
	p := &Pipe{
		session: s, sink: sink,
		text:     channel{kind: Text, again: TextAgain, field: "content"},
		thinking: channel{kind: Thinking, again: ThinkingAgain, field: "thinking"},
	}
	p.text.reset(s)
	p.thinking.reset(s)
	return p
}

// Delta takes what arrived. It fits provider.ParseOptions.OnDelta and the live
// function of a model.
func (p *Pipe) Delta(d provider.Delta) {
	if p.closed {
		return
	}
	switch d.Kind {
	case provider.DeltaText:
		p.give(&p.text, p.text.write(d.Text))
	case provider.DeltaThinking:
		p.give(&p.thinking, p.thinking.write(d.Text))
	case provider.DeltaCall:
		p.sink(Chunk{kind: Call, text: p.session.Text("toolName", d.Name).Text, call: d.Call})
	case provider.DeltaRevised:
		// What was shown as text was thinking, as far as can be told by now. What
		// else there was comes again at the end, where the answer is known.
		p.again(&p.text)
	}
}

// Close gives out what was held back and holds what was shown against the whole
// answer; where they differ, it comes anew. What Delta takes afterwards is
// ignored.
func (p *Pipe) Close(a parsers.Answer) {
	if p.closed {
		return
	}
	p.closed = true
	p.finish(&p.thinking, a.Thinking())
	p.finish(&p.text, a.Text())
}

// Blocked says that the policy refuses to store the thinking.
func (p *Pipe) Blocked() bool { return p.thinking.scrub.Blocked() }

func (p *Pipe) finish(c *channel, whole string) {
	p.give(c, c.close())
	want := p.session.Text(c.field, rationale.Strip(whole)).Text
	if c.shown.String() == want {
		return
	}
	p.again(c)
	p.give(c, want)
}

func (p *Pipe) give(c *channel, text string) {
	if text == "" {
		return
	}
	c.shown.WriteString(text)
	p.sink(Chunk{kind: c.kind, text: text})
}

func (p *Pipe) again(c *channel) {
	if c.shown.Len() > 0 {
		p.sink(Chunk{kind: c.again})
	}
	c.reset(p.session)
}

// channel is the text, or the thinking, of an answer on its way.
type channel struct {
	kind, again Kind
	field       string
	strip       *rationale.Stripper
	scrub       *safety.Stream
	shown       strings.Builder
}

func (c *channel) reset(s *safety.Session) {
	c.strip, c.scrub = new(rationale.Stripper), s.Stream(c.field)
	c.shown.Reset()
}

func (c *channel) write(text string) string { return c.scrub.Write(c.strip.Write(text)) }

func (c *channel) close() string { return c.scrub.Write(c.strip.Close()) + c.scrub.Close() }
