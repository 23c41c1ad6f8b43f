package thinking

import (
	"strings"

	"github.com/rax-project/rax/rationale"
)

// Segment is a stretch of a text that is thinking or not.
type Segment struct {
	Thinking bool
	// Span is the range in the original text, without the tags.
	Span rationale.Span
}

// Split is a text taken apart at its <think> tags.
type Split struct {
	// Segments cover the text in order, without the tags and without the white
	// space that surrounds leading thinking. A text without tags is one
	// segment; an empty text has none.
	Segments []Segment
	// Unclosed says that the last thinking runs to the end of the text because
	// its tag is never closed.
	Unclosed bool
	// NoOpening says that the text began inside the thinking: templates of
	// DeepSeek and others put the opening tag into the prompt.
	NoOpening bool
}

// Tagged reports whether the text had tags.
func (s Split) Tagged() bool {
	return len(s.Segments) > 1 || s.Unclosed || s.NoOpening ||
		(len(s.Segments) == 1 && s.Segments[0].Thinking)
}

// Text joins the segments of text that are not thinking.
func (s Split) Text(text string) string { return s.join(text, false) }

// Thinking joins the segments of text that are thinking.
func (s Split) Thinking(text string) string { return s.join(text, true) }

func (s Split) join(text string, thinking bool) string {
	var b strings.Builder
	for _, seg := range s.Segments {
		if seg.Thinking == thinking {
			b.WriteString(seg.Span.In(text))
		}
	}
	return b.String()
}

// SplitTags takes <think> and <thinking> out of a text (specification 002).
//
//   - Tags may have attributes and may nest; inner tags stay in the thinking.
//   - A tag that is never closed opens thinking to the end of the text. When
//     inner tags were closed, the last of them ends it instead: a model that
//     writes about the tag while thinking does not lose its answer.
//   - A closing tag that is the first tag of the text makes all before it
//     thinking. Later closing tags without an opening one are text.
//   - In the text, tags in code (a fence, or right after a backtick) are text.
//
// Linear in the length of the text.
func SplitTags(text string) Split {
	if !strings.Contains(text, "<") {
		if text == "" {
			return Split{}
		}
		return Split{Segments: []Segment{{Span: rationale.Span{End: len(text)}}}}
	}
	var s Splitter
	s.Write(text, nil)
	return s.Close(nil)
}

// maxTag bounds a tag with its attributes, in bytes: what is longer is text.
const maxTag = 128

type tagKind int

const (
	noTag tagKind = iota
	openTag
	closeTag
)

// matchTag reads a tag at the start of b, which begins with '<'. It returns
// its length, and more when b is too short to tell.
func matchTag(b []byte) (kind tagKind, n int, more bool) {
	const name = "think"
	kind, i := openTag, 1
	if i < len(b) && b[i] == '/' {
		kind = closeTag
		i++
	}
	for j := 0; j < len(name); j, i = j+1, i+1 {
		if i == len(b) {
			return noTag, 0, true
		}
		if b[i]|0x20 != name[j] {
			return noTag, 0, false
		}
	}
	for _, c := range []byte("ing") {
		if i == len(b) {
			return noTag, 0, true
		}
		if b[i]|0x20 != c {
			if c == 'i' {
				break // <think
			}
			return noTag, 0, false
		}
		i++
	}
	if i == len(b) {
		return noTag, 0, true
	}
	if c := b[i]; c != '>' && c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '/' {
		return noTag, 0, false
	}
	for ; i < len(b) && i < maxTag; i++ {
		switch b[i] {
		case '>':
			if kind == openTag && b[i-1] == '/' {
				return noTag, 0, false // <think/> holds nothing: text
			}
			return kind, i + 1, false
		case '<':
			return noTag, 0, false
		}
	}
	return noTag, 0, i == len(b) && i < maxTag
}
