package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSON writes v as indented JSON and a newline.
func JSON(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

// JSONLine writes v as JSON on one line.
func JSONLine(w io.Writer, v any) error { return writeJSON(w, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(buf.Bytes()))
	return err
}

// EscapeJSON writes the characters that JSON may hold as they are but that
// control a terminal or the direction of text as \u escapes, and white space
// other than line breaks as spaces. The JSON means the same.
func EscapeJSON(doc []byte) []byte {
	out := doc[:0:0]
	start := 0
	for i := 0; i < len(doc); {
		if doc[i] == '\r' || doc[i] == '\t' {
			out = append(append(out, doc[start:i]...), ' ') // never inside a string
			i++
			start = i
			continue
		}
		if doc[i] < utf8.RuneSelf && doc[i] != 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(doc[i:])
		if harmful(r) {
			out = append(out, doc[start:i]...)
			if r > 0xffff {
				hi, lo := surrogates(r)
				out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			start = i + size
		}
		i += size
	}
	if start == 0 {
		return doc
	}
	return append(out, doc[start:]...)
}

func surrogates(r rune) (hi, lo rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}
