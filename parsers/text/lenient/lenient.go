// Package lenient finds JSON in the prose of a model and reads the JSON that
// small models write.
//
// It exists beside the libraries for two reasons. A rationale must be shown to
// be the model's own words, so a repair may change the punctuation around a
// string but never what the string says, and every byte of the result must be
// traced to the byte it was read from. And the input is hostile, so the cost
// must be linear. (github.com/kaptinlin/jsonrepair, tried first, moves text in
// and out of strings by design, takes 19 s for 10 kB of `["a "a "a …`, and
// overflows the stack, which ends the program, on 10 MB of `[`.)
//
// # What is read beyond JSON
//
//   - a comma before a closing bracket;
//   - comments: // and # to the end of the line, /* … */;
//   - strings in single quotes;
//   - member names without quotes, when they are identifiers;
//   - True, False and None;
//   - control characters inside strings, such as a line break;
//   - \' inside strings, and a backslash before a character that it escapes in
//     neither JSON, JavaScript nor Python, which then stands for itself;
//   - brackets left open at the end of the text, when a value ended there.
//
// Anything else that is not JSON is not read: where a string ends, where a
// comma is missing or what \x41 means would be a guess.
package lenient

import "github.com/rax-project/rax/rationale"

// MaxDepth is how deep brackets may be nested. Deeper ones are not read as
// part of the value around them; the values inside may still be found.
const MaxDepth = 256

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	ObjectKind
)

// Object is a JSON object that stands in a text and has watched members.
type Object struct {
	// Span is the object, braces included.
	Span rationale.Span
	// Root is the outermost value around it, or Span itself.
	Root rationale.Span
	// InArray says that it is an element of an array.
	InArray bool
	// Members are the watched ones that it has, each once: of two members with
	// one name the first counts.
	Members []Member
	// Others is the number of members that nobody watches.
	Others int
	// Repaired says that something in it is not strict JSON.
	Repaired bool
	// Cut says that the end of the text closes it.
	Cut bool
}

// Member is one watched member of an [Object].
type Member struct {
	Name string
	Kind Kind
	// Span is the value in the text, quotes or brackets included.
	Span rationale.Span
	// Repaired and Cut are those of the value.
	Repaired, Cut bool
}

// Member returns the member with the given name.
func (o *Object) Member(name string) (Member, bool) {
	for _, m := range o.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// Scan returns the objects in the text that have at least one watched member,
// in the order in which they begin, at any depth down to [MaxDepth] and in any
// prose. It takes time and memory linear in the text.
func Scan(text string, watched []string) []Object {
	s := scanner{text: text, watched: watched, budget: 2 * len(text)}
	for at := 0; at < len(text); {
		start := nextBracket(text, at)
		if start < 0 {
			break
		}
		at = s.attempt(start)
	}
	return s.found()
}

// At reads the one value, an object or array, that begins at the given offset,
// and returns the objects in it that have watched members and the offset after
// it. When the value cannot be read, ok is false and end is how far reading
// got. It takes time linear in end-start.
func At(text string, start int, watched []string) (objects []Object, end int, ok bool) {
	if start < 0 || start >= len(text) || text[start] != '{' && text[start] != '[' {
		return nil, start, false
	}
	s := scanner{text: text, watched: watched}
	end, ok = s.value(start)
	if !ok {
		return nil, end, false
	}
	return s.found(), end, true
}
