package provider

import (
	"strconv"
	"unicode/utf8"
)

// jsonWriter writes JSON in a given order of members and passes raw values on
// byte for byte, which encoding/json does not: it compacts them.
type jsonWriter struct {
	buf []byte
}

func (w *jsonWriter) comma() {
	if n := len(w.buf); n > 0 {
		switch w.buf[n-1] {
		case '{', '[', ':', ',':
		default:
			w.buf = append(w.buf, ',')
		}
	}
}

func (w *jsonWriter) open(c byte)  { w.comma(); w.buf = append(w.buf, c) }
func (w *jsonWriter) close(c byte) { w.buf = append(w.buf, c) }

// key writes the name of a member; its value must follow.
func (w *jsonWriter) key(name string) *jsonWriter {
	w.comma()
	w.quote(name)
	w.buf = append(w.buf, ':')
	return w
}

func (w *jsonWriter) str(s string) { w.comma(); w.quote(s) }

func (w *jsonWriter) int(n int64) { w.comma(); w.buf = strconv.AppendInt(w.buf, n, 10) }

func (w *jsonWriter) float(f float64) {
	w.comma()
	w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, 64)
}

func (w *jsonWriter) bool(v bool) { w.comma(); w.buf = strconv.AppendBool(w.buf, v) }

// raw writes a JSON value as it is.
func (w *jsonWriter) raw(v []byte) { w.comma(); w.buf = append(w.buf, v...) }

// obj and arr write what f writes inside brackets.
func (w *jsonWriter) obj(f func()) { w.open('{'); f(); w.close('}') }
func (w *jsonWriter) arr(f func()) { w.open('['); f(); w.close(']') }

func (w *jsonWriter) quote(s string) {
	const hex = "0123456789abcdef"
	w.buf = append(w.buf, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				w.buf = append(w.buf, "\ufffd"...)
			} else {
				w.buf = append(w.buf, s[i:i+n]...)
			}
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			w.buf = append(w.buf, '\\', c)
		case c == '\n':
			w.buf = append(w.buf, '\\', 'n')
		case c == '\r':
			w.buf = append(w.buf, '\\', 'r')
		case c == '\t':
			w.buf = append(w.buf, '\\', 't')
		case c < 0x20:
			w.buf = append(w.buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			w.buf = append(w.buf, c)
		}
		i++
	}
	w.buf = append(w.buf, '"')
}
