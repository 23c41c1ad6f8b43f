// Package dir keeps the trace directory: where traces are, what they are
// called, which one a person means, who is writing one, and which may go.
//
// It deals in file names, bytes and locks only; it never looks inside a trace.
//
//	<ULID>.jsonl        one root run, perhaps still being written
//	<ULID>.jsonl.zst    a closed run, compressed (frames cut at newlines)
//	<ULID>.jsonl.gz     a closed run, compressed by somebody else
//	prune.log.jsonl     what [Dir.Prune] took away, written before it did
//
// A [Dir] is one directory and the only thing that is ever written to; a
// [Search] looks into further directories too, read only.
//
// # Locks
//
// Whoever writes a trace holds an advisory exclusive lock on the trace file
// itself, on the very descriptor it writes through. There is no lock file
// beside it, so nothing is left lying about after a crash, a lock cannot go
// stale (the kernel drops it with the process) and it follows the file, not
// the name, which is what makes pruning beside a writer safe. On Unix it is
// flock(2); on Windows it is one byte far beyond any data, because a locked
// range there would keep readers out. Locks bind only those who ask: other
// tools take none, so their running traces are not known to be live.
package dir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The environment variables that name trace directories.
const (
	// EnvDir names the directory that rax writes to and reads.
	EnvDir = "RAX_TRACE_DIR"
	// EnvForeignDir names Reactive Agents' directory, which rax only reads.
	EnvForeignDir = "REACTIVE_AGENTS_TRACE_DIR"
)

// Dir is a trace directory. It need not exist: reading one that is missing
// finds nothing, and [Dir.Create] makes it.
type Dir struct {
	Path string
}

// Default returns the path of the trace directory: $RAX_TRACE_DIR, else
// ~/.rax/traces. An empty variable counts as unset. The environment is read
// only through env and home (os.Getenv and os.UserHomeDir in production); home
// is asked only when it is needed.
func Default(env func(string) string, home func() (string, error)) (string, error) {
	if path := env(EnvDir); path != "" {
		return filepath.Clean(path), nil
	}
	base, err := home()
	if err == nil && base == "" {
		err = errors.New("empty home directory")
	}
	if err != nil {
		return "", fmt.Errorf("locate trace directory (set %s): %w", EnvDir, err)
	}
	return filepath.Join(base, ".rax", "traces"), nil
}

// openRoot opens the directory such that no name used below it can lead out,
// whatever symbolic links are put there meanwhile.
func (d Dir) openRoot() (*os.Root, error) {
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return nil, fmt.Errorf("open trace directory: %w", err)
	}
	return root, nil
}

// make creates the directory, for this user only, where it is missing.
func (d Dir) make() error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return fmt.Errorf("make trace directory: %w", err)
	}
	return nil
}
