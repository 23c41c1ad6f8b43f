package dir_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
)

// TestEverybodyAtOnce lets two writers, a reader and a prune that removes and
// compresses all it may work in one directory: no event is lost, no reader sees
// worse than a torn end, and a second writer of one trace is refused.
func TestEverybodyAtOnce(t *testing.T) {
	d := dir.Dir{Path: t.TempDir()}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	const events = 300
	var ids []string
	entropy := dir.NewEntropy(nil)
	for range 2 {
		id, err := dir.NewID(now, entropy)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}

	begun := make(chan struct{}, len(ids))
	var writers, others sync.WaitGroup
	for _, id := range ids {
		writers.Go(func() {
			defer func() { begun <- struct{}{} }()
			file, err := d.Create(id)
			if err != nil {
				t.Error(err)
				return
			}
			w, err := trace.NewWriter(file, trace.WriterOptions{Name: id, Durability: trace.DurabilityNone})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range events {
				ev := &trace.Metric{Name: "n", Value: float64(i)}
				ev.RunID = id
				if _, err := w.Write(ev); err != nil {
					t.Error(err)
				}
				if i == 0 {
					begun <- struct{}{}
				}
			}
			var locked *dir.LockedError
			if _, err := d.OpenAppend(id); !errors.As(err, &locked) {
				t.Errorf("a second writer of %s: %v", id, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for range ids {
		<-begun
	}
	done := make(chan struct{})
	until := func(work func()) {
		others.Go(func() {
			for {
				work()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	until(func() {
		for _, id := range ids {
			entry, err := d.Find(id)
			if err == nil {
				read(t, entry.Path)
			}
		}
	})
	// Nothing is young to this prune: only the locks save the traces.
	stop := make(chan struct{})
	until(func() {
		select {
		case <-stop:
			return
		default:
		}
		if rep, err := d.Prune(dir.PruneOptions{OlderThan: time.Nanosecond, Now: time.Now().AddDate(1, 0, 0), DryRun: true}); err != nil {
			t.Error(rep, err)
		}
		if rep, err := d.Prune(dir.PruneOptions{CompressAfter: time.Nanosecond, Now: time.Now().AddDate(1, 0, 0)}); err != nil {
			t.Error(rep, err)
		}
	})
	writers.Wait()
	close(stop)
	close(done)
	others.Wait()

	for _, id := range ids {
		entry, err := d.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		if n := read(t, entry.Path); n != events {
			t.Errorf("%s holds %d events, want %d", filepath.Base(entry.Path), n, events)
		}
	}
}

// read counts the events of a trace, which must be the first of those written.
func read(t *testing.T, path string) int {
	in, err := os.Open(path)
	if err != nil {
		return 0 // compressed meanwhile: the next round finds the other form
	}
	defer in.Close()
	n, torn := 0, 0
	for rec, err := range trace.NewReader(in, filepath.Base(path), trace.ReaderOptions{}).All() {
		var bad *trace.SyntaxError
		if errors.As(err, &bad) && bad.Damage == trace.Torn {
			torn++
			continue
		}
		if err != nil {
			t.Error(err)
			return n
		}
		if row, err := trace.RowOf(rec); err != nil || row.Int(trace.FieldSeq) != int64(n) {
			t.Errorf("%s: event %d has another number: %v", rec.Place(), n, err)
			return n
		}
		n++
	}
	if torn > 1 {
		t.Errorf("%s: %d torn ends", path, torn)
	}
	return n
}
