package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxName is the length of a tool's name in bytes, without its namespace.
const maxName = 128

// NameError says why a tool cannot be registered under its name.
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("tool name %s: %s", quote(e.Name), e.Reason)
}

// UnknownToolError says that no tool of this name is registered.
type UnknownToolError struct {
	Name string
	// Close are the registered names that may have been meant, best first, three
	// at most.
	Close []string
}

func (e *UnknownToolError) Error() string {
	text := "there is no tool " + quote(e.Name)
	if len(e.Close) > 0 {
		text += "; did you mean " + strings.Join(e.Close, " or ") + "?"
	}
	return text
}

// quote shows a name that somebody else made up: short and without control
// characters.
func quote(name string) string {
	const most = 80
	if len(name) > most {
		name = cutRunes(name, most) + "…"
	}
	return fmt.Sprintf("%q", name)
}

// badName says what is wrong with a name or a namespace; "" means nothing.
// What is allowed is listed rather than what is not: names end up in prompts,
// file names and terminals (seed 003, SEC-001).
func badName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > maxName:
		return fmt.Sprintf("it is longer than %d bytes", maxName)
	case strings.Contains(name, ".."):
		return "it contains .."
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
		case (c == '-' || c == '.') && i > 0 && i < len(name)-1:
		case c == '/' || c == '\\':
			return "it contains a path separator"
		case c < ' ' || c == 0x7f:
			return "it contains a control character"
		default:
			return "only letters, digits, _ and, inside, - and . may be used"
		}
	}
	return ""
}

// closest returns the names most like the one asked for, best first.
func closest(asked string, names []string) []string {
	if len(asked) > 2*maxName {
		return nil
	}
	type match struct {
		name     string
		distance int
	}
	var matches []match
	plain := plainName(asked)
	for _, name := range names {
		other := plainName(name)
		_, base, _ := strings.Cut(name, "/")
		d := distance(plain, other)
		switch {
		case plain == other, base != "" && plainName(base) == plain, words(asked) == words(name):
			d = 0
		case len(plain) >= 3 && strings.Contains(other, plain), len(other) >= 3 && strings.Contains(plain, other):
			d = min(d, 1)
		}
		if d <= tolerated(len(plain)) {
			matches = append(matches, match{name, d})
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return a.distance - b.distance })
	var found []string
	for _, m := range matches[:min(len(matches), 3)] {
		found = append(found, m.name)
	}
	return found
}

// tolerated is the distance up to which a name of n bytes may have been meant.
func tolerated(n int) int {
	if n < 4 {
		return n / 3
	}
	return max(2, n/3) // 2: two letters are swapped
}

// words is the same for read_file and file_read.
func words(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("_-./ ", r) })
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// plainName drops what models get wrong most: case and separators.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", "/", "", " ", "").Replace(name))
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// cutRunes returns the longest beginning of s of at most n bytes that does not
// end inside a rune.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for back := 0; back < utf8.UTFMax && n-back > 0; back++ {
		if utf8.RuneStart(s[n-back]) {
			return s[:n-back]
		}
	}
	return s[:n]
}
