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

	"github.com/rax-project/rax/rationale"
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
	if _, err := e.members(v, p, "", false); err != nil {
		return err
	}
	for _, m := range ev.Common().Extra {
		// A member that the type knows under this name was written above, or
		// is absent; the foreign value must not take its place.
		if _, known := p.byName[m.Name]; known || m.Name == "kind" {
			continue
		}
		e.buf = append(e.buf, ',')
		e.text("name", m.Name)
		e.buf = append(e.buf, ':')
		if err := e.raw(m.Name, m.Value); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// members appends the planned members of v; first says that no member stands
// before them in the object. dropped says that safety refused a member that the
// object cannot be without, such as the why of a rationale.
func (e *encoder) members(v reflect.Value, p *plan, path string, first bool) (dropped bool, err error) {
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
		e.comma(first)
		e.buf = append(e.buf, f.key...)
		refused, err := e.value(fv, field)
		if err != nil {
			return false, fmt.Errorf("%s: %w", f.name, err)
		}
		if refused && f.omitEmpty {
			e.buf = e.buf[:mark]
			continue
		}
		dropped = dropped || refused
		first = false
	}
	return dropped, nil
}

func (e *encoder) comma(first bool) {
	if !first {
		e.buf = append(e.buf, ',')
	}
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
		dropped, err = e.members(v, planOf(v.Type()), field, true)
		e.buf = append(e.buf, '}')
		return dropped, err
	case reflect.Slice:
		if v.Type() == rawType {
			return false, e.raw(field, v.Bytes())
		}
		return false, e.list(v, field)
	case reflect.Map:
		return false, e.object(v, field)
	default:
		return false, fmt.Errorf("no encoding for %s", v.Type())
	}
	return false, nil
}

// list appends an array, without the elements that safety refused.
func (e *encoder) list(v reflect.Value, field string) error {
	e.buf = append(e.buf, '[')
	first := true
	for i := range v.Len() {
		mark := len(e.buf)
		e.comma(first)
		refused, err := e.value(v.Index(i), field)
		if err != nil {
			return err
		}
		if refused {
			e.buf = e.buf[:mark]
			continue
		}
		first = false
	}
	e.buf = append(e.buf, ']')
	return nil
}

// object appends a map. It goes through the door as JSON, where a key labels its
// value: {"password": "…"}.
func (e *encoder) object(v reflect.Value, field string) error {
	plain := encoder{session: e.session}
	plain.buf = append(plain.buf, '{')
	for i, k := range sortedKeys(v) {
		plain.comma(i == 0)
		plain.buf = append(appendString(plain.buf, k), ':')
		if value := v.MapIndex(reflect.ValueOf(k)); value.Kind() == reflect.String {
			plain.buf = appendString(plain.buf, value.String())
		} else if _, err := plain.value(value, field); err != nil {
			return err
		}
	}
	e.findings = append(e.findings, plain.findings...)
	return e.raw(field, append(plain.buf, '}'))
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

// text appends s as a JSON string after the safety session has seen it.
func (e *encoder) text(field, s string) (blocked bool) {
	r := e.stored(field, s)
	e.findings = append(e.findings, r.Findings...)
	if r.Blocked {
		e.buf = append(e.buf, `""`...)
		return true
	}
	e.buf = appendString(e.buf, r.Text)
	return false
}

// stored scrubs s. Reasons and narratives come here cut to their length; at the
// end of such a text may stand half a secret.
func (e *encoder) stored(field, s string) safety.Result {
	if len(s) >= rationale.MaxWhy && len(s) <= utf8.UTFMax*rationale.MaxNarrative {
		if n := utf8.RuneCountInString(s); n == rationale.MaxWhy || n == rationale.MaxNarrative {
			return e.session.Beginning(field, s)
		}
	}
	return e.session.Stored(field, s)
}

// raw appends a JSON value, on one line. What is no JSON is kept as a string.
// Bytes that are no UTF-8, which can only stand inside its strings, become
// U+FFFD.
func (e *encoder) raw(field string, raw []byte) error {
	if !validJSON(raw) {
		e.text(field, string(raw))
		return nil
	}
	raw = bytes.Trim(raw, " \t\r\n") // what stands around a value is not its own
	if !utf8.Valid(raw) {
		raw = []byte(string([]rune(string(raw))))
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
