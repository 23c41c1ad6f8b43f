package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/parsers/transcript"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
)

const fixture = "../../fixtures/transcript/claude-code/blocks.jsonl"

// world is an Env in temporary directories.
func world(t *testing.T) (Env, string) {
	t.Helper()
	home := t.TempDir()
	return Env{
		Traces: dir.Search{Dir: dir.Dir{Path: filepath.Join(home, "traces")}},
		Getenv: func(string) string { return "" },
		Home:   func() (string, error) { return home, nil },
	}, home
}

func put(t *testing.T, path string, content []byte, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	env, home := world(t)
	projects := filepath.Join(home, ".claude", "projects")
	put(t, filepath.Join(projects, "-home-a", "aa11.jsonl"), nil, 3*time.Hour)
	put(t, filepath.Join(projects, "-home-a", "aa22.jsonl"), nil, 1*time.Hour)
	put(t, filepath.Join(projects, "-home-b", "bb33.jsonl"), nil, 2*time.Hour)
	put(t, filepath.Join(projects, "-home-b", "agent-bb44.jsonl"), nil, 0)
	put(t, filepath.Join(projects, "-home-b", "bb33", "subagents", "agent-bb55.jsonl"), nil, 0)
	put(t, filepath.Join(projects, "-home-b", "notes.txt"), nil, 0)
	put(t, filepath.Join(projects, "stray.jsonl"), nil, 0)
	put(t, filepath.Join(home, "traces", "01JQ0000000000000000000000.jsonl"), nil, 0)
	path := filepath.Join(home, "some", "file.jsonl")
	put(t, path, nil, 0)

	for _, c := range []struct {
		ref, want string // want is the base name, or an error's beginning
	}{
		{"claude:latest", "aa22.jsonl"},
		{"claude:bb", "bb33.jsonl"},
		{"claude:aa11", "aa11.jsonl"},
		{"claude:aa", `error: "claude:aa" is the beginning of 2`},
		{"claude:bb44", `error: no trace "claude:bb44"`},
		{"claude:", `error: no trace "claude:"`},
		{"claude:../..", `error: no trace`},
		{"nobody:latest", `error: no agent is called "nobody"`},
		{"latest", "01JQ0000000000000000000000.jsonl"},
		{"01jq", "01JQ0000000000000000000000.jsonl"},
		{path, "file.jsonl"},
		{"-", "-"},
		{"zz", `error: no trace "zz"`},
	} {
		src, err := Resolve(c.ref, env)
		if want, ok := strings.CutPrefix(c.want, "error: "); ok {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v %v", c.ref, src, err)
			}
			continue
		}
		if err != nil || filepath.Base(src.Path) != c.want {
			t.Errorf("%s: %v %v", c.ref, src, err)
		}
	}

	_, err := Resolve("claude:cc", env)
	var missing *dir.NotFoundError
	if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) || len(missing.Suggestions) != 3 || missing.Suggestions[0] != "claude:aa22" {
		t.Errorf("%v: %+v", err, missing)
	}
	_, err = Resolve("claude:aa", env)
	var several *dir.AmbiguousError
	if !errors.As(err, &several) || strings.Join(several.Matches, " ") != "claude:aa22 claude:aa11" {
		t.Errorf("%v: %+v", err, several)
	}
}

func TestSessionsFollowsTheEnvironment(t *testing.T) {
	env, home := world(t)
	if found, err := Sessions("claude", env); err != nil || len(found) != 0 {
		t.Errorf("without a directory: %v %v", found, err)
	}
	other := filepath.Join(home, "other")
	put(t, filepath.Join(other, "projects", "p", "x.jsonl"), []byte("{}"), 0)
	env.Getenv = func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": other}[name] }
	found, err := Sessions("claude", env)
	if err != nil || len(found) != 1 || found[0].ID != "x" || found[0].Size != 2 {
		t.Errorf("%v %v", found, err)
	}
}

// collect goes over a stream to its end.
func collect(t *testing.T, s *Stream) (kinds []trace.Kind, bad []*trace.SyntaxError, last error) {
	t.Helper()
	for rec, err := range s.All() {
		var syntax *trace.SyntaxError
		switch {
		case errors.As(err, &syntax):
			bad = append(bad, syntax)
		case err != nil:
			last = err
		default:
			row, err := trace.RowOf(rec)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, row.Kind())
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return kinds, bad, last
}

func gz(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpenGoesByContent(t *testing.T) {
	session, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	stored := []byte(`{"kind":"run-started","runId":"r","timestamp":1,"iter":-1,"seq":0,"task":"t"}` + "\n" +
		`{"kind":"run-completed","runId":"r","timestamp":2,"iter":-1,"seq":1,"status":"success"}` + "\n")
	for _, c := range []struct {
		name    string
		content []byte
		format  string
		events  int
		bad     int
	}{
		{"a.txt", stored, trace.Format, 2, 0},
		{"b.jsonl", gz(t, stored), trace.Format, 2, 0},
		{"c.jsonl", append([]byte("junk\n"), stored...), trace.Format, 2, 1},
		{"d", nil, trace.Format, 0, 0},
		{"e.jsonl", session, "claude-code", 22, 0},
		{"f", gz(t, session), "claude-code", 22, 0},
		{"g.jsonl", append([]byte("junk\n"), session...), "claude-code", 22, 1},
		{"h.jsonl", []byte(`{"some":"json"}`), "", 0, 0},
		{"i.jsonl", []byte("text"), "", 0, 0},
	} {
		for _, piped := range []bool{false, true} {
			env, home := world(t)
			env.TempDir = t.TempDir()
			path := filepath.Join(home, c.name)
			put(t, path, c.content, 0)
			src := Source{Ref: path, Path: path}
			if piped {
				src, env.Stdin = Source{Ref: "-", Path: "-"}, struct{ io.Reader }{bytes.NewReader(c.content)}
			}
			s, err := Open(context.Background(), src, env)
			if c.format == "" {
				var unknown *UnknownFormatError
				if !errors.As(err, &unknown) || unknown.Name != src.Path {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			kinds, bad, last := collect(t, s)
			if s.Format != c.format || len(kinds) != c.events || len(bad) != c.bad || last != nil {
				t.Errorf("%s (piped %v): %s, %d events, bad %v, %v", c.name, piped, s.Format, len(kinds), bad, last)
			}
			if (s.Account() != nil) != (c.format == "claude-code") {
				t.Errorf("%s: account %v", c.name, s.Account())
			}
			if left, err := os.ReadDir(env.TempDir); err != nil || len(left) > 0 {
				t.Errorf("%s: left behind %v %v", c.name, left, err)
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	env, home := world(t)
	if _, err := Open(context.Background(), Source{Path: filepath.Join(home, "none")}, env); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(context.Background(), Source{Path: "-"}, env); err == nil {
		t.Error("no error without a standard input")
	}
}

// TestErrorsOfAnImportSurface: whatever ends the import is the last pair.
func TestErrorsOfAnImportSurface(t *testing.T) {
	session, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	titles := []byte(`{"type":"summary","summary":"x","leafUuid":"y"}`)
	for _, c := range []struct {
		name string
		ctx  context.Context
		in   io.Reader
		want error
	}{
		{"the input fails", context.Background(), io.MultiReader(bytes.NewReader(session), bytes.NewReader(make([]byte, 1<<17)), failing{broken}), broken},
		{"cancelled", cancelled, bytes.NewReader(session), context.Canceled},
		{"titles only", context.Background(), bytes.NewReader(titles), transcript.ErrNoConversation},
	} {
		env, _ := world(t)
		env.Stdin = c.in
		s, err := Open(c.ctx, Source{Path: "-"}, env)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, _, last := collect(t, s); !errors.Is(last, c.want) {
			t.Errorf("%s: %v", c.name, last)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestStreamIsScrubbed: what comes out of an import went through the Writer.
func TestStreamIsScrubbed(t *testing.T) {
	secret := "sk-" + "ant-api03-" + strings.Repeat("Ab3dEf9h", 12) + "AA"
	session := []byte(`{"type":"user","sessionId":"s","uuid":"u","timestamp":"2026-03-01T10:00:00Z","message":{"content":"Use ` + secret + ` please."}}`)
	env, _ := world(t)
	env.Stdin = bytes.NewReader(session)
	s, err := Open(context.Background(), Source{Path: "-"}, env)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for rec, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if bytes.Contains(rec.Bytes(), []byte(secret)) {
			t.Errorf("a secret got through in %s", rec.Place())
		}
	}
	if seen < 3 {
		t.Errorf("%d records", seen)
	}
}

// TestStreamCanBeLeft: who stops early leaves nothing running or open.
func TestStreamCanBeLeft(t *testing.T) {
	env, _ := world(t)
	s, err := Open(context.Background(), Source{Path: fixture}, env)
	if err != nil {
		t.Fatal(err)
	}
	for range s.All() {
		break
	}
	// All returns after the import did: its account is there.
	if s.Account() == nil || s.Account().Events["run-started"] != 1 {
		t.Errorf("account: %+v", s.Account())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
