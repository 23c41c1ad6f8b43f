package trace

import (
	"bytes"
	"os"
	"sync"
	"syscall"
)

// disk is a File that can fail as a disk does, and that knows what would be left
// of it if the machine stopped now.
type disk struct {
	mu     sync.Mutex
	data   []byte
	synced int // what survives a crash of the machine
	writes int
	syncs  int
	closed bool

	room     int   // bytes that fit in all; 0 means no end
	writeErr error // what a Write without room says; ENOSPC if nil
	syncErr  error // what every Sync says
	closeErr error // what Close says
	truncErr error // what Truncate says
	onSync   func(d *disk)
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0, os.ErrClosed
	}
	d.writes++
	if d.room > 0 && len(d.data)+len(p) > d.room {
		n := d.room - len(d.data)
		d.data = append(d.data, p[:n]...)
		if d.writeErr != nil {
			return n, d.writeErr
		}
		return n, syscall.ENOSPC
	}
	d.data = append(d.data, p...)
	return len(p), nil
}

func (d *disk) Sync() error {
	if d.onSync != nil {
		d.onSync(d)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	d.syncs++
	if d.syncErr != nil {
		return d.syncErr
	}
	d.synced = len(d.data)
	return nil
}

func (d *disk) Truncate(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.truncErr != nil {
		return d.truncErr
	}
	d.data = d.data[:size]
	return nil
}

func (d *disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	d.closed = true
	return d.closeErr
}

// crash gives what is left when the machine stops now: what was synced, and n
// bytes of the rest that happened to be written.
func (d *disk) crash(n int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Clone(d.data[:min(d.synced+n, len(d.data))])
}

func (d *disk) counts() (writes, syncs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes, d.syncs
}
