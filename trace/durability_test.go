package trace

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

func TestSyncCounts(t *testing.T) {
	const events = 5
	want := map[Durability][2]int{ // syncs after the writes, and after Close
		DurabilityNone:  {0, 0},
		DurabilityClose: {0, 1},
		"":              {0, 1},
		DurabilityEvent: {events, events},
	}
	for level, want := range want {
		var d disk
		w := newWriter(t, &d, WriterOptions{Durability: level})
		for i := range events {
			if _, err := w.Write(step("r", i)); err != nil {
				t.Fatal(err)
			}
		}
		_, written := d.counts()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, closed := d.counts(); written != want[0] || closed != want[1] {
			t.Errorf("%q: %d syncs, %d after Close, want %v", level, written, closed, want)
		}
	}
}

// TestGroupCommit lets the first sync wait until everybody has written: the
// others then need one more sync between them.
func TestGroupCommit(t *testing.T) {
	const writers = 16
	var d disk
	first := true
	d.onSync = func(d *disk) {
		for first {
			runtime.Gosched()
			if writes, _ := d.counts(); writes == writers {
				first = false
			}
		}
	}
	w := newWriter(t, &d, WriterOptions{Durability: DurabilityEvent})
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if _, err := w.Write(step("r", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, syncs := d.counts(); syncs != 2 {
		t.Errorf("%d syncs for %d events written together, want 2", syncs, writers)
	}
	if left, damage := steps(t, d.crash(0)); len(left) != writers || len(damage) > 0 {
		t.Errorf("a crash leaves %d events, damage %v", len(left), damage)
	}
}

// TestCrash stops the machine after each event: nothing that the level
// acknowledged is lost, and what is left can be read.
func TestCrash(t *testing.T) {
	const events = 6
	for _, level := range []Durability{DurabilityNone, DurabilityClose, DurabilityEvent} {
		for stop := range events + 1 {
			var d disk
			w := newWriter(t, &d, WriterOptions{Durability: level})
			for i := range stop {
				if _, err := w.Write(step("r", i)); err != nil {
					t.Fatal(err)
				}
			}
			safe := 0
			if level == DurabilityEvent {
				safe = stop
			}
			if stop == events {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if level == DurabilityClose {
					safe = stop
				}
			}
			for part := range 200 {
				got, damage := steps(t, d.crash(part))
				if len(got) < safe {
					t.Fatalf("%s: %d of %d acknowledged events after a crash", level, len(got), safe)
				}
				if len(damage) > 1 || len(damage) == 1 && damage[0] != Torn {
					t.Fatalf("%s: damage %v", level, damage)
				}
			}
		}
	}
}

// TestNotesAreDurable: what safety notes about an event is as safe as the event.
func TestNotesAreDurable(t *testing.T) {
	var d disk
	w := newWriter(t, &d, WriterOptions{Durability: DurabilityEvent})
	if _, err := w.Write(&TurnStarted{Base: Base{RunID: "r"}, Input: "use " + secret}); err != nil {
		t.Fatal(err)
	}
	if records := recordsOf(t, d.crash(0)); len(records) != 2 {
		t.Errorf("%d events are safe, want the event and its note", len(records))
	}
}

// TestFailingSync: after a sync that failed nobody knows what is on the disk, so
// nothing is acknowledged any more.
func TestFailingSync(t *testing.T) {
	for _, full := range []FullPolicy{FullStop, FullContinue} {
		var d disk
		w := newWriter(t, &d, WriterOptions{Name: "x.jsonl", Durability: DurabilityEvent, Full: full})
		if _, err := w.Write(step("r", 0)); err != nil {
			t.Fatal(err)
		}
		d.syncErr = syscall.EIO
		for i := range 2 {
			_, err := w.Write(step("r", i+1))
			if full == FullStop && !errors.Is(err, syscall.EIO) || full == FullContinue && err != nil {
				t.Errorf("%s: Write says %v", full, err)
			}
		}
		d.syncErr = nil
		if _, err := w.Write(step("r", 3)); (err == nil) != (full == FullContinue) {
			t.Errorf("%s: a later Write says %v", full, err)
		}
		if lost, why := w.Untraced(); lost == 0 || !errors.Is(why, syscall.EIO) {
			t.Errorf("%s: %d events untraced, because of %v", full, lost, why)
		}
		if err := w.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: Close says %v", full, err)
		}
		if got, damage := steps(t, d.crash(0)); len(got) < 1 || len(damage) > 0 {
			t.Errorf("%s: a crash leaves %v, %v", full, got, damage)
		}
	}
}

// TestFailingSyncSparesWhatIsSafe: a Write whose event was synced before the
// failure is acknowledged, even if it asks afterwards.
func TestFailingSyncSparesWhatIsSafe(t *testing.T) {
	var g groupSync
	two := func() int64 { return 2 }
	if err := g.reach(1, two, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := g.reach(3, func() int64 { return 3 }, func() error { return syscall.EIO }); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failing sync says %v", err)
	}
	if err := g.reach(2, two, func() error { return nil }); err != nil {
		t.Errorf("write 2 was safe before: %v", err)
	}
	if err := g.reach(4, func() int64 { return 4 }, func() error { return nil }); !errors.Is(err, syscall.EIO) {
		t.Errorf("write 4 says %v", err)
	}
}

// TestCloseDuringSync closes the Writer while a Write waits for its sync: the
// event is safe and the Write says so.
func TestCloseDuringSync(t *testing.T) {
	for range 50 {
		var d disk
		w := newWriter(t, &d, WriterOptions{Durability: DurabilityEvent})
		var wg sync.WaitGroup
		acknowledged := make(chan int, 8)
		for i := range cap(acknowledged) {
			wg.Go(func() {
				switch _, err := w.Write(step("r", i)); {
				case err == nil:
					acknowledged <- i
				case !errors.Is(err, ErrClosed):
					t.Errorf("Write says %v", err)
				}
			})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		close(acknowledged)
		left := d.crash(0)
		for i := range acknowledged {
			if !bytes.Contains(left, fmt.Appendf(nil, `"iter":%d,`, i)) {
				t.Errorf("event %d was acknowledged and lost", i)
			}
		}
	}
}

// TestFullDisk fills the disk in the middle of each line.
func TestFullDisk(t *testing.T) {
	var whole disk
	w := newWriter(t, &whole, WriterOptions{})
	for i := range 4 {
		if _, err := w.Write(step("r", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for _, full := range []FullPolicy{FullStop, FullContinue} {
			for room := 1; room < len(whole.data); room++ {
				fillDisk(t, &disk{room: room, writeErr: cause}, whole.data[:room], cause, full)
			}
		}
	}
}

// fillDisk writes four events to a disk without room for all. fits is what of
// them has room.
func fillDisk(t *testing.T, d *disk, fits []byte, cause error, full FullPolicy) {
	t.Helper()
	room := bytes.Count(fits, []byte("\n"))
	w := newWriter(t, d, WriterOptions{Name: "x.jsonl", Full: full})
	for i := range 4 {
		rec, err := w.Write(step("r", i))
		switch {
		case i < room || full == FullContinue:
			if err != nil || !bytes.Contains(rec.Bytes(), fmt.Appendf(nil, `"iter":%d,`, i)) {
				t.Fatalf("room for %d: event %d is %s, error %v", room, i, rec.Bytes(), err)
			}
			if stored := i < room; stored != (rec.Place() != Place{}) {
				t.Fatalf("room for %d: event %d is at %+v", room, i, rec.Place())
			}
		case !errors.Is(err, cause):
			t.Fatalf("room for %d: event %d says %v", room, i, err)
		}
	}
	if lost, why := w.Untraced(); lost != int64(4-room) || !errors.Is(why, cause) {
		t.Fatalf("room for %d: %d events untraced, because of %v", room, lost, why)
	}
	if err := w.Close(); !errors.Is(err, cause) {
		t.Fatalf("room for %d: Close says %v", room, err)
	}
	if got, damage := steps(t, d.data); len(got) != room || len(damage) > 0 {
		t.Fatalf("room for %d: the file holds %v, damage %v", room, got, damage)
	}
}

// TestFullDiskThatCannotBeTruncated leaves half a line, which a reader finds
// torn, and says both.
func TestFullDiskThatCannotBeTruncated(t *testing.T) {
	d := &disk{room: 150, truncErr: syscall.EROFS}
	w := newWriter(t, d, WriterOptions{})
	if _, err := w.Write(step("r", 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(step("r", 1)); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EROFS) {
		t.Errorf("Write says %v", err)
	}
	got, damage := steps(t, d.data)
	if len(got) != 1 {
		t.Errorf("the file holds %v", got)
	}
	equal(t, "damage", damage, []Damage{Torn})
}

// TestCloseSaysEverything: a refused write and a refused close are both told.
func TestCloseSaysEverything(t *testing.T) {
	d := &disk{room: 10, closeErr: syscall.EDQUOT}
	w := newWriter(t, d, WriterOptions{Full: FullContinue})
	if _, err := w.Write(step("r", 0)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("Close says %v", err)
	}
	d = &disk{syncErr: syscall.EIO, closeErr: syscall.EDQUOT}
	w = newWriter(t, d, WriterOptions{})
	if _, err := w.Write(step("r", 0)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, syscall.EIO) || !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("Close says %v", err)
	}
}
