package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Latest is the reference to the trace most recently written.
const Latest = "latest"

// stdin is the reference to standard input.
const stdin = "-"

// Find resolves what a person typed. See [Search.Find].
func (d Dir) Find(ref string) (Entry, error) { return Search{Dir: d}.Find(ref) }

// FindID resolves an id. See [Search.FindID].
func (d Dir) FindID(ref string) (Entry, error) { return Search{Dir: d}.FindID(ref) }

// Find resolves what a person typed on a command line, in this order:
//
//   - "-": standard input
//   - anything with a path separator: that file
//   - an exact id
//   - "latest": the trace most recently written
//   - the name of a file in the working directory: that file
//   - the beginning of exactly one id
//
// ULIDs match in either case. Errors are [*NotFoundError], [*AmbiguousError] or
// those of the file system. A path may name any file that the user can read;
// for references that come from elsewhere use FindID.
func (s Search) Find(ref string) (Entry, error) {
	if ref == stdin {
		return Entry{ID: stdin, Path: stdin}, nil
	}
	if hasSeparator(ref) {
		return pathEntry(ref)
	}
	if e, ok := s.exact(ref); ok {
		return e, nil
	}
	if ref != Latest {
		if info, err := os.Stat(ref); err == nil && !info.IsDir() {
			return pathEntry(ref)
		}
	}
	return s.lookup(ref)
}

// FindID resolves an exact id, "latest" or the beginning of exactly one id, and
// nothing else: what it returns is a regular file in one of the directories,
// whatever ref holds, so that ref may come from a stranger. Errors as for Find.
func (s Search) FindID(ref string) (Entry, error) {
	if e, ok := s.exact(ref); ok {
		return e, nil
	}
	return s.lookup(ref)
}

func hasSeparator(ref string) bool {
	return strings.ContainsRune(ref, '/') || strings.ContainsRune(ref, os.PathSeparator)
}

// pathEntry describes a file named by its path. Pipes and devices are welcome,
// as in `rax diagnose debrief <(ssh host cat trace)`.
func pathEntry(path string) (Entry, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(path, 0) {
		return Entry{}, &NotFoundError{Ref: path}
	}
	if err != nil {
		return Entry{}, fmt.Errorf("find trace: %w", err)
	}
	if info.IsDir() {
		return Entry{}, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	name := filepath.Base(path)
	e := Entry{
		ID:         showName(name),
		Path:       path,
		Size:       info.Size(),
		ModTime:    info.ModTime(),
		Compressed: strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst"),
	}
	if id, _, ok := parseName(name); ok {
		e.ID = showName(id)
	}
	return e, nil
}

// exact looks an id up without reading the directory. Whatever goes wrong means
// "not here": lookup follows and reports what is wrong with the directory.
func (s Search) exact(ref string) (found Entry, ok bool) {
	ids := []string{ref}
	if upper := strings.ToUpper(ref); upper != ref && isULID(ref) {
		ids = append(ids, upper)
	}
	dirs := s.dirs()
	for _, id := range ids {
		for _, d := range dirs {
			g := d.stat(id)
			switch {
			case len(g) == 0:
			case !ok:
				found, ok = d.entry(g), true
			default:
				found.shadow(d.entry(g))
			}
		}
		if ok {
			return found, true
		}
	}
	return Entry{}, false
}

// stat returns the files of one id, the preferred form first. A symbolic link
// is not one.
func (d Dir) stat(id string) []file {
	var g []file
	for f := range forms {
		got, gotForm, ok := parseName(id + f.ext())
		if !ok || got != id || gotForm != f {
			continue
		}
		info, err := os.Lstat(d.join(id + f.ext()))
		if err == nil && info.Mode().IsRegular() {
			g = append(g, file{id, f, info})
		}
	}
	return g
}

// lookup resolves "latest" and the beginnings of ids.
func (s Search) lookup(ref string) (Entry, error) {
	entries, err := s.List()
	if err != nil {
		return Entry{}, err
	}
	if ref == Latest && len(entries) > 0 {
		return entries[0], nil
	}
	if ref == "" || ref == Latest {
		return Entry{}, &NotFoundError{Ref: ref}
	}
	var found []Entry
	for _, e := range entries {
		if begins(e.ID, ref) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, &NotFoundError{Ref: ref, Suggestions: suggest(ref, entries)}
	case 1:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i, e := range found {
		ids[i] = e.ID
	}
	return Entry{}, &AmbiguousError{Ref: ref, Matches: ids}
}

// begins reports whether ref is the beginning of id, in either case for ULIDs.
func begins(id, ref string) bool {
	if strings.HasPrefix(id, ref) {
		return true
	}
	return len(ref) <= len(id) && strings.EqualFold(id[:len(ref)], ref) && isULID(id)
}
