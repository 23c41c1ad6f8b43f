package rationale

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is a range of prose that ends with a sentence.
type sentence struct {
	Span
	// question says that it ends with a question mark.
	question bool
}

// mask returns a copy of text in which everything that is not the writer's own
// running prose is overwritten, byte for byte, line breaks excepted: code fences
// and block quotes with NUL, inline code and quoted speech with X, so that they
// stand for a word in their sentence.
func mask(text string) string {
	out := []byte(text)
	fence := byte(0)
	for start := 0; start < len(out); {
		end := len(out)
		if n := bytes.IndexByte(out[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := out[start:end]
		trimmed := bytes.TrimLeft(line, " \t")
		marker := byte(0)
		if bytes.HasPrefix(trimmed, []byte("```")) || bytes.HasPrefix(trimmed, []byte("~~~")) {
			marker = trimmed[0]
		}
		switch {
		case fence != 0:
			clear(line)
			if marker == fence {
				fence = 0
			}
		case marker != 0 && bytes.IndexByte(bytes.TrimLeft(trimmed, "`~"), '`') < 0:
			clear(line)
			fence = marker
		case bytes.HasPrefix(trimmed, []byte(">")):
			clear(line)
		default:
			maskPairs(line, "`", "`")
			maskPairs(line, `"`, `"`)
			maskPairs(line, "“", "”")
			maskPairs(line, "«", "»")
		}
		start = end + 1
	}
	return string(out)
}

// maskPairs overwrites what stands between an opening and a closing mark, the
// marks included. A mark without a partner on the line is text, and a full stop
// in front of a closing mark ends its sentence all the same.
func maskPairs(line []byte, opening, closing string) {
	for i := 0; ; {
		n := bytes.Index(line[i:], []byte(opening))
		if n < 0 {
			return
		}
		from := i + n
		inside := from + len(opening)
		n = bytes.Index(line[inside:], []byte(closing))
		if n < 0 {
			return
		}
		i = inside + n + len(closing)
		to := i
		if n > 0 && line[inside+n-1] == '.' && closing != "`" {
			to = inside + n - 1
		}
		for j := from; j < to; j++ {
			line[j] = 'X'
		}
	}
}

// sentences cuts masked prose into sentences.
func sentences(prose string, yield func(sentence) bool) {
	start := 0
	for i := 0; i < len(prose); i++ {
		var end int
		switch c := prose[i]; {
		case c == '\n':
			if !breaksSentence(prose, i) {
				continue
			}
			end = i
		case c == '.' || c == '!' || c == '?':
			if end = endsSentence(prose, i); end == 0 {
				continue
			}
		default:
			continue
		}
		if !yield(sentence{Span{start, end}, prose[i] == '?' || i > 0 && prose[i] == '!' && prose[i-1] == '?'}) {
			return
		}
		start = end
	}
	if start < len(prose) {
		yield(sentence{Span: Span{start, len(prose)}})
	}
}

// breaksSentence reports whether the line break at i ends a sentence. It does
// but where the next line goes on in lower case: a text of wrapped lines.
func breaksSentence(prose string, i int) bool {
	next := i + 1
	for next < len(prose) && (prose[next] == ' ' || prose[next] == '\t') && next-i < 16 {
		next++
	}
	r, _ := utf8.DecodeRuneInString(prose[next:])
	return !unicode.IsLower(r)
}

// endsSentence returns where the sentence ends that the mark at i ends, 0 when
// it ends none. It does when it is the last of its run and white space or the
// end follows behind closing marks, and when a full stop does not belong to an
// abbreviation. A closing quotation mark belongs to the sentence.
func endsSentence(prose string, i int) int {
	next, end := i+1, i+1
	for next < len(prose) && next-i < 8 {
		n := 1
		for _, mark := range []string{`"`, "”", "»"} {
			if strings.HasPrefix(prose[next:], mark) {
				n, end = len(mark), next+len(mark)
			}
		}
		if end <= next && strings.IndexByte(")]*_'", prose[next]) < 0 {
			break
		}
		next += n
	}
	if next < len(prose) && prose[next] > ' ' {
		return 0
	}
	kind := noAbbreviation
	if prose[i] == '.' {
		kind = abbreviation(lastWord(prose, i))
	}
	if kind == noAbbreviation || next >= len(prose) {
		return end
	}
	// An abbreviation that can end a sentence does when another one begins.
	following := strings.TrimLeft(prose[next:min(len(prose), next+32)], " \t")
	if kind == endAbbreviation && (following == "" || following[0] == '\n' || starter(following)) {
		return end
	}
	return 0
}

// lastWord is the word in front of the full stop at i, with inner stops.
func lastWord(prose string, i int) string {
	start := i
	for start > 0 && i-start < 12 {
		if c := prose[start-1]; c != '.' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			break
		}
		start--
	}
	return strings.ToLower(prose[start:i])
}

type abbreviationKind int

const (
	noAbbreviation abbreviationKind = iota
	// innerAbbreviation never ends a sentence.
	innerAbbreviation
	// endAbbreviation may end one.
	endAbbreviation
)

func abbreviation(word string) abbreviationKind {
	switch word {
	case "e.g", "i.e", "eg", "ie", "vs", "cf", "mr", "mrs", "ms", "dr", "prof", "fig", "approx", "ca", "resp", "viz", "incl", "esp", "al":
		return innerAbbreviation
	case "etc", "inc", "ltd", "corp", "co", "jr", "sr", "a.m", "p.m", "min", "max", "dept", "est":
		return endAbbreviation
	}
	// Initials: U.S, U.K, Ph.D.
	if strings.Contains(word, ".") && !strings.Contains(word, "..") {
		for _, part := range strings.Split(word, ".") {
			if len(part) < 1 || len(part) > 2 {
				return noAbbreviation
			}
		}
		return endAbbreviation
	}
	return noAbbreviation
}

// starter reports whether text begins with a word that begins sentences more
// often than names.
func starter(text string) bool {
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(text)
	}
	switch text[:end] {
	case "I", "The", "Then", "This", "That", "These", "We", "So", "It", "Next", "Now", "But", "Let", "If", "My", "Our", "And", "First", "You", "They", "There", "Since", "Because", "Assuming", "A", "An", "To", "In", "For", "No":
		return true
	}
	return false
}
