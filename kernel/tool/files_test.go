package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// link makes a symbolic link, or skips the test where that is not allowed.
func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// escapes are paths that lead out of the root of inRoot, given a secret file
// beside it.
func escapes(t *testing.T, dir string) []string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	link(t, secret, filepath.Join(dir, "absolute"))
	link(t, relative, filepath.Join(dir, "relative"))
	link(t, filepath.Dir(secret), filepath.Join(dir, "up"))
	return []string{
		secret, filepath.ToSlash(relative), "absolute", "relative", "up/secret.txt", "sub/../up/secret.txt",
		"../x", "..", "/etc/passwd", "sub/../../x", "a\x00b", strings.Repeat("a/", 5000),
	}
}

func TestFilesStayInside(t *testing.T) {
	r, dir := inRoot(t, map[string]string{"sub/a.txt": "inside"})
	paths := escapes(t, dir)
	for _, path := range paths {
		for _, c := range [][]any{
			{"file_read", "path", path},
			{"file_write", "path", path, "content", "x"},
			{"file_write", "path", path, "content", "x", "mode", "overwrite"},
			{"file_write", "path", path, "content", "x", "mode", "append"},
			{"file_list", "path", path},
			{"grep", "path", path, "pattern", "."},
		} {
			result, err := call(t, r, c[0].(string), c[1:]...)
			if err == nil {
				t.Errorf("%s %.60q gave %q", c[0], path, result.Content)
			} else if strings.Contains(err.Error(), filepath.Dir(dir)) {
				t.Errorf("%s %.60q: the error shows where the root is: %v", c[0], path, err)
			}
		}
	}
	if got, err := os.ReadFile(paths[0]); err != nil || string(got) != "outside" {
		t.Errorf("the file outside is now %q, %v", got, err)
	}
	if got := good(t, r, "grep", "pattern", "outside"); !strings.Contains(got.Content, "[no match]") {
		t.Errorf("grep followed a link: %q", got.Content)
	}
	if got := good(t, r, "file_list", "recursive", true).Content; strings.Contains(got, "secret") || !strings.Contains(got, "up@\n") {
		t.Errorf("file_list followed a link: %q", got)
	}
	link(t, "a.txt", filepath.Join(dir, "sub", "alias"))
	if got := good(t, r, "file_read", "path", "sub/alias").Content; got != "inside" {
		t.Errorf("a link inside the root gives %q", got)
	}
	bad(t, r, "symbolic link", "file_write", "path", "sub/alias", "content", "x", "mode", "overwrite")
}

func TestFileRead(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	var many strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	r, dir := inRoot(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "open.txt": "one\ntwo", "empty": "", "crlf": "a\r\nb\r\n",
		"binary": "abc\x00def", "late": strings.Repeat("text\n", 10_000) + "\x00", "latin": "caf\xe9\n",
		"long": "first\n" + long + "\nlast\n", "many": many.String(),
		"rune": "x" + strings.Repeat("é", 100<<10),
	})
	for _, c := range []struct {
		path       string
		start, end int
		want       string
		summary    string
	}{
		{"a.txt", 0, 0, "one\ntwo\nthree\n", "lines 1 to 3"},
		{"./a.txt", 2, 2, "two\n", "line 2"},
		{"a.txt", 2, 99, "two\nthree\n", "lines 2 to 3"},
		{"open.txt", 2, 0, "two", "line 2"},
		{"empty", 0, 0, "", "empty file"},
		{"crlf", 1, 1, "a\r\n", "line 1"},
		{"latin", 0, 0, "caf\uFFFD\n[bytes that are not UTF-8 are shown as \uFFFD]\n", "line 1"},
		{"many", 40_000, 40_001, "line 40000\nline 40001\n", "lines 40000 to 40001"},
		{"long", 3, 3, "last\n", "line 3"},
	} {
		args := []any{"path", c.path}
		if c.start > 0 {
			args = append(args, "start_line", c.start)
		}
		if c.end > 0 {
			args = append(args, "end_line", c.end)
		}
		got := good(t, r, "file_read", args...)
		if got.Content != c.want || got.Summary != c.summary || got.Truncated {
			t.Errorf("%+v gives %q, %q, %v", c, got.Content, got.Summary, got.Truncated)
		}
	}
	bad(t, r, "behind the end: the file has 3 lines", "file_read", "path", "a.txt", "start_line", 4)
	bad(t, r, "behind the end: the file has 2 lines", "file_read", "path", "open.txt", "start_line", 4)
	bad(t, r, "end_line is before", "file_read", "path", "a.txt", "start_line", 4, "end_line", 2)
	bad(t, r, "must be an integer from 1", "file_read", "path", "a.txt", "start_line", -1)
	bad(t, r, "it is a binary file of 7 bytes", "file_read", "path", "binary")
	bad(t, r, "it is a binary file", "file_read", "path", "late")
	bad(t, r, "it is a directory", "file_read", "path", ".")
	bad(t, r, "no such file", "file_read", "path", "nothing")

	// What is read in pieces, as the remarks say, is the whole.
	var whole strings.Builder
	for start, calls := 1, 0; ; calls++ {
		got := good(t, r, "file_read", "path", "many", "start_line", start)
		text, remark, cut := strings.Cut(got.Content, "\n[")
		if cut != got.Truncated || len(got.Content) > maxRead+200 || calls > 10 {
			t.Fatalf("truncated %v with remark %q, %d bytes", got.Truncated, remark, len(got.Content))
		}
		if !cut {
			whole.WriteString(text)
			break
		}
		whole.WriteString(text + "\n")
		if _, err := fmt.Sscanf(remark[strings.Index(remark, "continue"):], "continue with start_line %d", &start); err != nil {
			t.Fatal(err)
		}
	}
	if whole.String() != many.String() {
		t.Error("the pieces are not the whole")
	}
	got := good(t, r, "file_read", "path", "long")
	if !got.Truncated || !strings.Contains(got.Content, "cut inside line 2") || !strings.Contains(got.Content, "start_line 2]") {
		t.Errorf("long line: %q", got.Content[len(got.Content)-100:])
	}
	got = good(t, r, "file_read", "path", "long", "start_line", 2)
	if !got.Truncated || !strings.Contains(got.Content, "continue with start_line 3") {
		t.Errorf("long line alone: %q", got.Content[len(got.Content)-100:])
	}
	if got := good(t, r, "file_read", "path", "rune").Content; !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") {
		t.Error("a rune was cut")
	}

	// A huge file, of which most are holes, is read at its beginning.
	huge, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := huge.WriteString(strings.Repeat("x\n", 8000)); err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(1 << 32); err != nil {
		t.Skipf("no huge files here: %v", err)
	}
	huge.Close()
	if got := good(t, r, "file_read", "path", "huge", "end_line", 2); got.Content != "x\nx\n" {
		t.Errorf("huge file: %.20q", got.Content)
	}
	bad(t, r, "binary file of 4294967296 bytes", "file_read", "path", "huge")
}

func TestFileWrite(t *testing.T) {
	r, dir := inRoot(t, map[string]string{"old.sh": "old"})
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := good(t, r, "file_write", "path", "new/deep/a.txt", "content", "héllo"); got.Summary != "6 bytes written" || read("new/deep/a.txt") != "héllo" {
		t.Errorf("%+v, file %q", got, read("new/deep/a.txt"))
	}
	bad(t, r, "it exists: use mode overwrite", "file_write", "path", "new/deep/a.txt", "content", "x")
	bad(t, r, "it exists", "file_write", "path", "old.sh", "content", "x", "mode", "create")
	if read("old.sh") != "old" {
		t.Error("create replaced a file")
	}
	if err := os.Chmod(filepath.Join(dir, "old.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	good(t, r, "file_write", "path", "old.sh", "content", "new", "mode", "overwrite")
	if info, err := os.Stat(filepath.Join(dir, "old.sh")); err != nil || read("old.sh") != "new" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("overwritten: %q, mode %v, %v", read("old.sh"), info.Mode(), err)
	}
	good(t, r, "file_write", "path", "log", "content", "1\n", "mode", "append")
	good(t, r, "file_write", "path", "log", "content", "2\n", "mode", "append")
	good(t, r, "file_write", "path", "made", "content", "x", "mode", "overwrite")
	good(t, r, "file_write", "path", "empty", "content", "")
	if read("log") != "1\n2\n" || read("made") != "x" || read("empty") != "" {
		t.Errorf("log %q, made %q, empty %q", read("log"), read("made"), read("empty"))
	}
	bad(t, r, "is a directory", "file_write", "path", "new", "content", "x", "mode", "overwrite")
	bad(t, r, "is a directory", "file_write", "path", "new", "content", "x", "mode", "append")
	bad(t, r, "the root itself", "file_write", "path", ".", "content", "x")
	bad(t, r, "", "file_write", "path", "log/below", "content", "x")
	bad(t, r, "larger than", "file_write", "path", "big", "content", strings.Repeat("x", maxWrite+1))
	bad(t, r, `"mode" must be one of`, "file_write", "path", "x", "content", "x", "mode", "delete")
	bad(t, r, `"content" must be given`, "file_write", "path", "x")
	// Nothing is left of writes that succeeded or failed.
	for _, pattern := range []string{".rax-*", "*/.rax-*", "*/*/.rax-*", "big", "x"} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestFileWriteFails(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 && !readOnlyWorks(t) {
		t.Skip("a directory cannot be made read-only here")
	}
	r, dir := inRoot(t, map[string]string{"locked/a": "old"})
	if err := os.Chmod(filepath.Join(dir, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	bad(t, r, "permission denied", "file_write", "path", "locked/a", "content", "new", "mode", "overwrite")
	if got := good(t, r, "file_read", "path", "locked/a").Content; got != "old" {
		t.Errorf("after a failure the file holds %q", got)
	}
}

// readOnlyWorks tells whether the user is bound by permissions; root is not.
func readOnlyWorks(t *testing.T) bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	return os.WriteFile(filepath.Join(dir, "f"), nil, 0o644) != nil
}

func TestFileList(t *testing.T) {
	r, dir := inRoot(t, map[string]string{
		"a.go": "", "b.txt": "", "src/c.go": "", "src/x/d.ts": "", "src/x/e.tsx": "", ".git/config": "",
	})
	for _, c := range []struct {
		args []any
		want string
	}{
		{nil, ".git/ a.go b.txt src/"},
		{[]any{"recursive", true}, ".git/ a.go b.txt src/ src/c.go src/x/ src/x/d.ts src/x/e.tsx"},
		{[]any{"glob", "*.go", "recursive", true}, "a.go src/c.go"},
		{[]any{"glob", "*.go"}, "a.go"},
		{[]any{"glob", "src/**/*.{ts,tsx}"}, "src/x/d.ts src/x/e.tsx"},
		{[]any{"path", "src", "glob", "**/*.ts"}, "src/x/d.ts"},
		{[]any{"path", "src/x"}, "src/x/d.ts src/x/e.tsx"},
		{[]any{"path", "a.go"}, "a.go"},
		{[]any{"path", "./src/../src/"}, "src/c.go src/x/"},
		{[]any{"glob", "*.none"}, "[nothing found]"},
		{[]any{"limit", 2}, ".git/ a.go [there are more than 2: narrow the glob or raise limit]"},
	} {
		got := good(t, r, "file_list", c.args...)
		if text := strings.Join(strings.Split(strings.TrimSpace(got.Content), "\n"), " "); text != c.want {
			t.Errorf("%v gives\n%s, want\n%s", c.args, text, c.want)
		}
		if got.Truncated != strings.Contains(c.want, "more than") {
			t.Errorf("%v: truncated is %v", c.args, got.Truncated)
		}
	}
	bad(t, r, "not valid", "file_list", "glob", "[a")
	bad(t, r, "too long", "file_list", "glob", "{a,b}{a,b}{a,b}")
	bad(t, r, "too long", "file_list", "glob", strings.Repeat("*", 300))
	bad(t, r, "no such file", "file_list", "path", "nothing")
	if runtime.GOOS != "windows" {
		if err := os.WriteFile(filepath.Join(dir, "src", "x\n[fake]\x1b[2J"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := good(t, r, "file_list", "path", "src").Content; !strings.Contains(got, `"src/x\n[fake]\x1b[2J"`) || strings.Contains(got, "\x1b") {
			t.Errorf("a hostile name is shown as %q", got)
		}
	}
}

func TestGrep(t *testing.T) {
	r, dir := inRoot(t, map[string]string{
		"a.txt": "alpha\nbeta\ngamma\ndelta\nalpha two\n", "b.go": "package Alpha\r\n", "sub/c.txt": "no\nalpha\n",
		"bin": "alpha\x00", "big": strings.Repeat("alpha\n", 1<<20), ".git/x": "alpha", "empty": "",
		"long": strings.Repeat("é", 1000) + "alpha\n", "far": strings.Repeat("-", 70<<10) + "alpha\nalpha\n",
	})
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"pattern", "^alpha", "glob", "*.txt"}, "a.txt:1:alpha|a.txt:5:alpha two|sub/c.txt:2:alpha"},
		{[]any{"pattern", "alpha$", "path", "b.go", "ignore_case", true}, "b.go:1:package Alpha"},
		{[]any{"pattern", "alpha", "path", "b.go"}, "[no match]"},
		{[]any{"pattern", "gamma", "path", "a.txt", "context", 1}, "a.txt-2-beta|a.txt:3:gamma|a.txt-4-delta"},
		{[]any{"pattern", "^alpha", "path", "a.txt", "context", 1}, "a.txt:1:alpha|a.txt-2-beta|--|a.txt-4-delta|a.txt:5:alpha two"},
		{[]any{"pattern", "a", "path", "a.txt", "context", 10}, "a.txt:1:alpha|a.txt:2:beta|a.txt:3:gamma|a.txt:4:delta|a.txt:5:alpha two"},
		{[]any{"pattern", "alpha", "path", "sub"}, "sub/c.txt:2:alpha"},
		{[]any{"pattern", "a", "path", "a.txt", "limit", 2}, "a.txt:1:alpha|a.txt:2:beta|[there are more than these 2: narrow the search or raise limit]"},
		{[]any{"pattern", "alpha", "path", "bin"}, "[1 binary file not searched; no match]"},
		{[]any{"pattern", "alpha", "path", "big"}, "[1 file over 4194304 bytes not searched; no match]"},
		{[]any{"pattern", "^$", "path", "empty"}, "[no match]"},
		{[]any{"pattern", "alpha", "path", "far"}, "far:2:alpha|[1 line searched in the first 65536 bytes only]"},
	} {
		got := good(t, r, "grep", c.args...)
		if text := strings.Join(strings.Split(strings.TrimSpace(got.Content), "\n"), "|"); text != c.want {
			t.Errorf("%v gives\n%s, want\n%s", c.args, text, c.want)
		}
	}
	got := good(t, r, "grep", "pattern", "alpha")
	if got.Summary != "5 matching lines in 4 files" || !strings.Contains(got.Content, "1 binary file not searched") || strings.Contains(got.Content, ".git") {
		t.Errorf("%q: %q", got.Summary, got.Content)
	}
	if got := good(t, r, "grep", "pattern", "alpha", "path", "long").Content; len(got) > maxLine+30 || !utf8.ValidString(got) {
		t.Errorf("a long line is shown in %d bytes", len(got))
	}
	bad(t, r, "not RE2", "grep", "pattern", "(a")
	bad(t, r, "not RE2", "grep", "pattern", `(?=a)`)
	bad(t, r, "repeat less", "grep", "pattern", strings.Repeat(".{1000}", 20))
	bad(t, r, "1 to 1000 characters", "grep", "pattern", strings.Repeat("a", 2000))
	bad(t, r, "no such file", "grep", "pattern", "a", "path", "nothing")
	if err := os.Chmod(filepath.Join(dir, "a.txt"), 0); err == nil {
		if _, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil { // not for root
			if got := good(t, r, "grep", "pattern", "beta").Content; !strings.Contains(got, "1 could not be read") {
				t.Errorf("an unreadable file: %q", got)
			}
		}
	}
}
