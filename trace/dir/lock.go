package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// How often a lock is tried. A writer does not give up at once, since one who
// only asks whether a trace is live holds the lock too, for some microseconds.
const (
	tryOnce    = 1
	tryPatient = 10 // with lockPause between: 45 ms
	lockPause  = 5 * time.Millisecond
)

// openLocked opens a regular file of the directory and takes its lock. The lock
// is on the file, not on the name, so the name is compared afterwards: a pruner
// may have removed the file between the two steps. Errors are [*LockedError],
// [fs.ErrNotExist] where the file is gone, or the file system's.
func openLocked(root *os.Root, name string, flag, tries int) (*os.File, error) {
	for range 3 {
		info, err := root.Lstat(name)
		if err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%q is not a regular file", name)
		}
		f, err := root.OpenFile(name, flag, 0o600)
		if err != nil {
			return nil, err
		}
		err = acquire(f, tries)
		if err != nil {
			err = errors.Join(err, f.Close())
			switch {
			case errors.Is(err, errHeld):
				err = &LockedError{Path: filepath.Join(root.Name(), name)}
			case flag&os.O_EXCL != 0: // no locks on this file system: leave no empty trace
				err = errors.Join(err, root.Remove(name))
			}
			return nil, err
		}
		if stillNamed(root, name, f) {
			return f, nil
		}
		if err := release(f); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%q is being replaced again and again", name)
}

// stillNamed reports whether name still means the opened file.
func stillNamed(root *os.Root, name string, f *os.File) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := root.Lstat(name)
	return err == nil && named.Mode().IsRegular() && os.SameFile(opened, named)
}

var errHeld = errors.New("lock is held")

// acquire takes the exclusive lock, or returns errHeld.
func acquire(f *os.File, tries int) error {
	for try := 1; ; try++ {
		ok, err := tryLock(f, false)
		if err != nil {
			return fmt.Errorf("lock %q: %w", f.Name(), err)
		}
		if ok {
			return nil
		}
		if try >= tries {
			return errHeld
		}
		time.Sleep(lockPause)
	}
}

// release gives the lock back and closes the file. The unlock is not left to
// the closing, because a child that is being forked at this moment holds a copy
// of the descriptor until it runs its program.
func release(f *os.File) error {
	return errors.Join(unlock(f), f.Close())
}

// MarkLive sets Live in every entry whose trace somebody holds the lock of. It
// opens each plain file for a moment, so hand it only what is to be shown. A
// trace that has gone meanwhile is not live. Those that could not be asked stay
// false and are told in the error.
func MarkLive(entries []Entry) error {
	var errs []error
	for i := range entries {
		e := &entries[i]
		e.Live = false
		if e.Compressed || e.Stdin() {
			continue
		}
		live, err := probe(e.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("ask for the lock: %w", err))
		}
		e.Live = live
	}
	return errors.Join(errs...)
}

// probe asks for a shared lock, so that two who ask do not disturb each other.
func probe(path string) (live bool, err error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	ok, err := tryLock(f, true)
	if err != nil || !ok {
		return err == nil, err
	}
	return false, unlock(f)
}

// syncDir makes the directory's names survive a power failure. Windows offers
// no such call, and some file systems refuse it.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
