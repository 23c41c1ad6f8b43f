package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
)

// FuzzReader reads arbitrary bytes: it does not panic, places lie inside of the
// input and in order, and every line is accounted for.
func FuzzReader(f *testing.F) {
	for _, name := range fixtures(f) {
		data := readFile(f, name)
		f.Add(data)
		f.Add(data[:len(data)*2/3])
		f.Add(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
		for _, pack := range pack {
			packed := pack(f, data[:len(data)/2], data[len(data)/2:])
			f.Add(packed)
			f.Add(packed[:len(packed)-7])
		}
	}
	for _, line := range hostileLines {
		f.Add([]byte(line + "\n\n" + line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		compressed := bytes.HasPrefix(data, []byte{0x1f, 0x8b}) || bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd})
		if compressed && len(data) > 4<<10 {
			return // what it unpacks to could be too large for a fuzzer
		}
		told := make(map[int]bool)
		last := Place{Name: "in"}
		step := func(p Place) {
			// On a line with several objects their error comes first.
			if p.Name != "in" || p.Line < max(last.Line, 1) || p.Line > last.Line && p.Offset < last.Offset || p.Offset < 0 {
				t.Fatalf("place %+v follows %+v", p, last)
			}
			if !compressed && p.Offset >= int64(len(data)) {
				t.Fatalf("place %+v is outside of %d bytes", p, len(data))
			}
			told[p.Line], last = true, p
		}
		stopped := false
		for rec, err := range NewReader(bytes.NewReader(data), "in", ReaderOptions{MaxLine: 1 << 10}).All() {
			if stopped {
				t.Fatalf("something follows the last error")
			}
			var syntax *SyntaxError
			switch {
			case errors.As(err, &syntax):
				step(syntax.Place)
			case err != nil:
				stopped = true
			default:
				step(rec.Place())
				if !json.Valid(rec.Bytes()) || rec.Bytes()[0] != '{' || bytes.ContainsAny(rec.Bytes(), "\n") {
					t.Fatalf("not an object on one line: %q", rec.Bytes())
				}
			}
		}
		if compressed || stopped {
			return
		}
		body := bytes.TrimPrefix(data, []byte("\ufeff"))
		for i, line := range bytes.Split(body, []byte("\n")) {
			blank := len(bytes.TrimSpace(line)) == 0
			if told[i+1] == blank && len(line) <= 1<<10 {
				t.Fatalf("line %d is blank: %t, told: %t", i+1, blank, told[i+1])
			}
		}
	})
}

// FuzzWriteRead writes an event of any kind and reads it back: equal bytes, and
// an equal event unless safety changed it.
func FuzzWriteRead(f *testing.F) {
	for i := range registry {
		f.Add(uint8(i), "r", "web_search", `{"q":"AAPL"}`, int64(3), 0.5, true)
	}
	f.Add(uint8(255), "", "a\x00\"\\\xff", "{\n\"a\": [1, \r\n2]}", int64(-1), math.Copysign(0, -1), false)
	f.Add(uint8(254), "r\n", "]}", "\"\n\"", int64(1)<<62, 1e300, true)
	f.Add(uint8(253), "…", "\u2028", "nul", int64(0), 5e-324, true)
	f.Fuzz(func(t *testing.T, kind uint8, run, text, raw string, n int64, x float64, yes bool) {
		if run == "" || x != x || x > 1e308 || x < -1e308 {
			return
		}
		ev := eventOf(kind, text)
		set(reflect.ValueOf(ev).Elem(), text, raw, n, x, yes)
		ev.Common().RunID = run
		ev.Common().Extra = []Member{{Name: "x-" + text, Value: json.RawMessage(raw)}}

		var file memory
		w := newWriter(t, &file, WriterOptions{})
		rec, err := w.Write(ev)
		if err != nil {
			t.Fatal(err)
		}
		records, errs := readAll(file.Bytes(), ReaderOptions{})
		var version *VersionError
		if len(errs) == 1 && errors.As(errs[0], &version) {
			return // the text says that it is of a newer format
		}
		if len(errs) > 0 || len(records) == 0 {
			t.Fatalf("%d records, errors %v", len(records), errs)
		}
		changed := len(records) > 1 // by safety-applied events
		if !changed && !bytes.Equal(records[0].Bytes(), rec.Bytes()) {
			t.Fatalf("wrote %q\n read %q", rec.Bytes(), records[0].Bytes())
		}
		got, warnings, err := Decode(rec)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("decoding %q: %v %v", rec.Bytes(), err, warnings)
		}
		if changed {
			return
		}
		if again, _ := written(t, got); !bytes.Equal(again[:len(again)-1], rec.Bytes()) {
			t.Fatalf("again %q\nfirst %q", again, rec.Bytes())
		}
		want := plainText(text)
		if base := got.Common(); base.RunID != plainText(run) || base.Seq != 0 || base.Timestamp == 0 {
			t.Fatalf("base is %+v", base)
		}
		if call, ok := got.(*ToolCallStart); ok && (call.ToolName != want || call.Rationale.Why != want || *call.Rationale.Confidence != x) {
			t.Fatalf("got %+v, want %q and %v", call, want, x)
		}
	})
}

// eventOf makes an event of the registry, or an unknown one beyond it.
func eventOf(kind uint8, text string) Event {
	if int(kind) < len(registry) {
		return registry[kind].make()
	}
	return &Unknown{Kind: "x" + Kind(text)}
}

// plainText is a text as UTF-8: each byte that is none becomes U+FFFD.
func plainText(s string) string { return string([]rune(s)) }

// set gives every field of an event one of the values.
func set(v reflect.Value, text, raw string, n int64, x float64, yes bool) {
	if v.Type() == rawType {
		v.SetBytes([]byte(raw))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(yes)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(x)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem(), text, raw, n, x, yes)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(v.Index(0), text, raw, n, x, yes)
	case reflect.Map:
		elem := reflect.New(v.Type().Elem()).Elem()
		set(elem, text, raw, n, x, yes)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(text), elem)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Extra" && name != "Kind" {
				set(v.Field(i), text, raw, n, x, yes)
			}
		}
	}
}
