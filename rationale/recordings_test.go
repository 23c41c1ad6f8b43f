package rationale

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings returns the folder of real recordings, or skips the test.
func recordings(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("RAX_DATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		data := filepath.Join(parent, "shared", "data")
		if info, err := os.Stat(data); err == nil && info.IsDir() {
			return data
		}
	}
	t.Skip("no recordings: set RAX_DATA to their folder")
	return ""
}

// TestRecordings runs the readers over every string, tool schema and argument
// object of the recordings. None of them was asked for a rationale: there is
// none to find, and nothing may be changed.
func TestRecordings(t *testing.T) {
	var texts, schemas, arguments, assumed int
	var visit func(key string, raw json.RawMessage)
	text := func(s string) {
		texts++
		if blocks := ParseBlocks(s); len(blocks) > 0 {
			t.Errorf("a block in a recording: %s", describe(blocks))
		}
		if Strip(s) != s {
			t.Error("a recorded text is changed by Strip")
		}
		found := Assumptions(s)
		assumed += len(found)
		checkAssumptions(t, s, found)
	}
	schema := func(raw []byte) {
		for _, dialect := range []Dialect{DialectDefault, DialectStrict, DialectGemini} {
			out, injected, err := InjectArgument(raw, dialect)
			if err != nil || !injected {
				t.Fatalf("a recorded schema is refused: %v, %v", injected, err)
			}
			again, injected, err := InjectArgument(out, dialect)
			if !json.Valid(out) || err != nil || !injected || !bytes.Equal(out, again) {
				t.Error("a recorded schema is spoilt")
			}
		}
		schemas++
	}
	visit = func(key string, raw json.RawMessage) {
		switch raw = bytes.TrimSpace(raw); raw[0] {
		case '"':
			var s string
			if json.Unmarshal(raw, &s) == nil {
				text(s)
			}
			if key == "arguments" && json.Valid([]byte(s)) && strings.HasPrefix(s, "{") {
				arguments++
				checkArgument(t, []byte(s), 1)
			}
		case '[':
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) == nil {
				for _, entry := range list {
					visit("", entry)
				}
			}
		case '{':
			switch key {
			case "parameters", "input_schema":
				var head struct{ Type, Properties json.RawMessage }
				if json.Unmarshal(raw, &head) == nil && len(head.Properties) > 0 && head.Properties[0] == '{' {
					schema(raw)
				}
			case "arguments", "input", "args":
				arguments++
				checkArgument(t, raw, 1)
			}
			var members map[string]json.RawMessage
			if json.Unmarshal(raw, &members) == nil {
				for name, value := range members {
					visit(name, value)
				}
			}
		}
	}
	err := filepath.WalkDir(recordings(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() > 300<<10 {
			return err // some hundred smaller files are enough
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if json.Valid(raw) {
			visit("", raw)
			return nil
		}
		for line := range bytes.Lines(raw) {
			line = bytes.TrimPrefix(line, []byte("data: "))
			if len(bytes.TrimSpace(line)) > 0 && json.Valid(line) {
				visit("", line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d texts, %d schemas, %d arguments, %d assumptions", texts, schemas, arguments, assumed)
	if texts == 0 || schemas == 0 || arguments == 0 {
		t.Error("the recordings hold nothing to read")
	}
}
