package rewrite

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers/provider"
)

// The bounds of what is held back, in bytes.
const (
	// maxHeld is the most that waits for the end of a block or argument.
	maxHeld = 8 << 20
	// maxFrame is the longest frame, and the longest body, that is edited.
	maxFrame = 32 << 20
)

// Rules say what is to be taken out of an answer.
type Rules struct {
	// Injected are the tools that were given the rationale argument.
	Injected []string
	// Stream says that the request asked for a stream.
	Stream bool
}

// Answer takes reasons out of an answer while it arrives: rationale blocks out
// of text, the injected argument out of calls. Thinking and whatever is signed
// stay as they are. It is not safe for concurrent use.
//
// A frame goes on at once unless it holds text of which it cannot be said yet
// whether it stays: then it waits, with what follows. The bytes of everything
// but what goes are those that came, and so is their order.
type Answer struct {
	format provider.Format
	rules  Rules
	edit   editor
	split  splitter
	// buf[from:] is not yet a frame; out is what goes on with this Write.
	buf   []byte
	from  int
	out   []byte
	queue []*frame
	held  int
	// tracks are those that may still be open.
	tracks []*track
	blocks []*block
	// renumbers says that blocks have new numbers, which must go on even then.
	renumbers bool
	// pass says that nothing is taken out any more.
	pass  bool
	notes []string
}

// editor knows one format.
type editor interface {
	// event reads a JSON value of a stream, or a body.
	event(f *frame, root gjson.Result)
}

// NewAnswer begins to edit an answer of the format. Answers of formats that are
// not known here pass as they are.
func NewAnswer(format provider.Format, rules Rules) *Answer {
	a := &Answer{format: format, rules: rules}
	switch format {
	case provider.OpenAIChat, provider.MistralChat:
		a.edit = &chatEditor{a: a}
	case provider.OpenAIResponses:
		a.edit = &responsesEditor{a: a}
	case provider.AnthropicMessages:
		a.edit = &anthropicEditor{a: a}
	case provider.Gemini:
		a.edit = &geminiEditor{a: a}
	case provider.OllamaNative:
		a.edit = &ollamaEditor{a: a}
	default:
		a.pass = true
	}
	return a
}

// Notes say what could not be edited, in words for a person.
func (a *Answer) Notes() []string { return a.notes }

func (a *Answer) note(what string) {
	if !slices.Contains(a.notes, what) {
		a.notes = append(a.notes, what)
	}
}

// Write takes the next bytes, cut anywhere, and returns what can go on, valid
// until the next call. chunk is not kept.
func (a *Answer) Write(chunk []byte) []byte {
	a.out = a.out[:0]
	if a.pass && len(a.queue) == 0 && !a.renumbers {
		a.out = append(append(a.out, a.buf...), chunk...)
		a.buf = nil
		return a.out
	}
	if a.split.kind == frameUnknown {
		chunk = a.start(chunk)
	}
	a.buf = append(a.buf, chunk...)
	for {
		n := a.split.next(a.buf[a.from:])
		if n == 0 {
			break
		}
		raw := bytes.Clone(a.buf[a.from : a.from+n])
		a.from += n
		a.read(raw)
		a.release()
	}
	a.buf, a.from = append(a.buf[:0], a.buf[a.from:]...), 0
	if len(a.buf) > maxFrame {
		a.giveUp("an event or body of more than 32 MiB")
		a.release()
		a.out = append(a.out, a.buf...)
		a.buf, a.renumbers = nil, false
	}
	return a.out
}

// start looks at the first byte: a server that is asked for a stream may send a
// body. White space before it goes on, it keeps connections alive.
func (a *Answer) start(chunk []byte) (rest []byte) {
	rest = bytes.TrimLeft(chunk, " \t\r\n")
	a.out = append(a.out, chunk[:len(chunk)-len(rest)]...)
	switch {
	case len(rest) == 0:
	case rest[0] == '[' && a.format == provider.Gemini:
		a.split.kind = frameArray
	case a.format == provider.OllamaNative && a.rules.Stream:
		a.split.kind = frameLines
	case rest[0] == '{' || rest[0] == '[':
		a.split.kind = frameWhole
	default:
		a.split.kind = frameSSE
	}
	return rest
}

// Close ends the answer and returns what was held back.
func (a *Answer) Close() []byte {
	a.out = a.out[:0]
	if len(a.buf) > 0 && !a.pass {
		raw := a.buf
		a.buf = nil
		a.read(raw)
	}
	a.closeTracks()
	a.release()
	return a.Rest()
}

// Rest returns what was taken in and not given out, as it came. It is for when
// something went wrong inside; the Answer must not be used afterwards.
func (a *Answer) Rest() []byte {
	out := a.out
	for _, f := range a.queue {
		out = append(out, f.raw...)
	}
	out = append(out, a.buf[a.from:]...)
	a.queue, a.buf, a.out, a.from, a.pass = nil, nil, nil, 0, true
	return out
}

// read takes a frame in.
func (a *Answer) read(raw []byte) {
	f := &frame{raw: raw}
	a.queue = append(a.queue, f)
	a.held += len(raw)
	documentsRead := 0
	documents(a.split.kind, raw, func(at int, data []byte) {
		documentsRead++
		switch {
		case string(bytes.TrimSpace(data)) == "[DONE]":
			a.closeTracks()
		case valid(data):
			root := gjson.ParseBytes(data)
			root.Index += at
			a.edit.event(f, root)
		case a.split.kind == frameWhole:
			a.note("the answer is no valid JSON")
		}
	})
	for _, t := range f.closes {
		t.close()
	}
	if documentsRead != 1 || a.split.kind == frameWhole || a.split.kind == frameArray {
		f.pure = false
	}
	if a.held > maxHeld && a.split.kind != frameWhole {
		a.giveUp("more than 8 MiB waited for the end of a block or argument")
	}
}

// track makes a track of the answer.
func (a *Answer) track(t *track) *track {
	if a.pass {
		t.closed = true
	}
	a.tracks = append(a.tracks, t)
	return t
}

func (a *Answer) closeTracks() {
	for _, t := range a.tracks {
		t.close()
	}
	a.tracks = nil
	for _, b := range a.blocks {
		b.ended, b.last = true, true
	}
}

// giveUp lets everything go on as it came, and what follows too.
func (a *Answer) giveUp(why string) {
	a.note(why)
	a.pass = true
	for _, t := range a.tracks {
		t.closed, t.cuts, t.decided = true, nil, t.fed
	}
	for _, b := range a.blocks {
		b.kept = true
	}
	for _, f := range a.queue {
		f.edits, f.lists = nil, nil
	}
}

// injected reports whether a tool was given the argument.
func (a *Answer) injected(name string) bool { return slices.Contains(a.rules.Injected, name) }

// release gives out the frames that need not wait.
func (a *Answer) release() {
	for len(a.queue) > 0 && a.queue[0].ready() {
		f := a.queue[0]
		f.settle(a)
		if !f.gone() {
			a.out = f.emit(a.out)
		}
		f.forget()
		a.held -= len(f.raw)
		a.queue[0] = nil
		a.queue = a.queue[1:]
	}
}
