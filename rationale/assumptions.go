package rationale

import (
	"strings"
	"unicode"
)

// MaxAssumptions is how many assumptions are kept per call (seed 004).
const MaxAssumptions = 3

// Assumptions returns what a model says in prose that it assumes, in order,
// without repetitions and at most [MaxAssumptions]: "I assume X (because Y)"
// and its kin, "I'm assuming", "I'll assume", "let's assume", "Assuming X, …"
// at the beginning of a clause, "my assumption is that X", in the first person
// singular and plural.
//
// A reason is one that because, since or as introduces; without one Why is
// empty. Questions, negations, conditions, reported and quoted speech, block
// quotes and code state no assumption. Where that is unclear nothing is read:
// one that is missed is a smaller error than one that was never made.
//
// Text and Why are exactly the characters at their spans, each cut after
// [MaxAssumptionText] code points.
func Assumptions(text string) []Assumption {
	f := finder{text: text, prose: mask(text), seen: map[string]bool{}}
	sentences(f.prose, func(s sentence) bool {
		if !s.question {
			f.sentence(s.Span)
		}
		return len(f.out) < MaxAssumptions
	})
	return f.out
}

type finder struct {
	text  string
	prose string
	out   []Assumption
	seen  map[string]bool
	// before and ahead are reused for the words around an announcement.
	before, ahead []word
}

// trigger is where an assumption is announced.
type trigger struct {
	// end is where what is assumed begins.
	end int
	// subject is where the announcement begins.
	subject int
	// before are the words in front of it, of the same sentence.
	before []word
	// phrase says that what is assumed ends with a comma: "Assuming X, …".
	phrase bool
	// parens says that the announcement stands in parentheses.
	parens bool
	// noun is "my assumption is", gerund "assuming" without a verb.
	noun bool
}

// sentence reads the assumptions of one sentence.
func (f *finder) sentence(s Span) {
	for i := s.Start; i < s.End && len(f.out) < MaxAssumptions; i++ {
		if c := f.prose[i]; c != 'a' && c != 'A' || !strings.EqualFold(f.prose[i:min(s.End, i+5)], "assum") {
			continue
		}
		if i > s.Start && wordByte(f.prose[i-1]) {
			continue
		}
		if t, ok := f.trigger(s, i); ok {
			i = max(i, f.claim(s, t)-1)
		}
	}
}

func wordByte(c byte) bool {
	return lower(c) >= 'a' && lower(c) <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c >= 0x80
}

// trigger reads the announcement whose verb or noun stands at i.
func (f *finder) trigger(s Span, i int) (trigger, bool) {
	end := i
	for end < s.End && lower(f.prose[end]) >= 'a' && lower(f.prose[end]) <= 'z' {
		end++
	}
	t := trigger{end: end, subject: i}
	var subjects string
	switch strings.ToLower(f.text[i:end]) {
	case "assume":
		subjects = "i'm going to/i am going to/we're going to/we are going to/i have to/we have to/i will/we will/i shall/we shall/i must/we must/let us/let me/i'll/we'll/let's/lets/i/we"
	case "assuming":
		subjects = "i'm/i am/we're/we are"
		t.phrase = true
	case "assumption":
		subjects = "my/our"
		t.noun = true
	default:
		return t, false
	}
	from := max(s.Start, i-window)
	f.before = words(f.before[:0], f.prose, from, i)
	before := f.before
	list := before
	for len(list) > 0 {
		last := list[len(list)-1]
		if !last.is(adverb) && !(t.noun && oneOf(last.text, "working current main initial first only default")) || !bare(f.prose, last.end, t.subject) {
			break
		}
		list, t.subject = list[:len(list)-1], last.start
	}
	found := false
	for phrase := range strings.SplitSeq(subjects, "/") {
		if n, ok := endsWith(f.prose, list, phrase); ok && n > 0 && bare(f.prose, list[len(list)-1].end, t.subject) {
			t.subject, t.before = list[len(list)-n].start, list[:len(list)-n]
			t.phrase, found = false, true
			break
		}
	}
	if !found {
		if !t.phrase {
			return t, false
		}
		t.subject, t.before = i, before
		if !f.clauseStart(s, t) {
			return t, false
		}
	}
	if f.blocked(s, t) || !f.enter(s, &t) {
		return t, false
	}
	return t, true
}

// clauseStart reports whether "assuming" begins a clause that speaks for the
// writer: it begins the sentence, or follows a clause in the first person.
func (f *finder) clauseStart(s Span, t trigger) bool {
	gap := strings.TrimRight(f.prose[s.Start:t.subject], " \t\r\n*_")
	if len(gap) == 0 || len(t.before) == 0 {
		return true
	}
	last := t.before[len(t.before)-1]
	between := strings.TrimSpace(f.prose[last.end:t.subject])
	if strings.ContainsAny(between, ";:") {
		return true
	}
	if !strings.HasPrefix(between, ",") && !strings.HasPrefix(between, "(") && !strings.HasPrefix(between, "—") && !strings.HasPrefix(between, "–") {
		return oneOf(last.text, "so then okay ok well now still") && len(t.before) == 1
	}
	return oneOf(t.before[0].text, "i i'll i'm i've we we'll we're we've let's let okay ok so now here then next first")
}

// blocked reports whether the words in front of the announcement take it back:
// a condition, a negation, a question, somebody else's words.
func (f *finder) blocked(s Span, t trigger) bool {
	head := strings.TrimRight(f.prose[s.Start:t.subject], " \t\r\n*_")
	for _, quote := range []string{"'", "‘", `"`, "“", "\x00'"} {
		if strings.HasSuffix(head, quote) {
			return true
		}
	}
	first := wordsAt(f.prose, s.Start, t.subject, 1)
	if len(first) == 1 && first[0].is(conditional) {
		return true
	}
	if len(t.before) == 0 {
		return false
	}
	last := t.before[len(t.before)-1]
	if last.is(reporter) {
		return true
	}
	goesOn := oneOf(last.text, "so therefore thus hence but and")
	clause := len(t.before) // where the clause at hand begins
	for clause > 0 {
		end := t.subject
		if clause < len(t.before) {
			end = t.before[clause].start
		}
		if strings.ContainsAny(f.prose[t.before[clause-1].end:end], ",;:()—–") {
			break
		}
		clause--
	}
	for i, w := range t.before {
		switch {
		case i >= clause && oneOf(w.text, "if unless whether") && goesOn:
		case i >= clause && !goesOn && w.is(blocker):
			return true
		case i < clause && oneOf(w.text, "if unless whether") && !goesOn:
			return true
		}
	}
	return false
}

// enter moves t.end to where what is assumed begins.
func (f *finder) enter(s Span, t *trigger) bool {
	skip := func(set string) {
		for t.end < s.End && strings.IndexByte(set, f.prose[t.end]) >= 0 {
			t.end++
		}
	}
	one := func(word string) bool {
		next := wordsAt(f.prose, t.end, s.End, 1)
		if len(next) == 0 || next[0].text != word || !bare(f.prose, t.end, next[0].start) {
			return false
		}
		t.end = next[0].end
		return true
	}
	if t.noun {
		one("here")
		if !one("is") {
			return false
		}
	}
	skip("*_") // closes emphasis around the announcement
	if one("that") {
		skip("*_")
	}
	skip(":")
	skip(" \t\r\n")
	next := wordsAt(f.prose, t.end, s.End, 6)
	if t.end == s.End || strings.IndexByte(",;.!)(", f.prose[t.end]) >= 0 || len(next) > 0 && oneOf(next[0].text, "because since") {
		return false
	}
	head := strings.TrimRight(f.prose[s.Start:t.subject], " \t\r\n*_")
	t.parens = strings.HasSuffix(head, "(")
	if len(next) == 0 {
		return true
	}
	switch {
	case t.noun:
		return !oneOf(next[0].text, "not wrong incorrect correct right based still supported confirmed invalid valid false true")
	case t.phrase:
		return !oneOf(next[0].text, "is was are makes would can leads so not nothing")
	}
	return !otherSense(next)
}

// otherSense reports whether no claim follows: to assume a role, so, nothing.
func otherSense(next []word) bool {
	if len(next) > 1 && next[0].text == "the" && next[1].text == "following" {
		return true // what is assumed stands in a list behind
	}
	if oneOf(next[0].text, "nothing no") ||
		oneOf(next[0].text, "so not otherwise that this it") && (len(next) == 1 || oneOf(next[1].text, "because since as for")) {
		return true
	}
	for i, w := range next {
		if oneOf(w.text, "role roles responsibility responsibilities control command ownership persona liability") {
			return i+1 == len(next) || !next[i+1].is(finite)
		}
	}
	return false
}

// claim reads what is assumed and its reason, and returns where it ends.
func (f *finder) claim(s Span, t trigger) int {
	stop, because, parens := f.extent(s, t.end, t, true)
	a := Assumption{Span: f.trim(Span{t.end, stop})}
	if because > 0 {
		inner := t
		inner.parens = inner.parens || parens
		stop, _, _ = f.extent(s, because, inner, false)
		a.WhySpan = f.trim(Span{because, stop})
	} else if t.subject > s.Start {
		a.WhySpan = f.reasonBefore(s, t)
	}
	a.Text, a.Why = a.Span.In(f.text), a.WhySpan.In(f.text)
	if blank(a.Text) || strings.Trim(a.Text, "*_.,:;- ") == "" {
		return stop
	}
	if blank(a.Why) {
		a.Why, a.WhySpan = "", Span{}
	}
	key := strings.Join(strings.Fields(strings.ToLower(strings.Trim(a.Text, "*_.,!`\"'"))), " ")
	if !f.seen[key] {
		f.seen[key] = true
		f.out = append(f.out, a)
	}
	return stop
}

// reasonBefore is the reason of "Since Y, I assume X".
func (f *finder) reasonBefore(s Span, t trigger) Span {
	if len(t.before) < 3 || !oneOf(t.before[0].text, "because since") ||
		len(strings.Trim(f.prose[s.Start:t.before[0].start], " \t\r\n*_-")) > 0 {
		return Span{}
	}
	at, ok := reason(f.prose, t.before, 0)
	end := t.before[len(t.before)-1].end
	if !ok || strings.Trim(f.prose[end:t.subject], " \t\r\n*_") != "," {
		return Span{}
	}
	return f.trim(Span{at, end})
}

// extent finds the end of a claim or a reason that begins at from: the end of
// the sentence or of the clause, a closing parenthesis, or, of a claim, the
// reason, whose beginning it returns too (and whether that stands in
// parentheses).
func (f *finder) extent(s Span, from int, t trigger, claim bool) (end, because int, parens bool) {
	// Most are short: what ends well inside the near limit is seen whole.
	const near, ahead = 256, 128
	if from+near < s.End {
		if end, because, parens = f.extentWithin(from+near, from, t, claim); end < from+near-ahead {
			return end, because, parens
		}
	}
	// Code points have at most four bytes; the rest would be cut anyway.
	return f.extentWithin(min(s.End, from+4*MaxAssumptionText+window), from, t, claim)
}

func (f *finder) extentWithin(limit, from int, t trigger, claim bool) (end, because int, parens bool) {
	f.ahead = words(f.ahead[:0], f.prose, from, limit)
	list := f.ahead
	next := 0
	depth := 0
	for i := from; i < limit; i++ {
		for next < len(list) && list[next].start < i {
			next++
		}
		if next < len(list) && list[next].start == i && claim {
			if at, ok := reason(f.prose, list, next); ok {
				end = i
				if i > from && f.prose[i-1] == '(' {
					end, parens = i-1, true
				}
				return end, at, parens
			}
		}
		switch c := f.prose[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 && t.parens {
				return i, 0, false
			}
		case c == ';':
			return i, 0, false
		case c == ',' && depth <= 0 && (t.phrase || f.turns(list, next, i)):
			return i, 0, false
		case c == ' ' && dash(f.prose[i:limit]):
			if claim && next < len(list) && list[next].text == "because" && list[next].start-i < 6 {
				at, _ := reason(f.prose, list, next)
				return i, at, false
			}
			return i, 0, false
		case c == ' ' && next < len(list)-1 && list[next].text == "so" && list[next].start == i+1 &&
			oneOf(list[next+1].text, "i i'll i'm we we'll let's"):
			return i, 0, false
		}
	}
	return limit, 0, false
}

// turns reports whether the words behind the comma at i begin a clause of their
// own.
func (f *finder) turns(list []word, next, i int) bool {
	for next < len(list) && list[next].start < i {
		next++
	}
	if next == len(list) {
		return false
	}
	switch w := list[next].text; {
	case w == "i" && list[next].end < len(f.prose) && f.prose[list[next].end] == '.':
		return false // i.e.
	case oneOf(w, "so but then therefore thus hence which let let's i i'll i'm we we'll we're otherwise though although while"):
		return true
	case w == "and" && next+1 < len(list):
		return oneOf(list[next+1].text, "i i'll i'm we we'll then so let let's therefore will")
	}
	return false
}

// dash reports whether a dash between spaces stands at the beginning.
func dash(prose string) bool {
	for _, mark := range []string{" — ", " – ", " -- ", " - "} {
		if strings.HasPrefix(prose, mark) {
			return true
		}
	}
	return false
}

// trim takes off what belongs to the sentence and not to the claim: spaces, the
// final mark, a comma, unpaired emphasis. It cuts at the limit.
func (f *finder) trim(s Span) Span {
	s.Start = s.End - len(strings.TrimLeftFunc(s.In(f.text), unicode.IsSpace))
	for s.End > s.Start {
		text := strings.TrimRightFunc(s.In(f.text), unicode.IsSpace)
		if s.End = s.Start + len(text); text == "" {
			break
		}
		switch last := text[len(text)-1]; {
		case strings.IndexByte(",:!?;", last) >= 0:
			s.End--
			continue
		case last == '.' && (strings.HasSuffix(text, "..") || abbreviation(lastWord(text, len(text)-1)) == noAbbreviation):
			s.End--
			continue
		case strings.HasSuffix(text, "…"):
			s.End -= len("…")
			continue
		}
		if n := emphasis(text); n != 0 {
			s.Start += max(n, 0)
			s.End -= max(n, -n)
			s.Start = s.End - len(strings.TrimLeftFunc(s.In(f.text), unicode.IsSpace))
			continue
		}
		break
	}
	if s.End <= s.Start {
		return Span{}
	}
	text, _ := cut(s.In(f.text), MaxAssumptionText)
	s.End = s.Start + len(strings.TrimRightFunc(text, unicode.IsSpace))
	return s
}

// emphasis returns the length of a Markdown mark that encloses text, or, as a
// negative number, of one at its end that has no partner in it.
func emphasis(text string) int {
	for _, mark := range []string{"**", "__", "*", "_"} {
		if !strings.HasSuffix(text, mark) {
			continue
		}
		if strings.HasSuffix(text, " "+mark) {
			return -len(mark) // opens what follows
		}
		if len(text) <= 2*len(mark) {
			continue
		}
		n := strings.Count(text, mark)
		if n == 2 && strings.HasPrefix(text, mark) {
			return len(mark)
		}
		if n%2 == 1 {
			return -len(mark)
		}
	}
	return 0
}
