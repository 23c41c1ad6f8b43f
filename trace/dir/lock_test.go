package dir

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"
)

// A writer that opened a trace just before a pruner removed it must not go on
// to write into a file without a name.
func TestOpenBesideRemoval(t *testing.T) {
	d := Dir{t.TempDir()}
	root, err := d.openRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	name := newID(1) + ".jsonl"
	for range 300 {
		put(t, d, name, "x", now)
		held, err := openLocked(root, name, os.O_RDWR, tryOnce)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		started := make(chan struct{})
		wg.Go(func() {
			close(started)
			f, err := d.OpenAppend(newID(1))
			var locked *LockedError
			switch {
			case err == nil:
				t.Errorf("opened %s, which was removed", f.Name())
				f.Close()
			case !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &locked):
				t.Error(err)
			}
		})
		<-started
		if err := errors.Join(root.Remove(name), release(held)); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	}
}

func TestStillNamed(t *testing.T) {
	d := Dir{t.TempDir()}
	root, err := d.openRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	put(t, d, "a", "", now)
	f, err := root.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !stillNamed(root, "a", f) {
		t.Error("untouched")
	}
	if err := root.Rename("a", "b"); err != nil {
		t.Fatal(err)
	}
	if stillNamed(root, "a", f) {
		t.Error("renamed away")
	}
	put(t, d, "a", "", now)
	if stillNamed(root, "a", f) {
		t.Error("replaced")
	}
}

func TestAcquireWaits(t *testing.T) {
	d := Dir{t.TempDir()}
	path := put(t, d, newID(1)+".jsonl", "", now)
	asking, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := tryLock(asking, true); !ok || err != nil {
		t.Fatal(ok, err)
	}
	// One who asks does not make another who asks believe in a writer.
	if live, err := probe(path); live || err != nil {
		t.Errorf("live %v, %v", live, err)
	}
	writer, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := acquire(writer, tryOnce); !errors.Is(err, errHeld) {
		t.Errorf("beside one who asks: %v", err)
	}
	time.AfterFunc(lockPause, func() { release(asking) })
	if err := acquire(writer, 10_000); err != nil {
		t.Error(err)
	}
	if live, err := probe(path); !live || err != nil {
		t.Errorf("live %v, %v", live, err)
	}
	release(writer)
}
