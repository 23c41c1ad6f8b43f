package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
)

// maxFrame bounds one event of a stream and a body, in bytes.
const maxFrame = 64 << 20

var errFrame = errors.New("event over 64 MiB")

// framing is how a stream is cut into events.
type framing int

const (
	frameSSE framing = iota
	frameLines
	frameBinary
	frameArray // Gemini without alt=sse: one JSON array, element by element
	frameWhole // no stream at all: a body, mostly an error
)

func framingOf(format Format) framing {
	switch format {
	case OllamaNative:
		return frameLines
	case BedrockConverse, BedrockInvoke:
		return frameBinary
	default:
		return frameSSE
	}
}

// Stream reads an answer while it arrives. It is not safe for concurrent use.
type Stream struct {
	format  Format
	opts    ParseOptions
	b       *builder
	dec     decoder
	framing framing
	started bool
	sse     sseSplitter
	buf     []byte // unfinished line, frame or element; the whole body
	scanned int    // of buf, by frameArray
	depth   int    // of frameArray
	inStr   bool
	escaped bool
	offset  int64 // of the start of buf
	err     error
	stuck   bool // nothing more can be read
	partial bool // the stream ended inside an event
	closed  bool
	answer  parsers.Answer
}

// NewStream begins to read a stream of the format. An unknown format gives a
// Stream whose methods return [ErrUnknown].
func NewStream(format Format, opts ParseOptions) *Stream {
	s := &Stream{format: format, opts: opts, b: newBuilder(format, opts), framing: framingOf(format)}
	s.b.live = true
	s.dec = newDecoder(format, s.b)
	if s.dec == nil {
		s.err, s.stuck = ErrUnknown, true
	}
	return s
}

// Write takes the next bytes, cut anywhere. It returns the first error of the
// stream so far: an *[APIError] that the provider sent, or a *[SyntaxError].
// Reading goes on after either where it can, so that nothing is lost that
// follows; chunk is not kept.
func (s *Stream) Write(chunk []byte) error {
	if s.closed || s.stuck || len(chunk) == 0 {
		return s.err
	}
	if !s.started {
		s.start(chunk)
	}
	switch s.framing {
	case frameSSE:
		if err := s.sse.write(chunk, s.sseEvent); err != nil {
			s.fail(s.sse.offset, err)
		}
	case frameLines:
		s.lines(chunk)
	case frameBinary:
		s.binary(chunk)
	case frameArray:
		s.array(chunk)
	case frameWhole:
		if len(s.buf)+len(chunk) > maxFrame {
			s.fail(0, errFrame)
			break
		}
		s.buf = append(s.buf, chunk...)
	}
	return s.err
}

// start looks at the first byte: a server that is asked for a stream may send
// a body.
func (s *Stream) start(chunk []byte) {
	first := bytes.TrimLeft(chunk, " \t\r\n")
	if len(first) == 0 {
		return // decided later; leading white space is harmless in each framing
	}
	s.started = true
	switch {
	case s.opts.Status >= 400:
		s.framing = frameWhole
	case s.framing == frameSSE && first[0] == '{', s.framing == frameBinary && first[0] == '{':
		s.framing = frameWhole
	case s.framing == frameSSE && first[0] == '[' && s.format == Gemini:
		s.framing = frameArray
	}
}

// Text is the visible text so far, without thinking.
func (s *Stream) Text() string {
	if s.closed {
		return s.answer.Text()
	}
	if s.b.shown.Len() == 0 {
		return s.b.open.String()
	}
	return s.b.shown.String() + s.b.open.String()
}

// Close ends the stream and returns the answer: the same as [Parse] of all the
// bytes. A stream that stopped before its end is no error; Cut is set. The
// error is the one of Write.
func (s *Stream) Close() (parsers.Answer, error) {
	if s.closed {
		return s.answer, s.err
	}
	if s.dec == nil {
		s.closed = true
		return s.answer, s.err
	}
	if s.framing == frameWhole {
		s.answer, s.err = s.whole(s.buf)
		s.closed, s.buf = true, nil
		return s.answer, s.err
	}
	if !s.stuck {
		s.drain()
	}
	complete := s.dec.close()
	s.b.closeSplits()
	// An error before anything arrived cut nothing off.
	cut := (!complete || s.partial) && (s.err == nil || len(s.b.pieces) > 0)
	s.answer = s.b.finish(cut)
	s.closed, s.buf = true, nil
	return s.answer, s.err
}

// drain reads what the stream ended in. A last event that is cut off is no
// fault of the stream's syntax.
func (s *Stream) drain() {
	before := s.err
	switch s.framing {
	case frameSSE:
		if err := s.sse.close(s.sseEvent); err != nil {
			s.fail(s.sse.offset, err)
		}
	case frameLines:
		if len(bytes.TrimSpace(s.buf)) > 0 {
			s.json("", s.buf, s.offset)
		}
	case frameBinary, frameArray:
		s.partial = len(s.buf) > 0
	}
	var syntax *SyntaxError
	if before == nil && errors.As(s.err, &syntax) {
		s.err, s.partial = nil, true
	}
}

// whole reads a body. Its error says what is wrong with it.
func (s *Stream) whole(body []byte) (parsers.Answer, error) {
	if s.dec == nil {
		return s.answer, ErrUnknown
	}
	s.b.live = false
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if len(body) > maxFrame {
		return s.b.answer, &SyntaxError{Format: s.format, Err: errFrame}
	}
	if at, err := validate(body); err != nil {
		if s.opts.Status >= 400 {
			// A proxy's HTML page is an error of the same kind.
			return s.b.answer, &APIError{Format: s.format, Status: s.opts.Status, RetryAfter: s.opts.RetryAfter}
		}
		return s.b.answer, &SyntaxError{Format: s.format, Offset: at, Err: err}
	}
	root := gjson.ParseBytes(body)
	if s.opts.Status >= 400 {
		return s.b.answer, errorOf(s.format, root, s.opts)
	}
	err := s.dec.body(root)
	if errors.Is(err, ErrUnknown) && isError(root) {
		err = errorOf(s.format, root, s.opts)
	}
	if errors.Is(err, ErrUnknown) {
		return s.b.answer, err
	}
	return s.b.finish(false), err
}

// fail keeps the first error; the stream cannot be read any further.
func (s *Stream) fail(at int64, err error) {
	s.stuck = true
	s.note(&SyntaxError{Format: s.format, Offset: at, Err: err})
}

func (s *Stream) note(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *Stream) sseEvent(event string, data [][]byte, at int64) error {
	joined := data[0]
	if len(data) > 1 {
		// Some proxies leave out the empty line between events.
		joined = bytes.Join(data, []byte("\n"))
		if _, err := validate(joined); err != nil {
			for _, d := range data {
				s.json(event, d, at)
			}
			return nil
		}
	}
	s.json(event, joined, at)
	return nil
}

// json reads one event.
func (s *Stream) json(event string, data []byte, at int64) {
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(trimmed) == 0:
		return
	case string(trimmed) == "[DONE]":
		if c, ok := s.dec.(*chatDecoder); ok {
			c.done = true
		}
		return
	}
	if off, err := validate(data); err != nil {
		s.note(&SyntaxError{Format: s.format, Offset: at + off, Err: err})
		return
	}
	root := gjson.ParseBytes(data)
	err := s.dec.event(event, root)
	if errors.Is(err, ErrUnknown) {
		if event == "error" || isError(root) {
			err = errorOf(s.format, root, s.opts)
		} else {
			s.b.warn("an event of the stream is not of this format")
			return
		}
	}
	if err != nil {
		s.note(err)
	}
}

func (s *Stream) lines(chunk []byte) {
	for {
		i := bytes.IndexByte(chunk, '\n')
		if len(s.buf)+max(i, 0) > maxFrame || i < 0 && len(s.buf)+len(chunk) > maxFrame {
			s.fail(s.offset, errFrame)
			return
		}
		if i < 0 {
			s.buf = append(s.buf, chunk...)
			return
		}
		line := chunk[:i]
		if len(s.buf) > 0 {
			line = append(s.buf, line...)
		}
		s.json("", line, s.offset)
		s.offset += int64(len(line)) + 1
		s.buf, chunk = line[:0:0], chunk[i+1:]
	}
}

// array finds the elements of a JSON array.
func (s *Stream) array(chunk []byte) {
	s.buf = append(s.buf, chunk...)
	if len(s.buf) > maxFrame {
		s.fail(s.offset, errFrame)
		return
	}
	from := 0
	for i := s.scanned; i < len(s.buf); i++ {
		switch c := s.buf[i]; {
		case s.escaped:
			s.escaped = false
		case s.inStr && c == '\\':
			s.escaped = true
		case c == '"':
			s.inStr = !s.inStr
		case s.inStr:
		case c == '{' || c == '[':
			if s.depth == 1 {
				from = i
			}
			s.depth++
		case c == '}' || c == ']':
			s.depth--
			if s.depth == 1 {
				s.json("", s.buf[from:i+1], s.offset+int64(from))
				from = i + 1
			}
		}
	}
	if s.depth <= 1 {
		from = len(s.buf) // separators
	}
	s.shift(from)
	s.scanned = len(s.buf)
}

// shift drops the first n bytes of the buffer.
func (s *Stream) shift(n int) {
	if n > 0 {
		s.offset += int64(n)
		s.buf = append(s.buf[:0], s.buf[n:]...)
	}
}

// isEventStream reports whether b begins with the prelude of an AWS event
// stream message.
func isEventStream(b []byte) bool {
	return len(b) >= 12 && crc32.ChecksumIEEE(b[:8]) == binary.BigEndian.Uint32(b[8:12])
}

func (s *Stream) binary(chunk []byte) {
	s.buf = append(s.buf, chunk...)
	from := 0
	for len(s.buf)-from >= 12 {
		rest := s.buf[from:]
		if !isEventStream(rest) {
			s.fail(s.offset+int64(from), errors.New("checksum of an event's prelude does not match"))
			return
		}
		n := int(binary.BigEndian.Uint32(rest))
		if n > maxFrame || n < 16 {
			s.fail(s.offset+int64(from), errFrame)
			return
		}
		if len(rest) < n {
			break
		}
		msg, err := eventstream.NewDecoder().Decode(bytes.NewReader(rest[:n]), nil)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("event is shorter than it states")
			}
			s.fail(s.offset+int64(from), err)
			return
		}
		s.message(msg, s.offset+int64(from))
		from += n
	}
	s.shift(from)
}

// message reads one message of an AWS event stream.
func (s *Stream) message(msg eventstream.Message, at int64) {
	header := func(name string) string {
		if v, ok := msg.Headers.Get(name).(eventstream.StringValue); ok {
			return string(v)
		}
		return ""
	}
	switch kind := header(":message-type"); kind {
	case "exception", "error":
		e := &APIError{Format: s.format, Type: header(":exception-type"), Code: header(":error-code")}
		e.Message = header(":error-message")
		if _, err := validate(msg.Payload); err == nil && e.Message == "" {
			e.Message = str(gjson.GetBytes(msg.Payload, "message"))
		}
		e.Status = exceptionStatus(e.Type)
		s.note(e)
	default:
		payload, event := msg.Payload, header(":event-type")
		if s.format == BedrockInvoke && event == "chunk" {
			if _, err := validate(payload); err != nil {
				s.note(&SyntaxError{Format: s.format, Offset: at, Err: err})
				return
			}
			inner, err := base64.StdEncoding.DecodeString(str(gjson.GetBytes(payload, "bytes")))
			if err != nil {
				s.note(&SyntaxError{Format: s.format, Offset: at, Err: errors.New("chunk is not base64")})
				return
			}
			payload, event = inner, ""
		}
		s.json(event, payload, at)
	}
}

// exceptionStatus is the HTTP status of the exceptions that Bedrock sends
// inside a stream.
func exceptionStatus(kind string) int {
	switch strings.ToLower(kind) {
	case "throttlingexception":
		return 429
	case "validationexception":
		return 400
	case "internalserverexception":
		return 500
	case "serviceunavailableexception":
		return 503
	case "modelstreamerrorexception":
		return 424
	case "modeltimeoutexception":
		return 408
	}
	return 0
}
