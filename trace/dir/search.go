package dir

import (
	"os"
	"path/filepath"
	"slices"
)

// Search is where traces are looked for: the directory that rax writes to, then
// others that it only reads. Where two hold the same id the earlier one wins
// and the other is noted in [Entry.Shadowed].
type Search struct {
	Dir      Dir
	ReadOnly []Dir
}

// DefaultSearch returns the directory of [Default], and beside it
// $REACTIVE_AGENTS_TRACE_DIR when that is set. It reads the environment only
// through its arguments.
func DefaultSearch(env func(string) string, home func() (string, error)) (Search, error) {
	path, err := Default(env, home)
	if err != nil {
		return Search{}, err
	}
	s := Search{Dir: Dir{path}}
	if foreign := env(EnvForeignDir); foreign != "" {
		s.ReadOnly = []Dir{{filepath.Clean(foreign)}}
	}
	return s, nil
}

// dirs returns the directories in order, each once: two variables may name the
// same one, and a trace must not seem to be there twice.
func (s Search) dirs() []Dir {
	dirs := []Dir{s.Dir}
	for _, d := range s.ReadOnly {
		if !slices.ContainsFunc(dirs, func(o Dir) bool { return sameDir(d.Path, o.Path) }) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// List returns the traces of all directories, ordered as by [Dir.List], each id
// once. A directory that is missing holds none; one that cannot be read is an
// error, since what is newest cannot be told without it.
func (s Search) List() ([]Entry, error) {
	dirs := s.dirs()
	all, err := dirs[0].List()
	if err != nil || len(dirs) == 1 {
		return all, err
	}
	at := make(map[string]int, len(all))
	for i, e := range all {
		at[e.ID] = i
	}
	for _, d := range dirs[1:] {
		more, err := d.List()
		if err != nil {
			return nil, err
		}
		for _, e := range more {
			if i, ok := at[e.ID]; ok {
				all[i].shadow(e)
				continue
			}
			at[e.ID] = len(all)
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return newestFirst(a.ModTime, b.ModTime, a.ID, b.ID)
	})
	return all, nil
}

// shadow notes another entry of the same id, which lost.
func (e *Entry) shadow(other Entry) {
	e.Shadowed = append(append(e.Shadowed, other.Path), other.Shadowed...)
}
