package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

// ErrNotThere says that an origin points at nothing in the source: it was read
// from another file, or the file has changed.
var ErrNotThere = errors.New("the characters are not there")

// Cite gives the very characters that an origin points at in a transcript,
// scrubbed. Only a file can be cited. The error is ErrNotThere or of the file
// system.
func Cite(src Source, o rationale.Origin, p *safety.Pipeline) (string, error) {
	if src.Path == stdin || o.Source != "" && filepath.Base(src.Name()) != o.Source {
		return "", ErrNotThere
	}
	f, err := os.Open(src.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.Seek(o.Offset, io.SeekStart); err != nil {
		return "", fmt.Errorf("%s: %w", src.Name(), err)
	}
	line, err := bufio.NewReader(io.LimitReader(f, trace.DefaultMaxLine)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s: %w", src.Name(), err)
	}
	text, ok := pointed(line, o.Field)
	if !ok {
		return "", ErrNotThere
	}
	cited := rationale.Span{Start: o.Start, End: o.End}.In(text)
	if cited == "" {
		return "", ErrNotThere
	}
	if p == nil {
		p = safety.Default()
	}
	return p.Session().Text("cited", cited).Text, nil
}

// pointed gives the string that a JSON Pointer finds in the first value of a
// line.
func pointed(line []byte, pointer string) (string, bool) {
	at := gjson.ParseBytes(line)
	for _, part := range strings.Split(pointer, "/")[1:] {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if at.IsArray() {
			i, err := strconv.Atoi(name)
			items := at.Array()
			if err != nil || i < 0 || i >= len(items) {
				return "", false
			}
			at = items[i]
			continue
		}
		found := false
		at.ForEach(func(key, value gjson.Result) bool {
			if found = key.String() == name; found {
				at = value
			}
			return !found
		})
		if !found {
			return "", false
		}
	}
	return at.String(), at.Type == gjson.String
}
