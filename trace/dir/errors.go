package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"
)

// ErrCompressed is what [Dir.OpenAppend] wraps when the trace was closed and
// compressed: such a trace takes no more events.
var ErrCompressed = errors.New("trace is compressed and takes no more events")

// NotFoundError says that no trace answers to Ref. It is an [fs.ErrNotExist].
type NotFoundError struct {
	Ref string
	// Suggestions are at most three ids close to Ref, the closest first. Each
	// can be given to Find as it stands.
	Suggestions []string
}

func (e *NotFoundError) Error() string { return "no trace " + quoteRef(e.Ref) }
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }

// AmbiguousError says that Ref is the beginning of several ids.
type AmbiguousError struct {
	Ref     string
	Matches []string // every id it could mean, newest first
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s is the beginning of %d trace ids", quoteRef(e.Ref), len(e.Matches))
}

// LockedError says that somebody else, in this process or another, holds the
// lock of the file at Path.
type LockedError struct {
	Path string
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%q is in use by another writer", e.Path)
}

// quoteRef makes what somebody typed fit for one line of an error.
func quoteRef(ref string) string {
	const limit = 80
	if len(ref) <= limit {
		return fmt.Sprintf("%q", ref)
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(ref[cut]) {
		cut--
	}
	return fmt.Sprintf("%q (cut)", ref[:cut])
}
