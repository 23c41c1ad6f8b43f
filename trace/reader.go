package trace

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/trace/safety"
)

// DefaultMaxLine is the longest line that a Reader takes, in bytes.
const DefaultMaxLine = 64 << 20

// ReaderOptions change how a Reader reads. The zero value is what most want.
type ReaderOptions struct {
	// MaxLine is the longest line in bytes; 0 means DefaultMaxLine.
	MaxLine int
	// Safety scrubs lines of runs that carry no stamp of a known rule set; nil
	// means safety.Default().
	Safety *safety.Pipeline
}

// Reader reads a trace line by line. It takes plain, gzip and zstd streams and
// tells them apart by their first bytes.
type Reader struct {
	src     io.Reader
	name    string
	max     int
	session *safety.Session
	// trusted are the runs whose start says that known rules scrubbed them.
	trusted map[string]bool
	scrubs  []byte
}

// NewReader returns a Reader of r. The name stands in places and errors.
func NewReader(r io.Reader, name string, opt ReaderOptions) *Reader {
	if opt.MaxLine <= 0 {
		opt.MaxLine = DefaultMaxLine
	}
	if opt.Safety == nil {
		opt.Safety = safety.Default()
	}
	return &Reader{
		src: r, name: name, max: opt.MaxLine,
		session: opt.Safety.Session(),
		trusted: make(map[string]bool),
	}
}

// All yields the records of the stream in order. A line that is not exactly one
// JSON object comes as a *SyntaxError, before the objects that stand on it, and
// the iteration goes on; any other error is the last pair. A yielded Record is
// valid until the next step. The iteration can be ranged over once.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		src, err := Plain(r.src)
		if err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", r.name, err))
			return
		}
		for line, err := range Lines(src, r.name, r.max) {
			if err != nil && !yield(Record{}, err) || err == nil && !r.yieldObject(line, yield) {
				return
			}
		}
	}
}

// yieldObject yields one valid JSON object as a Record, scrubbed unless its run
// says that it already is.
func (r *Reader) yieldObject(line Line, yield func(Record, error) bool) bool {
	obj := line.Bytes
	run := gjson.GetBytes(obj, "runId").String()
	if kind, _ := kindOf(obj); kind == KindRunStarted {
		if declared := gjson.GetBytes(obj, "format").String(); newer(declared) {
			yield(Record{}, &VersionError{Place: line.Place, Declared: declared})
			return false
		}
		r.trusted[run] = run != "" && gjson.GetBytes(obj, "safety").String() == safety.Version
	}
	if !r.trusted[run] {
		r.scrubs, _ = r.session.Line(r.scrubs[:0], obj)
		obj = r.scrubs
	}
	return yield(Record{line: obj, place: line.Place}, nil)
}

// newer reports whether a declared format is a later major version of ours.
func newer(declared string) bool {
	name, version, ok := strings.Cut(declared, "/")
	if !ok || name != "rax-trace" {
		return false
	}
	// A number too large for an int is newer all the same.
	major := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	major = strings.TrimLeft(major, "0")
	return len(major) > 1 || major > "1"
}
