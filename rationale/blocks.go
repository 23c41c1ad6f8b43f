package rationale

import "fmt"

// Block is a <rationale call="N">{…}</rationale> that a model wrote.
type Block struct {
	// Call is the 1-based number of the call that the block is for, after
	// counting; 0 when it can be for none (see Unmatched).
	Call int
	// Stated is the number as written; 0 when the block states none.
	Stated int
	// Span covers the block with its tags.
	Span Span
	// Why covers the characters of the why as they are written, between its
	// quotes; the zero Span when Rationale is nil.
	Why Span
	// Rationale is nil when the block cannot be read.
	Rationale *Rationale
	// Assumptions are those stated in the block; their spans index the text.
	Assumptions []Assumption
	// Reason says why the block cannot be read; set when Rationale is nil.
	Reason string
	// Unmatched says why the block can be for no call; set when Call is 0.
	Unmatched string
	// Warnings name what was dropped, cut or missing, in words for a person.
	Warnings []string
}

// ParseBlocks returns the rationale blocks in what a model wrote, in order.
// Every block has a rationale or the reason why it has none; all spans index
// text as it is.
//
// A block is an opening tag that a JSON object follows, behind nothing but
// white space and a code fence, or that a closing tag follows, with or without
// an object and prose in between. Any other tag is a mention, and so is a tag
// in inline code. A tag stands on one line. Tags may be in upper case, carry further attributes, have
// their number in any quotes or none, and be escaped as HTML together with
// their object. The closing tag may be missing, in which case the block ends
// with its object. Inside the object raw line breaks in strings and trailing
// commas are forgiven; what would need a guess, such as single quotes, is not.
//
// Numbers count from 1. A block without a number takes the one after that of
// the block before it, the first takes 1. When two or more blocks all state the
// same number, they are counted in order: some models write call="1" every
// time. Otherwise a number that is stated once is as stated; of a number that
// is stated more than once the first readable block keeps it, and the others
// are unmatched, as are blocks that reached a stated number by counting and
// blocks whose number is no number, zero, negative or huge.
func ParseBlocks(text string) []Block {
	blocks := readBlocks(text)
	refs := make([]*Block, len(blocks))
	for i := range blocks {
		refs[i] = &blocks[i]
	}
	number(refs, true)
	return blocks
}

// readBlocks returns the blocks of text before they are numbered: Call is 0,
// and Unmatched is set only for a number that can be no call's.
func readBlocks(text string) []Block {
	s := scanner{text: []byte(text), final: true}
	var blocks []Block
	for p, ok := s.next(); ok; p, ok = s.next() {
		if p.kind == blockPiece {
			blocks = append(blocks, read(s.text, p))
		}
	}
	return blocks
}

// read decodes the block that the scanner found.
func read(text []byte, p piece) Block {
	b := Block{Span: p.Span, Reason: p.problem}
	b.Stated, b.Unmatched = p.tag.call()
	if b.Reason != "" {
		return b
	}
	object := mend(text[p.object.Start:p.object.End], p.tag.escaped, p.entity)
	stated, err := Decode(object.json)
	if err != nil {
		b.Reason = err.Error()
		return b
	}
	place := func(s Span) Span {
		s = object.source(s)
		return Span{Start: s.Start + p.object.Start, End: s.End + p.object.Start}
	}
	b.Rationale = &stated.Rationale
	b.Why = place(stated.WhySpan)
	b.Assumptions = stated.Assumptions
	for i := range b.Assumptions {
		a := &b.Assumptions[i]
		a.Span = place(a.Span)
		if a.Why != "" {
			a.WhySpan = place(a.WhySpan)
		}
	}
	b.Warnings = stated.Warnings
	if p.open {
		b.Warnings = append(b.Warnings, "the block is not closed")
	}
	return b
}

// number assigns the blocks of one message to calls, by the rules of
// [ParseBlocks]. alike allows counting blocks that all state the same number.
func number(blocks []*Block, alike bool) {
	if alike && allAlike(blocks) {
		for i, b := range blocks {
			b.Call = i + 1
		}
		return
	}
	const counted, stated = "its counted number %d is already taken", "call %d is stated more than once"
	holder := map[int]*Block{}
	for _, b := range blocks { // numbers as stated come first
		if b.Stated < 1 || b.Unmatched != "" {
			continue
		}
		if held := holder[b.Stated]; held == nil || held.Rationale == nil && b.Rationale != nil {
			holder[b.Stated] = b
		}
	}
	last := 0
	for _, b := range blocks {
		switch {
		case b.Unmatched != "":
			continue
		case b.Stated > 0:
			last = b.Stated
			if holder[last] != b {
				b.Unmatched = fmt.Sprintf(stated, last)
				continue
			}
		default:
			last++
			if holder[last] != nil {
				b.Unmatched = fmt.Sprintf(counted, last)
				continue
			}
			holder[last] = b
		}
		b.Call = last
	}
}

// allAlike reports whether two or more blocks all state the same number.
func allAlike(blocks []*Block) bool {
	if len(blocks) < 2 {
		return false
	}
	for _, b := range blocks {
		if b.Unmatched != "" || b.Stated < 1 || b.Stated != blocks[0].Stated {
			return false
		}
	}
	return true
}
