package safety

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// hiddenFilter takes out characters that a reader does not see and a model
// does: tag characters, bidirectional controls, zero-width characters and runs
// of variation selectors. It keeps what writing needs: joiners between letters
// of scripts that join and inside emoji, the marks LRM, RLM and ALM, a variation
// selector after its base, and the tags of the three flags that have them.
//
// It decides on the characters that it kept before, plus the one after a
// variation selector behind a digit (a keycap). So it gives the same on its own
// output, and the same for every chunking.
type hiddenFilter struct {
	prev rune   // the last character kept
	flag string // the tags kept since, when that was a black flag
}

const (
	zwsp, zwnj, zwj  = '\u200B', '\u200C', '\u200D'
	blackFlag        = '\U0001F3F4'
	tagBase, tagLast = '\U000E0000', '\U000E007F'
)

var flagTags = [...]string{"gbeng\x7f", "gbsct\x7f", "gbwls\x7f"}

// hiddenAnchors lists the first three bytes of every character that the filter
// looks at.
func hiddenAnchors() []string {
	var list []string
	seen := map[string]bool{}
	for _, r := range [...][2]rune{{0x180E, 0x180E}, {0x2000, 0x206F}, {0xFE00, 0xFEFF}, {0xE0000, 0xE01EF}} {
		for c := r[0]; c <= r[1]; c++ {
			if a := string(c)[:3]; invisible(c) && !seen[a] {
				seen[a] = true
				list = append(list, a)
			}
		}
	}
	return list
}

func isSelector(r rune) bool { return 0xFE00 <= r && r <= 0xFE0F || 0xE0100 <= r && r <= 0xE01EF }

// invisible reports the characters that need a reason to stay.
func invisible(r rune) bool {
	switch {
	case r < 0x180E:
		return false
	case zwsp <= r && r <= zwj, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F, r == 0xFEFF, r == 0x180E:
		return true
	case tagBase <= r && r <= tagLast:
		return true
	}
	return isSelector(r)
}

// joins reports a character after which a joiner is spelling.
func joins(r rune) bool {
	return r > 0x7F && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || isSelector(r))
}

// unspaced are the scripts that mark a break between words by ZWSP.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese)
}

// newHiddenFilter returns a filter that has seen a text without hidden characters.
func newHiddenFilter(seen []byte) *hiddenFilter {
	if len(seen) == 0 {
		return &hiddenFilter{}
	}
	prev, _ := utf8.DecodeLastRune(seen)
	return &hiddenFilter{prev: prev}
}

// spans appends the ranges of b[from:] to take out, and returns how far b is
// decided: short of len(b) only where more is to come and it decides.
func (h *hiddenFilter) spans(dst [][2]int, b []byte, from int, final bool) ([][2]int, int) {
	for i := from; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&0x8080808080808080 == 0 {
				i += 8
			}
			h.prev, h.flag = rune(b[i-1]), ""
			continue
		}
		if !final && !utf8.FullRune(b[i:]) {
			return dst, i
		}
		r, n := utf8.DecodeRune(b[i:])
		if !invisible(r) {
			h.prev, h.flag = r, ""
			i += n
			continue
		}
		keep := false
		switch {
		case isSelector(r) && '#' <= h.prev && h.prev <= '9': // a keycap, and never inside a key
			rest := b[i+n:]
			if !final && !utf8.FullRune(rest) {
				return dst, i
			}
			next, _ := utf8.DecodeRune(rest)
			keep = !invisible(next) && (next > 0x7F || !wordDash[byte(next)])
		case isSelector(r):
			keep = h.prev > 0x7F && !isSelector(h.prev) && h.prev != zwj && h.prev != zwnj
		case r == zwj || r == zwnj:
			keep = joins(h.prev)
		case r == zwsp:
			keep = unspaced(h.prev)
		case tagBase <= r && r <= tagLast:
			keep = h.tag(byte(r - tagBase))
		}
		if keep {
			if r < tagBase || r > tagLast {
				h.prev, h.flag = r, ""
			}
		} else if k := len(dst); k > 0 && dst[k-1][1] == i {
			dst[k-1][1] = i + n
		} else {
			dst = append(dst, [2]int{i, i + n})
		}
		i += n
	}
	return dst, len(b)
}

// tag reports whether a tag character goes on with the tags of a known flag.
func (h *hiddenFilter) tag(c byte) bool {
	if h.prev != blackFlag {
		return false
	}
	for _, f := range flagTags {
		if k := len(h.flag); k < len(f) && f[:k] == h.flag && f[k] == c {
			h.flag = f[:k+1]
			return true
		}
	}
	return false
}
