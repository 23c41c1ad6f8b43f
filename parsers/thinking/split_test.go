package thinking

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

var splitCases = []struct {
	name, in, text, thinking  string
	unclosed, noOpening, tags bool
}{
	{name: "empty"},
	{name: "plain", in: "  Just text.\n", text: "  Just text.\n"},
	{name: "leading", in: "<think>a b</think>\n\nc", text: "c", thinking: "a b", tags: true},
	{name: "white space before", in: "\n <think>a</think> c", text: "c", thinking: "a", tags: true},
	{name: "thinking tag", in: "<thinking> a </thinking>\nc", text: "c", thinking: " a ", tags: true},
	{name: "names mixed", in: "<thinking>a</think>c", text: "c", thinking: "a", tags: true},
	{name: "upper case", in: "<Think>a</THINK>c", text: "c", thinking: "a", tags: true},
	{name: "attributes", in: `<think duration="3" x='>'>a</think>c`, text: "c", thinking: "'>a", tags: true},
	{name: "white space before text", in: " x<think>a</think>", text: " x", thinking: "a", tags: true},
	{name: "inline", in: "x <think>a</think> y", text: "x  y", thinking: "a", tags: true},
	{name: "twice", in: "<think>a</think>b<think>c</think>d", text: "bd", thinking: "ac", tags: true},
	{name: "nested", in: "<think>a<think>b</think>c</think>d", text: "d", thinking: "a<think>b</think>c", tags: true},
	{name: "empty thinking", in: "<think></think>c", text: "c", tags: true},
	{name: "only thinking", in: "<think>a</think>", thinking: "a", tags: true},
	{name: "unclosed", in: "<think>a b", thinking: "a b", unclosed: true, tags: true},
	{name: "unclosed after text", in: "x\n<think>a", text: "x\n", thinking: "a", unclosed: true, tags: true},
	{name: "tag named in thinking", in: "<think>I write <think> first</think>c", text: "c", thinking: "I write <think> first", tags: true},
	{name: "named, then open again", in: "<think>a <think> b</think>c<think>d", text: "c", thinking: "a <think> bd", unclosed: true, tags: true},
	{name: "no opening", in: "a b\n</think>\nc", text: "c", thinking: "a b\n", noOpening: true, tags: true},
	{name: "no opening, inline", in: "a</think>c", text: "c", thinking: "a", noOpening: true, tags: true},
	{name: "no opening, nothing before", in: "</think>c", text: "c", noOpening: true, tags: true},
	{name: "second closing is text", in: "a</think>b</think>c", text: "b</think>c", thinking: "a", noOpening: true, tags: true},
	{name: "closing after a pair is text", in: "<think>a</think>b</think>c", text: "b</think>c", thinking: "a", tags: true},
	{name: "quoted in text", in: "Use `<think>` and `</think>`.", text: "Use `<think>` and `</think>`."},
	{name: "fenced in text", in: "```\n<think>a</think>\n```\n", text: "```\n<think>a</think>\n```\n"},
	{name: "code before the closing tag", in: "<think>```\nx\n```</think>c", text: "c", thinking: "```\nx\n```", tags: true},
	{name: "other tags", in: "<thinker>a</thinker> <thin> <b>", text: "<thinker>a</thinker> <thin> <b>"},
	{name: "self-closing", in: "<think/>a", text: "<think/>a"},
	{name: "half a tag", in: "a <thi", text: "a <thi"},
	{name: "endless attribute", in: "<think " + strings.Repeat("x", 200) + ">a</think>", noOpening: true, tags: true,
		thinking: "<think " + strings.Repeat("x", 200) + ">a"},
	{name: "multi-byte", in: "<think>Größe – ok</think>日本", text: "日本", thinking: "Größe – ok", tags: true},
}

func TestSplitTags(t *testing.T) {
	for _, c := range splitCases {
		t.Run(c.name, func(t *testing.T) {
			s := SplitTags(c.in)
			if got := s.Text(c.in); got != c.text {
				t.Errorf("text: got %q, want %q", got, c.text)
			}
			if got := s.Thinking(c.in); got != c.thinking {
				t.Errorf("thinking: got %q, want %q", got, c.thinking)
			}
			if s.Unclosed != c.unclosed || s.NoOpening != c.noOpening {
				t.Errorf("unclosed %v, no opening %v", s.Unclosed, s.NoOpening)
			}
			if s.Tagged() != c.tags && c.text+c.thinking != "" && c.name != "empty thinking" {
				t.Errorf("tagged: got %v", s.Tagged())
			}
		})
	}
}

// inPieces feeds text to a Splitter n bytes at a time. shown is what the deltas
// add up to; revised says that they were taken back.
func inPieces(text string, n int) (split Split, shown, thought string, revised bool) {
	var s Splitter
	emit := func(d Delta) {
		switch {
		case d.Revised:
			revised = true
		case d.Thinking:
			thought += d.Text
		default:
			shown += d.Text
		}
	}
	for rest := text; rest != ""; {
		k := min(n, len(rest))
		s.Write(rest[:k], emit)
		rest = rest[k:]
	}
	split = s.Close(emit)
	if again := s.Close(emit); !reflect.DeepEqual(again, split) {
		panic("a second Close differs")
	}
	return split, shown, thought, revised
}

func TestSplitterChunks(t *testing.T) {
	for _, c := range splitCases {
		want := SplitTags(c.in)
		for _, n := range []int{1, 2, 3, 7, 1000} {
			got, shown, thought, revised := inPieces(c.in, n)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s by %d: got %+v, want %+v", c.name, n, got, want)
			}
			if !revised && (shown != c.text || thought != c.thinking) {
				t.Errorf("%s by %d: shown %q and %q", c.name, n, shown, thought)
			}
			if revised && !c.noOpening && !strings.Contains(c.name, "named") {
				t.Errorf("%s by %d: revised without need", c.name, n)
			}
		}
	}
}

func FuzzSplitTags(f *testing.F) {
	for _, c := range splitCases {
		f.Add(c.in, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		want := SplitTags(text)
		end := 0
		for _, seg := range want.Segments {
			if seg.Span.Start < end || seg.Span.End <= seg.Span.Start || seg.Span.End > len(text) {
				t.Fatalf("segments %v of %q", want.Segments, text)
			}
			end = seg.Span.End
		}
		got, shown, thought, revised := inPieces(text, int(n%9)+1)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: pieces %+v, whole %+v", text, got, want)
		}
		if !revised && (shown != want.Text(text) || thought != want.Thinking(text)) {
			t.Fatalf("%q: shown %q and %q, want %q and %q", text, shown, thought, want.Text(text), want.Thinking(text))
		}
	})
}

// TestSplitHostile holds the cost of bad texts: each must take a moment, not a
// power of its length.
func TestSplitHostile(t *testing.T) {
	const n = 200_000
	for _, unit := range []string{"<", "<think", "<think>", "</think>", "<think>a</think>", "`", "<think x ", " ", "\n```"} {
		text := strings.Repeat(unit, n/len(unit))
		done := make(chan struct{})
		go func() {
			defer close(done)
			SplitTags(text)
			var s Splitter
			for i := range len(text) {
				s.Write(text[i:i+1], func(Delta) {})
			}
			s.Close(nil)
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("%q does not end", unit)
		}
	}
}

func TestFormats(t *testing.T) {
	// The table of specification 002, widened.
	for kind, want := range map[Kind]Format{
		KindReasoning: Parsed, KindReasoningContent: Raw, KindThinking: Anthropic, KindTags: ThinkTags,
		KindItemSummary: Summary, KindDetailSummary: Summary, KindThought: Summary, KindItemText: Parsed,
		KindRedacted: Hidden, KindItemEncrypted: Hidden, KindDetailEncrypted: Hidden, KindThoughtSignature: Hidden,
		KindTokens: Hidden, KindMessageThinking: Parsed, KindContentThinking: Parsed, "new": Parsed,
	} {
		if got := FormatOf(kind); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
	if Summary.Verbatim() || Hidden.Verbatim() || !Raw.Verbatim() {
		t.Error("verbatim is wrong")
	}
}

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []Text
		want  string // + kept, - dropped
	}{
		{"one", []Text{{Kind: KindReasoning, Text: "a"}}, "+"},
		{"different", []Text{{Kind: KindReasoning, Text: "a"}, {Kind: KindTags, Text: "b"}}, "++"},
		{"chain", []Text{{Kind: KindTags, Text: "a\n"}, {Kind: KindReasoningContent, Text: " a"}, {Kind: KindReasoning, Text: "a"}}, "--+"},
		{"signed wins", []Text{{Kind: KindReasoning, Text: "ab"}, {Kind: KindDetailText, Text: "a", Signed: true}, {Kind: KindDetailText, Text: "b"}}, "-++"},
		{"summary wins", []Text{{Kind: KindReasoning, Text: "a"}, {Kind: KindDetailSummary, Text: "a"}}, "-+"},
		{"repetition of one kind", []Text{{Kind: KindThinking, Text: "a"}, {Kind: KindThinking, Text: "a"}}, "++"},
		{"hidden stays", []Text{{Kind: KindReasoning, Text: "a"}, {Kind: KindDetailEncrypted, Signed: true}}, "++"},
		{"a piece of it", []Text{{Kind: KindReasoning, Text: "a"}, {Kind: KindTags, Text: "a"}, {Kind: KindTags, Text: "b"}}, "+-+"},
	} {
		var got strings.Builder
		for _, keep := range Settle(c.texts) {
			if keep {
				got.WriteByte('+')
			} else {
				got.WriteByte('-')
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got.String(), c.want)
		}
	}
}

func BenchmarkSplitter(b *testing.B) {
	for _, size := range []int{20_000, 200_000} {
		text := "<think>" + strings.Repeat("step by step, ", size/28) + "</think>" + strings.Repeat("the answer is ", size/28)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var s Splitter
				for i := 0; i < len(text); i += 8 {
					s.Write(text[i:min(i+8, len(text))], nil)
				}
				s.Close(nil)
			}
		})
	}
}
