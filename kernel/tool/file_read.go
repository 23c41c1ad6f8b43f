package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rax-project/rax/kernel"
)

type fileReadArgs struct {
	Path  string `json:"path" jsonschema:"file relative to the root, such as docs/a.md"`
	Start int    `json:"start_line,omitempty" jsonschema:"first line, counted from 1; default 1"`
	End   int    `json:"end_line,omitempty" jsonschema:"last line, included; default: as far as the size limit goes"`
}

// maxRead is the size of what one file_read gives, in bytes: below the usual
// limit of results, so that its own remark on how to go on is not cut off.
const maxRead = 128 << 10

func fileRead(f files) kernel.Tool {
	return Func("file_read",
		"Read a text file, or a range of its lines. A long file is cut and the result says at which line to continue.",
		kernel.EffectRead,
		func(ctx context.Context, a fileReadArgs) (kernel.ToolResult, error) {
			name, err := clean(a.Path)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			a.Start = max(a.Start, 1)
			if a.End != 0 && a.End < a.Start {
				return kernel.ToolResult{}, fmt.Errorf("end_line is before start_line %d", a.Start)
			}
			file, info, err := f.open(name)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			defer file.Close()
			return readLines(ctx, file, info.Size(), a)
		},
		length("path", 1, maxPath), between("start_line", 1, 1<<31-1), between("end_line", 1, 1<<31-1))
}

var errBinary = errors.New("it is a binary file")

// readLines reads the lines of a range. Memory is bounded by maxRead however
// long the file or a line is.
func readLines(ctx context.Context, r io.Reader, size int64, a fileReadArgs) (kernel.ToolResult, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(headSize); bytes.IndexByte(head, 0) >= 0 {
		return kernel.ToolResult{}, fmt.Errorf("%w of %d bytes", errBinary, size)
	}
	var out strings.Builder
	line, last, seen := 1, 0, 0 // the line being read, the last one in out, the last in the file
	var result kernel.ToolResult
	for a.End == 0 || line <= a.End {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 {
			seen = line
		}
		if line >= a.Start && len(piece) > 0 {
			if bytes.IndexByte(piece, 0) >= 0 {
				return kernel.ToolResult{}, fmt.Errorf("%w of %d bytes", errBinary, size)
			}
			if out.Len()+len(piece) > maxRead {
				result.Truncated = true
				text := out.String()
				if last == line { // the pieces of a line do not end with its runes
					text = cutRunes(text+string(piece), maxRead)
				}
				return a.finish(result, text, line, last, size)
			}
			out.Write(piece)
			last = line
		}
		switch {
		case errors.Is(err, io.EOF):
			return a.finish(result, out.String(), seen, last, size)
		case err == nil:
			line++
		case !errors.Is(err, bufio.ErrBufferFull):
			return result, plainError(err)
		}
	}
	return a.finish(result, out.String(), line, last, size)
}

// finish words the result: last is the last line in text, line the one that
// reading stopped in.
func (a fileReadArgs) finish(result kernel.ToolResult, text string, line, last int, size int64) (kernel.ToolResult, error) {
	if last == 0 && line > 0 {
		return result, fmt.Errorf("start_line %d is behind the end: the file has %s", a.Start, count(line, "line"))
	}
	var notes []string
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		notes = append(notes, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	if result.Truncated {
		where, next := "after", last+1
		if line == last {
			where = "inside"
			if last > a.Start {
				next = last // alone it may fit
			}
		}
		notes = append(notes, fmt.Sprintf("cut %s line %d of a file of %d bytes; continue with start_line %d", where, last, size, next))
	}
	result.Content = note(text, notes...)
	switch {
	case last == 0:
		result.Summary = "empty file"
	case last == a.Start:
		result.Summary = fmt.Sprintf("line %d", last)
	default:
		result.Summary = fmt.Sprintf("lines %d to %d", a.Start, last)
	}
	return result, nil
}
