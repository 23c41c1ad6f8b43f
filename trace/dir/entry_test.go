package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestDefault(t *testing.T) {
	at := func(path string) func() (string, error) {
		return func() (string, error) { return path, nil }
	}
	broken := errors.New("no home")
	for name, c := range map[string]struct {
		env  map[string]string
		home func() (string, error)
		want string
		ro   []Dir
		err  bool
	}{
		"home":     {nil, at("/h"), filepath.FromSlash("/h/.rax/traces"), nil, false},
		"variable": {map[string]string{EnvDir: "/t//x/"}, nil, filepath.FromSlash("/t/x"), nil, false},
		"foreign":  {map[string]string{EnvDir: "/t", EnvForeignDir: "/f"}, nil, filepath.FromSlash("/t"), []Dir{{filepath.FromSlash("/f")}}, false},
		"no home":  {nil, func() (string, error) { return "", broken }, "", nil, true},
		"empty":    {nil, at(""), "", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := DefaultSearch(func(k string) string { return c.env[k] }, c.home)
			if (err != nil) != c.err || s.Dir.Path != c.want || !slices.Equal(s.ReadOnly, c.ro) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func TestListOrderAndForms(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "aaa", now)
	put(t, d, newID(2)+".jsonl.zst", "z", now)
	put(t, d, newID(3)+".jsonl.gz", "g", now.Add(-time.Hour))
	put(t, d, newID(4)+".jsonl", "both", now.Add(-2*time.Hour))
	put(t, d, newID(4)+".jsonl.gz", "newer but lost", now.Add(time.Hour))
	put(t, d, newID(4)+".jsonl.zst", "lost", now.Add(time.Hour))
	put(t, d, "run-7.jsonl", "foreign id", now.Add(-3*time.Hour))
	for _, no := range []string{"prune.log.jsonl", ".hidden.jsonl", ".jsonl", "notes.txt", "x.jsonl.bz2", "y.jsonl.tmp"} {
		put(t, d, no, "not a trace", now)
	}
	os.Mkdir(d.join("folder.jsonl"), 0o700)
	if runtime.GOOS != "windows" {
		os.Symlink(d.join(newID(1)+".jsonl"), d.join(newID(9)+".jsonl"))
	}
	got, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{newID(2), newID(1), newID(3), newID(4), "run-7"}; !slices.Equal(ids(got), want) {
		t.Fatalf("got %v\nwant %v", ids(got), want)
	}
	for i, want := range []bool{true, false, true, false, false} {
		if got[i].Compressed != want || got[i].Live {
			t.Errorf("%+v", got[i])
		}
	}
	if e := got[1]; e.Size != 3 || !e.ModTime.Equal(now) || e.Path != d.join(newID(1)+".jsonl") {
		t.Errorf("%+v", e)
	}
	if want := []string{d.join(newID(4) + ".jsonl.zst"), d.join(newID(4) + ".jsonl.gz")}; !slices.Equal(got[3].Shadowed, want) {
		t.Errorf("shadowed: %v", got[3].Shadowed)
	}
}

func TestListHostileNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses such names")
	}
	d := Dir{t.TempDir()}
	for _, name := range []string{"a\x1b[2Jb", "line\nbreak", "bidi\u202e", `"quoted"`, "ünï", `back\slash`, "bad\xff"} {
		path := filepath.Join(d.Path, name+".jsonl")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Logf("file system refuses %q", name)
		}
	}
	entries, err := d.List()
	if err != nil || len(entries) < 5 {
		t.Fatal(len(entries), err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if !utf8.ValidString(e.ID) || strings.ContainsAny(e.ID, "\x1b\n\u202e") || seen[e.ID] {
			t.Errorf("unsafe or repeated id %q", e.ID)
		}
		seen[e.ID] = true
		if _, err := os.Stat(e.Path); err != nil {
			t.Errorf("path does not open: %v", err)
		}
		if found, err := d.FindID(e.ID); err != nil || found.Path != e.Path {
			t.Errorf("FindID(%q) = %q, %v", e.ID, found.Path, err)
		}
	}
	if !seen["ünï"] || !seen[`back\slash`] {
		t.Errorf("ordinary names were quoted: %v", seen)
	}
}

func TestListErrors(t *testing.T) {
	base := t.TempDir()
	if got, err := (Dir{filepath.Join(base, "none")}).List(); err != nil || len(got) != 0 {
		t.Errorf("missing: %v, %v", got, err)
	}
	plain := Dir{put(t, Dir{base}, "file", "", now)}
	if _, err := plain.List(); err == nil || !strings.Contains(err.Error(), plain.Path) {
		t.Errorf("not a directory: %v", err)
	}
	if _, err := plain.Create(newID(1)); err == nil {
		t.Error("created below a file")
	}
	if os.Getuid() > 0 {
		shut := Dir{filepath.Join(base, "shut")}
		os.Mkdir(shut.Path, 0)
		if _, err := shut.List(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("no permission: %v", err)
		}
	}
}

func TestSearchList(t *testing.T) {
	base := t.TempDir()
	main, other := Dir{filepath.Join(base, "main")}, Dir{filepath.Join(base, "other")}
	put(t, main, newID(1)+".jsonl", "mine", now)
	put(t, other, newID(1)+".jsonl", "theirs", now.Add(time.Hour))
	put(t, other, newID(2)+".jsonl", "theirs", now.Add(time.Minute))
	s := Search{main, []Dir{{filepath.Join(base, "missing")}, other, main}}
	got, err := s.List()
	if err != nil || !slices.Equal(ids(got), []string{newID(2), newID(1)}) {
		t.Fatalf("%v, %v", ids(got), err)
	}
	if e := got[1]; e.Path != main.join(newID(1)+".jsonl") || !slices.Equal(e.Shadowed, []string{other.join(newID(1) + ".jsonl")}) {
		t.Errorf("%+v", e)
	}
	exact, err := s.Find(newID(1))
	if err != nil || exact.Path != got[1].Path || !slices.Equal(exact.Shadowed, got[1].Shadowed) {
		t.Errorf("Find: %+v, %v", exact, err)
	}
	if e, err := s.Find(Latest); err != nil || e.ID != newID(2) {
		t.Errorf("latest: %+v, %v", e, err)
	}
	// A directory that cannot be read makes "latest" unknown, an exact id not.
	s.ReadOnly = []Dir{{put(t, Dir{base}, "file", "", now)}}
	if _, err := s.Find(Latest); err == nil {
		t.Error("latest of an unreadable directory: no error")
	}
	if _, err := s.Find(newID(1)); err != nil {
		t.Error(err)
	}
}

func TestSearchSameDirTwice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "", now)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(d.Path, link); err != nil {
		t.Fatal(err)
	}
	got, err := Search{d, []Dir{{link}}}.List()
	if err != nil || len(got) != 1 || got[0].Shadowed != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func BenchmarkList(b *testing.B) {
	d := Dir{b.TempDir()}
	const n = 100_000
	for i := range n {
		f, err := os.Create(d.join(ImportID(now, fmt.Sprint(i)) + ".jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if got, err := d.List(); err != nil || len(got) != n {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("exact", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Find(ImportID(now, "77")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("typo", func(b *testing.B) {
		ref := ImportID(now, "77")[:25] + "!"
		for b.Loop() {
			if _, err := d.Find(ref); err == nil {
				b.Fatal("found")
			}
		}
	})
}
