package safety

import "bytes"

// verdict is what a matcher says about one anchor.
type verdict uint8

const (
	no verdict = iota
	yes
	more // the end of the input came first; ask again with more of it
)

// input is what a matcher sees. Matchers never look before floor: what stands
// there was decided already, and a mark may have taken its place.
type input struct {
	set   *ruleset
	b     []byte
	floor int
	final bool // nothing follows b
	reach int  // how far the matchers of an anchor looked
}

// before returns the byte before position i, or 0 where the view begins.
func (in *input) before(i int) byte {
	if i <= in.floor {
		return 0
	}
	return in.b[i-1]
}

// end turns "position i is the end of the input" into the verdict for it.
func (in *input) end(i int) verdict {
	if i >= len(in.b) && !in.final {
		return more
	}
	return no
}

// saw notes that a matcher looked at the bytes before i. It has to be exact: what
// a stream holds back depends on it.
func (in *input) saw(i int) { in.reach = max(in.reach, min(i, len(in.b))) }

// word compares the text at i with a lower-case word, in either case.
func (in *input) word(i int, text string) verdict {
	for k := range len(text) {
		if i+k >= len(in.b) {
			return in.end(i + k)
		}
		in.saw(i + k + 1)
		if lower(in.b[i+k]) != text[k] {
			return no
		}
	}
	return yes
}

// run returns the end of the run of class bytes from i, at most limit long. Its
// verdict is more where the run could still grow, else yes.
func (in *input) run(i int, class *class, limit int) (int, verdict) {
	full := i + limit
	stop := min(len(in.b), full)
	for ; i < stop; i++ {
		if !class[in.b[i]] {
			in.saw(i + 1)
			return i, yes
		}
	}
	in.saw(i)
	if i < full && !in.final {
		return i, more
	}
	return i, yes
}

// match is one finding in the coordinates of the scanned bytes.
type match struct {
	start, end int
	rule       ruleID
}

// refusal is an anchor that takes nothing before reach, judged on what stands
// up to reach.
type refusal struct{ at, reach int }

// scan decides b from position pos on, left to right: the leftmost anchor
// wins, then the longest. It returns the matches and how far b is decided; with
// final that is all of it.
//
// What it decides depends on the bytes alone, never on how they were cut into
// calls, so a stream and a whole text agree. And it finds nothing in its own
// output, since no matcher looks across a mark: a mark that is there already
// ends the text before it, and so does a match that is to become one (again).
func scan(in *input, pos int, matches []match) ([]match, int) {
	text, final := in.b, in.final
	defer func() { in.b, in.final = text, final }()
	for {
		start, end, whole := nextMark(text, pos)
		if start < 0 || !whole && final {
			in.b, in.final = text, final
			return scanText(in, pos, matches, nil)
		}
		in.b, in.final = text[:start], whole
		if matches, pos = scanText(in, pos, matches, nil); !whole {
			return matches, pos
		}
		pos, in.floor = end, end
	}
}

// scanText is scan for a text without marks. The refusals are those of anchors
// before pos.
func scanText(in *input, pos int, matches []match, refused []refusal) ([]match, int) {
	f := in.set
	for {
		pos = f.candidate(in.b, pos)
		if pos+3 > len(in.b) {
			break
		}
		in.reach = pos
		m, v := decide(in, pos, false)
		if v == more {
			break
		}
		if v == yes {
			if m.start > pos {
				refused = append(refused, refusal{pos, m.start + 1}) // what stands before the value
			}
			matches = append(again(in, m.start, matches, refused), m)
			pos, in.floor, refused = m.end, m.end, refused[:0]
			continue
		}
		if in.reach > pos+1 {
			if k := len(refused); k > 0 && refused[k-1].reach <= pos {
				refused = open(refused, pos)
			}
			refused = append(refused, refusal{pos, in.reach})
		}
		pos++
	}
	if in.final {
		return matches, len(in.b)
	}
	for pos < len(in.b) && !f.at(in.b, pos, func(*anchor, int) bool { return true }) {
		if pos+3 <= len(in.b) {
			break // a matcher asked for more
		}
		pos++
	}
	for _, r := range refused {
		if r.reach > pos {
			return matches, min(pos, r.at)
		}
	}
	return matches, pos
}

// again looks once more, with start as the end of the text, at the anchors that
// were refused on what stands behind start: a mark will stand there.
func again(in *input, start int, matches []match, refused []refusal) []match {
	for i, r := range refused {
		if r.reach > start {
			before := input{set: in.set, b: in.b[:start], floor: in.floor, final: true}
			matches, _ = scanText(&before, r.at, matches, refused[:i:i])
			break
		}
	}
	return matches
}

// open keeps the refusals that looked beyond pos.
func open(refused []refusal, pos int) []refusal {
	kept := refused[:0]
	for _, r := range refused {
		if r.reach > pos {
			kept = append(kept, r)
		}
	}
	return kept
}

const markHead = "[redacted:"

// nextMark returns the first mark in b from pos on, or -1. It is not whole where
// b ends within what may become one.
func nextMark(b []byte, pos int) (start, end int, whole bool) {
	for i := pos; ; i++ {
		k := bytes.IndexByte(b[i:], '[')
		if k < 0 {
			return -1, -1, false
		}
		i += k
		head := b[i:min(len(b), i+len(markHead))]
		if string(head) != markHead[:len(head)] {
			continue
		}
		j := i + len(head)
		for name := j; j < len(b) && j-name < 40 && (b[j] == '-' || 'a' <= b[j] && b[j] <= 'z' || '0' <= b[j] && b[j] <= '9'); {
			j++
		}
		if j < len(b) && b[j] == '#' {
			j++
			for number := j; j < len(b) && j-number < 19 && '0' <= b[j] && b[j] <= '9'; {
				j++
			}
		}
		if j == len(b) {
			return i, j, false
		}
		if b[j] == ']' && '0' <= b[j-1] && b[j-1] <= '9' {
			return i, j + 1, true
		}
	}
}

// decide asks the rules (onlySpecific: but the labelled ones) whose anchors
// begin at pos. The longest anchor is asked first, so it collects them before.
func decide(in *input, pos int, onlySpecific bool) (match, verdict) {
	type hit struct {
		rule ruleID
		end  int
	}
	var hits [8]hit
	n := 0
	f := in.set
	open := f.at(in.b, pos, func(a *anchor, end int) bool {
		if f.rules[a.rule].match != nil && n < len(hits) && !(onlySpecific && a.rule.labelled()) {
			hits[n] = hit{a.rule, end}
			n++
		}
		return true
	})
	if open && !in.final {
		return match{}, more
	}
	for n--; n >= 0; n-- {
		in.saw(hits[n].end)
		start, end, v := f.rules[hits[n].rule].match(in, pos, hits[n].end)
		if v != no {
			return match{start, end, hits[n].rule}, v
		}
	}
	return match{}, no
}
