package safety

// lookBehind is what matchers may read before an anchor.
const lookBehind = 64

// Stream scrubs a text that arrives in chunks. However it is cut, the texts
// that Write and Close return are together what Session.Text returns for the
// whole: every rule decides within a bounded span (64 KiB for a private key,
// far less for the rest), and what is not decided yet is held back. It is not
// safe for concurrent use; the Session behind it is.
type Stream struct {
	s     *Session
	field string
	limit int

	total  int    // bytes written
	in     []byte // not through the hidden filter yet
	filter hiddenFilter

	// buf is decided before pos; what stands before it is only looked back at.
	buf     []byte
	pos     int
	floor   int
	base    int // offset of buf[0] in the filtered text
	tried   int // length of buf when it was last scanned
	removed int // hidden bytes taken out before pos
	gaps    []gap
	filled  int // offset behind the last filler, or -1
	cut     bool

	findings []Finding
}

// gap is n hidden bytes taken out at an offset of the filtered text.
type gap struct{ at, n int }

// Stream starts the scrubbing of a text that arrives in chunks.
func (s *Session) Stream(field string) *Stream {
	return &Stream{s: s, field: field, limit: s.p.limit(field), filled: -1}
}

// Write takes a chunk, which may end within a character, and returns the text
// that is decided by now.
func (st *Stream) Write(chunk string) string {
	st.total += len(chunk)
	if st.cut {
		return ""
	}
	st.in = append(st.in, chunk...)
	if st.total <= st.limit {
		// What the cut would take stays back until it is known to be none.
		keep := max(0, st.total-max(0, st.limit-reserve))
		ready := max(0, len(st.in)-keep)
		return st.advance(ready, false, false)
	}
	st.cut = true
	room := st.limit - reserve - (st.total - len(st.in))
	out := st.advance(max(0, room), false, true)
	st.in, st.buf = nil, nil
	return out
}

// Close returns what was held back, and the mark of a cut if there was one.
// The stream must not be used after it.
func (st *Stream) Close() string {
	if !st.cut {
		return st.advance(len(st.in), true, true)
	}
	kept := st.base + st.pos + st.removed
	st.findings = append(st.findings, cutFinding(st.field, st.s.p.set.rules[ruleLength].severity, kept, st.total))
	return cutMark(st.total - kept)
}

// Findings returns what was found so far. The findings of a stream have no
// span but that of a cut.
func (st *Stream) Findings() []Finding { return st.findings }

// Blocked says that the policy refuses to store the text (see Result).
func (st *Stream) Blocked() bool { return blocked(st.findings) }

// advance takes ready bytes of in through the filter and scans.
func (st *Stream) advance(ready int, final, force bool) string {
	spans, n := st.filter.spans(nil, st.in[:ready], 0, final)
	last := 0
	for _, span := range spans {
		st.buf = append(st.buf, st.in[last:span[0]]...)
		last = span[1]
		fill := filler(st.buf)
		at := st.base + len(st.buf)
		if at == st.filled { // goes on with the run that the filler stands for
			at--
		}
		st.gaps = append(st.gaps, gap{at, span[1] - span[0] - len(fill)})
		st.buf = append(st.buf, fill...)
		if fill != "" {
			st.filled = st.base + len(st.buf)
		}
		st.find(st.s.hiddenEdit(st.field, span).find)
	}
	st.buf = append(st.buf, st.in[last:n]...)
	st.in = append(st.in[:0], st.in[n:]...)

	// Asking again for every byte of a long wait would be quadratic.
	if !force && len(st.buf)-st.tried < (st.tried-st.pos)/16 {
		return ""
	}
	in := input{set: st.s.p.set, b: st.buf, floor: st.floor, final: final}
	matches, done := scan(&in, st.pos, nil)
	v := view{b: st.buf}
	var out []byte
	from := st.pos
	for _, e := range st.s.edits(nil, &v, matches, st.field) {
		out = append(append(out, st.buf[from:e.start]...), e.text...)
		from = e.end
		st.find(e.find)
	}
	out = append(out, st.buf[from:done]...)
	st.pos, st.floor, st.tried = done, in.floor, len(st.buf)
	for len(st.gaps) > 0 && st.gaps[0].at < st.base+st.pos {
		st.removed += st.gaps[0].n
		st.gaps = st.gaps[1:]
	}
	if drop := st.pos - lookBehind; drop > len(st.buf)/2 {
		st.buf = append(st.buf[:0], st.buf[drop:]...)
		st.base += drop
		st.pos -= drop
		st.tried -= drop
		st.floor = max(0, st.floor-drop)
	}
	return string(out)
}

func (st *Stream) find(f Finding) {
	f.Span = nil
	st.findings = append(st.findings, f)
}
