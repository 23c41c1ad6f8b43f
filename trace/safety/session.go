package safety

import (
	"crypto/hmac"
	"crypto/sha256"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Session scrubs the texts of one run. Within it the same secret has the same
// mark everywhere and two secrets of a rule have two: [redacted:openai-key#2].
// It keeps a keyed hash of each secret and never the secret. It is safe for
// concurrent use; the numbers then follow the order of the calls.
type Session struct {
	p   *Pipeline
	key [32]byte

	mu      sync.Mutex
	numbers map[numberKey]int
	last    map[string]int
}

type numberKey struct {
	rule string
	hash [16]byte
}

// number returns the number of a secret, a new one for a new secret.
func (s *Session) number(rule string, secret []byte) int {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write(secret)
	k := numberKey{rule: rule}
	copy(k.hash[:], mac.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.numbers[k]
	if !ok {
		s.last[rule]++
		n = s.last[rule]
		s.numbers[k] = n
	}
	return n
}

// edit replaces a range of a text; an empty text takes it out.
type edit struct {
	start, end int
	text       string
	find       Finding
}

// marks reports that the edit puts a mark.
func (e *edit) marks() bool { return strings.HasPrefix(e.text, "[") }

// edits turns the matches in a view into what the policy makes of them.
func (s *Session) edits(dst []edit, v *view, matches []match, field string) []edit {
	for _, m := range matches {
		r := &s.p.set.rules[m.rule]
		action := s.p.actions[m.rule]
		material := v.b[m.start:m.end]
		if r.kind == secret && s.p.allowed(material) {
			continue
		}
		if action == Block && !reasoning(field) {
			action = Redact
		}
		start, end := v.raw(m.start, m.end)
		e := edit{start: start, end: start, find: Finding{r.name, r.severity, action, field, &[2]int{start, end}}}
		switch {
		case action <= Review:
		case r.kind == template && action == Sanitize:
			// One space after the first character: readable, and no token.
			_, e.start = v.raw(m.start, m.start+1)
			e.end, e.text = e.start, " "
		default:
			e.end = end
			e.text = "[redacted:" + r.name + "#" + strconv.Itoa(s.number(r.name, material)) + "]"
		}
		dst = append(dst, e)
	}
	return dst
}

// reserve is the room that a cut leaves for its mark.
const reserve = 40

func cutMark(n int) string { return "[cut: " + strconv.Itoa(n) + " bytes]" }

func cutFinding(field string, severity Severity, start, end int) Finding {
	return Finding{"length", severity, Sanitize, field, &[2]int{start, end}}
}

// hiddenEdit is the finding for hidden characters.
func (s *Session) hiddenEdit(field string, span [2]int) edit {
	r := &s.p.set.rules[ruleHidden]
	return edit{start: span[0], end: span[1], find: Finding{r.name, r.severity, s.p.actions[ruleHidden], field, &span}}
}

// scrub finds what to change in a text, in order and without overlap. It is
// what a Stream does, in one go.
func (s *Session) scrub(b []byte, field string, limit int) []edit {
	whole := b
	cut := len(b) > limit
	if cut {
		b = b[:limit-reserve] // half a character at the end stays undecided
	}
	from := 0 // near a cut, nothing is known to be of no worth
	if !cut {
		if from = s.p.set.armed(b, 0); from < 0 {
			return nil
		}
	}
	var list []edit
	v := view{b: b}
	spans, decided := newHiddenFilter(b[:from]).spans(nil, b, from, !cut)
	v.b = b[:decided]
	if len(spans) > 0 {
		v = without(v.b, spans)
		for i, span := range spans {
			e := s.hiddenEdit(field, span)
			e.text = string(v.b[v.subs[i].at:][:v.subs[i].n])
			list = append(list, e)
		}
		from = max(0, from-s.p.set.longest) // where an anchor was split
	}
	matches, done := scan(&input{set: s.p.set, b: v.b, final: !cut}, from, nil)
	list = merge(list, s.edits(nil, &v, matches, field))
	if cut {
		_, kept := v.raw(0, done)
		if done == 0 {
			kept = 0
		}
		list = append(within(list, kept), edit{kept, len(whole), cutMark(len(whole) - kept), cutFinding(field, s.p.set.rules[ruleLength].severity, kept, len(whole))})
	}
	return list
}

// within drops the edits beyond a cut.
func within(list []edit, kept int) []edit {
	for len(list) > 0 && list[len(list)-1].end > kept {
		list = list[:len(list)-1]
	}
	return list
}

// runeStart returns the last beginning of a character at or before n.
func runeStart(b []byte, n int) int {
	for k := n; k > n-utf8.UTFMax && k > 0; k-- {
		if utf8.RuneStart(b[k]) {
			return k
		}
	}
	return n
}

// merge joins two ordered lists of edits. Where two overlap, one edit over
// both ranges stays, with the mark of the earlier that has one.
func merge(a, b []edit) []edit {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := make([]edit, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		var e edit
		if len(b) == 0 || len(a) > 0 && (a[0].start < b[0].start || a[0].start == b[0].start && a[0].end >= b[0].end) {
			e, a = a[0], a[1:]
		} else {
			e, b = b[0], b[1:]
		}
		if k := len(out) - 1; k >= 0 && e.start < out[k].end {
			out[k].end = max(out[k].end, e.end)
			if !out[k].marks() {
				out[k].text = e.text
				out[k].find, e.find = e.find, out[k].find
			}
			// The other finding stays, without a change of its own.
			e.start, e.end, e.text = out[k].end, out[k].end, ""
		}
		out = append(out, e)
	}
	return out
}

// Text scrubs a text. Field is its JSON name ("why", "narrative", "args"); it
// decides about Block and about the length limit. Spans in the findings are
// byte ranges of text. A text that nothing applies to comes back as it is.
func (s *Session) Text(field, text string) Result {
	edits := s.scrub([]byte(text), field, s.p.limit(field))
	if edits == nil {
		return Result{Text: text}
	}
	findings := make([]Finding, 0, len(edits))
	for _, e := range edits {
		findings = append(findings, e.find)
	}
	return Result{string(apply(make([]byte, 0, len(text)), []byte(text), edits)), findings, blocked(findings)}
}

// Beginning is Stored for the beginning of a text of which the rest was cut
// away: what stands at its end and may be the beginning of a secret goes too,
// since nobody can tell any more.
func (s *Session) Beginning(field, text string) Result {
	r := s.Stored(field, text)
	in := input{set: s.p.set, b: []byte(r.Text)}
	_, done := scan(&in, 0, nil)
	kept := len(in.b)
	s.p.set.at(in.b, done, func(a *anchor, end int) bool {
		switch {
		case s.p.set.rules[a.rule].match == nil:
		case a.rule.labelled():
			kept = min(kept, valueAt(in.b, end))
		default:
			kept = done
		}
		return true
	})
	if kept < len(in.b) { // else no more than half an anchor or a label stands there
		f := cutFinding(field, s.p.set.rules[ruleLength].severity, 0, 0)
		f.Span = nil
		r.Text, r.Findings = r.Text[:kept], append(r.Findings, f)
	}
	return r
}

// valueAt gives where the value behind a label can begin: behind the rest of its
// name and what separates them.
func valueAt(b []byte, i int) int {
	for i < len(b) && (word[b[i]] || b[i] == '-') {
		i++
	}
	for i < len(b) && strings.IndexByte(" \t\r\n\"'`:=>,({[\\", b[i]) >= 0 {
		i++
	}
	return i
}

// Part gives what becomes of the bytes from start to end of a text when the
// whole is scrubbed: a secret of which only a part lies within them is seen, and
// its mark stands in full.
func (s *Session) Part(field, text string, start, end int) string {
	start = min(max(0, start), len(text))
	end = min(max(start, end), len(text))
	raw := []byte(text)
	var out []byte
	for _, e := range s.nested(&view{b: raw}, field, s.whole(raw, field, noLimit), 0) {
		if e.end < start || e.start >= end || e.end == start && e.start < start {
			continue
		}
		if e.start > start {
			out = append(out, raw[start:e.start]...)
		}
		out = append(out, e.text...)
		start = e.end
	}
	if start < end {
		out = append(out, raw[start:end]...)
	}
	return s.Stored(field, string(out)).Text
}

func blocked(findings []Finding) bool {
	for _, f := range findings {
		if f.Action == Block {
			return true
		}
	}
	return false
}

// apply appends b with the edits made.
func apply(dst, b []byte, edits []edit) []byte {
	last := 0
	for _, e := range edits {
		dst = append(dst, b[last:e.start]...)
		dst = append(dst, e.text...)
		last = e.end
	}
	return append(dst, b[last:]...)
}
