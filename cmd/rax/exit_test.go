package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestExitCodes: each code has its causes, and each error says in one line what
// is wrong, and where there is something to type, in a second one what.
func TestExitCodes(t *testing.T) {
	w := newWorld(t)
	put := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	start := `{"kind":"run-started","runId":"r","timestamp":1,"iter":-1,"seq":0,"format":"rax-trace/1","safety":"rax-safety/1"}` + "\n"
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	if _, err := gz.Write([]byte(start + strings.Repeat(" ", 1<<16))); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		talk string // stands in standard error
	}{
		{"diagnose debrief 01KDVSG000A", exitDone, ""},
		{"diagnose debrief " + put("failed.jsonl", start+`{"kind":"run-completed","runId":"r","seq":1,"status":"failure"}`), exitDone, ""},
		{"diagnose replay 01KDVSG000A --only no-such-kind", exitDone, "showing 0 of 18 events"},
		{"diagnose", exitDone, ""},

		{"bogus", exitUsage, "hint: see: rax --help"},
		{"diagnose bogus", exitUsage, "hint: see: rax"},
		{"diagnose debrief", exitUsage, "hint: see: rax diagnose debrief --help"},
		{"diagnose debrief a b", exitUsage, "accepts 1 arg"},
		{"diagnose debrief latest --no-such", exitUsage, "unknown flag"},
		{"diagnose debrief latest --json --jsonl", exitUsage, "json jsonl"},
		{"diagnose debrief 01KDVSG000", exitUsage, "hint: more letters, or one of: 01KDVSG000"},
		{"diagnose debrief nobody:latest", exitUsage, "hint: known: claude"},
		{"diagnose prune", exitUsage, "hint: give --older-than"},
		{"diagnose prune --keep -1", exitUsage, "must not be negative"},
		{"diagnose list --color sometimes", exitUsage, "hint: want auto"},

		{"diagnose debrief 01KDVSG000AAAAAAAAAAAAAAAB", exitUnreadable, "hint: did you mean 01KDVSG000AAAAAAAAAAAAAAAA"},
		{"diagnose debrief claude:latest", exitUnreadable, "hint: sessions are looked for in $CLAUDE_CONFIG_DIR/projects"},
		{"diagnose debrief ./no/such/file.jsonl", exitUnreadable, "hint: there is no such file"},
		{"diagnose debrief " + t.TempDir(), exitUnreadable, "is a directory"},
		{"import " + t.TempDir(), exitUnreadable, "is a directory"},
		{"diagnose debrief " + put("empty.jsonl", ""), exitUnreadable, "no event of a run in it"},
		{"diagnose replay " + put("empty2.jsonl", ""), exitUnreadable, "no event in it"},
		{"diagnose debrief -", exitUnreadable, "no event of a run in it"},
		{"diagnose debrief " + put("diary.txt", "Dear diary"), exitUnreadable, "hint: rax reads traces and sessions"},
		{"diagnose debrief " + put("newer.jsonl", strings.Replace(start, "trace/1", "trace/2", 1)), exitUnreadable, "hint: a newer version"},
		{"import " + put("titles.jsonl", `{"type":"summary","summary":"x","leafUuid":"y"}`), exitUnreadable, "no conversation"},
		{"diagnose why 01KDVSG000A 9", exitUnreadable, "hint: give a callId, or a number from 1 to 2"},
		{"diagnose debrief --strict " + put("torn.jsonl", start+`{"kind":"met`), exitUnreadable, "hint: leave out --strict"},
		{"diagnose debrief --strict " + put("torn.jsonl.gz", packed.String()[:packed.Len()-12]), exitUnreadable, "torn"},
	} {
		code, out, talk := w.rax(t, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(talk, c.talk) {
			t.Errorf("rax %s: exit %d, want %d, and %q in:\n%s", c.args, code, c.code, c.talk, talk)
		}
		errorsSaid := strings.Count("\n"+talk, "\nerror: ")
		if failed := code != exitDone; failed != (errorsSaid == 1) || errorsSaid > 1 {
			t.Errorf("rax %s: %d errors are told:\n%s", c.args, errorsSaid, talk)
		}
		if code == exitUsage && out != "" {
			t.Errorf("rax %s: a mistake on the command line prints data:\n%s", c.args, out)
		}
	}
}

// TestHostileNames: the name of a file cannot control the terminal that reads
// about it.
func TestHostileNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a\x1b[31m\u202eb\nerror: c.jsonl")
	if err := os.WriteFile(path, []byte(`{"kind":"metric","runId":"r","name":"n","value":1}`+"\n{\"kind\":\"met"), 0o600); err != nil {
		t.Skip("the file system takes no such name")
	}
	w := newWorld(t)
	for _, command := range []string{"debrief", "replay"} {
		code, out, talk := w.rax(t, "diagnose", command, path)
		if code != exitDone || !strings.Contains(talk, "torn") {
			t.Errorf("%s: exit %d: %s", command, code, talk)
		}
		if strings.ContainsAny(out+talk, "\x1b\u202e") || strings.Contains(talk, "\nerror:") {
			t.Errorf("%s: the name got through: %q", command, talk)
		}
	}
}

// brokenWriter fails every write.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestOutputThatFails: a reader that went away is no error; anything else is,
// in every command that prints.
func TestOutputThatFails(t *testing.T) {
	w := newWorld(t)
	for _, args := range []string{
		"diagnose debrief latest", "diagnose debrief latest --json", "diagnose debrief latest --jsonl", "diagnose debrief latest --markdown",
		"diagnose why latest 1", "diagnose list", "diagnose list --json", "diagnose replay latest", "diagnose replay latest --raw",
		"diagnose prune --keep 9 --dry-run", "prompt", "schema event", "schema debrief", "version",
		"import ../../fixtures/transcript/claude-code/blocks.jsonl",
	} {
		for _, c := range []struct {
			err  error
			code int
		}{{syscall.EPIPE, exitDone}, {errors.New("no space left"), exitFindings}} {
			var talk bytes.Buffer
			code := run(append([]string{"rax"}, strings.Fields(args)...), system{
				in: strings.NewReader(""), out: brokenWriter{c.err}, err: &talk,
				getenv: func(name string) string { return map[string]string{"RAX_TRACE_DIR": w.dir}[name] },
				home:   func() (string, error) { return w.dir, nil },
				now:    func() time.Time { return time.Unix(1_800_000_000, 0) },
			})
			if code != c.code || c.code == exitDone && strings.Contains(talk.String(), "error") {
				t.Errorf("rax %s: %v: exit %d, want %d: %s", args, c.err, code, c.code, &talk)
			}
		}
	}
}
