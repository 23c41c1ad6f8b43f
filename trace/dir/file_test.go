package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestCreate(t *testing.T) {
	d := Dir{filepath.Join(t.TempDir(), "a", "traces")}
	f, err := d.Create(newID(1))
	if err != nil {
		t.Fatal(err)
	}
	if f.ID() != newID(1) || f.Name() != d.join(newID(1)+".jsonl") {
		t.Errorf("%s, %s", f.ID(), f.Name())
	}
	f.WriteString("one\n")
	if _, err := f.Seek(0, 0); err != nil {
		t.Error(err)
	}
	f.WriteString("two\n")
	if err := errors.Join(f.Sync(), f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(f.Name()); string(got) != "one\ntwo\n" {
		t.Errorf("not appended: %q", got)
	}
	if err := f.Close(); err == nil {
		t.Error("second Close: no error")
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{f.Name(): 0o600, d.Path: 0o700, filepath.Dir(d.Path): 0o700} {
			if info, _ := os.Stat(path); info.Mode().Perm() != want {
				t.Errorf("%s: %o", path, info.Mode().Perm())
			}
		}
	}
	if got := names(t, d); len(got) != 1 {
		t.Errorf("litter: %v", got)
	}
}

func TestCreateRefuses(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "keep", now)
	put(t, d, newID(2)+".jsonl.zst", "keep", now)
	put(t, d, newID(3)+".jsonl.gz", "keep", now)
	for i := 1; i <= 3; i++ {
		if _, err := d.Create(newID(i)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create of existing %d: %v", i, err)
		}
	}
	for _, id := range []string{"", "run-7", "../x", "..", strings.ToLower(newID(1)), newID(1) + "/", "\x00"} {
		if _, err := d.Create(id); err == nil {
			t.Errorf("Create(%q)", id)
		}
		if _, err := d.OpenAppend(id); err == nil {
			t.Errorf("OpenAppend(%q)", id)
		}
	}
	if got := names(t, d); len(got) != 3 {
		t.Errorf("left behind: %v", got)
	}
	if got, _ := os.ReadFile(d.join(newID(1) + ".jsonl")); string(got) != "keep" {
		t.Errorf("changed: %q", got)
	}
}

func TestOpenAppend(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "one\n", now)
	put(t, d, newID(2)+".jsonl.zst", "", now)
	f, err := d.OpenAppend(newID(1))
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("two\n")
	f.Close()
	if got, _ := os.ReadFile(d.join(newID(1) + ".jsonl")); string(got) != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
	if _, err := d.OpenAppend(newID(2)); !errors.Is(err, ErrCompressed) {
		t.Errorf("compressed: %v", err)
	}
	if _, err := d.OpenAppend(newID(3)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := (Dir{d.join("none")}).OpenAppend(newID(3)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestLockInOneProcess(t *testing.T) {
	d := Dir{t.TempDir()}
	f, err := d.Create(newID(1))
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := d.OpenAppend(newID(1)); !errors.As(err, &locked) || locked.Path != f.Name() {
		t.Errorf("OpenAppend: %v", err)
	}
	if _, err := d.Create(newID(1)); !errors.As(err, &locked) {
		t.Errorf("Create: %v", err)
	}
	// Readers are not kept out, not even on Windows.
	f.WriteString("text")
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	f.Close()
	again, err := d.OpenAppend(newID(1))
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestLockBetweenProcesses(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "", now)
	f, err := d.OpenAppend(newID(1))
	if err != nil {
		t.Fatal(err)
	}
	if code := runExit(t, "append", d.Path, newID(1)); code != exitLocked {
		t.Errorf("second process while locked: exit %d", code)
	}
	f.Close()
	if code := runExit(t, "append", d.Path, newID(1)); code != 0 {
		t.Errorf("after Close: exit %d", code)
	}
	// The child ended without closing: its lock is gone with it.
	kill, _ := hold(t, d, newID(1))
	var locked *LockedError
	if _, err := d.OpenAppend(newID(1)); !errors.As(err, &locked) {
		t.Errorf("while the child holds it: %v", err)
	}
	kill()
	f, err = d.OpenAppend(newID(1))
	if err != nil {
		t.Fatalf("after the child was killed: %v", err)
	}
	f.Close()
	if got := names(t, d); len(got) != 1 {
		t.Errorf("litter: %v", got)
	}
}

func TestMarkLive(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "", now)
	put(t, d, newID(2)+".jsonl", "", now)
	put(t, d, newID(3)+".jsonl.gz", "", now)
	_, letGo := hold(t, d, newID(1))
	entries, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	gone := Entry{ID: "gone", Path: d.join("gone.jsonl"), Live: true}
	entries = append(entries, gone, Entry{ID: "-", Path: "-"})
	for _, want := range []string{newID(1), ""} {
		if err := MarkLive(entries); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Live != (e.ID == want) {
				t.Errorf("%s: live %v", e.ID, e.Live)
			}
		}
		letGo()
	}
}

// Who asks whether a trace is live must not keep a writer out.
func TestProbesDoNotDisturbWriters(t *testing.T) {
	d := Dir{t.TempDir()}
	path := put(t, d, newID(1)+".jsonl", "", now)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				probe(path)
			}
		}
	})
	for range 200 {
		f, err := d.OpenAppend(newID(1))
		if err != nil {
			t.Error(err)
			break
		}
		f.Close()
	}
	close(stop)
	wg.Wait()
}
