package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// example is a command of a document with what the document says it prints.
type example struct {
	doc     string
	line    int
	command string
	want    []string
}

// examples finds the commands in the ```console blocks of a document: a line
// "$ rax …" and the lines below it. A last line "..." means that more follows.
func examples(t *testing.T, path string) []example {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	inside := false
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case line == "```console":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			out = append(out, example{doc: filepath.Base(path), line: i + 1, command: line[2:]})
		case inside && len(out) > 0:
			last := &out[len(out)-1]
			last.want = append(last.want, line)
		}
	}
	return out
}

// TestDocuments runs every command of README and docs/ and compares what it
// prints. The commands of one document share a trace directory.
func TestDocuments(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, doc := range append(docs, "../../README.md") {
		found := examples(t, doc)
		total += len(found)
		doc, err := filepath.Abs(doc)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(doc), func(t *testing.T) {
			root := filepath.Dir(doc)
			if filepath.Base(root) == "docs" {
				root = filepath.Dir(root)
			}
			dir := t.TempDir()
			t.Chdir(root)
			for _, e := range found {
				e.run(t, dir)
			}
		})
	}
	if total < 3 {
		t.Errorf("only %d examples found", total)
	}
}

func (e example) run(t *testing.T, dir string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(strings.Fields(e.command), system{
		in: strings.NewReader(""), out: &stdout, err: &stderr,
		getenv: func(name string) string {
			if name == "RAX_TRACE_DIR" {
				return filepath.Join(dir, "traces")
			}
			return ""
		},
		home: func() (string, error) { return dir, nil },
		now:  func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	if code != exitDone {
		t.Errorf("%s:%d: $ %s: exit %d: %s", e.doc, e.line, e.command, code, &stderr)
		return
	}
	got := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	want := e.want
	if n := len(want); n > 0 && want[n-1] == "..." {
		want = want[:n-1]
		got = got[:min(len(want), len(got))]
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:%d: $ %s prints\n%s", e.doc, e.line, e.command, stdout.String())
	}
}
