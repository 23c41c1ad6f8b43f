package trace

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("event.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("event.json")
	if err != nil {
		t.Fatal(err)
	}
	if s.DraftVersion != 2020 {
		t.Errorf("the draft is %d", s.DraftVersion)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, line []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestSchemaTakesWhatIsWritten(t *testing.T) {
	s := compiled(t)
	for _, kind := range Kinds() {
		empty := New(kind)
		empty.Common().RunID = "r"
		for _, ev := range []Event{filled(kind), empty} {
			_, records := written(t, ev)
			if err := valid(t, s, records[0].Bytes()); err != nil {
				t.Errorf("%s: %v\n%s", kind, err, records[0].Bytes())
			}
		}
	}
	validFiles(t, s, fixtures(t))
}

func TestSchemaTakesRecordings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dataFolder(t, "reactive-agents"), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in the folder: %v", err)
	}
	validFiles(t, compiled(t), files)
}

func validFiles(t *testing.T, s *jsonschema.Schema, files []string) {
	t.Helper()
	for _, path := range files {
		records, _ := readAll(readFile(t, path), ReaderOptions{})
		for _, rec := range records {
			if err := valid(t, s, rec.Bytes()); err != nil {
				t.Errorf("%s:%d: %v", path, rec.Place().Line, err)
			}
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	base := `"runId":"r","timestamp":1,"iter":0,"seq":0`
	tests := []struct {
		line string
		ok   bool
	}{
		{`{"kind":"iteration-enter",` + base + `}`, true},
		{`{"kind":"iteration-enter",` + base + `,"x-new":{"a":[1]}}`, true},
		{`{"kind":"x-new-kind",` + base + `,"toolName":7}`, true},
		{`{"kind":"ToolCallStarted",` + base + `,"toolName":"t"}`, true},
		{`{"kind":"tool-call-start",` + base + `,"toolName":"t","rationale":null}`, true},
		{`{"kind":"tool-call-start",` + base + `,"toolName":"t","rationale":{"why":"w","new":1}}`, true},
		{`{"kind":"tool-call-end",` + base + `,"toolName":"t","result":[1,{"a":null}]}`, true},
		{`{"kind":"metric",` + base + `,"name":"n","value":1.5,"labels":{"a":"b"}}`, true},

		{`{"kind":"ToolCallStarted",` + base + `,"toolName":7}`, false},
		{`{"kind":"tool-call-start",` + base + `}`, false},
		{`{"kind":"tool-call-start",` + base + `,"toolName":"t","rationale":"w"}`, false},
		{`{"kind":"tool-call-start",` + base + `,"toolName":"t","rationale":{"confidence":1}}`, false},
		{`{"kind":"tool-call-start",` + base + `,"toolName":"t","rationale":{"why":"w","refs":[null]}}`, false},
		{`{"kind":"tool-call-start",` + base + `,"toolName":"t","parallelGroup":0.5}`, false},
		{`{"kind":"tool-call-end",` + base + `,"toolName":"t","ok":"yes"}`, false},
		{`{"kind":"metric",` + base + `,"name":"n","value":"1"}`, false},
		{`{"kind":"metric",` + base + `,"name":"n","value":1,"labels":{"a":1}}`, false},
		{`{"kind":"x-new-kind",` + strings.Replace(base, `"seq":0`, `"seq":"0"`, 1) + `}`, false},
		{`{"kind":"",` + base + `}`, false},
		{`{"kind":7,` + base + `}`, false},
		{`{` + base + `}`, false},
		{`[]`, false},
	}
	for _, tt := range tests {
		if err := valid(t, s, []byte(tt.line)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.line, err)
		}
		// What the schema takes, the decoder takes without a warning.
		if strings.HasPrefix(tt.line, `{"kind":"`) && tt.ok {
			if _, warnings := decoded(t, tt.line); len(warnings) > 0 {
				t.Errorf("%s: the decoder warns: %v", tt.line, warnings)
			}
		}
	}
}

func TestSchemaIsDeterministic(t *testing.T) {
	first, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, err := Schema(); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("differs: %v", err)
		}
	}
}
