package dir

import (
	"errors"
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

const (
	idA = "01JWN7NE3V0000000000000AAA"
	idB = "01JWN7NE3V0000000000000ABB"
	idC = "01K00000000000000000000CCC"
)

// fixture is a directory of three ULIDs and a foreign id, and a working
// directory with one file.
func fixture(t testing.TB) Dir {
	t.Helper()
	d := Dir{t.TempDir()}
	for i, name := range []string{idA + ".jsonl", idB + ".jsonl.zst", idC + ".jsonl", "Run-7.jsonl"} {
		path := filepath.Join(d.Path, name)
		at := now.Add(-time.Duration(i) * time.Hour)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestFind(t *testing.T) {
	d := fixture(t)
	cwd := t.TempDir()
	t.Chdir(cwd)
	put(t, Dir{cwd}, "here.jsonl", "x", now)
	put(t, Dir{cwd}, idC, "a file named like an id", now)
	put(t, Dir{cwd}, Latest, "a file named like the keyword", now)
	file := put(t, Dir{cwd}, "sub.jsonl.gz", "x", now)

	for ref, want := range map[string]string{
		idA:                  d.join(idA + ".jsonl"),
		idB:                  d.join(idB + ".jsonl.zst"),
		idC:                  d.join(idC + ".jsonl"), // the exact id before the file
		strings.ToLower(idB): d.join(idB + ".jsonl.zst"),
		"01k":                d.join(idC + ".jsonl"),
		idA[:25]:             d.join(idA + ".jsonl"),
		"Run-7":              d.join("Run-7.jsonl"),
		"Run":                d.join("Run-7.jsonl"),
		Latest:               d.join(idA + ".jsonl"),
		"-":                  "-",
		"here.jsonl":         "here.jsonl",
		"./here.jsonl":       "./here.jsonl",
		file:                 file,
	} {
		got, err := d.Find(ref)
		if err != nil || got.Path != want {
			t.Errorf("Find(%q) = %q, %v; want %q", ref, got.Path, err, want)
		}
	}
	if e, _ := d.Find(file); e.ID != "sub" || !e.Compressed || e.Size != 1 {
		t.Errorf("path entry: %+v", e)
	}
	if e, _ := d.Find("-"); !e.Stdin() {
		t.Errorf("stdin: %+v", e)
	}
}

func TestFindErrors(t *testing.T) {
	d := fixture(t)
	t.Chdir(t.TempDir())

	_, err := d.Find("01JWN7")
	var ambiguous *AmbiguousError
	if !errors.As(err, &ambiguous) || !slices.Equal(ambiguous.Matches, []string{idA, idB}) {
		t.Errorf("ambiguous: %v", err)
	}
	for ref, want := range map[string][]string{
		"01JWN7NX":                 {idA, idB}, // one character wrong
		"01WN7NE3V":                {idA, idB}, // one missing
		"01JWN7NE3V0000000000000x": {idA, idB}, // close to two
		"lates":                    {Latest},   // unlike the keyword itself
		"lattest":                  {Latest},   //
		"run-8":                    {"Run-7"},  //
		"run-7":                    {"Run-7"},  // only ULIDs match in either case
		"zzzzzzzz":                 nil,        //
		"x":                        nil,        // too short to be close to anything
		"":                         nil,        //
		"..":                       nil,        //
		".":                        nil,        //
		"./nothing.jsonl":          nil,        //
		"../" + idA:                nil,        //
		"a\x00b":                   nil,        //
		"./a\x00b":                 nil,        //
		strings.Repeat("9", 1<<16): nil,        //
		strings.Repeat("\xff", 40): nil,        //
		filepath.Join(d.Path, "none") + string(filepath.Separator) + "x": nil,
	} {
		_, err := d.Find(ref)
		var missing *NotFoundError
		if !errors.As(err, &missing) || missing.Ref != ref || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Find(%.40q): %v", ref, err)
			continue
		}
		if !slices.Equal(missing.Suggestions, want) {
			t.Errorf("Find(%.40q) suggests %q, want %q", ref, missing.Suggestions, want)
		}
		if msg := err.Error(); len(msg) > 500 || !utf8.ValidString(msg) || strings.ContainsAny(msg, "\x00\n") {
			t.Errorf("Find(%.40q) message: %q", ref, msg)
		}
	}
	if _, err := d.Find(d.Path); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	empty := Dir{filepath.Join(t.TempDir(), "none")}
	for _, ref := range []string{Latest, "01", "abcdef"} {
		var missing *NotFoundError
		if _, err := empty.Find(ref); !errors.As(err, &missing) || missing.Suggestions != nil {
			t.Errorf("empty directory, %q: %#v", ref, err)
		}
	}
}

func TestSuggestAtMostThree(t *testing.T) {
	var entries []Entry
	for i := range 10 {
		entries = append(entries, Entry{ID: newID(i)})
	}
	ref := newID(4)[:15] + "!" + newID(4)[16:]
	if got := suggest(ref, entries); len(got) != 3 || got[0] != newID(4) {
		t.Errorf("suggest = %v, want 3, the first %s", got, newID(4))
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		ref, id string
		want    int
	}{
		{"ABC", "ABC", 0}, {"AB", "ABCDEF", 0}, {"ABX", "ABCDEF", 1}, {"ACD", "ABCDEF", 1},
		{"ABBC", "ABCDEF", 1}, {"BADC", "ABCD", 2}, {"ABC", "", 3}, {"", "ABC", 0},
	} {
		if got := distance(c.ref, c.id, 10); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.ref, c.id, got, c.want)
		}
	}
	if got := distance("ABCDEFGH", "XXXXXXXX", 2); got <= 2 {
		t.Errorf("beyond the limit: %d", got)
	}
}

func TestFindIDStaysInside(t *testing.T) {
	d := fixture(t)
	outside := t.TempDir()
	t.Chdir(outside)
	secret := put(t, Dir{outside}, "secret.jsonl", "x", now)
	put(t, Dir{d.Path}, "prune.log.jsonl", "{}\n", now)
	refs := []string{
		secret, "secret.jsonl", "./secret.jsonl", "-", "../" + filepath.Base(outside) + "/secret",
		"/etc/passwd", "..", "", "prune.log", "a/../../secret", `..\secret`, "C:secret", "\x00",
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink(secret, d.join(newID(5)+".jsonl")); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, newID(5))
	}
	for _, ref := range refs {
		if e, err := d.FindID(ref); err == nil {
			t.Errorf("FindID(%q) = %s", ref, e.Path)
		}
	}
	if runtime.GOOS != "windows" {
		if e, err := d.Find(newID(5)); err == nil {
			t.Errorf("Find followed a symbolic link: %s", e.Path)
		}
		if _, err := d.OpenAppend(newID(5)); err == nil {
			t.Error("OpenAppend followed a symbolic link")
		}
	}
}

func FuzzFind(f *testing.F) {
	d := fixture(f)
	f.Chdir(f.TempDir()) // so that no file of the working directory answers
	for _, ref := range []string{
		idA, idB[:12], "01k", Latest, "-", "", ".", "..", "../x", "/etc/passwd", "a\x00b", "\xff\xfe",
		strings.ToLower(idC), "Run-7", "run-8", `..\..\x`, "01JWN7NE3V0000000000000\u212a", "lates",
		"ŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉŉ", strings.Repeat("0", 64), strings.Repeat("0", 300), "con", "a:b",
	} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		inside := func(e Entry) bool {
			info, err := os.Lstat(e.Path)
			return filepath.Dir(e.Path) == d.Path && err == nil && info.Mode().IsRegular()
		}
		e, err := d.FindID(ref)
		if err == nil && !inside(e) {
			t.Errorf("FindID(%q) = %q", ref, e.Path)
		}
		e2, err2 := d.Find(ref)
		switch {
		case err2 != nil:
		case ref == "-", hasSeparator(ref):
			if e2.Path != ref {
				t.Errorf("Find(%q) = %q", ref, e2.Path)
			}
		case !inside(e2) || err != nil || e2.Path != e.Path:
			t.Errorf("Find(%q) = %q, FindID %q, %v", ref, e2.Path, e.Path, err)
		}
		for _, err := range []error{err, err2} {
			if err != nil && strings.ContainsAny(err.Error(), "\x00\x1b\n") {
				t.Errorf("unsafe message %q", err)
			}
			var missing *NotFoundError
			if errors.As(err, &missing) && len(missing.Suggestions) > 3 {
				t.Errorf("%d suggestions", len(missing.Suggestions))
			}
		}
	})
}
