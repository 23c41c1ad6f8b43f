package steps

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarker is the longest marker in bytes, brackets aside, with room for
// white space.
const maxMarker = 24

// markerPhase returns the phase of what stands between the brackets, given in
// lower case with one blank between words; "" when it is no marker.
func markerPhase(label string) Phase {
	switch label {
	case "思考", "thinking", "thought":
		return Thinking
	case "計画", "plan":
		return Plan
	case "承認待ち", "waiting approval", "waiting_approval", "waiting for approval":
		return WaitingApproval
	case "実行", "execute":
		return Execute
	case "エラー", "error":
		return Error
	}
	return ""
}

// nextMarker returns the first marker in raw[from:to]; start is to when there
// is none. An English one that ends a word, as in list[error], is none, and
// "[plan](url)" is a link.
func nextMarker(raw string, from, to int) (start, end int, phase Phase) {
	for at := from; ; {
		i := strings.IndexByte(raw[at:to], '[')
		if i < 0 {
			return to, to, ""
		}
		at += i + 1
		length := strings.IndexByte(raw[at:min(to, at+maxMarker)], ']')
		if length < 0 {
			continue
		}
		label := strings.ToLower(strings.Join(strings.Fields(raw[at:at+length]), " "))
		phase = markerPhase(label)
		after := at + length + 1
		if phase == "" {
			continue
		}
		japanese := raw[at] >= utf8.RuneSelf
		if (japanese || boundary(raw[:at-1])) && !(after < to && raw[after] == '(') {
			return at - 1, after, phase
		}
	}
}

// boundary reports whether an English marker may stand behind this text.
func boundary(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || !(r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == ')' || r == ']'))
}

// numbered reports whether the line begins with a number of a list: "1. " or
// "2) ".
func numbered(line string) bool {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits == 0 || digits > 3 || digits == len(line) {
		return false
	}
	rest := line[digits:]
	if rest, ok := strings.CutPrefix(rest, "、"); ok {
		return rest != ""
	}
	return (rest[0] == '.' || rest[0] == ')') && (len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t')
}

func bullet(line string) bool {
	for _, mark := range [...]string{"- ", "* ", "+ ", "• ", "・"} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
}

// hasWord reports whether one of the words stands in the text by itself.
func hasWord(text string, words ...string) bool {
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
		for _, word := range words {
			if field == word {
				return true
			}
		}
	}
	return false
}
