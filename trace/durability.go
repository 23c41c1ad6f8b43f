package trace

import (
	"fmt"
	"sync"
)

// Durability names what a Writer promises about a crash of the machine. A crash
// of the process alone loses nothing that Write returned for.
type Durability string

const (
	// DurabilityNone leaves the time of writing to the operating system.
	DurabilityNone Durability = "none"
	// DurabilityClose (the default) syncs when the Writer is closed: a crash of
	// the machine before that may cost the newest events.
	DurabilityClose Durability = "close"
	// DurabilityEvent syncs before Write returns; concurrent writes share one
	// sync. A crash costs nothing that Write returned for.
	DurabilityEvent Durability = "event"
)

// Valid reports whether d is one of the levels; the empty one is the default.
func (d Durability) Valid() bool {
	switch d {
	case "", DurabilityNone, DurabilityClose, DurabilityEvent:
		return true
	}
	return false
}

// FullPolicy says what a Writer does when the disk refuses an event.
type FullPolicy string

const (
	// FullStop (the default) makes every later Write fail with the same error.
	FullStop FullPolicy = "stop"
	// FullContinue lets the run go on untraced: Write succeeds, nothing more is
	// stored, and Untraced and Close say so.
	FullContinue FullPolicy = "continue"
)

// Valid reports whether p is one of the policies; the empty one is the default.
func (p FullPolicy) Valid() bool {
	return p == "" || p == FullStop || p == FullContinue
}

// groupSync lets concurrent writers share one sync of a file.
type groupSync struct {
	mu     sync.Mutex
	synced int64
	err    error
}

// reach makes sure that everything up to the write number n is on disk.
// written gives the number of the newest write.
func (g *groupSync) reach(n int64, written func() int64, sync func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.synced >= n {
		return nil
	}
	if g.err != nil {
		return g.err
	}
	upTo := written()
	if err := sync(); err != nil {
		// After a failed sync nobody knows what is on disk: the error stays.
		g.err = fmt.Errorf("sync: %w", err)
		return g.err
	}
	g.synced = upTo
	return nil
}
