package trace

import (
	"io"
	"reflect"
	"strconv"
	"testing"
)

// BenchmarkWriterSafety is what the door costs: "with" is Write, "without" the
// same encoding of the same event with nobody looking at its strings. There is no
// way to write so outside of this test.
func BenchmarkWriterSafety(b *testing.B) {
	events := benchEvents()
	for _, size := range benchSizes {
		ev := events[size]
		n := int64(len(encoded(b, ev)))
		b.Run(size+"/with", func(b *testing.B) {
			w, err := NewWriter(discard{io.Discard}, WriterOptions{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(n)
			for b.Loop() {
				if _, err := w.Write(ev); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size+"/without", func(b *testing.B) {
			var buf []byte
			b.SetBytes(n)
			for b.Loop() {
				buf = append(buf[:0], `{"kind":`...)
				buf = appendString(buf, string(ev.EventKind()))
				v := reflect.ValueOf(ev).Elem()
				buf = bareMembers(buf, v, planOf(v.Type()), false)
				line := append(make([]byte, 0, len(buf)+2), buf...)
				if _, err := io.Discard.Write(append(line, '}', '\n')); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bareMembers is encoder.members without a session.
func bareMembers(b []byte, v reflect.Value, p *plan, first bool) []byte {
	for _, f := range p.fields {
		fv := v.FieldByIndex(f.index)
		if absent(fv, f.omitEmpty) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = bareValue(append(b, f.key...), fv)
	}
	return b
}

func bareValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return appendString(b, v.String())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Float64:
		return appendFloat(b, v.Float())
	case reflect.Pointer:
		return bareValue(b, v.Elem())
	case reflect.Struct:
		return append(bareMembers(append(b, '{'), v, planOf(v.Type()), true), '}')
	case reflect.Slice:
		if v.Type() == rawType {
			if !validJSON(v.Bytes()) {
				panic("the events of the benchmark hold valid JSON")
			}
			return append(b, v.Bytes()...)
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = bareValue(b, v.Index(i))
		}
		return append(b, ']')
	default:
		panic("no encoding for " + v.Type().String())
	}
}

// TestBareIsTheSameEncoding keeps the comparison fair.
func TestBareIsTheSameEncoding(t *testing.T) {
	for size, ev := range benchEvents() {
		v := reflect.ValueOf(ev).Elem()
		bare := append(appendString([]byte(`{"kind":`), string(ev.EventKind())), bareMembers(nil, v, planOf(v.Type()), false)...)
		if got := string(append(bare, '}')); got != string(encoded(t, ev)) {
			t.Errorf("%s:\n%.300s\n%.300s", size, got, encoded(t, ev))
		}
	}
}
