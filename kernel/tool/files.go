package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"
)

// files is the directory tree that the file tools work in. os.Root keeps them
// inside it, also against symbolic links that change under their hands.
type files struct{ root *os.Root }

const (
	maxPath    = 4096
	maxEntries = 100_000 // looked at by one walk
	// headSize is how much of a file is looked at to tell text from binary.
	headSize = 8000
)

// clean turns a path from the model into one below the root, with slashes. The
// errors are worded for the model; os.Root is the guard.
func clean(name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	slashed := strings.ReplaceAll(name, `\`, "/")
	switch {
	case len(name) > maxPath:
		return "", fmt.Errorf("the path is longer than %d bytes", maxPath)
	case strings.ContainsRune(name, 0):
		return "", errors.New("the path contains a zero byte")
	case strings.HasPrefix(slashed, "/"), len(slashed) > 1 && slashed[1] == ':' && os.PathSeparator == '\\':
		return "", errors.New("the path is absolute: give one relative to the root, such as docs/a.md")
	case os.PathSeparator == '/':
		slashed = name // a backslash is a character like others
	}
	cleaned := path.Clean(slashed)
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", errors.New("the path leads out of the root")
	}
	return cleaned, nil
}

// open opens a regular file for reading. Pipes and devices are refused, and
// opening one does not wait.
func (f files) open(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, plainError(err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = plainError(err)
	case info.IsDir():
		err = errors.New("it is a directory: use file_list")
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// plainError drops the system call and the path, which the model knows and
// which may be long.
func plainError(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	if strings.Contains(err.Error(), "escapes") {
		return fmt.Errorf("it leads out of the root: %w", err)
	}
	return err
}

// walk calls visit for what is under dir, in lexical order, with paths relative
// to the root. It does not follow symbolic links to directories and does not
// enter .git. What cannot be read is counted, and the count of entries is
// limited; visit ends the walk with fs.SkipAll.
func (f files) walk(ctx context.Context, dir string, deep bool, visit func(name string, e fs.DirEntry) error) (walked, error) {
	var w walked
	seen := 0
	err := fs.WalkDir(f.root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			if name == dir {
				return plainError(err)
			}
			w.unreadable++
			return nil
		}
		if name == dir && e.IsDir() {
			return nil
		}
		if seen++; seen > maxEntries {
			w.stopped = true
			return fs.SkipAll
		}
		if err := visit(name, e); err != nil {
			return err
		}
		if e.IsDir() && (!deep || e.Name() == ".git") {
			return fs.SkipDir
		}
		return nil
	})
	return w, err
}

// walked is what a walk did not see.
type walked struct {
	unreadable int
	stopped    bool
}

func (w walked) notes() []string {
	var notes []string
	if w.unreadable > 0 {
		notes = append(notes, fmt.Sprintf("%d could not be read", w.unreadable))
	}
	if w.stopped {
		notes = append(notes, fmt.Sprintf("stopped after %d entries: choose a smaller directory", maxEntries))
	}
	return notes
}

// glob is a pattern for paths; nil fits every path.
type glob func(name string) bool

// newGlob compiles a pattern. One without a slash is for the last element, one
// with a slash for the path below dir. The limits keep braces, which are tried
// one after the other, from multiplying.
func newGlob(pattern, dir string) (glob, error) {
	if pattern == "" {
		return nil, nil
	}
	if len(pattern) > 200 || strings.Count(pattern, "{") > 2 || strings.Count(pattern, ",") > 32 {
		return nil, errors.New("the glob is too long: use at most 200 characters, 2 braces and 32 commas")
	}
	if !doublestar.ValidatePattern(pattern) {
		return nil, errors.New("the glob is not valid: use *, **, ?, [abc] and {a,b}")
	}
	whole := strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "./")
	return func(name string) bool {
		if whole {
			if dir != "." {
				name = strings.TrimPrefix(name, dir+"/")
			}
			return doublestar.MatchUnvalidated(pattern, name)
		}
		return doublestar.MatchUnvalidated(pattern, path.Base(name))
	}, nil
}

// shownPath shows a name from the file system on one line of its own.
func shownPath(name string) string {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || r == '\u2028' || r == '\u2029' {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}

// note appends remarks to content, in brackets on a line of their own.
func note(content string, notes ...string) string {
	if len(notes) == 0 {
		return content
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	return content + "[" + strings.Join(notes, "; ") + "]\n"
}
