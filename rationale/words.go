package rationale

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// word is a word of prose in lower case, with straight apostrophes.
type word struct {
	text       string
	start, end int
}

// window bounds how far back from an assumption its sentence is looked at.
const window = 200

// words appends to out the words in prose[from:to]; a word cut by either end
// counts as it stands.
func words(out []word, prose string, from, to int) []word {
	start, plain := -1, true
	for i := from; i <= to; {
		r, n := rune(' '), 1
		if i < to {
			if r = rune(prose[i]); r >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(prose[i:to])
			}
		}
		letter := r >= 'a' && r <= 'z'
		switch {
		case letter:
		case r < utf8.RuneSelf:
			upper := r >= 'A' && r <= 'Z'
			plain = plain && !upper
			letter = upper || r >= '0' && r <= '9' || start >= 0 && (r == '\'' || r == '-')
		default:
			plain = false
			letter = unicode.IsLetter(r) || unicode.IsDigit(r) || start >= 0 && r == '’'
		}
		switch {
		case letter && start < 0:
			start = i
			plain = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		case !letter && start >= 0:
			text := prose[start:i]
			if last := text[len(text)-1]; last == '\'' || last == '-' || last >= utf8.RuneSelf {
				text = strings.TrimRight(text, "'’-")
			}
			end := start + len(text)
			if text == "I" {
				text = "i"
			} else if !plain {
				text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
			}
			out = append(out, word{text, start, end})
			start = -1
		}
		i += n
	}
	return out
}

// wordsAt returns up to n words that begin at or after from, before to.
func wordsAt(prose string, from, to, n int) []word {
	out := words(make([]word, 0, 8*n), prose, from, min(to, from+16*n))
	return out[:min(n, len(out))]
}

// bare reports whether only spaces and emphasis stand in prose[from:to].
func bare(prose string, from, to int) bool {
	return len(strings.Trim(prose[from:to], " \t\r\n*_")) == 0
}

// endsWith reports whether list ends with the words of phrase, with nothing but
// spaces and emphasis between them, and how many they are.
func endsWith(prose string, list []word, phrase string) (int, bool) {
	n := 0
	for phrase != "" {
		part := phrase[strings.LastIndexByte(phrase, ' ')+1:]
		phrase = strings.TrimSuffix(phrase[:len(phrase)-len(part)], " ")
		i := len(list) - 1 - n
		if i < 0 || list[i].text != part || n > 0 && !bare(prose, list[i].end, list[i+1].start) {
			return 0, false
		}
		n++
	}
	return n, true
}

// oneOf reports whether text is one of the words of list.
func oneOf(text, list string) bool {
	if text == "" {
		return false
	}
	for i := 0; ; {
		n := strings.Index(list[i:], text)
		if n < 0 {
			return false
		}
		start := i + n
		i = start + len(text)
		if (start == 0 || list[start-1] == ' ') && (i == len(list) || list[i] == ' ') {
			return true
		}
	}
}

// class is a set of closed lists that a word stands on.
type class uint8

const (
	// adverb may stand between a subject and assume.
	adverb class = 1 << iota
	// conditional begins a sentence that supposes or asks.
	conditional
	// blocker takes a clause back: a condition, a negation, a question.
	blocker
	// reporter announces somebody's words, or a thing to check.
	reporter
	// finite is a verb by which a clause is told from a phrase.
	finite
	// determiner begins a clause that "as" may introduce as a reason.
	determiner
)

// lexicon has the classes of the words that the reading of assumptions rests
// on. It is built once, when first needed.
var lexicon = sync.OnceValue(func() map[string]class {
	out := map[string]class{}
	for _, list := range []struct {
		class class
		words string
	}{
		{adverb, "also just simply therefore thus hence safely still now then further currently tentatively reasonably initially generally usually implicitly"},
		{conditional, "if unless should suppose supposing were had when whenever provided until imagine whether why how what which who do does did can could would may might is are am"},
		{blocker, "if unless should suppose supposing when whenever whether why how what which who that than as not never nobody neither nor cannot can can't could couldn't would wouldn't may might do don't does doesn't did didn't shouldn't won't isn't until imagine"},
		{reporter, "said says say saying wrote writes asked asks replied replies answered answers stated states claimed claims told think thinks thought believe believes means meant verify check test confirm prove"},
		{finite, "is are was were isn't aren't wasn't weren't has have had hasn't haven't hadn't does do did doesn't don't didn't can can't cannot could couldn't will won't would wouldn't should must may might says said shows show seems seem looks look appears appear uses use used contains contain exists exist matches match suggests suggest implies imply includes include lives needs need returns return comes gave gives mentions points ends starts works runs lists refers holds names sets"},
		{determiner, "i we you he she it they there this that these those no nothing none nobody the a an my our your its all every each most both"},
	} {
		for w := range strings.FieldsSeq(list.words) {
			out[w] |= list.class
		}
	}
	return out
})

func (w word) is(c class) bool { return lexicon()[w.text]&c != 0 }

// reason reports whether the word at i of list introduces a reason, and where
// the reason begins. Because always does; since and as do when a clause
// follows, and not when they speak of time, manner or likeness.
func reason(prose string, list []word, i int) (int, bool) {
	rest := list[i+1:]
	if len(rest) == 0 {
		return 0, false
	}
	previous := ""
	if i > 0 {
		previous = list[i-1].text
	}
	at := list[i].end
	switch list[i].text {
	case "because":
		if rest[0].text == "of" {
			at = rest[0].end
		}
		if oneOf(previous, "just not") {
			return 0, false
		}
	case "since":
		if oneOf(previous, "ever long") || unicode.IsDigit(rune(rest[0].text[0])) ||
			oneOf(rest[0].text, "then yesterday last version january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday its") ||
			!clause(prose, rest) {
			return 0, false
		}
	case "as":
		if oneOf(previous, "such same well soon far long just as much many known treated used serves acts defined described regarded seen interpreted stored written parsed read exactly only so") ||
			!rest[0].is(determiner) || !clause(prose, rest) {
			return 0, false
		}
	default:
		return 0, false
	}
	for at < len(prose) && (prose[at] == '*' || prose[at] == '_') {
		at++ // closes emphasis around the word
	}
	return at, true
}

// clause reports whether a finite verb stands among the next words, behind a
// subject and before a comma.
func clause(prose string, rest []word) bool {
	for i := 1; i < min(len(rest), 9); i++ {
		if strings.ContainsAny(prose[rest[i-1].end:rest[i].start], ",;:") {
			return false
		}
		if rest[i].is(finite) {
			// As it is, as they are: no reason.
			return i > 1 || i+1 < len(rest) && bare(prose, rest[i].end, rest[i+1].start) && !oneOf(rest[i+1].text, "and or but")
		}
	}
	return false
}
