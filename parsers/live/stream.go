package live

import (
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace/safety"
)

// Stream is the whole pipe, from the bytes of a provider to the sink.
type Stream struct {
	in   *provider.Stream
	pipe *Pipe
}

// Open begins to read a stream of a wire format. OnDelta and KeepTags of the
// options are the pipe's own business and are overwritten.
func Open(format provider.Format, opts provider.ParseOptions, s *safety.Session, sink func(Chunk)) *Stream {
	pipe := New(s, sink)
	opts.OnDelta, opts.KeepTags = pipe.Delta, false
	return &Stream{in: provider.NewStream(format, opts), pipe: pipe}
}

// Write takes the next bytes, cut anywhere. Its errors are those of
// provider.Stream; the message of an *provider.APIError is not scrubbed.
func (s *Stream) Write(chunk []byte) error { return s.in.Write(chunk) }

// Close ends the stream. The answer is the model's own and not scrubbed: it is
// for the kernel, which stores it by a trace.Writer, and for nobody else.
func (s *Stream) Close() (parsers.Answer, error) {
	answer, err := s.in.Close()
	s.pipe.Close(answer)
	return answer, err
}

// Blocked says that the policy refuses to store the thinking.
func (s *Stream) Blocked() bool { return s.pipe.Blocked() }
