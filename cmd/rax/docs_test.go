package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
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
	if total < 2 {
		t.Errorf("only %d examples found", total)
	}
}

func (e example) run(t *testing.T, dir string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if strings.HasPrefix(e.command, "make ") {
		e.make(t)
		return
	}
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
	e.compare(t, stdout.String())
}

// make runs a target. What the make program itself says is not of the example.
func (e example) make(t *testing.T) {
	t.Helper()
	if testing.Short() {
		return
	}
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skipf("%s:%d: no make program", e.doc, e.line)
	}
	cmd := exec.Command(program, append([]string{"-s"}, strings.Fields(e.command)[1:]...)...)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "GO=go")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s:%d: $ %s: %v: %s", e.doc, e.line, e.command, err, &stderr)
		return
	}
	e.compare(t, string(out))
}

// compare holds what was printed against the document.
func (e example) compare(t *testing.T, printed string) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
	want := e.want
	if n := len(want); n > 0 && want[n-1] == "..." {
		want = want[:n-1]
		got = got[:min(len(want), len(got))]
	}
	if steady(got) != steady(want) {
		t.Errorf("%s:%d: $ %s prints\n%s", e.doc, e.line, e.command, printed)
	}
}

// drawn are what differs from run to run: new run ids, and times.
var drawn = regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b|\b[0-9.]+ms\b`)

// steady joins lines, without what differs from run to run.
func steady(lines []string) string {
	return drawn.ReplaceAllString(strings.Join(lines, "\n"), "…")
}

// TestDependenciesAreExplained: docs/dependencies.md names every module that
// go.mod requires directly.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, line := range strings.Split(string(mod), "\n") {
		path, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "require "), " v")
		if !ok || strings.Contains(line, "// indirect") {
			continue
		}
		direct++
		if !strings.Contains(string(doc), path) {
			t.Errorf("docs/dependencies.md says nothing about %s", path)
		}
	}
	if direct < 5 {
		t.Errorf("only %d requirements found", direct)
	}
}

// spans are the inline commands of a document.
var spans = regexp.MustCompile("`(rax [^`]+)`")

// TestCommandsParse: every command that a document or a help text names exists,
// with its flags and as many arguments as it takes.
func TestCommandsParse(t *testing.T) {
	found := 0
	check := func(where, line string) {
		found++
		line, _, _ = strings.Cut(line, " #")
		for _, end := range []string{" | ", " || ", " > ", " >> "} {
			line, _, _ = strings.Cut(line, end)
		}
		words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		if i := strings.IndexByte(line, '"'); i >= 0 {
			// One quoted argument, such as a task.
			before, quoted, _ := strings.Cut(line, `"`)
			inside, after, _ := strings.Cut(quoted, `"`)
			words = append(append(strings.Fields(before), inside), strings.Fields(after)...)
		}
		root := newRoot(system{getenv: func(string) string { return "" }})
		root.InitDefaultHelpCmd()
		cmd, rest, err := root.Find(words[1:])
		if err != nil {
			t.Errorf("%s: %s: %v", where, line, err)
			return
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %s: %v", where, line, err)
			return
		}
		if len(rest) == 0 {
			return // only the command is named
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %s: %v", where, line, err)
		}
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(docs, "../../README.md", "../../CONTRIBUTING.md") {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spans.FindAllStringSubmatch(string(data), -1) {
			check(filepath.Base(doc), m[1])
		}
	}
	everyCommand(newRoot(system{getenv: func(string) string { return "" }}), func(cmd *cobra.Command) {
		for _, line := range strings.Split(cmd.Example, "\n") {
			// A column of words about an example begins after two spaces.
			line, _, _ = strings.Cut(strings.TrimSpace(line), "  ")
			if strings.HasPrefix(line, "rax ") {
				check(cmd.CommandPath()+" --help", line)
			}
		}
	})
	if found < 30 {
		t.Errorf("only %d commands found", found)
	}
}
