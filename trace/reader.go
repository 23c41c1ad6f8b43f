package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
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

	line   int
	offset int64
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

// All yields the records of the stream in order. A line that is no JSON object
// comes as a *SyntaxError and the iteration goes on; any other error is the
// last pair. A yielded Record is valid until the next step. The iteration can
// be ranged over once.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		src, err := plain(r.src)
		if err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", r.name, err))
			return
		}
		in := bufio.NewReaderSize(src, 256<<10)
		if bom, _ := in.Peek(3); string(bom) == "\ufeff" {
			n, _ := in.Discard(3)
			r.offset += int64(n)
		}
		var buf []byte
		for {
			r.line++
			start := r.offset
			line, n, err := readLine(in, &buf, r.max)
			r.offset += n
			ended := err == nil
			if err != nil && !errors.Is(err, io.EOF) && !torn(err) {
				yield(Record{}, fmt.Errorf("%s:%d: %w", r.name, r.line, err))
				return
			}
			if n > 0 && !r.yieldLine(line, n, start, ended, yield) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}

// torn reports whether a decompressor says that its input stops too early.
func torn(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }

// plain unpacks a compressed stream.
func plain(src io.Reader) (io.Reader, error) {
	in := bufio.NewReader(src)
	magic, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(in)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	default:
		return in, nil
	}
}

// readLine reads to the next newline into buf and gives the line without it, n
// bytes in all. Of a line longer than limit it keeps nothing: line is nil and n
// is larger than limit. Any error comes with what was read before it.
func readLine(in *bufio.Reader, buf *[]byte, limit int) (line []byte, n int64, err error) {
	*buf = (*buf)[:0]
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if n <= int64(limit) {
			*buf = append(*buf, part...)
		} else {
			*buf = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return *buf, n, err
		}
	}
}

// yieldLine yields what stands on one line: usually one record.
func (r *Reader) yieldLine(line []byte, n, start int64, ended bool, yield func(Record, error) bool) bool {
	place := Place{Name: r.name, Line: r.line, Offset: start}
	bad := func(d Damage, at int, reason string) bool {
		place := place
		place.Offset += int64(at)
		return yield(Record{}, &SyntaxError{Place: place, Damage: d, Reason: reason})
	}
	if line == nil {
		return bad(TooLong, 0, fmt.Sprintf("%d bytes, the limit is %d", n, r.max))
	}
	body := bytes.TrimSpace(line)
	if len(body) == 0 {
		return true
	}
	at := bytes.Index(line, body[:1])
	if body[0] == '{' && gjson.ValidBytes(body) {
		return r.yieldObject(body, place, at, yield)
	}
	objects, rest := splitObjects(body)
	if len(objects) > 1 {
		if !bad(Joined, at, strconv.Itoa(len(objects))+" objects on one line; all were read") {
			return false
		}
	}
	for _, o := range objects {
		if !r.yieldObject(body[o.start:o.end], place, at+int(o.start), yield) {
			return false
		}
	}
	switch {
	case rest < 0:
		return true
	case !ended && body[rest] == '{':
		return bad(Torn, at+rest, "the file stops in the middle of a line")
	case body[rest] != '{':
		return bad(Corrupt, at+rest, "not a JSON object")
	default:
		return bad(Corrupt, at+rest, "not valid JSON")
	}
}

// yieldObject yields one valid JSON object as a Record, scrubbed unless its run
// says that it already is.
func (r *Reader) yieldObject(obj []byte, place Place, at int, yield func(Record, error) bool) bool {
	place.Offset += int64(at)
	run := gjson.GetBytes(obj, "runId").String()
	if kind, _ := kindOf(obj); kind == KindRunStarted {
		if declared := gjson.GetBytes(obj, "format").String(); newer(declared) {
			yield(Record{}, &VersionError{Place: place, Declared: declared})
			return false
		}
		r.trusted[run] = gjson.GetBytes(obj, "safety").String() == safety.Version
	}
	if !r.trusted[run] {
		r.scrubs, _ = r.session.Line(r.scrubs[:0], obj)
		obj = r.scrubs
	}
	return yield(Record{line: obj, place: place}, nil)
}

// newer reports whether a declared format is a later major version of ours.
func newer(declared string) bool {
	name, version, ok := strings.Cut(declared, "/")
	if !ok || name != "rax-trace" {
		return false
	}
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n > 1
}

// splitObjects finds the JSON objects that stand one after the other at the
// start of a line that is no single object. rest is where what is none begins,
// -1 when there is nothing else.
func splitObjects(line []byte) (objects []token, rest int) {
	i := 0
	for {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return objects, -1
		}
		if line[i] != '{' {
			return objects, i
		}
		end := valueEnd(line, i)
		if !gjson.ValidBytes(line[i:end]) {
			return objects, i
		}
		objects = append(objects, token{uint32(i), uint32(end)})
		i = end
	}
}
