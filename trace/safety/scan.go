package safety

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

// run returns the end of the run of class bytes from i, at most limit long. Its
// verdict is more where the run could still grow, else yes.
func (in *input) run(i int, class *class, limit int) (int, verdict) {
	stop := min(len(in.b), i+limit)
	full := i + limit
	for ; i < stop; i++ {
		if !class[in.b[i]] {
			return i, yes
		}
	}
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

// scan decides b from position pos on, left to right: the leftmost anchor
// wins, then the longest. It returns the matches and how far b is decided; with
// final that is all of it. What it decides depends on the bytes alone, never
// on how they were cut into calls, so a stream and a whole text agree.
func scan(in *input, pos int, matches []match) ([]match, int) {
	f := in.set
	for {
		pos = f.candidate(in.b, pos)
		if pos+3 > len(in.b) {
			break
		}
		m, v := decide(in, pos, false)
		switch v {
		case more:
			return matches, pos
		case yes:
			matches = append(matches, m)
			pos, in.floor = m.end, m.end
		default:
			pos++
		}
	}
	if in.final {
		return matches, len(in.b)
	}
	for ; pos < len(in.b); pos++ {
		if f.at(in.b, pos, func(*anchor, int) bool { return true }) {
			break
		}
	}
	return matches, pos
}

// decide asks the rules (onlySpecific: but the labelled ones) whose anchors begin at pos. The longest anchor is
// asked first, so it collects them before it asks.
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
		start, end, v := f.rules[hits[n].rule].match(in, pos, hits[n].end)
		if v != no {
			return match{start, end, hits[n].rule}, v
		}
	}
	return match{}, no
}
