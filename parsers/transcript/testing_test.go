package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

const fixtures = "../../fixtures/transcript"

func importID(ms int64, parts ...string) string {
	return dir.ImportID(time.UnixMilli(ms), parts...)
}

// plainID makes ids that are easy to read in golden files.
func plainID(_ int64, parts ...string) string { return strings.Join(parts, "/") }

// read imports a transcript and collects its events.
func read(t testing.TB, content []byte, name string) ([]trace.Event, Account) {
	t.Helper()
	events, acc, err := tryRead(content, name)
	if err != nil {
		t.Fatalf("import %s: %v", name, err)
	}
	return events, acc
}

func tryRead(content []byte, name string) ([]trace.Event, Account, error) {
	var events []trace.Event
	acc, err := Import(context.Background(), bytes.NewReader(content), name, func(ev trace.Event) error {
		events = append(events, ev)
		return nil
	}, Options{RunID: plainID})
	return events, acc, err
}

// of picks the events of one type.
func of[E trace.Event](events []trace.Event) []E {
	var found []E
	for _, ev := range events {
		if e, ok := ev.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// memory is a trace file in memory.
type memory struct{ bytes.Buffer }

func (*memory) Sync() error            { return nil }
func (*memory) Close() error           { return nil }
func (m *memory) Truncate(int64) error { return errors.New("not here") }

// written stores events as a trace.
func written(t testing.TB, events []trace.Event) []byte {
	t.Helper()
	file := &memory{}
	w, err := trace.NewWriter(file, trace.WriterOptions{Name: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if _, err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// violations checks a stored trace.
func violations(t testing.TB, stored []byte) []trace.Violation {
	t.Helper()
	found, err := trace.Check(trace.NewReader(bytes.NewReader(stored), "memory", trace.ReaderOptions{}).All())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// golden encodes events as they were emitted: unscrubbed, without seq.
func golden(t testing.TB, events []trace.Event) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, ev := range events {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(ev); err != nil {
			t.Fatal(err)
		}
		buf.WriteString(`{"kind":` + strconv.Quote(string(ev.EventKind())) + `,`)
		buf.Write(line.Bytes()[1:])
	}
	return buf.Bytes()
}

func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		var gl, wl string
		if i < len(g) {
			gl = g[i]
		}
		if i < len(w) {
			wl = w[i]
		}
		if gl != wl {
			t.Fatalf("%s line %d:\n got %s\nwant %s", filepath.Base(file), i+1, gl, wl)
		}
	}
}

// dataDir finds the folder of real recordings, "" where there is none.
func dataDir() string {
	if dir := os.Getenv("RAX_DATA"); dir != "" {
		return dir
	}
	at, err := filepath.Abs(".")
	if err != nil {
		return ""
	}
	for {
		found := filepath.Join(at, "shared", "data")
		if info, err := os.Stat(found); err == nil && info.IsDir() {
			return found
		}
		if up := filepath.Dir(at); up != at {
			at = up
			continue
		}
		return ""
	}
}

// sample is a real recording and what was counted in it independently.
type sample struct {
	File   string `json:"file"`
	Format string `json:"format"`
	Facts  struct {
		Model              []string         `json:"model"`
		UserMsgs           int              `json:"user_msgs"`
		ToolCalls          int              `json:"tool_calls"`
		ToolResults        int              `json:"tool_results"`
		ToolErrors         int              `json:"tool_errors"`
		ParallelGroups     int              `json:"parallel_groups"`
		BadLines           int              `json:"bad_lines"`
		T0                 string           `json:"t0"`
		T1                 string           `json:"t1"`
		Sessions           int              `json:"sessions"`
		Messages           int              `json:"messages"`
		Compactions        int              `json:"compactions"`
		SidechainLines     int              `json:"sidechain_lines"`
		AgentProgressLines int              `json:"agent_progress_lines"`
		APIErrors          int              `json:"api_errors"`
		UnpairedCalls      int              `json:"unpaired_calls"`
		Tokens             map[string]int64 `json:"tokens"`
		Rationale          map[string]int   `json:"rationale"`
	} `json:"facts"`

	content []byte
}

// samples gives the real recordings of a format; it skips the test where there
// are none.
func samples(t testing.TB, format string) []sample {
	t.Helper()
	dir := dataDir()
	if dir == "" {
		t.Skip("no folder of real recordings: set RAX_DATA")
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	var found []sample
	for line := range bytes.Lines(manifest) {
		var s sample
		// Rows of other formats have facts of other shapes.
		if err := json.Unmarshal(line, &s); s.Format != format {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if s.content, err = os.ReadFile(filepath.Join(dir, s.File)); err != nil {
			t.Fatal(err)
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		t.Fatalf("no recordings of %s in the manifest", format)
	}
	return found
}
