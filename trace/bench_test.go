package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
)

// benchEvents are the two sizes that traces are made of: decisions, and what the
// tools gave back.
func benchEvents() map[string]Event {
	confidence := 0.75
	prose := strings.Repeat("The build log goes on with a line that names a file and a number. ", 120)
	result, err := json.Marshal(prose)
	if err != nil {
		panic(err)
	}
	return map[string]Event{
		"small": &ToolCallStart{
			Base: Base{RunID: "01KDVSG000BENC000000000001", Timestamp: 1_767_225_600_000, Iter: 3, CallID: "c12"}, ToolName: "read_file",
			RationaleStatus: rationale.Present, RationaleSource: rationale.SourceBlock,
			Rationale: &rationale.Rationale{Why: "the test names this file as the place of the failure", Refs: []string{"obs:4"}, Confidence: &confidence},
			Args:      json.RawMessage(`{"path":"internal/store/open.go","limit":200}`),
		},
		"8KB": &ToolCallEnd{
			Base:     Base{RunID: "01KDVSG000BENC000000000001", Timestamp: 1_767_225_600_000, Iter: 3, CallID: "c12"},
			ToolName: "read_file", Outcome: "8 KB", Result: result,
		},
	}
}

var benchSizes = []string{"small", "8KB"}

// benchTrace is a stamped or foreign trace of a few megabytes.
func benchTrace(b *testing.B, stamped bool) []byte {
	b.Helper()
	var out bytes.Buffer
	if stamped {
		fmt.Fprintf(&out, `{"kind":"run-started","runId":"01KDVSG000BENC000000000001","seq":0,"safety":%q}`+"\n", safety.Version)
	}
	events := benchEvents()
	small, large := encoded(b, events["small"]), encoded(b, events["8KB"])
	for out.Len() < 4<<20 {
		for range 4 {
			out.Write(append(small, '\n'))
		}
		out.Write(append(large, '\n'))
	}
	return out.Bytes()
}

// BenchmarkReader: "foreign" is scrubbed as well; "baseline=validate" is what
// reading lines and validating them costs without anything else.
func BenchmarkReader(b *testing.B) {
	for _, name := range []string{"stamped", "foreign"} {
		b.Run(name, func(b *testing.B) {
			data := benchTrace(b, name == "stamped")
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range NewReader(bytes.NewReader(data), "bench", ReaderOptions{}).All() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	b.Run("baseline=validate", func(b *testing.B) {
		data := benchTrace(b, true)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for line := range bytes.SplitSeq(data, []byte("\n")) {
				if len(line) > 0 && !json.Valid(line) {
					b.Fatal("invalid")
				}
			}
		}
	})
}

// BenchmarkDecode: "baseline=json" decodes the same line into the same type with
// encoding/json.
func BenchmarkDecode(b *testing.B) {
	events := benchEvents()
	for _, size := range benchSizes {
		line := encoded(b, events[size])
		rec := Record{line: line}
		b.Run(size+"/RowOf", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				row, err := RowOf(rec)
				if err != nil || row.Str(FieldToolName) == "" {
					b.Fatal(err)
				}
			}
		})
		b.Run(size+"/Decode", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Decode(rec); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size+"/baseline=json", func(b *testing.B) {
			kind := events[size].EventKind()
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if err := json.Unmarshal(line, New(kind)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// discard is a File that keeps nothing.
type discard struct{ io.Writer }

func (discard) Sync() error          { return nil }
func (discard) Truncate(int64) error { return nil }
func (discard) Close() error         { return nil }

// BenchmarkWriter: "baseline=json" encodes with encoding/json, which neither
// scrubs nor keeps the order of the format.
func BenchmarkWriter(b *testing.B) {
	events := benchEvents()
	for _, size := range benchSizes {
		ev := events[size]
		n := int64(len(encoded(b, ev)))
		b.Run(size+"/Write", func(b *testing.B) {
			w, err := NewWriter(discard{io.Discard}, WriterOptions{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Write(ev); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size+"/baseline=json", func(b *testing.B) {
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				line, err := json.Marshal(ev)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Discard.Write(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
