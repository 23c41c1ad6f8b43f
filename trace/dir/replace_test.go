package dir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rax-project/rax/trace/dir"
)

const replacedID = "01KDVSG000AAAAAAAAAAAAAAAA"

func replace(t *testing.T, d dir.Dir, text string) *dir.Replacement {
	t.Helper()
	r, err := d.Replace(replacedID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplace(t *testing.T) {
	d := dir.Dir{Path: filepath.Join(t.TempDir(), "traces")}
	path := filepath.Join(d.Path, replacedID+".jsonl")
	read := func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := replace(t, d, "one").Commit(); err != nil {
		t.Fatal(err)
	}
	second := replace(t, d, "two")
	if got := read(); got != "one" {
		t.Errorf("before the commit: %q", got)
	}
	var locked *dir.LockedError
	if _, err := d.OpenAppend(replacedID); !errors.As(err, &locked) {
		t.Errorf("the old trace is not locked: %v", err)
	}
	if err := second.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "two" {
		t.Errorf("after the commit: %q", got)
	}
	if err := replace(t, d, "three").Abort(); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "two" {
		t.Errorf("after an abort: %q", got)
	}
	// A compressed copy of the old trace must not come back.
	if err := os.WriteFile(filepath.Join(d.Path, replacedID+".jsonl.zst"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replace(t, d, "four").Commit(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(d.Path)
	if err != nil || len(left) != 1 {
		t.Errorf("left in the directory: %v %v", left, err)
	}
	if _, err := d.Replace("../escape"); err == nil {
		t.Error("a path was taken for an id")
	}
}

func TestReplaceLeavesALiveTraceAlone(t *testing.T) {
	d := dir.Dir{Path: t.TempDir()}
	f, err := d.Create(replacedID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var locked *dir.LockedError
	if _, err := d.Replace(replacedID); !errors.As(err, &locked) {
		t.Errorf("got %v", err)
	}
}
