package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestUnknownKindKeepsItsBytes(t *testing.T) {
	line := `{"kind":"budget-consulted","runId":"r","timestamp":5,"iter":2,"seq":0,` +
		`"zeta":{ "kind":"run-completed", "n":1.50 },"alpha":"a","zeta":null,"seq ":[1 , 2]}`
	ev, warnings := decoded(t, line)
	unknown, ok := ev.(*Unknown)
	if !ok || unknown.Kind != "budget-consulted" || len(warnings) > 0 {
		t.Fatalf("got %#v, warnings %v", ev, warnings)
	}
	want := []Member{
		{"zeta", json.RawMessage(`{ "kind":"run-completed", "n":1.50 }`)},
		{"alpha", json.RawMessage(`"a"`)},
		{"zeta", json.RawMessage(`null`)},
		{"seq ", json.RawMessage(`[1 , 2]`)},
	}
	if !reflect.DeepEqual(unknown.Extra, want) {
		t.Errorf("extra members are %s", unknown.Extra)
	}
	if data, _ := written(t, ev); string(data) != line+"\n" {
		t.Errorf("written again:\n got %s\nwant %s", data, line)
	}
}

func TestDecode(t *testing.T) {
	type call = ToolCallStart
	tests := []struct {
		name     string
		line     string
		check    func(*call) bool
		extra    string
		warnings string
	}{
		{"absent", `{}`, func(e *call) bool { return e.Iter == NoIter && e.Seq == 0 && e.ToolName == "" }, "", ""},
		{"null is absent", `{"iter":null,"toolName":null,"rationale":null,"parallelGroup":null,"withheld":null}`,
			func(e *call) bool {
				return e.Iter == NoIter && e.ToolName == "" && e.Rationale == nil && e.ParallelGroup == nil
			}, "", ""},
		{"null payload is kept", `{"args":null}`, func(e *call) bool { return string(e.Args) == "null" }, "", ""},
		{"first of two wins", `{"toolName":"a","toolName":"b"}`,
			func(e *call) bool { return e.ToolName == "a" }, "", "toolName: stands twice; the first counts"},
		{"first of two wins, and it is null", `{"toolName":null,"toolName":"b"}`,
			func(e *call) bool { return e.ToolName == "" }, "", "toolName: stands twice; the first counts"},
		{"first of two wins, and it is wrong", `{"seq":"7","seq":7}`,
			func(e *call) bool { return e.Seq == 0 }, `seq="7"`,
			"seq: has another JSON type; kept raw\nseq: stands twice; the first counts"},
		{"kind stands twice", `{"kind":"run-completed"}`, func(e *call) bool { return e.Iter == NoIter }, "",
			"kind: stands twice; the first counts"},
		{"names are case-sensitive", `{"ToolName":"a"}`, func(e *call) bool { return e.ToolName == "" }, `ToolName="a"`, ""},
		{"escapes in a name", `{"tool\u004eame":"a"}`, func(e *call) bool { return e.ToolName == "a" }, "", ""},
		{"string for a number", `{"iter":"1"}`, func(e *call) bool { return e.Iter == NoIter }, `iter="1"`,
			"iter: has another JSON type; kept raw"},
		{"number for a string", `{"toolName":1}`, func(e *call) bool { return e.ToolName == "" }, `toolName=1`,
			"toolName: has another JSON type; kept raw"},
		{"number for a truth value", `{"withheld":1}`, func(e *call) bool { return !e.Withheld }, `withheld=1`,
			"withheld: has another JSON type; kept raw"},
		{"array for an object", `{"rationale":["w"]}`, func(e *call) bool { return e.Rationale == nil }, `rationale=["w"]`,
			"rationale: has another JSON type; kept raw"},
		{"wrong type inside an object", `{"rationale":{"why":1}}`, func(e *call) bool { return e.Rationale == nil },
			`rationale={"why":1}`, "rationale: has another JSON type; kept raw"},
		{"wrong type inside an array", `{"rationale":{"why":"w","refs":["a",null]}}`,
			func(e *call) bool { return e.Rationale == nil },
			`rationale={"why":"w","refs":["a",null]}`, "rationale: has another JSON type; kept raw"},
		{"duplicate inside an object", `{"rationale":{"why":"a","why":"b"}}`,
			func(e *call) bool { return e.Rationale.Why == "a" }, "", ""},
		{"whole numbers in other spellings", `{"iter":1.0,"seq":1e3}`,
			func(e *call) bool { return e.Iter == 1 && e.Seq == 1000 }, "", ""},
		{"a fraction is no whole number", `{"seq":1.5}`, func(e *call) bool { return e.Seq == 0 }, `seq=1.5`,
			"seq: has another JSON type; kept raw"},
		{"too large", `{"seq":9223372036854775808}`, func(e *call) bool { return e.Seq == 0 },
			`seq=9223372036854775808`, "seq: has another JSON type; kept raw"},
		{"the largest", `{"seq":9223372036854775807}`, func(e *call) bool { return e.Seq == 9223372036854775807 }, "", ""},
		{"no float", `{"rationale":{"why":"w","confidence":1e999}}`, func(e *call) bool { return e.Rationale == nil },
			`rationale={"why":"w","confidence":1e999}`, "rationale: has another JSON type; kept raw"},
		{"zero confidence is a value", `{"rationale":{"why":"w","confidence":0}}`,
			func(e *call) bool { return *e.Rationale.Confidence == 0 }, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := `{"kind":"tool-call-start"}`
			if tt.line != `{}` {
				line = line[:len(line)-1] + "," + tt.line[1:]
			}
			ev, warnings := decoded(t, line)
			if !tt.check(ev.(*call)) {
				t.Errorf("got %+v", ev)
			}
			var extra, warned []string
			for _, m := range ev.Common().Extra {
				extra = append(extra, m.Name+"="+string(m.Value))
			}
			for _, w := range warnings {
				warned = append(warned, w.String())
			}
			if got := strings.Join(extra, "\n"); got != tt.extra {
				t.Errorf("extra members %q, want %q", got, tt.extra)
			}
			if got := strings.Join(warned, "\n"); got != tt.warnings {
				t.Errorf("warnings %q, want %q", got, tt.warnings)
			}
		})
	}
}

func TestKindOfALine(t *testing.T) {
	tests := []struct {
		line string
		want Kind // empty: the line has none
	}{
		{`{"kind":"metric"}`, KindMetric},
		{`{"kind":"ToolCallStarted"}`, KindToolCallStart},
		{`{"runId":"r","args":{"kind":"run-completed"},"kind":"metric"}`, KindMetric},
		{`{"k\u0069nd":"metr\u0069c"}`, KindMetric},
		{`{"kind":"metric","kind":"run-started"}`, KindMetric},
		{`{"Kind":"metric","kind":"assessment"}`, KindAssessment},
		{`{"kind":null,"kind":"metric"}`, ""},
		{`{"kind":7}`, ""},
		{`{"kind":""}`, ""},
		{`{"kind":{"kind":"metric"}}`, ""},
		{`{"args":{"kind":"metric"}}`, ""},
		{`{}`, ""},
	}
	for _, tt := range tests {
		rec := Record{line: []byte(tt.line)}
		ev, _, err := Decode(rec)
		row, rowErr := RowOf(rec)
		if tt.want == "" {
			if !errors.Is(err, ErrNoKind) || !errors.Is(rowErr, ErrNoKind) {
				t.Errorf("%s: errors %v and %v, want ErrNoKind", tt.line, err, rowErr)
			}
			continue
		}
		if err != nil || rowErr != nil || ev.EventKind() != tt.want || row.Kind() != tt.want {
			t.Errorf("%s: got %v (%v) and %v (%v)", tt.line, ev, err, row.Kind(), rowErr)
		}
	}
}

// TestRecordings decodes real traces of Reactive Agents: every member of every
// line is in the typed event or in Extra.
func TestRecordings(t *testing.T) {
	folder := dataFolder(t, "reactive-agents")
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in the folder: %v", err)
	}
	for _, file := range files {
		records := recordsOf(t, readFile(t, file))
		for _, rec := range records {
			ev, warnings, err := Decode(rec)
			if err != nil {
				t.Errorf("%s: %v", rec.Place(), err)
				continue
			}
			for _, w := range warnings {
				t.Errorf("%s: %s", rec.Place(), w)
			}
			if _, unknown := ev.(*Unknown); unknown {
				t.Errorf("%s: unknown kind %s", rec.Place(), ev.EventKind())
			}
			walkMembers(rec.Bytes(), func(name []byte, start, end int) {
				if string(name) != "kind" && !holds(t, ev, string(name), rec.Bytes()[start:end]) {
					t.Errorf("%s: %s: the member %q was lost", rec.Place(), ev.EventKind(), name)
				}
			})
		}
	}
}

// holds reports whether an event has a member with this value, typed or raw.
func holds(t *testing.T, ev Event, name string, raw []byte) bool {
	t.Helper()
	v := reflect.ValueOf(ev).Elem()
	p := planOf(v.Type())
	i, known := p.byName[name]
	if !known {
		for _, m := range ev.Common().Extra {
			if m.Name == name {
				return bytes.Equal(m.Value, raw)
			}
		}
		return false
	}
	field := v.FieldByIndex(p.fields[i].index)
	if string(raw) == "null" {
		return field.IsZero()
	}
	typed, err := json.Marshal(field.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(parsed(t, typed), parsed(t, raw))
}

// parsed reads JSON, so that spelling does not matter.
func parsed(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
