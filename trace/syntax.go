package trace

import "fmt"

// Damage says in what way a line of a trace is bad.
type Damage string

// The kinds of damage.
const (
	// Torn: the file stops in the middle of a line, as after a crash or while
	// it is being written.
	Torn Damage = "torn"
	// Corrupt: the line is no JSON object.
	Corrupt Damage = "corrupt"
	// TooLong: the line is longer than the limit and was passed over.
	TooLong Damage = "too-long"
	// Joined: several objects stand on one line. All of them were read.
	Joined Damage = "joined"
)

// SyntaxError is a line that is not as the format wants it. It is a value of
// the iteration, not its end: the reader goes on behind it. It never holds the
// line itself, which may hold secrets.
type SyntaxError struct {
	Place
	Damage Damage
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: %s line: %s", e.Place, e.Damage, e.Reason)
}

// Lost reports whether something on the line could not be read.
func (e *SyntaxError) Lost() bool { return e.Damage != Joined }

// VersionError says that a newer version of rax wrote the file. It ends the
// iteration: what this version would make of the rest cannot be trusted.
type VersionError struct {
	Place
	// Declared is the format that the file declares.
	Declared string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: the trace is %q, which is newer than this program reads (%s)", e.Place, e.Declared, Format)
}
