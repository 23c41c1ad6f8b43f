package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode"
)

// Line is one JSON object of a file of lines, as it stands there: not scrubbed,
// and therefore for importers only. What it holds may be shown or stored after
// it went through a [Writer].
type Line struct {
	// Bytes are a valid JSON object; they are good until the next step.
	Bytes []byte
	// Place is where it stands. Offset is that of the object, not of the line.
	Place Place
}

// Lines yields the JSON objects of a stream in order, whatever they are. A line
// that is not exactly one object comes as a *SyntaxError and the iteration goes
// on; the objects that stand on such a line follow their error. Any other error
// is the last pair. Lines longer than limit bytes are passed over; 0 means
// DefaultMaxLine. The stream is read as it is, not unpacked: see [Plain].
func Lines(r io.Reader, name string, limit int) iter.Seq2[Line, error] {
	if limit <= 0 {
		limit = DefaultMaxLine
	}
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 256<<10)
		place := Place{Name: name}
		if bom, _ := in.Peek(3); string(bom) == "\ufeff" {
			n, _ := in.Discard(3)
			place.Offset += int64(n)
		}
		toldTorn := false
		tell := func(line Line, err error) bool {
			var syntax *SyntaxError
			toldTorn = toldTorn || errors.As(err, &syntax) && syntax.Damage == Torn
			return yield(line, err)
		}
		var buf []byte
		for {
			place.Line++
			line, n, err := readLine(in, &buf, limit)
			if err != nil && !errors.Is(err, io.EOF) && !torn(err) {
				yield(Line{}, fmt.Errorf("%s: %w", place, err))
				return
			}
			if n > 0 && !yieldObjects(line, n, limit, place, err == nil, tell) {
				return
			}
			place.Offset += n
			if torn(err) && !toldTorn {
				yield(Line{}, &SyntaxError{Place: place, Damage: Torn, Reason: "the compressed stream stops too early"})
			}
			if err != nil {
				return
			}
		}
	}
}

// yieldObjects yields what stands on one line: usually one object.
func yieldObjects(line []byte, n int64, limit int, place Place, ended bool, yield func(Line, error) bool) bool {
	at := func(offset int) Place {
		p := place
		p.Offset += int64(offset)
		return p
	}
	bad := func(d Damage, offset int, reason string) bool {
		return yield(Line{}, &SyntaxError{Place: at(offset), Damage: d, Reason: reason})
	}
	if line == nil {
		return bad(TooLong, 0, fmt.Sprintf("%d bytes, the limit is %d", n, limit))
	}
	body := bytes.TrimSpace(line)
	if len(body) == 0 {
		return true
	}
	lead := len(line) - len(bytes.TrimLeftFunc(line, unicode.IsSpace))
	if body[0] == '{' && validJSON(body) {
		return yield(Line{Bytes: body, Place: at(lead)}, nil)
	}
	objects, rest := splitObjects(body)
	switch {
	case rest < 0:
		if !bad(Joined, lead, strconv.Itoa(len(objects))+" objects on one line; all were read") {
			return false
		}
	case !ended && body[rest] == '{':
		if !bad(Torn, lead+rest, "the file stops in the middle of a line") {
			return false
		}
	case body[rest] != '{':
		if !bad(Corrupt, lead+rest, "not a JSON object") {
			return false
		}
	default:
		if !bad(Corrupt, lead+rest, "not valid JSON") {
			return false
		}
	}
	for _, o := range objects {
		if !yield(Line{Bytes: body[o.start:o.end], Place: at(lead + int(o.start))}, nil) {
			return false
		}
	}
	return true
}

// readLine reads to the next newline into buf and gives the line with it, n
// bytes in all. Of a line that is longer than limit without its newline it keeps
// nothing: line is nil. Any error comes with what was read before it.
func readLine(in *bufio.Reader, buf *[]byte, limit int) (line []byte, n int64, err error) {
	*buf = (*buf)[:0]
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		size := n
		if err == nil {
			size-- // the newline
		}
		if size <= int64(limit) {
			*buf = append(*buf, part...)
		} else {
			*buf = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return *buf, n, err
		}
	}
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
		if !validJSON(line[i:end]) {
			return objects, i
		}
		objects = append(objects, token{uint32(i), uint32(end)})
		i = end
	}
}
