package trace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
)

// step is an event that is told from others by its number.
func step(run string, n int) *Metric {
	return &Metric{Base: Base{RunID: run, Iter: n}, Name: "step", Value: float64(n)}
}

// steps lists the numbers of the steps in a stream, in order.
func steps(t testing.TB, data []byte) (numbers []int, damage []Damage) {
	t.Helper()
	records, errs := readAll(data, ReaderOptions{})
	for _, rec := range records {
		row, err := RowOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, row.Iter())
	}
	return numbers, damages(t, errs)
}

func TestWriterSeqAndPlaces(t *testing.T) {
	var d disk
	w := newWriter(t, &d, WriterOptions{Name: "x.jsonl", Producer: "rax test"})
	var stored []Record
	for i, run := range []string{"root", "root", "child", "root", "child"} {
		ev := step(run, i)
		rec, err := w.Write(ev)
		if err != nil || ev.Seq != int64(i) {
			t.Fatalf("event %d has seq %d, error %v", i, ev.Seq, err)
		}
		stored = append(stored, rec)
	}
	if writes, _ := d.counts(); writes != len(stored) {
		t.Errorf("%d writes for %d events", writes, len(stored))
	}
	var read []Record
	for rec, err := range NewReader(bytes.NewReader(d.data), "x.jsonl", ReaderOptions{}).All() {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, rec.Clone())
	}
	if !reflect.DeepEqual(read, stored) {
		t.Errorf("stored %v\n  read %v", stored, read)
	}
}

// TestWriterContinues appends to a file that holds events already.
func TestWriterContinues(t *testing.T) {
	var d disk
	w := newWriter(t, &d, WriterOptions{})
	for i := range 3 {
		if _, err := w.Write(step("r", i)); err != nil {
			t.Fatal(err)
		}
	}
	d.room = len(d.data) + 30
	w = newWriter(t, &d, WriterOptions{NextSeq: 3, Line: 3, Offset: int64(len(d.data)), Full: FullContinue})
	if _, err := w.Write(step("r", 3)); err != nil {
		t.Fatal(err)
	}
	if got, damage := steps(t, d.data); len(got) != 3 || len(damage) > 0 {
		t.Errorf("a refused event left %v, %v", got, damage)
	}
	d.room = 0
	w = newWriter(t, &d, WriterOptions{NextSeq: 3, Line: 3, Offset: int64(len(d.data))})
	rec, err := w.Write(step("r", 3))
	if err != nil || rec.Place().Line != 4 || !bytes.Contains(rec.Bytes(), []byte(`"seq":3,`)) {
		t.Errorf("the fourth event is %s at %v, error %v", rec.Bytes(), rec.Place(), err)
	}
}

func TestWriterStamps(t *testing.T) {
	now := time.UnixMilli(1_767_225_600_123)
	var d disk
	w := newWriter(t, &d, WriterOptions{Producer: "rax test", Now: func() time.Time { return now }})
	first := &RunStarted{Base: Base{RunID: "a"}, Safety: "forged/9"}
	second := &RunStarted{Base: Base{RunID: "b", Timestamp: 7}, Format: "rax-trace/1", Producer: "other"}
	for _, ev := range []Event{first, second} {
		if _, err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if first.Format != Format || first.Producer != "rax test" || first.Safety != safety.Version || first.Timestamp != now.UnixMilli() {
		t.Errorf("the first start is %+v", first)
	}
	if second.Producer != "other" || second.Safety != safety.Version || second.Timestamp != 7 {
		t.Errorf("the second start is %+v", second)
	}
}

func TestWriterAfterClose(t *testing.T) {
	var d disk
	w := newWriter(t, &d, WriterOptions{})
	rec, err := w.Write(step("r", 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(step("r", 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if _, err := w.Copy(rec); !errors.Is(err, ErrClosed) {
		t.Errorf("Copy after Close: %v", err)
	}
	if err := w.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if got, _ := steps(t, d.data); len(got) != 1 {
		t.Errorf("the file holds %v", got)
	}
}

func TestWriterOptions(t *testing.T) {
	for _, opt := range []WriterOptions{{Durability: "always"}, {Full: "ignore"}} {
		if _, err := NewWriter(&disk{}, opt); err == nil {
			t.Errorf("%+v was taken", opt)
		}
	}
	for _, level := range []Durability{"", DurabilityNone, DurabilityClose, DurabilityEvent} {
		for _, full := range []FullPolicy{"", FullStop, FullContinue} {
			if _, err := NewWriter(&disk{}, WriterOptions{Durability: level, Full: full}); err != nil {
				t.Errorf("%q and %q: %v", level, full, err)
			}
		}
	}
}

// TestWriterLeavesTheEvent: but for Seq, Timestamp and stamps an event is as its
// owner made it, even when what was stored is not.
func TestWriterLeavesTheEvent(t *testing.T) {
	make := func() *ToolCallStart {
		return &ToolCallStart{
			Base: Base{RunID: "r", Timestamp: 1}, ToolName: "t", Narrative: "use " + secret,
			Rationale: &rationale.Rationale{Why: "see " + privateKey(), Refs: []string{secret}},
			Args:      []byte(`{"a": "` + secret + `"}`),
		}
	}
	ev := make()
	data, _ := written(t, ev)
	if bytes.Contains(data, []byte(secret)) {
		t.Errorf("not scrubbed: %s", data)
	}
	if !reflect.DeepEqual(ev, make()) {
		t.Errorf("the event became %+v", ev)
	}
}

func TestCopy(t *testing.T) {
	source := readFile(t, "../fixtures/trace/foreign.jsonl")
	records := recordsOf(t, source)
	var d disk
	w := newWriter(t, &d, WriterOptions{Name: "copy.jsonl", Durability: DurabilityEvent})
	for i, rec := range records {
		stored, err := w.Copy(rec)
		if err != nil || stored.Place().Line != i+1 || stored.Place().Name != "copy.jsonl" {
			t.Fatalf("copy %d at %v: %v", i, stored.Place(), err)
		}
		clear(rec.line) // the copy has memory of its own
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(d.data, source) {
		t.Errorf("copied %s\n  from %s", d.data, source)
	}
	if writes, syncs := d.counts(); writes != len(records) || syncs != len(records) {
		t.Errorf("%d writes, %d syncs for %d records", writes, syncs, len(records))
	}
	w = newWriter(t, &d, WriterOptions{})
	for _, line := range []string{"", "{}\n{}", "{\n}"} {
		if _, err := w.Copy(Record{line: []byte(line)}); err == nil {
			t.Errorf("%q was copied", line)
		}
	}
}

func TestWriterTogether(t *testing.T) {
	const writers, each = 16, 50
	for _, level := range []Durability{DurabilityNone, DurabilityEvent} {
		var d disk
		w := newWriter(t, &d, WriterOptions{Durability: level})
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				for n := range each {
					ev := step(fmt.Sprintf("run-%d", i), n)
					rec, err := w.Write(ev)
					if err != nil || !bytes.Contains(rec.Bytes(), fmt.Appendf(nil, `"seq":%d,`, ev.Seq)) {
						t.Errorf("%s: %s, error %v", level, rec.Bytes(), err)
					}
				}
			})
		}
		wg.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		next := make(map[string]int)
		for i, rec := range recordsOf(t, d.data) {
			row, err := RowOf(rec)
			if err != nil {
				t.Fatal(err)
			}
			run := row.Str(FieldRunID)
			if row.Int(FieldSeq) != int64(i) || row.Iter() != next[run] {
				t.Fatalf("line %d is step %d of %s with seq %d", i+1, row.Iter(), run, row.Int(FieldSeq))
			}
			next[run]++
		}
		if len(next) != writers {
			t.Errorf("%d runs", len(next))
		}
	}
}

// TestReaderBesideWriter reads a file while it is written: whole events only,
// and nothing worse than a torn end.
func TestReaderBesideWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.jsonl")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(t, file, WriterOptions{})
	const events = 400
	done := make(chan error, 1)
	go func() {
		pad := strings.Repeat("x", 3000)
		for i := range events {
			ev := step("r", i)
			ev.Labels = map[string]string{"pad": pad}
			if _, err := w.Write(ev); err != nil {
				done <- err
				return
			}
		}
		done <- w.Close()
	}()
	for finished := false; !finished; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			finished = true
		default:
		}
		got, damage := steps(t, readFile(t, path))
		for i, n := range got {
			if n != i {
				t.Fatalf("event %d is step %d", i, n)
			}
		}
		if len(damage) > 1 || len(damage) == 1 && damage[0] != Torn {
			t.Fatalf("damage %v", damage)
		}
		if finished && (len(got) != events || len(damage) > 0) {
			t.Fatalf("at the end %d events, damage %v", len(got), damage)
		}
	}
}
