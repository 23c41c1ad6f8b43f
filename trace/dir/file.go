package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// File is a trace open for appending, with its lock. Each Write goes to the end
// of the file, whole. It can be read and stat'ed too, so that a writer can look
// at the end of what is already there.
//
// Children started while it is open do not inherit it, so they cannot keep the
// lock after the writer is gone.
type File struct {
	*os.File
	id  string
	dir string

	mu     sync.Mutex
	synced bool // the file's name in the directory is on disk
}

// ID returns the run's id.
func (f *File) ID() string { return f.id }

// Sync puts on disk what was written and, the first time, the file's name too,
// without which the content could not be found after a power failure.
func (f *File) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.synced {
		return nil
	}
	if err := syncDir(f.dir); err != nil {
		return err
	}
	f.synced = true
	return nil
}

// Close gives the lock back and closes the file. It does not sync.
func (f *File) Close() error { return release(f.File) }

// Create makes the trace of a new run, for this user only (0600), and locks it.
// It makes the directory (0700) where that is missing. id must be a run id (see
// [IsID]). A trace that is there already, compressed or not, is an
// [fs.ErrExist], or a [*LockedError] while somebody is writing it.
func (d Dir) Create(id string) (*File, error) {
	if !IsID(id) {
		return nil, notID("create", id)
	}
	if err := d.make(); err != nil {
		return nil, err
	}
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()

	name := id + plain.ext()
	f, err := openLocked(root, name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, tryPatient)
	if errors.Is(err, fs.ErrExist) {
		if live, _ := probe(d.join(name)); live {
			err = &LockedError{Path: d.join(name)}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create trace %s: %w", id, err)
	}
	// Only now, under the lock: a compression that ran until a moment ago has
	// made its copy before it gave up the name that was just created.
	if g := d.stat(id); len(g) > 1 {
		err := errors.Join(root.Remove(name), release(f))
		other := &fs.PathError{Op: "open", Path: d.join(g[1].name()), Err: fs.ErrExist}
		return nil, errors.Join(fmt.Errorf("create trace %s: %w", id, other), err)
	}
	return &File{File: f, id: id, dir: d.Path}, nil
}

// OpenAppend opens a trace that is there already and locks it. Errors are a
// [*LockedError] while somebody else holds it, [ErrCompressed] when it was
// closed and compressed, [fs.ErrNotExist] when there is none.
func (d Dir) OpenAppend(id string) (*File, error) {
	if !IsID(id) {
		return nil, notID("append to", id)
	}
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := openLocked(root, id+plain.ext(), os.O_RDWR|os.O_APPEND, tryPatient)
	if errors.Is(err, fs.ErrNotExist) && len(d.stat(id)) > 0 {
		err = ErrCompressed
	}
	if err != nil {
		return nil, fmt.Errorf("append to trace %s: %w", id, err)
	}
	return &File{File: f, id: id, dir: d.Path}, nil
}

func notID(what, id string) error {
	return fmt.Errorf("%s trace: %s is not a run id (a ULID)", what, quoteRef(id))
}
