package source

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// transcripts are the fixtures, and the recordings where they are at hand.
func transcripts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../fixtures/transcript/claude-code/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var sessions []string
	for _, p := range paths {
		if !strings.HasSuffix(p, ".golden.jsonl") {
			sessions = append(sessions, p)
		}
	}
	if len(sessions) == 0 {
		t.Fatal("no fixtures")
	}
	data := os.Getenv("RAX_DATA")
	if data == "" {
		data = "../../../shared/data"
	}
	recordings, err := filepath.Glob(filepath.Join(data, "claude-code", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(recordings) == 0 {
		t.Log("no recordings: set RAX_DATA; only the fixtures are cited")
	}
	return append(sessions, recordings...)
}

// number is the part of a redaction's mark that counts within a run.
var number = regexp.MustCompile(`#[0-9]+\]`)

// TestCiteFindsEveryText reads each transcript as a command does, scrubbed, and
// looks up every rationale and every narrative at its origin in the file, plain
// and compressed.
func TestCiteFindsEveryText(t *testing.T) {
	rationales, narratives := 0, 0
	for _, path := range transcripts(t) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		packed := filepath.Join(t.TempDir(), filepath.Base(path)+".gz")
		put(t, packed, gz(t, content), 0)
		for _, src := range []Source{{Path: path}, {Path: packed}} {
			env, _ := world(t)
			s, err := Open(context.Background(), src, env)
			if err != nil {
				t.Fatal(err)
			}
			same := func(call string, o *rationale.Origin, text string) {
				cited, err := Cite(src, *o, nil)
				var unescaped string
				if json.Unmarshal([]byte(`"`+cited+`"`), &unescaped) != nil || unescaped != text {
					unescaped = cited // text that is no string of a block stands as it is
				}
				if err != nil || number.ReplaceAllString(unescaped, "]") != number.ReplaceAllString(text, "]") {
					t.Errorf("%s: call %s: %q stands as %q: %v", src.Path, call, text, cited, err)
				}
			}
			for rec, err := range s.All() {
				if err != nil {
					continue // damaged lines are another test's
				}
				ev, _, err := trace.Decode(rec)
				if err != nil {
					t.Fatal(err)
				}
				call, ok := ev.(*trace.ToolCallStart)
				if !ok {
					continue
				}
				if call.Rationale != nil {
					rationales++
					same(call.CallID, call.Origin, call.Rationale.Why)
				}
				if call.Narrative != "" {
					narratives++
					same(call.CallID, call.NarrativeOrigin, call.Narrative)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if rationales < 4 || narratives < 4 {
		t.Errorf("only %d rationales and %d narratives", rationales, narratives)
	}
}

// TestCiteOfWhatIsNotThere: a place that holds nothing is said to, whatever
// bytes stand there.
func TestCiteOfWhatIsNotThere(t *testing.T) {
	good := rationale.Origin{Source: "blocks.jsonl", Line: 3, Field: "/message/content/0/text", Start: 66, End: 98}
	content, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.SplitAfter(string(content), "\n") {
		if i == 2 {
			break
		}
		good.Offset += int64(len(line))
	}
	if cited, err := Cite(Source{Path: fixture}, good, nil); err != nil || cited != "the log ranks statements by time" {
		t.Fatalf("%q, %v", cited, err)
	}
	for name, change := range map[string]func(*rationale.Origin){
		"another file":          func(o *rationale.Origin) { o.Source = "other.jsonl" },
		"another field":         func(o *rationale.Origin) { o.Field = "/message/content/9/text" },
		"no string":             func(o *rationale.Origin) { o.Field = "/message" },
		"behind the text":       func(o *rationale.Origin) { o.Start, o.End = 1<<20, 1<<20+5 },
		"backwards":             func(o *rationale.Origin) { o.Start, o.End = 98, 66 },
		"inside of a line":      func(o *rationale.Origin) { o.Offset++ },
		"behind the file's end": func(o *rationale.Origin) { o.Offset = 1 << 40 },
		"before its beginning":  func(o *rationale.Origin) { o.Offset = -1 },
	} {
		o := good
		change(&o)
		if cited, err := Cite(Source{Path: fixture}, o, nil); !errors.Is(err, ErrNotThere) || cited != "" {
			t.Errorf("%s: %q, %v", name, cited, err)
		}
	}
	if _, err := Cite(Source{Path: "-"}, good, nil); !errors.Is(err, ErrNotThere) {
		t.Errorf("standard input: %v", err)
	}
}
