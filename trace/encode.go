package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/trace/safety"
)

// encoder writes an event as JSON. There is no way to put a string that does
// not pass the safety session first: this is the door of the whole program.
type encoder struct {
	buf      []byte
	session  *safety.Session
	findings []safety.Finding
}

var rawType = reflect.TypeFor[json.RawMessage]()

// event appends one event without a newline.
func (e *encoder) event(ev Event) error {
	e.buf = append(e.buf, `{"kind":`...)
	e.text("kind", string(ev.EventKind()))
	v := reflect.ValueOf(ev).Elem()
	p := planOf(v.Type())
	if err := e.members(v, p, "", false); err != nil {
		return err
	}
	for _, m := range ev.Common().Extra {
		// A member that the type knows under this name was written above, or
		// is absent; the foreign value must not take its place.
		if _, known := p.byName[m.Name]; known || m.Name == "kind" {
			continue
		}
		e.name(m.Name, false)
		if err := e.raw(m.Name, m.Value); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// members appends the planned members of v; first says that no member stands
// before them in the object.
func (e *encoder) members(v reflect.Value, p *plan, path string, first bool) error {
	for _, f := range p.fields {
		fv := v.FieldByIndex(f.index)
		if absent(fv, f.omitEmpty) {
			continue
		}
		field := f.name
		if path != "" {
			field = path + "." + f.name
		}
		mark := len(e.buf)
		e.name(f.name, first)
		dropped, err := e.value(fv, field)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if dropped && f.omitEmpty {
			e.buf = e.buf[:mark]
			continue
		}
		first = false
	}
	return nil
}

func absent(v reflect.Value, omitEmpty bool) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil()
	case reflect.Slice:
		return v.IsNil() && (omitEmpty || v.Type() == rawType) || omitEmpty && v.Len() == 0
	case reflect.Map:
		return v.Len() == 0 && omitEmpty
	default:
		return omitEmpty && v.IsZero()
	}
}

// value appends one value. dropped says that safety refused it and that what
// was appended stands for nothing.
func (e *encoder) value(v reflect.Value, field string) (dropped bool, err error) {
	switch v.Kind() {
	case reflect.String:
		return e.text(field, v.String()), nil
	case reflect.Bool:
		e.buf = strconv.AppendBool(e.buf, v.Bool())
	case reflect.Int, reflect.Int64:
		e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	case reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return false, fmt.Errorf("%v is no JSON number", f)
		}
		e.buf = appendFloat(e.buf, f)
	case reflect.Pointer:
		return e.value(v.Elem(), field)
	case reflect.Struct:
		e.buf = append(e.buf, '{')
		if err := e.members(v, planOf(v.Type()), field, true); err != nil {
			return false, err
		}
		e.buf = append(e.buf, '}')
	case reflect.Slice:
		if v.Type() == rawType {
			return false, e.raw(field, v.Bytes())
		}
		e.buf = append(e.buf, '[')
		for i := range v.Len() {
			if i > 0 {
				e.buf = append(e.buf, ',')
			}
			if _, err := e.value(v.Index(i), field); err != nil {
				return false, err
			}
		}
		e.buf = append(e.buf, ']')
	case reflect.Map:
		e.buf = append(e.buf, '{')
		for i, k := range sortedKeys(v) {
			e.name(k, i == 0)
			if _, err := e.value(v.MapIndex(reflect.ValueOf(k)), field+"."+k); err != nil {
				return false, err
			}
		}
		e.buf = append(e.buf, '}')
	default:
		return false, fmt.Errorf("no encoding for %s", v.Type())
	}
	return false, nil
}

// sortedKeys gives the keys of a map in one order, so that equal events are
// equal bytes.
func sortedKeys(v reflect.Value) []string {
	keys := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}

func (e *encoder) name(name string, first bool) {
	if !first {
		e.buf = append(e.buf, ',')
	}
	e.text("name", name)
	e.buf = append(e.buf, ':')
}

// text appends s as a JSON string after the safety session has seen it.
func (e *encoder) text(field, s string) (blocked bool) {
	r := e.session.Text(field, s)
	e.findings = append(e.findings, r.Findings...)
	if r.Blocked {
		e.buf = append(e.buf, `""`...)
		return true
	}
	e.buf = appendString(e.buf, r.Text)
	return false
}

// raw appends a JSON value, on one line. What is no JSON is kept as a string.
func (e *encoder) raw(field string, raw []byte) error {
	if !gjson.ValidBytes(raw) {
		e.text(field, string(raw))
		return nil
	}
	if bytes.ContainsAny(raw, "\r\n") {
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return err
		}
		raw = compact.Bytes()
	}
	var found []safety.Finding
	e.buf, found = e.session.JSON(e.buf, field, raw)
	e.findings = append(e.findings, found...)
	return nil
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string with the fewest escapes. Bytes that
// are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[start:i]...)
				b = append(b, "�"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendFloat appends f in the shortest form that reads back equal.
func appendFloat(b []byte, f float64) []byte {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(b, int64(f), 10)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}
