package dir

import (
	"cmp"
	"slices"
	"strings"
)

// Shorter references are close to everything; longer ones are no mistyped ids.
const (
	minSuggest = 3
	maxSuggest = 64
)

// suggest returns at most three ids whose beginning is close to ref, the
// closest first and then in the order of entries.
func suggest(ref string, entries []Entry) []string {
	typed := strings.ToUpper(ref) // may be longer than ref
	if len(typed) < minSuggest || len(typed) > maxSuggest {
		return nil
	}
	type near struct {
		id       string
		distance int
	}
	limit := max(1, len(typed)/5)
	var close []near
	add := func(id string) {
		if n := distance(typed, strings.ToUpper(id), limit); n <= limit {
			close = append(close, near{id, n})
		}
	}
	if len(entries) > 0 {
		add(Latest)
	}
	for _, e := range entries {
		add(e.ID)
	}
	slices.SortStableFunc(close, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var ids []string
	for _, n := range close[:min(len(close), 3)] {
		ids = append(ids, n.id)
	}
	return ids
}

// distance returns the fewest insertions, deletions and replacements of bytes
// that turn ref into some beginning of id, or any number above limit when it
// takes more than limit. It is Levenshtein's table, one row at a time; the least
// of the last row serves the beginning that fits best.
func distance(ref, id string, limit int) int {
	// No beginning longer than this can be within the limit.
	id = id[:min(len(id), len(ref)+limit)]
	var cells [2 * maxSuggest]int
	row := cells[:len(id)+1]
	for j := range row {
		row[j] = j
	}
	least := 0
	for i := range len(ref) {
		diagonal := row[0]
		row[0] = i + 1
		least = row[0]
		for j := range len(id) {
			cost := diagonal
			if ref[i] != id[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
			least = min(least, cost)
		}
		if least > limit {
			return least
		}
	}
	return least
}
