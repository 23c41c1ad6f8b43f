package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rax-project/rax/trace/safety"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// fixtures are the golden traces; there is one rule for all of them: no later
// version may read them otherwise.
func fixtures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("../fixtures/trace/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures found: %v", err)
	}
	return names
}

// dataFolder finds the recordings, which are not part of the project.
func dataFolder(t testing.TB, sub string) string {
	t.Helper()
	root := os.Getenv("RAX_DATA")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for root == "" && dir != filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "shared", "data")); err == nil {
				root = filepath.Join(dir, "shared", "data")
			}
			dir = filepath.Dir(dir)
		}
	}
	path := filepath.Join(root, sub)
	if _, err := os.Stat(path); root == "" || err != nil {
		t.Skip("the recordings are not here; set RAX_DATA to their folder")
	}
	return path
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readAll reads a whole stream and keeps what it yields.
func readAll(data []byte, opt ReaderOptions) (records []Record, errs []error) {
	return drain(bytes.NewReader(data), opt)
}

func drain(in io.Reader, opt ReaderOptions) (records []Record, errs []error) {
	for rec, err := range NewReader(in, "test.jsonl", opt).All() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		records = append(records, rec.Clone())
	}
	return records, errs
}

// recordsOf reads a trace that must be without fault.
func recordsOf(t testing.TB, data []byte) []Record {
	t.Helper()
	records, errs := readAll(data, ReaderOptions{})
	if len(errs) > 0 {
		t.Fatalf("reading: %v", errors.Join(errs...))
	}
	return records
}

func linesOf(records []Record) []string {
	lines := make([]string, len(records))
	for i, r := range records {
		lines[i] = string(r.Bytes())
	}
	return lines
}

// decoded decodes one line that must be an event.
func decoded(t testing.TB, line string) (Event, []Warning) {
	t.Helper()
	ev, warnings, err := Decode(Record{line: []byte(line)})
	if err != nil {
		t.Fatalf("decoding: %v", err)
	}
	return ev, warnings
}

// memory is a File in memory.
type memory struct {
	bytes.Buffer
	syncs  int
	closed bool
}

func (m *memory) Sync() error { m.syncs++; return nil }

func (m *memory) Truncate(size int64) error { m.Buffer.Truncate(int(size)); return nil }

func (m *memory) Close() error {
	if m.closed {
		return os.ErrClosed
	}
	m.closed = true
	return nil
}

func newWriter(t testing.TB, file File, opt WriterOptions) *Writer {
	t.Helper()
	if opt.Now == nil {
		opt.Now = func() time.Time { return time.UnixMilli(1_767_225_600_000) }
	}
	w, err := NewWriter(file, opt)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// written writes events to memory and returns the file and the records.
func written(t testing.TB, events ...Event) ([]byte, []Record) {
	t.Helper()
	var file memory
	w := newWriter(t, &file, WriterOptions{Name: "test.jsonl"})
	var records []Record
	for _, ev := range events {
		rec, err := w.Write(ev)
		if err != nil {
			t.Fatalf("writing %s: %v", ev.EventKind(), err)
		}
		records = append(records, rec)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), records
}

// encoded gives the line of an event in which safety finds nothing.
func encoded(t testing.TB, ev Event) []byte {
	t.Helper()
	enc := encoder{session: safety.Default().Session()}
	if err := enc.event(ev); err != nil {
		t.Fatal(err)
	}
	if len(enc.findings) > 0 {
		t.Errorf("safety finds %v", enc.findings)
	}
	return enc.buf
}

// filled gives an event of a kind in which every field has a value of its own.
func filled(k Kind) Event {
	ev := New(k)
	n := 0
	fill(reflect.ValueOf(ev).Elem(), &n)
	ev.Common().Extra = []Member{
		{"x-object", json.RawMessage(`{ "b":1e2, "a":"A", "kind":"nested" }`)},
		{"a-null", json.RawMessage(`null`)},
		{"RunId", json.RawMessage(`"names are case-sensitive"`)},
	}
	return ev
}

func fill(v reflect.Value, n *int) {
	*n++
	if v.Type() == rawType {
		v.SetBytes(fmt.Appendf(nil, `{"raw":%d}`, *n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.25)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key := reflect.ValueOf(fmt.Sprintf("key %d", *n))
			elem := reflect.New(v.Type().Elem()).Elem()
			fill(elem, n)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Extra" {
				fill(v.Field(i), n)
			}
		}
	default:
		panic("no filling for " + v.Type().String())
	}
}

// names lists the members of a line in order.
func names(line []byte) []string {
	var list []string
	walkMembers(line, func(name []byte, _, _ int) { list = append(list, string(name)) })
	return list
}

// damages lists the damage of the syntax errors, and fails on any other error.
func damages(t testing.TB, errs []error) []Damage {
	t.Helper()
	var list []Damage
	for _, err := range errs {
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("not a syntax error: %v", err)
		}
		list = append(list, syntax.Damage)
	}
	return list
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %.4000s\nwant %.4000s", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}
