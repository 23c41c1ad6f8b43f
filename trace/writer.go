package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rax-project/rax/trace/safety"
)

// File is what a Writer needs of a file; *os.File has it.
type File interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// WriterOptions change how a Writer writes. The zero value syncs on Close,
// stops when the disk refuses, and scrubs with safety.Default().
type WriterOptions struct {
	// Name stands in the places of the records that Write returns.
	Name       string
	Durability Durability
	Full       FullPolicy
	Safety     *safety.Pipeline
	// Session scrubs in place of a new session of Safety, so that what is shown
	// beside the trace has the same marks.
	Session *safety.Session
	// Producer is written into run-started events that name none.
	Producer string
	// Now gives the time of events that carry none; nil means time.Now.
	Now func() time.Time
	// NextSeq, Line and Offset continue a file that already holds events: the
	// first seq to give, and the number of lines and bytes that are there.
	NextSeq int64
	Line    int
	Offset  int64
}

// ErrClosed is returned for a Write after Close.
var ErrClosed = errors.New("trace: writer is closed")

// Writer appends events to one trace file. It gives each its seq, scrubs it,
// and writes it with one write call. It may be used by several goroutines.
type Writer struct {
	opt     WriterOptions
	session *safety.Session
	sync    groupSync

	mu      sync.Mutex
	file    File
	buf     []byte
	writes  int64
	stopped error // sticky: why nothing more is written
	lost    int64 // events that the policy "continue" let go
	closed  bool
}

// NewWriter returns a Writer that appends to file and closes it with Close.
func NewWriter(file File, opt WriterOptions) (*Writer, error) {
	if !opt.Durability.Valid() {
		return nil, fmt.Errorf("unknown durability %q: want none, close or event", opt.Durability)
	}
	if !opt.Full.Valid() {
		return nil, fmt.Errorf("unknown policy for a full disk %q: want stop or continue", opt.Full)
	}
	if opt.Durability == "" {
		opt.Durability = DurabilityClose
	}
	if opt.Safety == nil {
		opt.Safety = safety.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Session == nil {
		opt.Session = opt.Safety.Session()
	}
	return &Writer{opt: opt, session: opt.Session, file: file}, nil
}

// Write stores an event and returns it as stored: scrubbed, and with a
// rationale that safety refused turned into the status blocked. What follows
// must use only that. It sets Seq and, where they are empty, Timestamp and the
// stamps of a run-started event; it does not change ev otherwise.
//
// The returned Record owns its memory. Under the policy "continue" a refused
// write is no error; see [Writer.Untraced].
func (w *Writer) Write(ev Event) (Record, error) {
	if ev.EventKind() == "" {
		return Record{}, ErrNoKind
	}
	if ev.Common().RunID == "" {
		return Record{}, fmt.Errorf("%s: runId is empty", ev.EventKind())
	}
	w.mu.Lock()
	rec, n, err := w.write(ev)
	w.mu.Unlock()
	if err != nil {
		return rec, err
	}
	return rec, w.durable(n)
}

func (w *Writer) write(ev Event) (Record, int64, error) {
	if w.closed {
		return Record{}, 0, ErrClosed
	}
	base := ev.Common()
	base.Seq = w.opt.NextSeq
	if base.Timestamp == 0 {
		base.Timestamp = w.opt.Now().UnixMilli()
	}
	if start, ok := ev.(*RunStarted); ok {
		w.stamp(start)
	}
	ev, applied := screen(ev, w.session)
	enc := encoder{buf: w.buf[:0], session: w.session}
	if err := enc.event(ev); err != nil {
		return Record{}, 0, fmt.Errorf("%s: %w", ev.EventKind(), err)
	}
	w.buf = enc.buf
	w.opt.NextSeq++
	rec, n, err := w.append(enc.buf)
	if err != nil {
		return rec, n, err
	}
	if err := w.note(ev, append(applied, enc.findings...)); err != nil {
		return rec, n, err
	}
	if n > 0 {
		n = w.writes // the notes are part of what this Write promises
	}
	return rec, n, nil
}

func (w *Writer) stamp(start *RunStarted) {
	if start.Format == "" {
		start.Format = Format
	}
	if start.Producer == "" {
		start.Producer = w.opt.Producer
	}
	start.Safety = safety.Version
}

// Copy stores a record of another trace as it is, its seq included. It is for
// imports of rax's own format; a record is scrubbed already.
func (w *Writer) Copy(rec Record) (Record, error) {
	if len(rec.line) == 0 || bytes.IndexByte(rec.line, '\n') >= 0 {
		return Record{}, errors.New("a record must be one line")
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return Record{}, ErrClosed
	}
	stored, n, err := w.append(rec.line)
	w.mu.Unlock()
	if err != nil {
		return stored, err
	}
	return stored, w.durable(n)
}

// append writes one line with one call and remembers where it stands.
func (w *Writer) append(line []byte) (Record, int64, error) {
	if w.stopped != nil {
		return w.refuse(line)
	}
	owned := make([]byte, len(line)+1)
	copy(owned, line)
	owned[len(line)] = '\n'
	n, err := w.file.Write(owned)
	if err == nil && n < len(owned) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.stopped = fmt.Errorf("%s: %w", w.opt.Name, err)
		if n > 0 {
			// Half a line must not stay: the next writer's line would join it.
			// If this fails too, a reader still sees a torn line.
			if terr := w.file.Truncate(w.opt.Offset); terr != nil {
				w.stopped = errors.Join(w.stopped, terr)
			}
		}
		return w.refuse(line)
	}
	w.opt.Line++
	rec := Record{
		line:  owned[: len(owned)-1 : len(owned)-1],
		place: Place{Name: w.opt.Name, Line: w.opt.Line, Offset: w.opt.Offset},
	}
	w.opt.Offset += int64(len(owned))
	w.writes++
	return rec, w.writes, nil
}

// refuse answers a write that cannot be stored, by the policy.
func (w *Writer) refuse(line []byte) (Record, int64, error) {
	w.lost++
	if w.opt.Full == FullContinue {
		return Record{line: bytes.Clone(line)}, 0, nil
	}
	return Record{}, 0, w.stopped
}

// durable waits until write n is as safe as the level promises.
func (w *Writer) durable(n int64) error {
	if w.opt.Durability != DurabilityEvent || n == 0 {
		return nil
	}
	err := w.sync.reach(n, func() int64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.writes
	}, w.file.Sync)
	if err == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped == nil {
		w.stopped = fmt.Errorf("%s: %w", w.opt.Name, err)
	}
	if w.opt.Full == FullContinue {
		w.lost++
		return nil
	}
	return w.stopped
}

// Untraced says why nothing more is stored and how many events were let go
// since; nil while everything is stored.
func (w *Writer) Untraced() (lost int64, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost, w.stopped
}

// Close syncs, if the level says so, and closes the file. It returns everything
// that went wrong since the Writer was made, once.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	w.closed = true
	stopped, n := w.stopped, w.writes
	w.mu.Unlock()

	errs := []error{stopped}
	if w.opt.Durability != DurabilityNone && stopped == nil {
		// Through the group, so that a Write that still waits for its sync
		// finds it done and not the file closed.
		if err := w.sync.reach(n, func() int64 { return n }, w.file.Sync); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", w.opt.Name, err))
		}
	}
	if err := w.file.Close(); err != nil {
		errs = append(errs, fmt.Errorf("%s: close: %w", w.opt.Name, err))
	}
	return errors.Join(errs...)
}
