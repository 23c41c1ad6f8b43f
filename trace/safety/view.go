package safety

import (
	"bytes"
	"sort"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as a scanner sees it, with the way back to the bytes that it
// was made from: escapes decoded, hidden characters taken out. Marks hold no
// character that JSON escapes, so a finding at any depth of decoding is
// replaced in the outermost bytes and everything around it stays exact.
type view struct {
	b    []byte
	subs []sub // where b is not a plain copy, in order
}

// sub says that b[at:at+n] stands for raw[from:from+m].
type sub struct {
	at, from int
	n, m     int32
}

// raw maps a range of the view to the range of bytes that it stands for.
func (v *view) raw(start, end int) (int, int) {
	if len(v.subs) == 0 {
		return start, end
	}
	from := v.pos(start, false)
	if start == end {
		return from, from
	}
	return from, v.pos(end, true)
}

// pos maps a position; asEnd takes it as the end of the byte before it.
func (v *view) pos(p int, asEnd bool) int {
	k := sort.Search(len(v.subs), func(i int) bool {
		if asEnd {
			return v.subs[i].at >= p
		}
		return v.subs[i].at > p
	})
	if k == 0 {
		return p
	}
	s := v.subs[k-1]
	n, m := int(s.n), int(s.m)
	if p < s.at+n {
		if asEnd {
			return s.from + m
		}
		return s.from
	}
	return s.from + m + (p - s.at - n)
}

// without returns b with the ranges cut out.
func without(b []byte, spans [][2]int) view {
	v := view{b: make([]byte, 0, len(b)), subs: make([]sub, 0, len(spans))}
	last := 0
	for _, s := range spans {
		v.b = append(v.b, b[last:s[0]]...)
		fill := filler(v.b)
		v.subs = append(v.subs, sub{len(v.b), s[0], int32(len(fill)), int32(s[1] - s[0])})
		v.b = append(v.b, fill...)
		last = s[1]
	}
	v.b = append(v.b, b[last:]...)
	return v
}

// filler is what stands in for hidden characters after kept: nothing, unless
// kept ends in half a character, which what follows could complete.
func filler(kept []byte) string {
	if r, n := utf8.DecodeLastRune(kept); r == utf8.RuneError && n == 1 {
		return string(utf8.RuneError)
	}
	return ""
}

// unescape returns raw with its JSON escapes decoded. What is no escape stands
// for itself, so that it serves for the inside of a JSON string and, one level
// deeper, for any text that may quote JSON.
func unescape(raw []byte) view {
	v := view{b: make([]byte, 0, len(raw))}
	for i := 0; ; {
		k := bytes.IndexByte(raw[i:], '\\')
		if k < 0 || i+k+1 >= len(raw) {
			v.b = append(v.b, raw[i:]...)
			return v
		}
		v.b = append(v.b, raw[i:i+k]...)
		i += k
		at := len(v.b)
		n := 2
		switch c := raw[i+1]; c {
		case '"', '\\', '/':
			v.b = append(v.b, c)
		case 'n':
			v.b = append(v.b, '\n')
		case 't':
			v.b = append(v.b, '\t')
		case 'r':
			v.b = append(v.b, '\r')
		case 'b':
			v.b = append(v.b, '\b')
		case 'f':
			v.b = append(v.b, '\f')
		case 'u':
			r, ok := hex4(raw[i+2:])
			if !ok {
				v.b = append(v.b, '\\')
				i++
				continue
			}
			n = 6
			if utf16.IsSurrogate(r) {
				if low, ok := hex4(bytes.TrimPrefix(raw[i+6:], []byte(`\u`))); ok && bytes.HasPrefix(raw[i+6:], []byte(`\u`)) {
					if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
						r, n = pair, 12
					}
				}
			}
			v.b = utf8.AppendRune(v.b, r)
		default:
			v.b = append(v.b, '\\')
			i++
			continue
		}
		v.subs = append(v.subs, sub{at, i, int32(len(v.b) - at), int32(n)})
		i += n
	}
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
