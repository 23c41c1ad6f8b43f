package dir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Entry is one trace as the directory knows it: nothing in it was read from
// inside the file.
type Entry struct {
	// ID is the file's name without its endings. It is always fit to be shown:
	// a name with control or other unprintable characters is quoted as a Go
	// string.
	ID string
	// Path opens the file. It holds the name as it is; quote it to show it.
	// It is "-" for standard input.
	Path       string
	Size       int64 // bytes on disk
	ModTime    time.Time
	Compressed bool
	// Live says that somebody holds the trace's lock: it is being written, or
	// compressed at this moment. Only [MarkLive] sets it.
	Live bool
	// Shadowed are further files of the same id, which lost to Path: a
	// compressed copy beside the original (a compression was interrupted), or
	// the same id in a directory searched later.
	Shadowed []string
}

// Stdin reports whether the entry means standard input.
func (e Entry) Stdin() bool { return e.Path == stdin }

// form is how a trace is stored, in the order of preference: of two files of
// one id the plain one wins, because it is removed only after its compressed
// copy was found to be whole.
type form int

const (
	plain form = iota
	zst
	gz
	forms // their number
)

func (f form) ext() string { return [forms]string{".jsonl", ".jsonl.zst", ".jsonl.gz"}[f] }

// pruneLogName is the one .jsonl file of the directory that is no trace.
const pruneLogName = "prune.log.jsonl"

// maxName is the length in bytes that file systems allow a name.
const maxName = 255

// parseName takes a trace's file name apart. It is the one gate for names: what
// it refuses is neither listed nor looked up. Hidden files, the prune log and
// whatever is not a plain name in this very directory are no traces.
func parseName(name string) (id string, f form, ok bool) {
	if len(name) > maxName || strings.HasPrefix(name, ".") || name == pruneLogName ||
		strings.ContainsRune(name, 0) || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return "", 0, false
	}
	for f := range forms {
		if id, ok := strings.CutSuffix(name, f.ext()); ok && id != "" {
			return id, f, true
		}
	}
	return "", 0, false
}

// file is one regular file that is a trace by its name.
type file struct {
	id   string // as in the name, not quoted
	form form
	info fs.FileInfo
}

func (f file) name() string { return f.id + f.form.ext() }

// List returns the directory's traces, most recently written first and, among
// those of one instant, the greater id first. A missing directory holds none.
// Symbolic links and everything else that is not a regular file are left out.
// No file is opened: 100,000 traces cost one reading of the directory and one
// lstat each.
func (d Dir) List() ([]Entry, error) {
	names, err := d.read()
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range names {
		id, f, ok := parseName(name.Name())
		if !ok || !name.Type().IsRegular() {
			continue
		}
		info, err := name.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // went away since the directory was read
		}
		if err != nil {
			return nil, fmt.Errorf("list trace directory: %w", err)
		}
		files = append(files, file{id, f, info})
	}
	groups := group(files)
	entries := make([]Entry, len(groups))
	for i, g := range groups {
		entries[i] = d.entry(g)
	}
	return entries, nil
}

// read returns what the directory holds, in no order; nothing if it is missing.
func (d Dir) read() ([]fs.DirEntry, error) {
	f, err := os.Open(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list trace directory: %w", err)
	}
	defer f.Close()
	names, err := f.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("list trace directory: %w", err)
	}
	return names, nil
}

// group puts the files of each id together, the preferred form first, and the
// ids in the order of List.
func group(files []file) [][]file {
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.form, b.form))
	})
	var groups [][]file
	for start, i := 0, 1; i <= len(files); i++ {
		if i == len(files) || files[i].id != files[start].id {
			groups = append(groups, files[start:i:i])
			start = i
		}
	}
	slices.SortFunc(groups, func(a, b []file) int {
		return newestFirst(a[0].info.ModTime(), b[0].info.ModTime(), a[0].id, b[0].id)
	})
	return groups
}

func newestFirst(a, b time.Time, idA, idB string) int {
	return cmp.Or(b.Compare(a), strings.Compare(idB, idA))
}

// entry describes the files of one id.
func (d Dir) entry(g []file) Entry {
	e := Entry{
		ID:         showName(g[0].id),
		Path:       d.join(g[0].name()),
		Size:       g[0].info.Size(),
		ModTime:    g[0].info.ModTime(),
		Compressed: g[0].form != plain,
	}
	for _, other := range g[1:] {
		e.Shadowed = append(e.Shadowed, d.join(other.name()))
	}
	return e
}

func (d Dir) join(name string) string { return filepath.Join(d.Path, name) }

// showName returns a name that cannot steer a terminal: as it is, or quoted. A
// name that begins with a quote is quoted too, so that no two look alike.
func showName(name string) string {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || strings.HasPrefix(name, `"`) || strings.ContainsFunc(name, unprintable) {
		return strconv.Quote(name)
	}
	return name
}
