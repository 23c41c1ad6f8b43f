package safety

import (
	"bytes"
	"sort"
)

// A rationale block is taken out of a text before people read it, and what stood
// on its two sides comes together. So a text is looked at without its blocks,
// too. Of blocks safety knows no more than their tags.
const (
	blockOpen  = "<rationale"
	blockClose = "</rationale>"
)

// blocks gives the ranges of the closed blocks in b.
func blocks(b []byte) [][2]int {
	var spans [][2]int
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(blockOpen))
		if i < 0 {
			return spans
		}
		start := at + i
		n := bytes.Index(b[start:], []byte(blockClose))
		if n < 0 {
			return spans
		}
		at = start + n + len(blockClose)
		spans = append(spans, [2]int{start, at})
	}
}

// whole is scrub for a text that is there as a whole: secrets whose parts a block
// separates are found as well. Their mark stands before the block.
func (s *Session) whole(b []byte, field string, limit int) []edit {
	spans := blocks(b)
	if len(spans) == 0 || len(b) > limit {
		return s.scrub(b, field, limit)
	}
	v := without(b, spans)
	matches, _ := scan(&input{set: s.p.set, b: v.b, final: true}, 0, nil)
	var joined []edit
	for _, e := range s.edits(nil, &v, matches, field) {
		if e.marks() {
			joined = append(joined, parts(e, spans)...)
		}
	}
	plain := s.scrub(b, field, limit)
	if len(joined) == 0 {
		return plain
	}
	return merge(joined, outside(plain, joined))
}

// parts gives the edits for what an edit covers between blocks; none for one that
// covers no block.
func parts(e edit, spans [][2]int) []edit {
	var list []edit
	start := e.start
	for _, span := range spans[sort.Search(len(spans), func(i int) bool { return spans[i][0] > e.start }):] {
		if span[1] >= e.end {
			break
		}
		part := e
		part.start, part.end = start, span[0]
		if len(list) > 0 {
			part.text = ""
		}
		list = append(list, part)
		start = span[1]
	}
	if len(list) == 0 {
		return nil
	}
	part := e
	part.start, part.text = start, ""
	return append(list, part)
}

// outside drops the edits that lie within others: half a secret that was taken
// for one. Both lists are in order.
func outside(plain, joined []edit) []edit {
	kept, k := plain[:0], 0
	for _, e := range plain {
		for k < len(joined) && joined[k].end < e.end {
			k++
		}
		if k == len(joined) || e.start < joined[k].start || e.end > joined[k].end {
			kept = append(kept, e)
		}
	}
	return kept
}
