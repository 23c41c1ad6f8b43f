package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers/transcript"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
	"github.com/rax-project/rax/trace/safety"
)

// UnknownFormatError says that a content is neither a trace nor a transcript of
// a known format.
type UnknownFormatError struct {
	Name string
}

func (e *UnknownFormatError) Error() string {
	return e.Name + ": neither a trace nor a transcript of a known format"
}

// Stream gives the records of a source. It must be closed.
type Stream struct {
	// Format is trace.Format, or the format of the transcript that is imported.
	Format string
	// Imported says that the source is a transcript: the places of records are
	// those of the trace that an import would write, the origins in them those
	// of the transcript.
	Imported bool

	ctx     context.Context
	env     Env
	src     Source
	name    string
	session *safety.Session
	in      io.Reader
	file    io.Closer
	account *transcript.Account
}

// Open opens a source and looks at its content. Errors are *UnknownFormatError
// or those of the file system.
func Open(ctx context.Context, src Source, env Env) (*Stream, error) {
	if env.Safety == nil {
		env.Safety = safety.Default()
	}
	s := &Stream{ctx: ctx, env: env, src: src, name: src.Name(), session: env.Safety.Session()}
	if src.Path == stdin {
		if env.Stdin == nil {
			return nil, errors.New("no standard input to read")
		}
		s.in = env.Stdin
	} else {
		f, err := os.Open(src.Path)
		if err != nil {
			return nil, err
		}
		s.in, s.file = f, f
	}
	if err := s.recognise(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// recognise tells the format and makes s.in begin at the beginning again.
func (s *Stream) recognise() error {
	file, start, seekable := s.in, int64(0), false
	if f, ok := s.in.(io.Seeker); ok {
		at, err := f.Seek(0, io.SeekCurrent)
		start, seekable = at, err == nil // a pipe has the method and fails
	}
	plain, err := trace.Plain(file)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	in := bufio.NewReaderSize(plain, transcript.HeadSize)
	head, err := in.Peek(transcript.HeadSize)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.in = in
	format, err := transcript.Detect(head)
	switch {
	case err == nil:
		s.Format, s.Imported = string(format), true
		if seekable {
			// An import reads twice: from the file it need not copy anything.
			if _, err := file.(io.Seeker).Seek(start, io.SeekStart); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.in = file
		}
	case !errors.Is(err, transcript.ErrNotMine):
		return fmt.Errorf("%s: %w", s.name, err)
	case isTrace(head):
		s.Format = trace.Format
	default:
		return &UnknownFormatError{Name: s.name}
	}
	return nil
}

// isTrace reports whether a line of the head has what every event has, or
// whether there is nothing at all: a trace that was just begun. The head may
// stop in the middle of a line; only names before its end are looked at.
func isTrace(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
			continue
		}
		var kind, run bool
		gjson.ParseBytes(line).ForEach(func(key, value gjson.Result) bool {
			kind = kind || key.String() == "kind" && value.Type == gjson.String
			run = run || key.String() == "runId" && value.Type == gjson.String
			return !kind || !run
		})
		if kind && run {
			return true
		}
	}
	return len(bytes.TrimSpace(head)) == 0
}

// Close closes the file.
func (s *Stream) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Account says what an import found; nil for a trace, and before All ended.
func (s *Stream) Account() *transcript.Account { return s.account }

// All yields the records in order, as trace.Reader does: a line that cannot be
// read comes as a *trace.SyntaxError and the iteration goes on; any other error
// is the last pair. Of a transcript such lines come at the end, named by their
// place in the transcript. It can be ranged over once.
func (s *Stream) All() iter.Seq2[trace.Record, error] {
	opt := trace.ReaderOptions{Safety: s.env.Safety}
	if !s.Imported {
		return trace.NewReader(s.in, s.name, opt).All()
	}
	return func(yield func(trace.Record, error) bool) {
		out, in := io.Pipe()
		done := make(chan transcript.Account, 1)
		go func() {
			account, err := s.convert(in)
			in.CloseWithError(err)
			done <- account
		}()
		stopped := false
		for rec, err := range trace.NewReader(out, s.name, opt).All() {
			if !yield(rec, err) {
				stopped = true
				break
			}
		}
		// Without a reader the import ends with its next event. This never fails.
		_ = out.Close()
		account := <-done
		s.account = &account
		for _, bad := range account.Bad {
			if stopped {
				return
			}
			stopped = !yield(trace.Record{}, &trace.SyntaxError{
				Place:  trace.Place{Name: s.name, Line: bad.Line, Offset: bad.Offset},
				Damage: bad.Damage, Reason: bad.Reason,
			})
		}
	}
}

// convert imports the transcript and writes the trace, scrubbed, to pipe.
func (s *Stream) convert(pipe *io.PipeWriter) (transcript.Account, error) {
	w, err := trace.NewWriter(pipeFile{pipe}, trace.WriterOptions{
		Name: s.name, Durability: trace.DurabilityNone, Session: s.session,
		// What has no time in the transcript gets none.
		Now: func() time.Time { return time.UnixMilli(0) },
	})
	if err != nil {
		return transcript.Account{}, err
	}
	account, err := transcript.Import(s.ctx, s.in, s.name, func(ev trace.Event) error {
		rec, err := w.Write(ev)
		trace.Adopt(ev, rec)
		return err
	}, transcript.Options{
		Session: s.session,
		RunID: func(startMs int64, parts ...string) string {
			return dir.ImportID(time.UnixMilli(startMs), parts...)
		},
		TempDir: s.env.TempDir,
	})
	return account, err
}

// pipeFile is a trace file that is read while it is written.
type pipeFile struct{ *io.PipeWriter }

func (pipeFile) Sync() error { return nil }

// Truncate cannot take back what was read: the reader sees a torn line.
func (pipeFile) Truncate(int64) error { return errors.New("a pipe cannot be truncated") }
