package safety

import (
	"bytes"
	"slices"
	"strings"
)

const (
	// maxDepth bounds the nesting that is walked as JSON; deeper input is
	// scrubbed as text.
	maxDepth = 10_000
	// maxLevels bounds how often JSON in a string in JSON is unwrapped.
	maxLevels = 5
	// maxRounds bounds how often a changed text is looked at again.
	maxRounds = 8
	// maxPath bounds the keys that name a field, maxKey the bytes of one.
	maxPath = 8
	maxKey  = 64
)

// JSON appends raw to dst with every string in it scrubbed, keys and values at
// any depth. What no rule touches keeps its exact bytes, and valid JSON stays
// valid. Strings are decoded before they are looked at; one that quotes JSON
// is unwrapped as well, up to five levels. A value is also judged by its key
// ({"password": "…"}) and by a name beside it ({"name": "TOKEN", "value": "…"});
// a bare string by the last name of the field.
// Input that is not JSON is scrubbed as text. The findings carry field and the
// path of the member below it.
func (s *Session) JSON(dst []byte, field string, raw []byte) ([]byte, []Finding) {
	first := s.p.set.armed(raw, 0)
	if first < 0 && s.p.short(len(raw)) && !quoted(raw) {
		return append(dst, raw...), nil
	}
	out, findings := settle(raw, s.walk(field, raw, first), func(raw []byte) []edit {
		return s.walk(field, raw, s.p.set.armed(raw, 0))
	})
	return append(dst, out...), findings
}

// quoted reports a bare string, which its field may label as a secret.
func quoted(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// settle applies edits to raw. What changed on one level of decoding changes
// what the others see, so again looks at a changed text until nothing more
// changes.
func settle(raw []byte, edits []edit, again func(raw []byte) []edit) ([]byte, []Finding) {
	var findings []Finding
	for round := 1; len(edits) > 0; round++ {
		for _, e := range edits {
			findings = append(findings, e.find)
		}
		raw = apply(make([]byte, 0, len(raw)), raw, edits)
		if round == maxRounds {
			break
		}
		edits = changes(again(raw))
	}
	return raw, findings
}

// Stored is Text for a string that is kept or shown as a whole: JSON that the
// text quotes is unwrapped as well, and a secret is found whose parts a block of
// markup separates, both as in JSON.
//
// A mark of a rule that blocks refuses the text as the secret would have done:
// what a reason was read from may have been stored, and so redacted, before.
func (s *Session) Stored(field, text string) Result {
	r := s.stored(field, text)
	if r.Blocked || !reasoning(field) || !strings.Contains(r.Text, markHead) {
		return r
	}
	if f, ok := s.refusedBefore(field, []byte(r.Text)); ok {
		r.Findings, r.Blocked = append(r.Findings, f), true
	}
	return r
}

// refusedBefore finds the mark of a rule that blocks.
func (s *Session) refusedBefore(field string, text []byte) (Finding, bool) {
	for pos := 0; ; {
		start, end, whole := nextMark(text, pos)
		if start < 0 || !whole {
			return Finding{}, false
		}
		name, _, _ := bytes.Cut(text[start+len(markHead):end], []byte{'#'})
		for id, r := range s.p.set.rules {
			if r.name == string(name) && s.p.actions[id] == Block {
				return Finding{r.name, r.severity, Block, field, nil}, true
			}
		}
		pos = end
	}
}

func (s *Session) stored(field, text string) Result {
	if strings.IndexByte(text, '\\') < 0 && !strings.Contains(text, blockClose) {
		return s.Text(field, text)
	}
	look := func(raw []byte) []edit {
		v := view{b: raw}
		return s.nested(&v, field, s.whole(raw, field, s.p.limit(field)), 0)
	}
	raw := []byte(text)
	out, findings := settle(raw, look(raw), look)
	return Result{string(out), findings, blocked(findings)}
}

// walk returns what to change in raw.
func (s *Session) walk(field string, raw []byte, first int) []edit {
	w := walker{s: s, field: field, raw: raw, next: first}
	if !w.walk() {
		return s.nested(&view{b: raw}, field, s.whole(raw, field, s.p.limit(field)), 0)
	}
	return w.edits
}

// changes drops the edits that only note something.
func changes(edits []edit) []edit {
	return slices.DeleteFunc(edits, func(e edit) bool { return e.end == e.start && e.text == "" })
}

// Line is JSON for one line of a JSONL file: fields are named from the top
// level on ("rationale.why").
func (s *Session) Line(dst, line []byte) ([]byte, []Finding) { return s.JSON(dst, "", line) }

// walker goes over the tokens of a JSON text. It does not check the grammar:
// outside the strings it only wants punctuation, numbers and the three
// literals, so that no text can stand where it does not look.
type walker struct {
	s     *Session
	field string
	raw   []byte
	next  int // where the next anchor stands, or -1
	stack []frame
	edits []edit
}

// frame is an open object or array.
type frame struct {
	object     bool
	key        bool   // the next string is a key
	start, end int    // the last key, without quotes
	label      ruleID // the labelled rule that the last key asks for, or noLabel
	named      ruleID // the one that a name in the object asks for its "value"
}

// noLabel is a rule that labels nothing.
const noLabel = ruleLength

func (w *walker) walk() bool {
	raw := w.raw
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r', ':':
			i++
		case '{', '[':
			if len(w.stack) == maxDepth {
				w.edits = nil
				return false
			}
			w.stack = append(w.stack, frame{object: c == '{', key: c == '{'})
			i++
		case '}', ']':
			if len(w.stack) == 0 || w.stack[len(w.stack)-1].object != (c == '}') {
				w.edits = nil
				return false
			}
			w.stack = w.stack[:len(w.stack)-1]
			i++
		case ',':
			if f := w.top(); f != nil {
				f.key = f.object
			}
			i++
		case '"':
			end := stringEnd(raw, i+1)
			if end < 0 {
				w.edits = nil
				return false
			}
			w.str(i+1, end)
			i = end + 1
		default:
			n := scalar(raw[i:])
			if n == 0 {
				w.edits = nil
				return false
			}
			i += n
		}
	}
	if len(w.stack) > 0 {
		w.edits = nil
		return false
	}
	return true
}

func (w *walker) top() *frame {
	if len(w.stack) == 0 {
		return nil
	}
	return &w.stack[len(w.stack)-1]
}

// scalar returns the length of the number or literal at the beginning of b.
func scalar(b []byte) int {
	for _, lit := range [...]string{"true", "false", "null"} {
		if len(b) >= len(lit) && string(b[:len(lit)]) == lit {
			return len(lit)
		}
	}
	n := 0
	for n < len(b) && ('0' <= b[n] && b[n] <= '9' || b[n] == '-' || b[n] == '+' || b[n] == '.' || b[n] == 'e' || b[n] == 'E') {
		n++
	}
	return n
}

// stringEnd returns the position of the quote that closes the string whose
// inside begins at i, or -1.
func stringEnd(raw []byte, i int) int {
	for {
		k := bytes.IndexByte(raw[i:], '"')
		if k < 0 {
			return -1
		}
		n := 0
		for i+k-n-1 >= i && raw[i+k-n-1] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i + k
		}
		i += k + 1
	}
}

// str handles the string whose inside is raw[start:end].
func (w *walker) str(start, end int) {
	f := w.top()
	isKey := f != nil && f.object && f.key
	if isKey {
		f.key, f.start, f.end, f.label = false, start, end, noLabel
	}
	hit := w.next >= 0 && w.next < end
	if hit && w.next < start {
		// The anchor began outside and no string holds it.
		w.next = w.s.p.set.armed(w.raw, start)
		hit = w.next >= 0 && w.next < end
	}
	label := noLabel
	if f == nil {
		label = labelOf(w.s.p.set, []byte(w.field[strings.LastIndexByte(w.field, '.')+1:]))
	}
	if f != nil && !isKey && f.object {
		label = f.label
		if f.named != noLabel && oneOf(w.raw[f.start:f.end], "value", "Value", "val") {
			label = f.named
		}
	}
	if !hit && label == noLabel && w.s.p.short(end-start) {
		return
	}
	inside := w.raw[start:end]
	if hit {
		w.next = w.s.p.set.armed(w.raw, end)
	}
	v := view{b: inside}
	if bytes.IndexByte(inside, '\\') >= 0 {
		v = unescape(inside)
	}
	if f != nil && f.object && (isKey || oneOf(w.raw[f.start:f.end], "name", "key", "Name", "Key", "variable", "env")) {
		kind := labelOf(w.s.p.set, v.b)
		if isKey {
			f.label = kind
		} else {
			f.named = kind
		}
	}
	field := ""
	if hit || label != noLabel || !w.s.p.short(len(v.b)) {
		field = w.path(isKey)
	}
	edits := w.s.nested(&v, field, w.s.whole(v.b, field, w.s.p.limit(field)), 1)
	if label != noLabel && !marked(edits) {
		seen := without(v.b, hiddenSpans(edits))
		if secretValue(seen.b, label == rulePassword, true) {
			edits = merge(edits, w.s.edits(nil, &seen, []match{{0, len(seen.b), label}}, field))
		}
	}
	for _, e := range edits {
		e.start, e.end = v.raw(e.start, e.end)
		e.start += start
		e.end += start
		w.edits = append(w.edits, e)
	}
}

// marked reports a mark among the edits.
func marked(edits []edit) bool {
	for _, e := range edits {
		if e.marks() {
			return true
		}
	}
	return false
}

// hiddenSpans returns the ranges that the edits take out.
func hiddenSpans(edits []edit) [][2]int {
	var spans [][2]int
	for _, e := range edits {
		if e.end > e.start {
			spans = append(spans, [2]int{e.start, e.end})
		}
	}
	return spans
}

func oneOf(b []byte, names ...string) bool {
	for _, n := range names {
		if string(b) == n {
			return true
		}
	}
	return false
}

// nested looks through up to maxLevels further decodings of a text that holds
// escapes, and adds what it finds there to the edits.
func (s *Session) nested(v *view, field string, edits []edit, level int) []edit {
	chain := []*view{v}
	for inner := v; level <= maxLevels && bytes.IndexByte(inner.b, '\\') >= 0; level++ {
		next := unescape(inner.b)
		if len(next.subs) == 0 {
			break
		}
		if s.p.set.armed(next.b, 0) >= 0 {
			found := s.whole(next.b, field, noLimit)
			for i := range found {
				start, end := next.raw(found[i].start, found[i].end)
				for k := len(chain) - 1; k > 0; k-- {
					start, end = chain[k].raw(start, end)
				}
				found[i].start, found[i].end = start, end
				found[i].find.Span = &[2]int{start, end}
			}
			edits = merge(edits, unseen(found, edits))
		}
		chain = append(chain, &next)
		inner = &next
	}
	return edits
}

// unseen drops the findings that an outer level has made already. Both lists
// are in order.
func unseen(found, edits []edit) []edit {
	out, k := found[:0], 0
	for _, f := range found {
		for k < len(edits) && edits[k].end < f.start {
			k++
		}
		seen := false
		for j := k; j < len(edits) && j < k+4 && edits[j].start <= f.start; j++ {
			seen = seen || edits[j].find.Rule == f.find.Rule && f.end <= max(edits[j].end, edits[j].find.Span[1])
		}
		if !seen {
			out = append(out, f)
		}
	}
	return out
}

// path names the member that the walker stands in. Keys are scrubbed too, so
// the name is made of what will be written.
func (w *walker) path(isKey bool) string {
	parts := make([]string, 0, maxPath)
	if w.field != "" {
		parts = append(parts, w.field)
	}
	for i, f := range w.stack {
		if !f.object || f.end == 0 || len(parts) == maxPath || isKey && i == len(w.stack)-1 {
			continue
		}
		key := unescape(w.raw[f.start:f.end]).b
		if w.s.p.set.armed(key, 0) >= 0 {
			// Before the cut: half a secret would not be found.
			key = []byte(w.s.Stored("", string(key)).Text)
		}
		if len(key) > maxKey {
			key = key[:runeStart(key, maxKey)]
		}
		parts = append(parts, string(key))
	}
	return strings.Join(parts, ".")
}

// labelOf returns the labelled rule that a key (or a name beside a value) asks
// for, or noLabel.
func labelOf(set *ruleset, name []byte) ruleID {
	label := noLabel
	if len(name) > 80 {
		return label
	}
	in := input{set: set, b: name, final: true}
	for i := 0; label == noLabel && i+3 <= len(name); i++ {
		if i = set.candidate(name, i); i+3 > len(name) {
			break
		}
		set.at(name, i, func(a *anchor, end int) bool {
			if !a.rule.labelled() {
				return true
			}
			if stop, v := labelAt(&in, i, end); v == yes && stop == len(name) {
				label = a.rule // the longest anchor comes last
			}
			return true
		})
	}
	return label
}
