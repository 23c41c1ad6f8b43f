// Package transcript reads the transcripts that other agents keep of their
// sessions, and says what stands in them as trace events. There is one reader a
// format; which one takes a file is decided by its content, never by its name.
//
// What comes out is what the transcript says and nothing else: a missing result
// stays missing, and text beside a call is narrative, not its reason. Every
// reason and every narrative carries the place of the very characters it was
// read from. The events are not scrubbed here, narratives apart: whoever stores
// or shows them puts them through a trace.Writer first.
//
// A reader goes over its input twice: what comes late in a file (a model that
// states reasons, the last line of a message) decides about what stands early.
// The two passes hold one message and the open calls in memory, and a few dozen
// bytes for each message of the file.
package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

// Format names a transcript format.
type Format string

// The formats that are read.
const (
	// ClaudeCode is the session file of Claude Code, one JSON object a line.
	ClaudeCode Format = "claude-code"
)

var (
	// ErrNotMine says that a content is no transcript of a known format.
	ErrNotMine = errors.New("not a transcript of a known format")
	// ErrNoConversation says that a transcript holds no message of a user or a
	// model. Some agents leave such files behind, with nothing but titles.
	ErrNoConversation = errors.New("the transcript holds no conversation")
)

// HeadSize is how many bytes of a file [Detect] wants to see. It may be given
// fewer.
const HeadSize = 64 << 10

// reader reads one format.
type reader struct {
	format Format
	// detect returns nil, ErrNotMine, or what is broken about a head of its
	// format.
	detect func(head []byte) error
	read   func(ctx context.Context, in *input, out *output) error
}

// readers lists the formats in the order in which they are asked: the ones
// with the surest marks first.
var readers = [...]reader{
	{ClaudeCode, detectClaude, readClaude},
}

// Detect tells the format of a transcript by the beginning of its content, which
// may stop in the middle of a line. The error is ErrNotMine when no format takes
// it; any other error means that one does, and cannot read it.
func Detect(head []byte) (Format, error) {
	for _, r := range readers {
		err := r.detect(head)
		if errors.Is(err, ErrNotMine) {
			continue
		}
		return r.format, err
	}
	return "", ErrNotMine
}

// Options change how a transcript is read. RunID must be set.
type Options struct {
	// RunID makes the id of a run from the time of its start, in milliseconds
	// since the Unix epoch, and from what identifies its source, so that a
	// session imported twice is one run.
	RunID func(startMs int64, parts ...string) string
	// MaxLine is the longest line in bytes; 0 means trace.DefaultMaxLine.
	MaxLine int
	// TempDir is where an input that cannot be read twice is kept while it is
	// read; empty means the system's directory for temporary files. The file
	// holds what the transcript holds, and can be read by its owner alone.
	TempDir string
	// Session scrubs the account, and narratives as the parts of a text that
	// they are. It is to be the one of the Writer; nil means a new one.
	Session *safety.Session
}

// Import reads one transcript and calls emit for each event, in order; emit may
// take its rationale away (see trace.Adopt), which is counted then. The name
// is the file as the user named it, "-" for standard input; its base name stands
// in the events. It may be compressed (gzip, zstd); offsets count unpacked bytes
// then. An input that cannot seek or is compressed is copied to a temporary file.
//
// The error is ErrNotMine, ErrNoConversation, the error of emit, of the context
// or of the input. Lines that cannot be read are no error: the Account counts
// them. The Account is good, as far as the reading went, with an error too.
func Import(ctx context.Context, in io.Reader, name string, emit func(trace.Event) error, opt Options) (account Account, err error) {
	acc := newAccount()
	if opt.RunID == nil {
		return *acc, errors.New("import: no function to make run ids")
	}
	src, format, err := newInput(in, name, opt)
	if err != nil {
		return *acc, fmt.Errorf("%s: %w", name, err)
	}
	defer func() {
		// A copy that stays behind holds what nobody scrubbed: that is an error.
		err = errors.Join(err, src.close())
	}()
	acc.Format = format
	if src.cut {
		acc.warn("the compressed stream stops too early; what stands before is read")
	}
	if opt.Session == nil {
		opt.Session = safety.Default().Session()
	}
	out := &output{emitTo: emit, account: acc, runID: opt.RunID, session: opt.Session}
	for _, r := range readers {
		if r.format == format {
			err = r.read(ctx, src, out)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	acc.scrub(opt.Session)
	return *acc, err
}

// output is where a reader puts what it finds: the events and the account.
type output struct {
	emitTo  func(trace.Event) error
	account *Account
	runID   func(startMs int64, parts ...string) string
	session *safety.Session
}

func (o *output) emit(ev trace.Event) error {
	if err := o.emitTo(ev); err != nil {
		return err
	}
	o.account.Events[string(ev.EventKind())]++
	return nil
}

// baseName is the name of a file as events carry it: without the directory,
// empty for standard input.
func baseName(name string) string {
	if name == "-" || name == "" {
		return ""
	}
	return filepath.Base(name)
}
