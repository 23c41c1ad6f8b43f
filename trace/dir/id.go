package dir

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Entropy makes the ids of one process rise: each is greater than the one
// before, even within a millisecond or after the clock was set back. It is safe
// for concurrent use.
type Entropy struct {
	mu   sync.Mutex
	src  *ulid.MonotonicEntropy
	last uint64 // the latest time part handed out, in ms
}

// NewEntropy returns an Entropy that draws from r, or from the system's secure
// source when r is nil.
func NewEntropy(r io.Reader) *Entropy {
	if r == nil {
		r = rand.Reader
	}
	return &Entropy{src: ulid.Monotonic(r, 0)}
}

// NewID returns a new run id: a canonical ULID of 26 upper-case characters,
// greater than every id that e gave before. It fails when the clock stands
// before 1970 or when the source of randomness does.
func NewID(now time.Time, e *Entropy) (string, error) {
	ms := now.UnixMilli()
	if ms < 0 || uint64(ms) > ulid.MaxTime() {
		return "", fmt.Errorf("make run id: time out of range: %w", ulid.ErrBigTime)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	at := max(uint64(ms), e.last)
	id, err := ulid.New(at, e.src)
	if errors.Is(err, ulid.ErrMonotonicOverflow) {
		at++ // this millisecond is used up; the next one is still greater
		id, err = ulid.New(at, e.src)
	}
	if err != nil {
		return "", fmt.Errorf("make run id: %w", err)
	}
	e.last = at
	return id.String(), nil
}

// ImportID returns the run id of an imported session: a canonical ULID whose
// time is the session's start and whose other 80 bits are from a SHA-256 of the
// parts that identify the source (such as its format and its own session id).
// The same session imported twice thus gets one id. A start outside what a ULID
// holds (a zero time too) becomes the nearest time it does hold.
func ImportID(start time.Time, parts ...string) string {
	ms := uint64(max(start.UnixMilli(), 0))
	ms = min(ms, ulid.MaxTime())

	// Lengths go in before the parts, so that ("a", "bc") and ("ab", "c")
	// differ; the first line keeps these hashes apart from any other use.
	buf := []byte("rax-import-id/1\n")
	for _, part := range parts {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	// Neither call can fail: the time is in range, the hash is long enough.
	return ulid.MustNew(ms, bytes.NewReader(sum[:])).String()
}

// IsID reports whether s is a run id as rax writes them: a canonical ULID,
// upper case, 26 characters.
func IsID(s string) bool {
	id, err := ulid.ParseStrict(s)
	return err == nil && id.String() == s
}

// isULID is IsID in either case, as people type ids.
func isULID(s string) bool {
	_, err := ulid.ParseStrict(s)
	return err == nil
}
