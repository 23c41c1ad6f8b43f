package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

// ErrNotThere says that an origin points at nothing in the source: it was read
// from another file, or the file has changed.
var ErrNotThere = errors.New("the characters are not there")

// Cite gives the very characters that an origin points at in a transcript,
// scrubbed as a part of the text they stand in. Only a file can be cited. The
// error is ErrNotThere or of the file system.
func Cite(src Source, o rationale.Origin, p *safety.Pipeline) (string, error) {
	if p == nil {
		p = safety.Default()
	}
	return cite(src, o, p.Session())
}

// Cite is the function Cite, with the marks that the records of the stream have.
func (s *Stream) Cite(o rationale.Origin) (string, error) { return cite(s.src, o, s.session) }

func cite(src Source, o rationale.Origin, s *safety.Session) (string, error) {
	if src.Path == stdin || o.Source != "" && filepath.Base(src.Name()) != o.Source {
		return "", ErrNotThere
	}
	f, err := os.Open(src.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	in, err := trace.Plain(f)
	if err == nil {
		_, err = io.CopyN(io.Discard, in, o.Offset)
	}
	if errors.Is(err, io.EOF) {
		return "", ErrNotThere
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", src.Name(), err)
	}
	text, ok := "", false
	for line, err := range trace.Lines(in, src.Name(), 0) {
		var bad *trace.SyntaxError
		if errors.As(err, &bad) && !bad.Lost() {
			continue // a second object follows on the line: the first is meant
		}
		if err != nil {
			return "", ErrNotThere
		}
		text, ok = line.Pointer(o.Field)
		break
	}
	if !ok {
		return "", ErrNotThere
	}
	if (rationale.Span{Start: o.Start, End: o.End}).In(text) == "" {
		return "", ErrNotThere
	}
	return s.Part("cited", text, o.Start, o.End), nil
}
