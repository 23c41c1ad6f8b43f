package thinking

import "strings"

// Text is one piece of thinking of an answer.
type Text struct {
	Kind Kind
	// Text is empty when the thinking is hidden.
	Text string
	// Signed says that the piece carries a signature or an encrypted payload
	// and so cannot be dropped in favour of an unsigned copy.
	Signed bool
}

// Settle says which of the texts of one answer are to be kept, given in the
// order in which they stand. Vendors send one thinking twice (OpenRouter as
// reasoning and as reasoning_details, vLLM as reasoning and reasoning_content,
// others again in <think> tags): of copies of different kinds one is kept. One
// that says that it is a summary wins, since a summary must not pass for the
// model's words; then the signed one; then the one that stands first in the
// chain of specification 002. Repetitions within one kind are the model's own
// and stay.
//
// The result has a true for every text to keep. Surrounding white space does
// not tell two copies apart.
func Settle(texts []Text) []bool {
	keep := make([]bool, len(texts))
	kinds := map[Kind][]int{}
	var order []Kind
	for i, t := range texts {
		keep[i] = true
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		if kinds[t.Kind] == nil {
			order = append(order, t.Kind)
		}
		kinds[t.Kind] = append(kinds[t.Kind], i)
	}
	if len(order) < 2 {
		return keep
	}

	// A vendor repeats either the whole thinking of a kind or single pieces of
	// it, so both are looked up: whole kinds by their joined text, pieces by
	// their own.
	type copyOf struct {
		kind   Kind
		signed bool
	}
	better := func(a, b copyOf) bool {
		if x, y := FormatOf(a.kind) == Summary, FormatOf(b.kind) == Summary; x != y {
			return x
		}
		if a.signed != b.signed {
			return a.signed
		}
		return rank(a.kind) < rank(b.kind)
	}
	drop := func(kind Kind, only int) {
		for _, i := range kinds[kind] {
			if only < 0 || i == only {
				keep[i] = false
			}
		}
	}
	whole := map[string]copyOf{}
	for _, kind := range order {
		this := copyOf{kind: kind}
		var b strings.Builder
		for _, i := range kinds[kind] {
			b.WriteString(texts[i].Text)
			this.signed = this.signed || texts[i].Signed
		}
		text := strings.TrimSpace(b.String())
		other, seen := whole[text]
		switch {
		case !seen:
			whole[text] = this
		case better(this, other):
			drop(other.kind, -1)
			whole[text] = this
		default:
			drop(kind, -1)
		}
	}
	pieces := map[string]copyOf{}
	for _, kind := range order {
		for _, i := range kinds[kind] {
			text := strings.TrimSpace(texts[i].Text)
			this := copyOf{kind, texts[i].Signed}
			if other, seen := pieces[text]; keep[i] && (!seen || better(this, other)) {
				pieces[text] = this
			}
		}
	}
	for _, kind := range order {
		for _, i := range kinds[kind] {
			best := pieces[strings.TrimSpace(texts[i].Text)]
			if keep[i] && best.kind != "" && best.kind != kind && !texts[i].Signed {
				drop(kind, i)
			}
		}
	}
	return keep
}
