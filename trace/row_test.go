package trace

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// hostileLines are lines on which a fast reading may differ from a careful one.
var hostileLines = []string{
	`{"kind":"tool-call-start","runId":"r","toolName":"t","rationale":{"why":"w"}}`,
	`{"rationale":{"why":"w"},"toolName":"t","runId":"r","kind":"tool-call-start"}`,
	`{"args":{"kind":"run-completed","toolName":"inner","runId":"x"},"kind":"tool-call-start","toolName":"outer"}`,
	`{"args":"{\"kind\":\"metric\"}","kind":"tool-call-start"}`,
	`{"kind":"tool-call-start","toolName":"a","toolName":"b","toolN\u0061me":"c"}`,
	`{"kind":"tool-call-start","toolName":null,"toolName":"b"}`,
	`{"kind":"tool-call-start","toolName":7,"toolName":"b","seq":"1","iter":[],"ok":{}}`,
	`{"kind":"tool-call-start","t\u006folName":"a\u0000\ud83d\ude42\ud800","callId":"\""}`,
	"{\"kind\":\"tool-call-start\",\"toolName\":\"\xff\xfe\",\"\xff\":1}",
	"\t{ \"kind\" :\r\"tool-call-start\" , \"seq\" : 1.0 ,\t\"iter\":-0, \"timestamp\":1e3 } ",
	`{"kind":"tool-call-start","narrative":"}{][\",:\\","origin":{"field":"}","start":1,"end":2,"event":null}}`,
	`{"kind":"tool-call-start","rationale":{"why":"a","why":"b","alternatives":[{"option":"o","rejectedBecause":null}],"x":{"why":1}}}`,
	`{"kind":"tool-call-start","rationale":{"why":"a","refs":[1]},"parallelGroup":0,"withheld":true,"narrativeCut":"true"}`,
	`{"kind":"ToolCallStarted","toolName":"t","ok":true,"tokens":{"input":1},"task":"not of this kind"}`,
	`{"kind":"run-started","importedFrom":{"format":"f","file":7},"safety":1,"task":["a"]}`,
	`{"kind":"run-started","importedFrom":{"format":"f"},"seed":1.5,"depth":9223372036854775808}`,
	`{"kind":"run-completed","tokens":{"input":1,"input":2,"lowerBound":true},"totalTokens":1e400,"totalCostUsd":1e400}`,
	`{"kind":"kernel-state-snapshot","tokens":5,"cost":0.5,"terminationRationale":{"why":""}}`,
	`{"kind":"intervention-dispatched","cost":{"tokensEstimated":0},"reason":null}`,
	`{"kind":"harness-signal-injected","origin":"verifier"}`,
	`{"kind":"alternatives-considered","alternatives":[{"option":"o","rejectedBecause":"r"}],"chosen":"c"}`,
	`{"kind":"alternatives-considered","alternatives":{"option":"o"},"chosen":null}`,
	`{"kind":"metric","name":"n","value":-1.5e-3,"labels":{"a":"1","a":"2","\u0062":"3"}}`,
	`{"kind":"metric","name":"n","value":true,"labels":{"a":null}}`,
	`{"kind":"x-new","kind":"metric","value":1,"":0,"labels":[]}`,
	`{"kind":"metric","kin\u0064":1,"name":"","runId":""}`,
	`{"\u006bind":"metr\u0069c"}`,
	`{"kind":null,"kind":"metric"}`,
	`{"kind":"metric","value":{"a":[{"b":[[{}]]},"]}"]},"iter":null,"turn":3}`,
	`{}`,
	`{"kind":"metric","iter":1}{"kind":"metric","iter":2}`,
	`{"kind":"metric","iter":1`,
	`{"kind":"metric""iter":1}`,
}

// seedLines are the lines of the fixtures and the hostile ones.
func seedLines(t testing.TB) [][]byte {
	t.Helper()
	var lines [][]byte
	for _, name := range fixtures(t) {
		lines = append(lines, bytes.Split(readFile(t, name), []byte("\n"))...)
	}
	for _, line := range hostileLines {
		lines = append(lines, []byte(line))
	}
	for _, kind := range Kinds() {
		data, _ := written(t, filled(kind))
		lines = append(lines, data)
	}
	return lines
}

// FuzzRowOf proves that the fast path and the reference agree on every line that
// the reference accepts, field by field.
func FuzzRowOf(f *testing.F) {
	for _, line := range seedLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		walkInside(t, line)
		records, _ := readAll(line, ReaderOptions{})
		for _, rec := range records {
			ev, _, err := Decode(rec)
			row, rowErr := RowOf(rec)
			if (err == nil) != (rowErr == nil) {
				t.Fatalf("Decode says %v, RowOf says %v", err, rowErr)
			}
			if err == nil {
				agree(t, ev, &row)
			}
		}
	})
}

// walkInside checks that the walk stays inside any bytes, valid or not.
func walkInside(t *testing.T, line []byte) {
	last := 0
	walkMembers(line, func(_ []byte, start, end int) {
		if start < last || end <= start || end > len(line) {
			t.Fatalf("member at [%d,%d) after %d in %d bytes", start, end, last, len(line))
		}
		last = end
	})
}

// agree compares every Field of a row with the typed event.
func agree(t *testing.T, ev Event, row *Row) {
	t.Helper()
	if row.Kind() != ev.EventKind() {
		t.Errorf("kind: row %q, event %q", row.Kind(), ev.EventKind())
	}
	v := reflect.ValueOf(ev).Elem()
	p := planOf(v.Type())
	for f := range numFields {
		extra, inExtra := firstExtra(ev, f.String())
		i, known := p.byName[f.String()]
		if inExtra && !bytes.Equal(extra, row.Raw(f)) {
			t.Errorf("%s: row has %s, the event keeps %s", f, row.Raw(f), extra)
		}
		if !known {
			if row.Has(f) != inExtra {
				t.Errorf("%s: row has it: %t, the event keeps it: %t", f, row.Has(f), inExtra)
			}
			continue
		}
		field := v.FieldByIndex(p.fields[i].index)
		if !row.Has(f) && f != FieldIter && !field.IsZero() {
			t.Errorf("%s: row has none, event has %v", f, field)
		}
		got, want := shown(row, f, field), plainValue(field)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: row has %#v, event has %#v", f, got, want)
		}
	}
	if row.Iter() != ev.Common().Iter {
		t.Errorf("iter: row %d, event %d", row.Iter(), ev.Common().Iter)
	}
}

func firstExtra(ev Event, name string) ([]byte, bool) {
	for _, m := range ev.Common().Extra {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// shown reads a field of a row by the accessor that fits the event's type.
func shown(row *Row, f Field, field reflect.Value) any {
	switch field.Interface().(type) {
	case bool:
		return row.Bool(f)
	case int:
		if f == FieldIter {
			return int64(row.Iter())
		}
		return row.Int(f)
	case int64:
		return row.Int(f)
	case *int, *int64:
		return row.OptInt(f)
	case *bool:
		return row.OptBool(f)
	case *float64:
		return row.OptFloat(f)
	case float64:
		if n := row.OptFloat(f); n != nil {
			return *n
		}
		return 0.0
	case *rationale.Rationale:
		return row.Rationale(f)
	case *rationale.Origin:
		return row.Origin(f)
	case []rationale.Alternative:
		return row.Alternatives()
	case *Tokens:
		return row.TokenCounts()
	case *ImportSource:
		return row.ImportedFrom()
	case map[string]string:
		return row.Labels()
	}
	switch {
	case field.Type() == rawType:
		return string(row.Raw(f))
	case field.Kind() == reflect.String:
		return row.Str(f)
	}
	panic(fmt.Sprintf("the field %s has a type that no accessor of Row gives: %s", f, field.Type()))
}

// plainValue is the value of an event's field in the type of the accessor.
func plainValue(field reflect.Value) any {
	switch v := field.Interface().(type) {
	case int:
		return int64(v)
	case *int:
		if v == nil {
			return (*int64)(nil)
		}
		n := int64(*v)
		return &n
	}
	switch {
	case field.Type() == rawType:
		return string(field.Bytes())
	case field.Kind() == reflect.String:
		return field.String()
	}
	return field.Interface()
}

func TestEveryFieldHasAName(t *testing.T) {
	known := make(map[string]bool)
	for _, r := range registry {
		for name := range planOf(reflect.TypeOf(r.make()).Elem()).byName {
			known[name] = true
		}
	}
	for f := range numFields {
		if f.String() == "" {
			t.Errorf("field %d has no name", f)
		}
		if !known[f.String()] {
			t.Errorf("no kind has a member %q", f)
		}
		if got, ok := fieldOf([]byte(f.String())); !ok || got != f {
			t.Errorf("%s leads to %v", f, got)
		}
	}
}

func TestRowOfEveryKind(t *testing.T) {
	for _, kind := range Kinds() {
		ev := filled(kind)
		_, records := written(t, ev)
		row, err := RowOf(records[0])
		if err != nil {
			t.Fatal(err)
		}
		agree(t, ev, &row)
		if row.Place() != (Place{Name: "test.jsonl", Line: 1}) {
			t.Errorf("place is %v", row.Place())
		}
	}
}

func TestRowOfAbsentFields(t *testing.T) {
	row, err := RowOf(Record{line: []byte(`{"kind":"metric","task":null}`)})
	if err != nil {
		t.Fatal(err)
	}
	if row.Raw(FieldToolName) != nil || row.Has(FieldToolName) {
		t.Errorf("an absent field has %q", row.Raw(FieldToolName))
	}
	if string(row.Raw(FieldTask)) != "null" || !row.Has(FieldTask) || row.Str(FieldTask) != "" {
		t.Errorf("a null field has %q", row.Raw(FieldTask))
	}
	if row.Iter() != NoIter || row.OptFloat(FieldValue) != nil || row.Labels() != nil {
		t.Error("an absent field has a value")
	}
}

func TestWalkMembers(t *testing.T) {
	for _, line := range hostileLines {
		if !gjson.Valid(line) {
			continue
		}
		var want, got []string
		gjson.Parse(line).ForEach(func(key, value gjson.Result) bool {
			want = append(want, key.String()+"="+value.Raw)
			return true
		})
		walkMembers([]byte(line), func(name []byte, start, end int) {
			got = append(got, string(name)+"="+line[start:end])
		})
		equal(t, line, got, want)
	}
}
