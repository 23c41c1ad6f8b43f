package safety

import (
	"encoding/binary"
	"sync"
)

// anchor is a literal that every match of its rule begins with.
type anchor struct {
	text string
	fold bool // letters match in either case
	rule ruleID
}

// ruleset is the compiled rules. It finds where anchors begin: a bitmap over the first three bytes,
// read without a dependency from one position to the next, passes over most of
// a text; what it lets through walks a dense trie over byte classes. Both are
// caseless, so an anchor that is not compares its own bytes at the end.
type ruleset struct {
	rules   []rule
	bitmap  [1 << (trigramBits - 6)]uint64
	class   [256]uint8
	classes int
	next    []uint16 // node*classes + class; 0 is no edge
	accept  [][]anchor
	leaf    []bool
	longest int // bytes of the longest anchor
}

const (
	trigramBits = 15
	trigramMul  = 0x9E3779B1
)

// theRules is compiled on first use and shared: it depends on nothing.
var theRules = sync.OnceValue(func() *ruleset { return compile(allRules(), allAnchors()) })

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// trigram hashes the low three bytes of w. Setting bit 5 folds the letters and
// merges some other bytes, which a filter may.
func trigram(w uint32) uint32 {
	return ((w | 0x202020) & 0xFFFFFF) * trigramMul >> (32 - trigramBits)
}

func compile(rules []rule, list []anchor) *ruleset {
	f := &ruleset{rules: rules, classes: 1}
	for _, a := range list {
		for i := range len(a.text) {
			if c := lower(a.text[i]); f.class[c] == 0 {
				f.class[c] = uint8(f.classes)
				f.classes++
			}
		}
		h := trigram(uint32(a.text[0]) | uint32(a.text[1])<<8 | uint32(a.text[2])<<16)
		f.bitmap[h>>6] |= 1 << (h & 63)
	}
	for c := byte('A'); c <= 'Z'; c++ {
		f.class[c] = f.class[lower(c)]
	}
	size := 1
	for _, a := range list {
		size += len(a.text)
		f.longest = max(f.longest, len(a.text))
	}
	f.next = make([]uint16, 0, size*f.classes)
	f.grow()
	for _, a := range list {
		node := 0
		for i := range len(a.text) {
			edge := node*f.classes + int(f.class[a.text[i]])
			if f.next[edge] == 0 {
				f.leaf[node] = false
				f.next[edge] = f.grow()
			}
			node = int(f.next[edge])
		}
		f.accept[node] = append(f.accept[node], a)
	}
	return f
}

func (f *ruleset) grow() uint16 {
	f.next = f.next[:len(f.next)+f.classes]
	f.accept = append(f.accept, nil)
	f.leaf = append(f.leaf, true)
	return uint16(len(f.accept) - 1)
}

// candidate returns the first position at or after i where an anchor may
// begin, or len(b)-2 (at least i) when there is none: an anchor has three
// bytes or more.
func (f *ruleset) candidate(b []byte, i int) int {
	for ; i+8 <= len(b); i += 6 {
		w := binary.LittleEndian.Uint64(b[i:])
		h0, h1, h2 := trigram(uint32(w)), trigram(uint32(w>>8)), trigram(uint32(w>>16))
		h3, h4, h5 := trigram(uint32(w>>24)), trigram(uint32(w>>32)), trigram(uint32(w>>40))
		hit := f.bitmap[h0>>6]>>(h0&63) | f.bitmap[h1>>6]>>(h1&63) | f.bitmap[h2>>6]>>(h2&63) |
			f.bitmap[h3>>6]>>(h3&63) | f.bitmap[h4>>6]>>(h4&63) | f.bitmap[h5>>6]>>(h5&63)
		if hit&1 == 0 {
			continue
		}
		for k := range 6 {
			if h := trigram(uint32(w >> (8 * k))); f.bitmap[h>>6]>>(h&63)&1 != 0 {
				return i + k
			}
		}
	}
	for ; i+3 <= len(b); i++ {
		h := trigram(uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16)
		if f.bitmap[h>>6]>>(h&63)&1 != 0 {
			return i
		}
	}
	return max(i, len(b)-2)
}

// at calls try for every anchor that begins at position i, shortest first,
// until try returns false. It reports whether the end of b was reached while a
// longer anchor was still possible.
func (f *ruleset) at(b []byte, i int, try func(a *anchor, end int) bool) (open bool) {
	node := 0
	for j := i; ; j++ {
		for k := range f.accept[node] {
			a := &f.accept[node][k]
			if (a.fold || string(b[i:j]) == a.text) && !try(a, j) {
				return false
			}
		}
		if j == len(b) {
			return !f.leaf[node]
		}
		if node = int(f.next[node*f.classes+int(f.class[b[j]])]); node == 0 {
			return false
		}
	}
}

// armed returns the first position at or after i where an anchor stands that
// is worth a closer look, or -1. It reads raw bytes, so that what a JSON
// escape may hide counts as worth it; it may err only that way.
func (f *ruleset) armed(b []byte, i int) int {
	for {
		if i = f.candidate(b, i); i+3 > len(b) {
			return -1
		}
		found := false
		f.at(b, i, func(a *anchor, end int) bool {
			found = f.rules[a.rule].worth == nil || f.rules[a.rule].worth(b, i, end)
			return !found
		})
		if found {
			return i
		}
		i++
	}
}
