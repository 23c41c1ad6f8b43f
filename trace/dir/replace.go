package dir

import (
	"errors"
	"os"
	"path/filepath"
)

// Replacement is a trace that takes the place of another of the same id, or a
// new one, when it is committed. Until then the old one stands.
type Replacement struct {
	*os.File
	dir  Dir
	id   string
	lock *File
}

// Replace opens the trace of a run that may be there already, such as a session
// that is imported once more. The old trace stays locked and stands until
// Commit. Errors as for [Dir.Create] and [Dir.OpenAppend].
func (d Dir) Replace(id string) (*Replacement, error) {
	if !IsID(id) {
		return nil, notID("replace", id)
	}
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return nil, err
	}
	lock, err := d.OpenAppend(id)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, ErrCompressed) {
		return nil, err
	}
	r := &Replacement{dir: d, id: id, lock: lock}
	if r.File, err = os.CreateTemp(d.Path, ".import-*"); err != nil {
		return nil, errors.Join(err, r.unlock())
	}
	return r, nil
}

// Commit puts the written trace in its place. The file must be closed. On Unix
// the old trace's lock is held until the new one stands.
func (r *Replacement) Commit() error {
	name := filepath.Join(r.dir.Path, r.id+".jsonl")
	err := os.Rename(r.Name(), name)
	if err != nil && r.lock != nil {
		// Windows does not replace a file that is open.
		err = errors.Join(r.unlock(), os.Rename(r.Name(), name))
	}
	if err != nil {
		return errors.Join(err, r.Abort())
	}
	// A compressed copy of the older trace would come back once the new one is
	// pruned.
	for _, ending := range []string{".jsonl.gz", ".jsonl.zst"} {
		if rerr := os.Remove(filepath.Join(r.dir.Path, r.id+ending)); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return errors.Join(err, r.unlock(), syncDir(r.dir.Path))
}

// Abort leaves everything as it was. It may be called after a failed Commit.
func (r *Replacement) Abort() error {
	_ = r.Close() // closed already, as a rule
	err := os.Remove(r.Name())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, r.unlock())
}

func (r *Replacement) unlock() error {
	lock := r.lock
	r.lock = nil
	if lock == nil {
		return nil
	}
	return lock.Close()
}
