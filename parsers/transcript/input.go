package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/rax-project/rax/trace"
)

// input is a transcript that can be read twice. The second pass reads exactly
// what the first one read, even when the file grew meanwhile.
type input struct {
	name  string
	limit int
	src   io.ReadSeeker
	start int64
	// size is how much the first pass read; -1 before it ended.
	size int64
	// cut says that the input was compressed and stops too early.
	cut bool
	// temp is the file that stands in for an input that cannot seek.
	temp *os.File
}

// newInput makes a transcript readable twice and tells its format. What cannot
// seek, or is compressed, is copied; what is no transcript is not.
func newInput(r io.Reader, name string, opt Options) (*input, Format, error) {
	in := &input{name: name, limit: opt.MaxLine, size: -1}
	if s, ok := r.(io.ReadSeeker); ok {
		// A pipe has the method and fails.
		if at, err := s.Seek(0, io.SeekCurrent); err == nil {
			in.src, in.start = s, at
			head, err := io.ReadAll(io.LimitReader(s, HeadSize))
			if err != nil {
				return nil, "", err
			}
			if err := in.rewind(); err != nil {
				return nil, "", err
			}
			if format, err := Detect(head); !errors.Is(err, ErrNotMine) {
				return in, format, err
			}
		}
	}
	plain, err := trace.Plain(r)
	if err != nil {
		return nil, "", err
	}
	stream := bufio.NewReaderSize(plain, HeadSize)
	head, err := stream.Peek(HeadSize)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, "", err
	}
	format, err := Detect(head)
	if err != nil {
		return nil, "", err
	}
	err = in.copy(stream, opt.TempDir)
	return in, format, err
}

// copy keeps a stream in a temporary file.
func (in *input) copy(r io.Reader, dir string) error {
	temp, err := os.CreateTemp(dir, "rax-import-*")
	if err != nil {
		return err
	}
	in.temp, in.src, in.start = temp, temp, 0
	_, err = io.Copy(temp, r)
	if in.cut = errors.Is(err, io.ErrUnexpectedEOF); err != nil && !in.cut {
		return errors.Join(err, in.close())
	}
	return nil
}

func (in *input) close() error {
	if in.temp == nil {
		return nil
	}
	return errors.Join(in.temp.Close(), os.Remove(in.temp.Name()))
}

func (in *input) rewind() error {
	if _, err := in.src.Seek(in.start, io.SeekStart); err != nil {
		return fmt.Errorf("go back to the beginning: %w", err)
	}
	return nil
}

// lines goes over the whole input from its beginning.
func (in *input) lines() iter.Seq2[trace.Line, error] {
	return func(yield func(trace.Line, error) bool) {
		if err := in.rewind(); err != nil {
			yield(trace.Line{}, err)
			return
		}
		r := &counted{r: in.src, left: in.size}
		for line, err := range trace.Lines(r, in.name, in.limit) {
			if !yield(line, err) {
				return
			}
		}
		if in.size < 0 {
			in.size = r.read
		}
	}
}

// counted counts what is read and stops after left bytes; below 0 it goes on to
// the end.
type counted struct {
	r    io.Reader
	read int64
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left >= 0 {
		if c.read >= c.left {
			return 0, io.EOF
		}
		p = p[:min(int64(len(p)), c.left-c.read)]
	}
	n, err := c.r.Read(p)
	c.read += int64(n)
	return n, err
}
