package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/rationale"
)

// key finds a piece again while its deltas arrive: group is the decoder's own
// distinction (text, call, ...), a and b are indices from the wire.
type key struct {
	group string
	a, b  int64
}

// piece is one part of the answer while it is put together.
type piece struct {
	kind parsers.PartKind
	// order sorts the pieces; equal ones stay in the order of arrival.
	order   [2]int64
	pointer string
	// text of a PartText, by way of a splitter; of a PartThinking as it is.
	split thinking.Splitter
	text  []byte
	think thinking.Kind
	// written says that text was added.
	written bool
	// signed is a complete JSON value; signature a string that grows.
	signed    json.RawMessage
	signature []byte
	// Of a call. args is the JSON text as it was sent.
	id, name string
	args     []byte
	free     bool // args is free text, no JSON (custom tools)
	// Of Gemini: the call goes on in the next part; args are fragments.
	open, fragments bool
	number          int // in the order of arrival
	began           bool
	builtin         parsers.Builtin
}

// builder puts an Answer together. Decoders add to it in any order.
type builder struct {
	format Format
	// dialect is the format whose usage object came, where it differs.
	dialect Format
	opts    ParseOptions
	// live is set while a stream is read: deltas are emitted and the visible
	// text is kept.
	live    bool
	answer  parsers.Answer
	pieces  []*piece
	find    map[key]*piece
	calls   int
	refusal []byte
	// usage is the usage object of the wire, merged.
	usage []byte
	// tokensAt is the JSON Pointer of the count of reasoning tokens.
	tokensAt string
	// shown is the text of finished text pieces, open that of the current one.
	shown, open strings.Builder
	openPiece   *piece
}

func newBuilder(format Format, opts ParseOptions) *builder {
	b := &builder{format: format, opts: opts, find: map[key]*piece{}}
	b.answer.Format = string(format)
	return b
}

// reset forgets the pieces: the whole comes again.
func (b *builder) reset() {
	b.closeSplits()
	b.pieces, b.find, b.calls = nil, map[key]*piece{}, 0
	b.answer.Skipped, b.refusal = nil, nil
}

// at returns the piece of k, making it when it is new.
func (b *builder) at(k key, kind parsers.PartKind, order [2]int64) (p *piece, isNew bool) {
	if p := b.find[k]; p != nil {
		return p, false
	}
	p = &piece{kind: kind, order: order}
	b.find[k] = p
	b.pieces = append(b.pieces, p)
	if kind == parsers.PartCall {
		p.number = b.calls
		b.calls++
	}
	return p, true
}

// closeSplits gives out what the splitters of a live stream hold back.
func (b *builder) closeSplits() {
	if !b.live || b.opts.KeepTags {
		return
	}
	for _, p := range b.pieces {
		if p.kind == parsers.PartText {
			p.split.Close(func(d thinking.Delta) { b.emitText(p, d) })
		}
	}
}

// addText adds to a text or thinking piece.
func (b *builder) addText(p *piece, s string) {
	if s == "" {
		return
	}
	p.written = true
	if p.kind != parsers.PartText || b.opts.KeepTags {
		p.text = append(p.text, s...)
		if b.live {
			b.emitText(p, thinking.Delta{Thinking: p.kind == parsers.PartThinking, Text: s})
		}
		return
	}
	if !b.live {
		p.split.Write(s, nil)
		return
	}
	p.split.Write(s, func(d thinking.Delta) { b.emitText(p, d) })
}

func (b *builder) emitText(p *piece, d thinking.Delta) {
	switch {
	case d.Revised:
		if b.openPiece == p {
			b.open.Reset()
		}
		b.emit(Delta{Kind: DeltaRevised})
	case d.Thinking:
		b.emit(Delta{Kind: DeltaThinking, Text: d.Text})
	default:
		if b.openPiece != p {
			b.shown.WriteString(b.open.String())
			b.open.Reset()
			b.openPiece = p
		}
		b.open.WriteString(d.Text)
		b.emit(Delta{Kind: DeltaText, Text: d.Text})
	}
}

// addArgs adds to the arguments of a call.
func (b *builder) addArgs(p *piece, s string) {
	b.begin(p)
	if s == "" {
		return
	}
	p.args = append(p.args, s...)
	b.emit(Delta{Kind: DeltaArguments, Text: s, Call: p.number})
}

// begin announces a call once its name is known.
func (b *builder) begin(p *piece) {
	if p.began || p.kind != parsers.PartCall {
		return
	}
	p.began = true
	b.emit(Delta{Kind: DeltaCall, Call: p.number, ID: p.id, Name: b.opts.Names.Name(p.name)})
}

func (b *builder) emit(d Delta) {
	if b.live && b.opts.OnDelta != nil {
		b.opts.OnDelta(d)
	}
}

// muted runs f without deltas when a copy of the same was shown already.
func (b *builder) muted(mute bool, f func()) {
	live := b.live
	b.live = live && !mute
	f()
	b.live = live
}

// skip counts content that is no part.
func (b *builder) skip(kind string) {
	if kind == "" {
		kind = "unknown"
	}
	if b.answer.Skipped == nil {
		b.answer.Skipped = map[string]int{}
	}
	b.answer.Skipped[kind]++
}

// refuse adds to the refusal, which is counted once.
func (b *builder) refuse(s string) {
	if s == "" {
		return
	}
	if len(b.refusal) == 0 {
		b.skip("refusal")
	}
	b.refusal = append(b.refusal, s...)
}

// maxWarnings bounds the warnings of one answer.
const maxWarnings = 32

func (b *builder) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if len(b.answer.Warnings) < maxWarnings && !slices.Contains(b.answer.Warnings, w) {
		b.answer.Warnings = append(b.answer.Warnings, w)
	}
}

// argsOf is the JSON text of a call's arguments, which formats send as a
// string or as an object.
func argsOf(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.Str
	case gjson.Null:
		return ""
	}
	return v.Raw
}

// finish makes the Answer. A cut one has calls that may be incomplete.
func (b *builder) finish(cut bool) parsers.Answer {
	a := b.answer
	a.Cut = a.Cut || cut
	a.Refusal = string(b.refusal)
	usageOf(cmp.Or(b.dialect, b.format), &a.Usage, &b.tokensAt, b.usage)
	slices.SortStableFunc(b.pieces, func(p, q *piece) int {
		return slices.Compare(p.order[:], q.order[:])
	})
	var thoughts []thinking.Text
	var parts []parsers.Part
	var from []int // index in thoughts of a part, -1 for others
	add := func(part parsers.Part, kind thinking.Kind) {
		if part.Kind == parsers.PartThinking {
			from = append(from, len(thoughts))
			thoughts = append(thoughts, thinking.Text{Kind: kind, Text: part.Text, Signed: part.Signed != nil})
		} else {
			from = append(from, -1)
		}
		parts = append(parts, part)
	}
	for _, p := range b.pieces {
		switch p.kind {
		case parsers.PartText:
			b.finishText(p, add)
		case parsers.PartThinking:
			part := parsers.Part{Kind: p.kind, Text: string(p.text), Pointer: p.pointer, Signed: p.sign()}
			part.Span.End = len(part.Text)
			part.Format = string(thinking.FormatOf(p.think))
			if strings.TrimSpace(part.Text) == "" {
				if part.Signed == nil {
					continue // neither text nor the fact of hidden thinking
				}
				part.Format, part.Text, part.Span = string(thinking.Hidden), "", rationale.Span{}
			}
			add(part, p.think)
		case parsers.PartCall:
			call := p.call(b.opts.Names)
			if a.Cut && len(p.args) == 0 {
				call.Arguments, call.Invalid = nil, true // not {}: they did not arrive
			}
			add(parsers.Part{Kind: p.kind, Pointer: call.Pointer, Signed: p.sign(), Call: len(a.Calls)}, "")
			a.Calls = append(a.Calls, call)
		case parsers.PartBuiltin:
			add(parsers.Part{Kind: p.kind, Pointer: p.pointer, Call: len(a.Builtin)}, "")
			a.Builtin = append(a.Builtin, p.builtin)
		}
	}
	if len(thoughts) == 0 && a.Usage.Reasoning != nil && *a.Usage.Reasoning > 0 {
		a.Parts = append(a.Parts, parsers.Part{
			Kind: parsers.PartThinking, Pointer: b.tokensAt, Format: string(thinking.FormatOf(thinking.KindTokens)),
		})
	}
	a.Warnings = b.answer.Warnings
	keep := thinking.Settle(thoughts)
	for i, part := range parts {
		if from[i] < 0 || keep[from[i]] {
			a.Parts = append(a.Parts, part)
		}
	}
	b.dropEcho(&a)
	return a
}

// finishText adds the segments of a text.
func (b *builder) finishText(p *piece, add func(parsers.Part, thinking.Kind)) {
	if b.opts.KeepTags {
		if len(p.text) > 0 {
			add(parsers.Part{
				Kind: p.kind, Text: string(p.text), Pointer: p.pointer,
				Span: rationale.Span{End: len(p.text)}, Signed: p.sign(),
			}, "")
		}
		return
	}
	raw := p.split.Raw()
	split := p.split.Close(nil)
	if split.Unclosed {
		b.warn("a <think> tag is never closed: what follows it is taken for thinking")
	}
	signed := p.sign()
	for _, seg := range split.Segments {
		part := parsers.Part{Kind: parsers.PartText, Text: seg.Span.In(raw), Pointer: p.pointer, Span: seg.Span}
		if seg.Thinking {
			if strings.TrimSpace(part.Text) == "" {
				continue
			}
			part.Kind, part.Format = parsers.PartThinking, string(thinking.ThinkTags)
			add(part, thinking.KindTags)
			continue
		}
		part.Signed, signed = signed, nil
		add(part, "")
	}
}

// sign is the signature as a JSON value.
func (p *piece) sign() json.RawMessage {
	if p.signed != nil {
		return p.signed
	}
	if len(p.signature) == 0 {
		return nil
	}
	return quote(string(p.signature))
}

// quote writes a JSON string without escaping what need not be, so that base64
// keeps its bytes.
func quote(s string) json.RawMessage {
	var w jsonWriter
	w.str(s)
	return w.buf
}

func (p *piece) call(names *NameMap) parsers.Call {
	c := parsers.Call{ID: p.id, Name: names.Name(p.name), Pointer: p.pointer}
	switch args := strings.TrimSpace(string(p.args)); {
	case p.free:
		c.Arguments = quote(string(p.args))
	case args == "":
		c.Arguments = json.RawMessage("{}")
	default:
		c.Arguments = json.RawMessage(p.args)
		_, err := validate(c.Arguments)
		c.Invalid = err != nil || p.fragments
	}
	return c
}

// dropEcho leaves out thinking that is the very text of the answer: some
// servers fill both fields when the model did not think.
func (b *builder) dropEcho(a *parsers.Answer) {
	var text, thought strings.Builder
	for _, part := range a.Parts {
		switch {
		case part.Kind == parsers.PartText:
			text.WriteString(part.Text)
		case part.Kind == parsers.PartThinking && part.Signed != nil:
			return
		case part.Kind == parsers.PartThinking:
			thought.WriteString(part.Text)
		}
	}
	same := strings.TrimSpace(thought.String())
	if same == "" || same != strings.TrimSpace(text.String()) {
		return
	}
	a.Parts = slices.DeleteFunc(a.Parts, func(p parsers.Part) bool { return p.Kind == parsers.PartThinking })
	a.Warnings = append(a.Warnings, "the thinking repeats the text and is kept once")
}
