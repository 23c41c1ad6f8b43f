package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/tidwall/gjson"
)

// ErrNoKind is returned for a line whose kind is absent or no string.
var ErrNoKind = errors.New("no kind")

// Warning names something odd about one member of an event that was read all
// the same.
type Warning struct {
	Field  string
	Reason string
}

func (w Warning) String() string { return w.Field + ": " + w.Reason }

// Decode gives the typed event of a record: the reference reading of the
// format. The first of several equal names wins, names are case-sensitive, null
// is absent, and a known member of another JSON type is kept raw in Extra and
// warned about. The event owns its memory. The error is ErrNoKind.
func Decode(r Record) (Event, []Warning, error) {
	kind, ok := kindOf(r.line)
	if !ok {
		return nil, nil, ErrNoKind
	}
	ev := New(kind)
	v := reflect.ValueOf(ev).Elem()
	p := planOf(v.Type())
	seen := make([]bool, len(p.fields))
	kindSeen := false
	var warnings []Warning
	base := ev.Common()
	gjson.ParseBytes(r.line).ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		if name == "kind" {
			if kindSeen {
				warnings = append(warnings, Warning{name, "stands twice; the first counts"})
			}
			kindSeen = true
			return true
		}
		i, known := p.byName[name]
		switch {
		case known && seen[i]:
			warnings = append(warnings, Warning{name, "stands twice; the first counts"})
			return true
		case known:
			seen[i] = true
			if assign(v.FieldByIndex(p.fields[i].index), value) {
				return true
			}
			warnings = append(warnings, Warning{name, "has another JSON type; kept raw"})
		}
		base.Extra = append(base.Extra, Member{Name: name, Value: json.RawMessage(value.Raw)})
		return true
	})
	return ev, warnings, nil
}

// kindOf reads the kind of a line that is a JSON object. It does not copy the
// line, which every record of a Reader passes through.
func kindOf(line []byte) (Kind, bool) {
	value := gjson.GetBytes(line, "kind")
	if value.Type != gjson.String || value.Str == "" {
		return "", false
	}
	return Kind(value.Str).canonical(), true
}

// assign sets v from a JSON value, and reports false and leaves v as it was if
// the value has another JSON type. It is the one judge of types for Decode and
// for the accessors of a Row.
func assign(v reflect.Value, value gjson.Result) bool {
	if v.Type() == rawType {
		v.SetBytes([]byte(value.Raw))
		return true
	}
	if value.Type == gjson.Null {
		return true
	}
	switch v.Kind() {
	case reflect.String:
		if value.Type != gjson.String {
			return false
		}
		v.SetString(value.String())
	case reflect.Bool:
		if !value.IsBool() {
			return false
		}
		v.SetBool(value.Bool())
	case reflect.Int, reflect.Int64:
		n, ok := integer(value)
		if ok {
			v.SetInt(n)
		}
		return ok
	case reflect.Float64:
		f, ok := number(value)
		if ok {
			v.SetFloat(f)
		}
		return ok
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if !assign(p.Elem(), value) {
			return false
		}
		v.Set(p)
	case reflect.Slice:
		return assignSlice(v, value)
	case reflect.Map:
		return assignMap(v, value)
	case reflect.Struct:
		return assignStruct(v, value)
	default:
		panic(fmt.Sprintf("trace: no decoding for %s", v.Type()))
	}
	return true
}

func assignSlice(v reflect.Value, value gjson.Result) bool {
	if !value.IsArray() {
		return false
	}
	out := reflect.MakeSlice(v.Type(), 0, 0)
	ok := true
	value.ForEach(func(_, item gjson.Result) bool {
		elem := reflect.New(v.Type().Elem()).Elem()
		if ok = item.Type != gjson.Null && assign(elem, item); ok {
			out = reflect.Append(out, elem)
		}
		return ok
	})
	if ok {
		v.Set(out)
	}
	return ok
}

func assignMap(v reflect.Value, value gjson.Result) bool {
	if !value.IsObject() {
		return false
	}
	out := reflect.MakeMap(v.Type())
	ok := true
	value.ForEach(func(key, item gjson.Result) bool {
		k := reflect.ValueOf(key.String())
		if out.MapIndex(k).IsValid() {
			return true
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if ok = item.Type != gjson.Null && assign(elem, item); ok {
			out.SetMapIndex(k, elem)
		}
		return ok
	})
	if ok {
		v.Set(out)
	}
	return ok
}

func assignStruct(v reflect.Value, value gjson.Result) bool {
	if !value.IsObject() {
		return false
	}
	p := planOf(v.Type())
	out := reflect.New(v.Type()).Elem()
	seen := make([]bool, len(p.fields))
	ok := true
	value.ForEach(func(key, item gjson.Result) bool {
		i, known := p.byName[key.String()]
		if !known || seen[i] {
			return true
		}
		seen[i] = true
		ok = assign(out.FieldByIndex(p.fields[i].index), item)
		return ok
	})
	if ok {
		v.Set(out)
	}
	return ok
}

// integer reads a whole number; 1.0 and 1e3 are whole, 1.5 is not.
func integer(value gjson.Result) (int64, bool) {
	if value.Type != gjson.Number {
		return 0, false
	}
	if n, err := strconv.ParseInt(value.Raw, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(value.Raw, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func number(value gjson.Result) (float64, bool) {
	if value.Type != gjson.Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(value.Raw, 64)
	return f, err == nil
}
