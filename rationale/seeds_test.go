package rationale

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seed adds the seeds of a fuzz target: those of its tables and the files of
// testdata/seeds/<dir>. A target without seeds would pass by testing nothing,
// so it fails.
func seed(f *testing.F, dir string, add func(text string), tables ...[]string) {
	f.Helper()
	n := 0
	for _, table := range tables {
		for _, text := range table {
			add(text)
			n++
		}
	}
	if n == 0 {
		f.Fatal("no seeds in the tables")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "seeds", dir, "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	if len(files) == 0 {
		f.Fatalf("no seed files in testdata/seeds/%s", dir)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		add(string(text))
	}
}

// repeat repeats unit up to about n bytes.
func repeat(unit string, n int) string { return strings.Repeat(unit, n/len(unit)+1) }

// TestEveryFuzzTargetIsSeeded finds the targets in the sources, so that a new
// one cannot be forgotten.
func TestEveryFuzzTargetIsSeeded(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	targets := 0
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(source), "\nfunc Fuzz")[1:] {
			targets++
			body, _, _ := strings.Cut(part, "\n}\n")
			if !strings.Contains(body, "\tseed(f, ") {
				t.Errorf("%s: Fuzz%s has no seeds", name, part[:strings.IndexByte(part, '(')])
			}
		}
	}
	if targets == 0 {
		t.Error("no fuzz target found")
	}
}
