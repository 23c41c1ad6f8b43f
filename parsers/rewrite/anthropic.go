package rewrite

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
)

// anthropicEditor edits Anthropic Messages. A text of which nothing stays goes
// with its whole content block, and the blocks behind it move up: the provider
// refuses a conversation in which an empty text is sent back to it.
type anthropicEditor struct {
	a      *Answer
	blocks map[int64]*block
	// last is the block that began last.
	last *block
	// standing counts the blocks of the message that stay or may stay; thinking
	// alone makes no message.
	standing int
	dropped  int64
}

// block is a content block of a stream.
type block struct {
	of     *anthropicEditor
	number int64
	// moved is by how much the number goes down.
	moved int64
	text  *track // of a text block
	args  *track // of a call whose argument is taken out
	// kept says that the block stays whatever becomes of its text.
	kept bool
	// ended says that the block is whole, followed that another one follows, and
	// last that none does.
	ended, followed, last bool
	// decided and dropped: what became of it.
	decided, dropped bool
}

// settled reports whether it is known if the block stays. Until something of
// its text is shown it may not.
func (b *block) settled() bool {
	switch {
	case b.decided || b.kept || b.text == nil || b.text.shown:
		return true
	case !b.ended:
		return false
	case !b.text.cut:
		return true // empty as it came
	}
	return b.followed || b.last
}

// settle decides what becomes of a block and gives the blocks behind dropped
// ones their new numbers.
func (f *frame) settle(a *Answer) {
	b := f.block
	if b == nil {
		return
	}
	if f.opens && !b.decided {
		b.decided, b.moved = true, b.of.dropped
		if !b.kept && b.text != nil && b.text.cut && !b.text.shown {
			if b.dropped = b.of.standing > 1; b.dropped {
				b.of.standing--
				b.of.dropped++
				a.renumbers = true
			} else {
				a.note(onlyRationale)
				b.text.cuts = nil
			}
		}
	}
	if b.moved > 0 && !b.dropped && f.index.Exists() {
		f.edits.replace(f.index, strconv.FormatInt(b.number-b.moved, 10))
	}
}

const onlyRationale = "the answer is nothing but a rationale"

func (e *anthropicEditor) event(f *frame, root gjson.Result) {
	if e.a.split.kind == frameWhole {
		e.body(f, root)
		return
	}
	kind := str(root.Get("type"))
	switch kind {
	case "content_block_start":
		e.begin(f, root)
		return
	case "message_delta", "message_stop", "error":
		for _, b := range e.blocks {
			b.last = true
		}
		return
	case "content_block_delta", "content_block_stop":
	default:
		return
	}
	b := e.blocks[root.Get("index").Int()]
	if b == nil {
		return
	}
	f.block, f.index = b, root.Get("index")
	if kind == "content_block_stop" {
		b.ended = true
		f.closes = append(f.closes, b.text, b.args)
		return
	}
	delta := root.Get("delta")
	switch str(delta.Get("type")) {
	case "text_delta":
		if b.text != nil {
			f.pure = true
			f.text(b.text, delta.Get("text"))
		}
	case "input_json_delta":
		if b.args != nil {
			f.pure = true
			f.text(b.args, delta.Get("partial_json"))
		}
	case "citations_delta":
		b.kept = true
	}
}

func (e *anthropicEditor) begin(f *frame, root gjson.Result) {
	b := &block{of: e, number: root.Get("index").Int(), kept: e.a.pass}
	if e.last != nil {
		e.last.followed = true
	}
	e.last = b
	if e.blocks == nil {
		e.blocks = map[int64]*block{}
	}
	e.blocks[b.number] = b
	e.a.blocks = append(e.a.blocks, b)
	f.block, f.opens, f.index = b, true, root.Get("index")
	content := root.Get("content_block")
	kind := str(content.Get("type"))
	if !isThinking(kind) {
		e.standing++
	}
	switch kind {
	case "text":
		b.text = e.a.track(textTrack())
		f.text(b.text, content.Get("text"))
	case "tool_use":
		if e.a.injected(str(content.Get("name"))) {
			b.args = e.a.track(argumentsTrack())
			if !e.a.pass {
				f.arguments(content.Get("input"))
			}
		}
	}
}

// body edits a whole message.
func (e *anthropicEditor) body(f *frame, root gjson.Result) {
	var blocks []gjson.Result
	var blank []bool
	left := 0
	each(root.Get("content"), func(b gjson.Result) {
		gone := false
		switch str(b.Get("type")) {
		case "text":
			t := textTrack()
			if v := b.Get("text"); v.Type == gjson.String {
				t.feed(v)
				t.close()
			}
			gone = t.cut && !t.shown
		case "tool_use":
			if e.a.injected(str(b.Get("name"))) {
				f.arguments(b.Get("input"))
			}
		}
		if !gone && !isThinking(str(b.Get("type"))) {
			left++
		}
		blocks, blank = append(blocks, b), append(blank, gone)
	})
	if left == 0 && slices.Contains(blank, true) {
		e.a.note(onlyRationale)
		return
	}
	for i, b := range blocks {
		if !blank[i] && str(b.Get("type")) == "text" {
			f.whole(b.Get("text"))
		}
	}
	f.edits.without(blocks, func(i int) bool { return blank[i] })
}

func isThinking(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }
