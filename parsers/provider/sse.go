package provider

import "bytes"

// sseSplitter takes server-sent events from chunks of any size. go-sse reads
// from an io.Reader only, which would need a goroutine and a pipe per stream to
// be fed by a Write; this is the small part of the standard that is needed:
// lines ended by LF, CRLF or CR, the fields event and data, comments.
type sseSplitter struct {
	line   []byte // an unfinished line
	event  string
	data   [][]byte
	size   int
	skipLF bool  // the last line ended with CR
	offset int64 // of the next byte
	at     int64 // of the first data of the event
	begun  bool
}

// write calls yield for every event that chunk completes. data is valid during
// the call only.
func (s *sseSplitter) write(chunk []byte, yield func(event string, data [][]byte, at int64) error) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for len(chunk) > 0 {
		if s.skipLF {
			s.skipLF = false
			if chunk[0] == '\n' {
				chunk, s.offset = chunk[1:], s.offset+1
				continue
			}
		}
		i := bytes.IndexAny(chunk, "\r\n")
		if i < 0 {
			if len(s.line)+len(chunk)+s.size > maxFrame {
				return errFrame
			}
			s.line = append(s.line, chunk...)
			s.offset += int64(len(chunk))
			break
		}
		line := chunk[:i]
		if len(s.line) > 0 {
			line = append(s.line, line...)
			s.line = line[:0]
		}
		if len(line)+s.size > maxFrame {
			return errFrame
		}
		start := s.offset + int64(i) - int64(len(line))
		s.skipLF = chunk[i] == '\r'
		chunk, s.offset = chunk[i+1:], s.offset+int64(i)+1
		note(s.take(line, start, yield))
	}
	return first
}

// close gives out what the stream ended in: servers often leave out the last
// empty line.
func (s *sseSplitter) close(yield func(event string, data [][]byte, at int64) error) error {
	line := s.line
	s.line = nil
	var err error
	if len(line) > 0 {
		err = s.take(line, s.offset-int64(len(line)), yield)
	}
	if e := s.take(nil, s.offset, yield); err == nil {
		err = e
	}
	return err
}

func (s *sseSplitter) take(line []byte, at int64, yield func(string, [][]byte, int64) error) error {
	if !s.begun {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		s.begun = true
	}
	if len(line) == 0 {
		event, data := s.event, s.data
		s.event, s.data, s.size = "", s.data[:0], 0
		if len(data) == 0 {
			return nil
		}
		return yield(event, data, s.at)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	if bytes.HasPrefix(value, []byte(" ")) {
		value = value[1:]
	}
	switch string(field) {
	case "event":
		s.event = string(value)
	case "data":
		if len(s.data) == 0 {
			s.at = at + int64(len(line)-len(value))
		}
		s.data = append(s.data, bytes.Clone(value))
		s.size += len(value)
	}
	return nil
}
