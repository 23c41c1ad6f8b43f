package lenient

import (
	"sort"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// Normal is a value as strict JSON, with the way back to the text.
type Normal struct {
	// JSON is the value; of a value that was strict JSON already, its bytes.
	JSON  []byte
	marks []mark
}

// mark says that from offset out of the JSON on, bytes come one by one from
// offset src of the text.
type mark struct{ out, src int }

// Normalize returns the object or array that covers the span as strict JSON;
// of a string, number or literal, likewise. The span must be one that this
// package returned for the same text: ok is false when no value covers it.
func Normalize(text string, span rationale.Span) (n Normal, ok bool) {
	value := span.In(text)
	if value == "" {
		return Normal{}, false
	}
	if gjson.Valid(value) {
		return Normal{JSON: []byte(value), marks: []mark{{src: span.Start}}}, true
	}
	s := scanner{text: value, out: &n}
	var end int
	if value[0] == '{' || value[0] == '[' {
		end, ok = s.value(0)
	} else {
		_, end, _, ok = s.scalar(0)
	}
	if !ok || end != len(value) {
		return Normal{}, false
	}
	for i := range n.marks {
		n.marks[i].src += span.Start
	}
	return n, true
}

// Source returns the offset in the text from which the byte at the given
// offset of the JSON was read. The offset of a byte that was put in is that of
// what it stands for.
func (n *Normal) Source(offset int) int {
	i := sort.Search(len(n.marks), func(i int) bool { return n.marks[i].out > offset }) - 1
	if i < 0 {
		return 0
	}
	src := n.marks[i].src + offset - n.marks[i].out
	if i+1 < len(n.marks) {
		src = min(src, n.marks[i+1].src)
	}
	return src
}

// Whole returns the range of the text from which a value of the JSON was read.
// It goes by the last byte and not by the end, where something may have been
// left out.
func (n *Normal) Whole(value rationale.Span) rationale.Span {
	return rationale.Span{Start: n.Source(value.Start), End: n.Source(value.End-1) + 1}
}

func (n *Normal) mark(src int) {
	out := len(n.JSON)
	if last := len(n.marks) - 1; last >= 0 && n.marks[last].src-n.marks[last].out == src-out {
		return
	}
	n.marks = append(n.marks, mark{out: out, src: src})
}

// put writes s for what stands at offset src. A nil Normal writes nothing.
func (n *Normal) put(src int, s string) {
	if n == nil {
		return
	}
	n.mark(src)
	n.JSON = append(n.JSON, s...)
}

// copy writes text[from:to].
func (n *Normal) copy(text string, from, to int) {
	if n == nil || from >= to {
		return
	}
	n.mark(from)
	n.JSON = append(n.JSON, text[from:to]...)
}
