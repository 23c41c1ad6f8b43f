package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rax-project/rax/trace/safety"
)

// TestFixturesAreReadAsEver compares what the golden traces decode to with what
// they decoded to when they were made. A later version must not change it.
func TestFixturesAreReadAsEver(t *testing.T) {
	for _, path := range fixtures(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		got := describe(t, name, readFile(t, path))
		golden := filepath.Join("testdata", "decoded", name+".golden")
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want := readFile(t, golden); !bytes.Equal(got, want) {
			t.Errorf("%s is read otherwise than before (-update writes the golden anew)\n%s", name, firstDifference(got, want))
		}
	}
}

// describe writes what a trace decodes to, a line a field.
func describe(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for rec, err := range NewReader(bytes.NewReader(data), name, ReaderOptions{}).All() {
		if err != nil {
			fmt.Fprintf(&out, "! %v\n", err)
			continue
		}
		ev, warnings, err := Decode(rec)
		if err != nil {
			t.Fatalf("%s: %v", rec.Place(), err)
		}
		fmt.Fprintf(&out, "%s %T\n", ev.EventKind(), ev)
		v := reflect.ValueOf(ev).Elem()
		for _, f := range planOf(v.Type()).fields {
			if field := v.FieldByIndex(f.index); !field.IsZero() {
				value, err := json.Marshal(field.Interface())
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "  %s = %s\n", f.name, value)
			}
		}
		for _, m := range ev.Common().Extra {
			fmt.Fprintf(&out, "  + %s = %s\n", m.Name, m.Value)
		}
		for _, w := range warnings {
			fmt.Fprintf(&out, "  ! %s\n", w)
		}
	}
	return out.Bytes()
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %.500s\nwant %.500s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestFixturesAreWhatTheWriterWrites: the golden traces of rax's own format are
// byte for byte what the encoder makes of their events.
func TestFixturesAreWhatTheWriterWrites(t *testing.T) {
	for _, name := range append([]string{"killed"}, goodFixtures...) {
		records, _ := readAll(readFile(t, "../fixtures/trace/"+name+".jsonl"), ReaderOptions{})
		for i, rec := range records {
			ev, warnings, err := Decode(rec)
			if err != nil || len(warnings) > 0 || len(ev.Common().Extra) > 0 {
				t.Fatalf("%s:%d: %v %v %v", name, i+1, err, warnings, ev.Common().Extra)
			}
			if line := encoded(t, ev); !bytes.Equal(line, rec.Bytes()) {
				t.Errorf("%s:%d:\n    has %s\nencoded %s", name, i+1, rec.Bytes(), line)
			}
		}
	}
}

func TestFixtureStamps(t *testing.T) {
	for _, path := range fixtures(t) {
		records, _ := readAll(readFile(t, path), ReaderOptions{})
		for _, rec := range records {
			ev, _, err := Decode(rec)
			start, ok := ev.(*RunStarted)
			if err != nil || !ok {
				continue
			}
			foreign := strings.Contains(path, "foreign")
			if stamped := start.Safety == safety.Version && start.Format == Format; stamped == foreign {
				t.Errorf("%s:%d: format %q, safety %q", path, rec.Place().Line, start.Format, start.Safety)
			}
		}
	}
}

// TestAllKinds: the golden trace of that name has an event of every kind.
func TestAllKinds(t *testing.T) {
	seen := make(map[Kind]bool)
	for _, rec := range recordsOf(t, readFile(t, "../fixtures/trace/all-kinds.jsonl")) {
		row, err := RowOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		seen[row.Kind()] = true
	}
	for _, kind := range Kinds() {
		if !seen[kind] {
			t.Errorf("no %s", kind)
		}
	}
}

// TestOriginsPointAtTheText: an origin in the golden traces covers the very
// characters of the text that it belongs to.
func TestOriginsPointAtTheText(t *testing.T) {
	checked := 0
	for _, path := range fixtures(t) {
		records, _ := readAll(readFile(t, path), ReaderOptions{})
		bySeq := make(map[int64]Record)
		for _, rec := range records {
			row, err := RowOf(rec)
			if err != nil {
				t.Fatal(err)
			}
			bySeq[row.Int(FieldSeq)] = rec
			narrative := row.Str(FieldNarrative)
			reason := row.Rationale(FieldRationale)
			if o := row.Origin(FieldNarrativeOrigin); o != nil {
				checked++
				if text, ok := Pointer(bySeq[*o.Event], o.Field); !ok || text[o.Start:o.End] != narrative {
					t.Errorf("%s:%d: the narrative is not at %+v", path, rec.Place().Line, o)
				}
			}
			if o := row.Origin(FieldOrigin); o != nil && reason != nil {
				checked++
				if text, ok := Pointer(bySeq[*o.Event], o.Field); !ok || text[o.Start:o.End] != reason.Why {
					t.Errorf("%s:%d: the reason is not at %+v", path, rec.Place().Line, o)
				}
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d origins were checked", checked)
	}
}

// TestForeignFixtureIsOdd keeps the oddities that the fixture is for.
func TestForeignFixtureIsOdd(t *testing.T) {
	var seqs []int64
	var iters []int
	gap := false
	for _, rec := range recordsOf(t, readFile(t, "../fixtures/trace/foreign.jsonl")) {
		row, err := RowOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		if row.Has(FieldCallID) || row.Has(FieldFormat) || row.Has(FieldSafety) {
			t.Errorf("line %d has what only rax writes", rec.Place().Line)
		}
		seq := row.Int(FieldSeq)
		gap = gap || len(seqs) > 0 && seq > seqs[len(seqs)-1]+1
		seqs = append(seqs, seq)
		if k := row.Kind(); k == KindToolCallStart || k == KindToolCallEnd {
			iters = append(iters, row.Iter())
		}
	}
	if seqs[0] == 0 || !gap {
		t.Errorf("the seqs are %v", seqs)
	}
	equal(t, "iterations of starts and ends", iters, []int{0, NoIter, 1, NoIter})
}
