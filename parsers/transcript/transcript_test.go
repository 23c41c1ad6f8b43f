package transcript

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rax-project/rax/trace"
)

func TestDetect(t *testing.T) {
	long := `{"parentUuid":null,"isSidechain":false,"userType":"external","sessionId":"s","message":{"role":"user","content":"` + strings.Repeat("x", HeadSize)
	for _, c := range []struct {
		name, head string
		want       Format
	}{
		{"a user line", `{"type":"user","sessionId":"s","uuid":"u","message":{}}`, ClaudeCode},
		{"an old session without uuid", `{"type":"user","sessionId":"s","message":{}}`, ""},
		{"a title before the session", `{"type":"summary","summary":"x","leafUuid":"y"}`, ClaudeCode},
		{"damage before it", "Killed\n\x00\x00\n" + `{"type":"user","sessionId":"s","uuid":"u"}`, ClaudeCode},
		{"a byte order mark and CRLF", "\ufeff" + `{"type":"user","sessionId":"s","uuid":"u"}` + "\r\n", ClaudeCode},
		{"a first line longer than the head", long[:HeadSize], ClaudeCode},
		{"nothing", "", ""},
		{"text", "hello\nworld\n", ""},
		{"a trace", `{"kind":"run-started","runId":"r","timestamp":1,"iter":-1,"seq":0,"task":"sessionId uuid"}`, ""},
		{"stream-json", `{"type":"assistant","session_id":"s","uuid":"u","message":{}}`, ""},
		{"names in other case", `{"type":"user","SessionId":"s","uuid":"u"}`, ""},
	} {
		got, err := Detect([]byte(c.head))
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrNotMine) {
			t.Errorf("%s: got %q, %v", c.name, got, err)
		}
	}
}

// TestDetectSamples looks at every real recording of every format.
func TestDetectSamples(t *testing.T) {
	dir := dataDir()
	if dir == "" {
		t.Skip("no folder of real recordings: set RAX_DATA")
	}
	mine, others := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		head, err := io.ReadAll(io.LimitReader(f, HeadSize))
		if err != nil {
			return err
		}
		want := Format("")
		switch folder := filepath.ToSlash(filepath.Dir(rel)); {
		case folder == "claude-code":
			want = ClaudeCode
			mine++
		case strings.HasPrefix(folder, "schema-fixtures"):
			return nil // made-up examples, of Claude Code too
		default:
			others++
		}
		if got, _ := Detect(head); got != want {
			t.Errorf("%s: taken for %q", rel, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if mine < 20 || others < 100 {
		t.Errorf("%d and %d files", mine, others)
	}
}

// onlyReader hides that a reader can seek.
type onlyReader struct{ io.Reader }

func TestImportOfWhatCannotSeek(t *testing.T) {
	content := session(5, 100)
	want, wantAcc := read(t, content, "s.jsonl")
	temp := t.TempDir()
	var got []trace.Event
	acc, err := Import(context.Background(), onlyReader{bytes.NewReader(content)}, "s.jsonl", func(ev trace.Event) error {
		got = append(got, ev)
		return nil
	}, Options{RunID: plainID, TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden(t, got), golden(t, want)) || acc.Lines != wantAcc.Lines {
		t.Error("a pipe is read otherwise than a file")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestImportOfWhatIsCompressed(t *testing.T) {
	content := session(5, 100)
	want, _ := read(t, content, "s.jsonl")
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, acc := read(t, b.Bytes(), "s.jsonl")
	if !bytes.Equal(golden(t, got), golden(t, want)) || len(acc.Warnings) > 0 {
		t.Errorf("read otherwise than unpacked: %v", acc.Warnings)
	}
	checkOrigins(t, content, got)
	_, acc = read(t, b.Bytes()[:b.Len()/2], "s.jsonl")
	if len(acc.Warnings) != 1 || acc.Lines == 0 {
		t.Errorf("half of it: %d lines, %v", acc.Lines, acc.Warnings)
	}
}

func TestImportWarns(t *testing.T) {
	content := script("m1 "+list(text(`<rationale call="1">{"why":"w","confidence":7}</rationale>`), one(call, "a")), `user "Go."`)
	content = bytes.Replace(content, []byte(`"sessionId":"s","uuid":"u1"`), []byte(`"sessionId":"other","uuid":"u1"`), 1)
	_, acc := read(t, content, "s.jsonl")
	if acc.Sessions != 2 || len(acc.Warnings) != 2 || !strings.Contains(acc.Warnings[1], "confidence") {
		t.Errorf("%d sessions, %v", acc.Sessions, acc.Warnings)
	}
}

// TestImportBeginsWhereTheReaderStands: the two passes go back to there.
func TestImportBeginsWhereTheReaderStands(t *testing.T) {
	content := session(2, 10)
	r := bytes.NewReader(append([]byte("PREFIX"), content...))
	if _, err := r.Seek(6, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	acc, err := Import(context.Background(), r, "s.jsonl", func(trace.Event) error { return nil }, Options{RunID: plainID})
	if err != nil || acc.Calls != 2 || acc.BadLines != 0 {
		t.Errorf("%+v %v", acc, err)
	}
}

// growing is a file to which somebody writes between the two passes.
type growing struct {
	*bytes.Reader
	content []byte
	seeks   int
}

func (g *growing) Seek(offset int64, whence int) (int64, error) {
	if g.seeks++; g.seeks == 4 {
		g.content = append(g.content, session(3, 10)...)
		g.Reader = bytes.NewReader(g.content)
	}
	return g.Reader.Seek(offset, whence)
}

func TestImportOfAFileThatGrows(t *testing.T) {
	content := session(2, 10)
	g := &growing{Reader: bytes.NewReader(content), content: content}
	acc, err := Import(context.Background(), g, "s.jsonl", func(trace.Event) error { return nil }, Options{RunID: plainID})
	if err != nil || acc.Calls != 2 {
		t.Errorf("%d calls, %v", acc.Calls, err)
	}
	if len(g.content) == len(content) {
		t.Fatal("the file did not grow")
	}
}

func TestImportErrors(t *testing.T) {
	content := session(5, 10)
	nothing := func(trace.Event) error { return nil }
	stop := errors.New("stop")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		content []byte
		emit    func(trace.Event) error
		want    error
	}{
		{"no transcript", context.Background(), []byte("hello"), nothing, ErrNotMine},
		{"nothing", context.Background(), nil, nothing, ErrNotMine},
		{"titles only", context.Background(), []byte(`{"type":"summary","summary":"x","leafUuid":"y"}`), nothing, ErrNoConversation},
		{"the sink fails", context.Background(), content, func(trace.Event) error { return stop }, stop},
		{"cancelled", cancelled, content, nothing, context.Canceled},
	} {
		_, err := Import(c.ctx, bytes.NewReader(c.content), "s.jsonl", c.emit, Options{RunID: plainID})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Import(context.Background(), bytes.NewReader(content), "s", nothing, Options{}); err == nil {
		t.Error("no error without a function for run ids")
	}
}

// TestRunIDs: a session is one run wherever its file is, and its sub-agents are
// runs of their own.
func TestRunIDs(t *testing.T) {
	ids := func(content []byte, name string) []string {
		var found []string
		_, err := Import(context.Background(), bytes.NewReader(content), name, func(ev trace.Event) error {
			if _, ok := ev.(*trace.RunStarted); ok {
				found = append(found, ev.Common().RunID)
			}
			return nil
		}, Options{RunID: importID})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	content, err := os.ReadFile(fixtures + "/claude-code/subagents.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	first, second := ids(content, "a.jsonl"), ids(content, "/elsewhere/b.jsonl")
	if len(first) != 3 || strings.Join(first, " ") != strings.Join(second, " ") {
		t.Errorf("%v and %v", first, second)
	}
	if first[0] == first[1] || first[1] == first[2] {
		t.Errorf("runs share an id: %v", first)
	}
}

// TestMemoryIsFlat imports 30 MB and looks at what is alive meanwhile.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 30 MB")
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, session(600, 50<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	alive := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := alive()
	var most uint64
	n := 0
	acc, err := Import(context.Background(), f, path, func(trace.Event) error {
		if n++; n%100 == 0 {
			most = max(most, alive())
		}
		return nil
	}, Options{RunID: plainID})
	if err != nil || acc.Calls != 600 {
		t.Fatal(acc.Calls, err)
	}
	const limit = 4 << 20
	if most > before+limit {
		t.Errorf("%d bytes alive while importing, %d before", most, before)
	}
	t.Logf("%d KB more than before", (int64(most)-int64(before))>>10)
}

func BenchmarkImport(b *testing.B) {
	content := session(600, 5<<10)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Import(context.Background(), bytes.NewReader(content), "s.jsonl", func(trace.Event) error { return nil }, Options{RunID: plainID}); err != nil {
			b.Fatal(err)
		}
	}
}
