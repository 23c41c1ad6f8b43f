package rewrite

import (
	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// cutter finds what goes out of a text that arrives piece by piece.
type cutter interface {
	Write(chunk string) (cuts []rationale.Cut, decided int)
	Close() (cuts []rationale.Cut, decided int)
}

// track is a text or the arguments of a call, put together from the pieces of a
// stream. Offsets are in bytes from its beginning.
type track struct {
	cutter cutter
	fed    int
	// decided says up to where it is known what stays.
	decided int
	// cuts are those that have not been emitted as a whole.
	cuts   []rationale.Cut
	closed bool
	// open is fed text that is not decided; kept only to find out whether
	// anything but white space stays.
	open []byte
	// shown says that something but white space stays, cut that something goes.
	shown, cut bool
}

func textTrack() *track      { return &track{cutter: &rationale.Cutter{}} }
func argumentsTrack() *track { return &track{cutter: &rationale.ArgumentCutter{}} }

func (t *track) write(text string) {
	t.fed += len(text)
	if t.closed { // text after its end stays
		t.decided = t.fed
		return
	}
	if !t.shown {
		t.open = append(t.open, text...)
	}
	t.took(t.cutter.Write(text))
}

// close decides the rest.
func (t *track) close() {
	if t != nil && !t.closed {
		t.closed = true
		t.took(t.cutter.Close())
	}
}

func (t *track) took(cuts []rationale.Cut, decided int) {
	t.cut = t.cut || len(cuts) > 0
	if !t.shown {
		at := t.decided
		for _, c := range append(cuts, rationale.Cut{Span: rationale.Span{Start: decided, End: decided}}) {
			for ; at < c.Start; at++ {
				switch t.open[at-t.decided] {
				case ' ', '\t', '\r', '\n':
				default:
					t.shown = true
				}
			}
			at = c.End
		}
		t.open = append(t.open[:0], t.open[decided-t.decided:]...)
	}
	if t.shown {
		t.open = nil
	}
	t.decided = decided
	t.cuts = append(t.cuts, cuts...)
}

// segment is a JSON string of a frame that holds a piece of a track.
type segment struct {
	track      *track
	start, end int
	value      gjson.Result
}

// feed adds a JSON string to a track.
func (t *track) feed(v gjson.Result) segment {
	start := t.fed
	t.write(decode(v.Raw[1 : len(v.Raw)-1]))
	return segment{t, start, t.fed, v}
}

func (s segment) ready() bool { return s.end <= s.track.decided }

// touching are the cuts that concern the segment.
func (s segment) touching() []rationale.Cut {
	var out []rationale.Cut
	for _, c := range s.track.cuts {
		if c.Start < s.end && c.End > s.start {
			out = append(out, c)
		}
	}
	return out
}

// gone reports whether nothing of the segment stays, and something was there.
func (s segment) gone() bool {
	at := s.start
	for _, c := range s.touching() {
		if c.Start > at || c.With != "" && c.Start >= s.start {
			return false
		}
		at = c.End
	}
	return s.end > s.start && at >= s.end
}

// forget drops the cuts that end before the segment's end.
func (s segment) forget() {
	n := 0
	for n < len(s.track.cuts) && s.track.cuts[n].End <= s.end {
		n++
	}
	s.track.cuts = s.track.cuts[n:]
}
