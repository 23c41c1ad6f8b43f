package trace

import (
	"fmt"
	"slices"
)

// Place says where in which file a record stands.
type Place struct {
	// Name is the file as the user named it, "-" for standard input.
	Name string
	// Line is 1-based; two objects on one line have the same.
	Line int
	// Offset is the byte offset of the object in the (uncompressed) stream.
	Offset int64
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.Name, p.Line) }

// Record is one line of a trace: a valid JSON object, scrubbed, with its place.
// Only [Reader] and [Writer] make one, so that whoever holds a Record holds
// text that may be shown and stored. A Record that a Reader yielded is valid
// until the next step of the iteration; Clone keeps it.
type Record struct {
	line  []byte
	place Place
}

// Bytes is the JSON object, without a newline. It must not be changed.
func (r Record) Bytes() []byte { return r.line }

// Place says where the record stands; the zero Place if it was not stored.
func (r Record) Place() Place { return r.place }

// Clone returns a record with memory of its own.
func (r Record) Clone() Record {
	r.line = slices.Clone(r.line)
	return r
}
