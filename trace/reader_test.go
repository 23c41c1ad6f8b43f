package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/rax-project/rax/trace/safety"
)

func TestReaderLines(t *testing.T) {
	const a, b, c = `{"kind":"a"}`, `{"kind":"b","s":"}{"}`, `{"kind":"c"}`
	tests := []struct {
		name string
		in   string
		want []string // "line@offset object" or "line@offset damage", in order
	}{
		{"empty", "", nil},
		{"only newlines", "\n\n\r\n", nil},
		{"one line", a + "\n", []string{"1@0 " + a}},
		{"no newline at the end", a + "\n" + b, []string{"1@0 " + a, "2@13 " + b}},
		{"CRLF", a + "\r\n" + b + "\r\n", []string{"1@0 " + a, "2@14 " + b}},
		{"BOM", "\ufeff" + a + "\n", []string{"1@3 " + a}},
		{"only a BOM", "\ufeff", nil},
		{"white space around", " \t" + a + " \n", []string{"1@2 " + a}},
		{"blank lines", "\n" + a + "\n \t\n" + b + "\n\n", []string{"2@1 " + a, "4@17 " + b}},
		{"two on a line", a + b + "\n" + c, []string{"1@0 joined", "1@0 " + a, "1@12 " + b, "2@34 " + c}},
		{"two on the last line", a + " " + b, []string{"1@0 joined", "1@0 " + a, "1@13 " + b}},
		{"whole and torn", a + b[:5], []string{"1@12 torn", "1@0 " + a}},
		{"whole and broken", a + b[:5] + "\n" + c, []string{"1@12 corrupt", "1@0 " + a, "2@18 " + c}},
		{"whole and foreign", a + " null\n" + c, []string{"1@13 corrupt", "1@0 " + a, "2@18 " + c}},
		{"torn", a + "\n" + b[:7], []string{"1@0 " + a, "2@13 torn"}},
		{"a single brace", "{", []string{"1@0 torn"}},
		{"broken in the middle", b[:7] + "\n" + c + "\n", []string{"1@0 corrupt", "2@8 " + c}},
		{"null", "null\n" + a, []string{"1@0 corrupt", "2@5 " + a}},
		{"array", "[" + a + "]\n" + b, []string{"1@0 corrupt", "2@15 " + b}},
		{"scalar", "12\n\"x\"\ntrue\n", []string{"1@0 corrupt", "2@3 corrupt", "3@7 corrupt"}},
		{"trailing comma", "{\"kind\":\"a\",}\n", []string{"1@0 corrupt"}},
		{"NUL bytes after a crash", a + "\n\x00\x00\x00\x00", []string{"1@0 " + a, "2@13 corrupt"}},
		{"no UTF-8 between", a + "\n\xff\xfe\n" + b, []string{"1@0 " + a, "2@13 corrupt", "3@16 " + b}},
		{"no event, but an object", "{}\n", []string{"1@0 {}"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, in := range feeds(tt.in) {
				equal(t, name, told(t, in, ReaderOptions{}), tt.want)
			}
		})
	}
}

// feeds are ways in which the same bytes can arrive.
func feeds(in string) map[string]io.Reader {
	return map[string]io.Reader{
		"in bulk":         strings.NewReader(in),
		"byte by byte":    iotest.OneByteReader(strings.NewReader(in)),
		"in halves":       iotest.HalfReader(strings.NewReader(in)),
		"data with error": iotest.DataErrReader(strings.NewReader(in)),
	}
}

// told reads a stream and tells what comes, each with its place. It overwrites
// what it was given after each step, as a caller may.
func told(t *testing.T, in io.Reader, opt ReaderOptions) []string {
	t.Helper()
	var list []string
	for rec, err := range NewReader(in, "in", opt).All() {
		var syntax *SyntaxError
		switch {
		case errors.As(err, &syntax):
			list = append(list, fmt.Sprintf("%d@%d %s", syntax.Line, syntax.Offset, syntax.Damage))
		case err != nil:
			list = append(list, "end: "+err.Error())
		default:
			list = append(list, fmt.Sprintf("%d@%d %s", rec.Place().Line, rec.Place().Offset, rec.Bytes()))
			clear(rec.line)
		}
	}
	return list
}

func TestReaderLongLines(t *testing.T) {
	const a = `{"kind":"a"}`
	// Stamped, because the scrubbing of foreign traces bounds what it keeps.
	start := fmt.Sprintf(`{"kind":"run-started","runId":"r","safety":%q}`, safety.Version)
	long := `{"kind":"long","runId":"r","s":"` + strings.Repeat("x", 4<<20) + `"}`
	records, errs := readAll([]byte(start+"\n"+long+"\n"+a), ReaderOptions{})
	if len(errs) > 0 || len(records) != 3 || string(records[1].Bytes()) != long {
		t.Fatalf("%d records, errors %v", len(records), errs)
	}

	short := ReaderOptions{MaxLine: len(a)}
	for name, in := range feeds(a + "\n" + a + "x\n" + a + "\r\n" + long + "\n" + a) {
		want := []string{"1@0 " + a, "2@13 too-long", "3@27 too-long", "4@41 too-long", fmt.Sprintf("5@%d %s", 42+len(long), a)}
		equal(t, name, told(t, in, short), want)
	}
	equal(t, "over the limit at the end", told(t, strings.NewReader(a+"\n"+a+"x"), short),
		[]string{"1@0 " + a, "2@13 too-long"})
}

// TestReaderDeepLines reads a line that would overflow the stack of a reader
// that recurses.
func TestReaderDeepLines(t *testing.T) {
	deep := func(n int) string {
		return `{"kind":"a","s":"` + strings.Repeat("[", n) + `","d":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	open := strings.Repeat(`{"a":`, 4<<20)
	equal(t, "deep", told(t, strings.NewReader(open+"\n"+deep(maxDepth)+"\n{}"), ReaderOptions{}), []string{
		"1@0 corrupt",
		fmt.Sprintf("2@%d corrupt", len(open)+1),
		fmt.Sprintf("3@%d {}", len(open)+len(deep(maxDepth))+2),
	})
	records, errs := readAll([]byte(deep(maxDepth-1)), ReaderOptions{})
	if len(records) != 1 || len(errs) > 0 {
		t.Errorf("%d records, errors %v", len(records), errs)
	}
}

// pack compresses chunks, each as a frame or member of its own.
var pack = map[string]func(t testing.TB, chunks ...[]byte) []byte{
	"gz": func(t testing.TB, chunks ...[]byte) []byte {
		var out bytes.Buffer
		for _, c := range chunks {
			z := gzip.NewWriter(&out)
			if _, err := z.Write(c); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return out.Bytes()
	},
	"zst": func(t testing.TB, chunks ...[]byte) []byte {
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		for _, c := range chunks {
			out = z.EncodeAll(c, out)
		}
		return out
	},
}

func TestReaderCompressed(t *testing.T) {
	for _, name := range fixtures(t) {
		data := readFile(t, name)
		want, wantErrs := readAll(data, ReaderOptions{})
		half := bytes.IndexByte(data, '\n') + 1
		for form, pack := range pack {
			for _, packed := range [][]byte{pack(t, data), pack(t, data[:half], data[half:]), pack(t, data[:half+9], nil, data[half+9:])} {
				got, errs := readAll(packed, ReaderOptions{})
				equal(t, name+" "+form, linesOf(got), linesOf(want))
				equal(t, name+" "+form, damages(t, errs), damages(t, wantErrs))
			}
		}
	}
	for form, pack := range pack {
		if records, errs := readAll(pack(t, nil), ReaderOptions{}); len(records)+len(errs) > 0 {
			t.Errorf("%s of nothing: %d records, errors %v", form, len(records), errs)
		}
		spoiled := pack(t, readFile(t, "../fixtures/trace/aapl.jsonl"))
		spoiled[len(spoiled)-3] ^= 0xff
		_, errs := readAll(spoiled, ReaderOptions{})
		var syntax *SyntaxError
		if len(errs) == 0 || errors.As(errs[len(errs)-1], &syntax) {
			t.Errorf("%s with a bad check sum: errors %v", form, errs)
		}
	}
}

func TestReaderRefusesNewerVersions(t *testing.T) {
	start := `{"kind":"run-started","runId":"r","seq":0,"format":"%s"}`
	tests := map[string]bool{
		"rax-trace/1": false, "rax-trace/1.9": false, "rax-trace/01": false, "rax-trace/0": false,
		"other/9": false, "rax-trace": false, "": false, "rax-trace/x": false,
		"rax-trace/2": true, "rax-trace/2.0": true, "rax-trace/10": true, "rax-trace/2-beta": true,
		"rax-trace/99999999999999999999": true,
	}
	for format, refused := range tests {
		in := "{\"kind\":\"x\"}\n " + fmt.Sprintf(start, format) + "\n{\"kind\":\"y\"}\n"
		records, errs := readAll([]byte(in), ReaderOptions{})
		var version *VersionError
		switch {
		case !refused && (len(records) != 3 || len(errs) > 0):
			t.Errorf("%q: %d records, errors %v", format, len(records), errs)
		case refused && (len(records) != 1 || len(errs) != 1 || !errors.As(errs[0], &version)):
			t.Errorf("%q: %d records, errors %v", format, len(records), errs)
		case refused && (version.Declared != format || version.Line != 2 || version.Offset != 14):
			t.Errorf("%q: the error is %+v", format, version)
		}
	}
}

func TestReaderStopsEarly(t *testing.T) {
	data := readFile(t, "../fixtures/trace/aapl.jsonl")
	data = append(data, "{\"kind\":\"a\"}{\"kind\":\"b\"}\nnull\n{\"kind\""...)
	all := told(t, bytes.NewReader(data), ReaderOptions{})
	for stop := range len(all) {
		n := 0
		for range NewReader(bytes.NewReader(data), "in", ReaderOptions{}).All() {
			if n++; n > stop {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("stopped after %d, want %d", n, stop+1)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	boom := errors.New("boom")
	data := `{"kind":"a"}` + "\n" + `{"kind":"b"`
	records, errs := drain(io.MultiReader(strings.NewReader(data), iotest.ErrReader(boom)), ReaderOptions{})
	if len(records) != 1 || len(errs) != 1 || !errors.Is(errs[0], boom) || !strings.HasPrefix(errs[0].Error(), "test.jsonl:2: ") {
		t.Errorf("%d records, errors %v", len(records), errs)
	}
	if _, errs := drain(iotest.ErrReader(boom), ReaderOptions{}); len(errs) != 1 || !errors.Is(errs[0], boom) {
		t.Errorf("at once: errors %v", errs)
	}
	secret := "do-not-echo"
	for _, in := range []string{secret, `{"` + secret + `"`, `{"` + secret + `":1}{"a":1}` + "\n", `{"` + secret + `"` + "\n"} {
		_, errs := readAll([]byte(in), ReaderOptions{})
		if len(errs) == 0 || strings.Contains(errors.Join(errs...).Error(), secret) {
			t.Errorf("%q: errors %v", in, errs)
		}
	}
}

// TestCutAtEveryByte cuts good traces everywhere: all whole events are read, and
// there is one torn error when the cut is inside of a line, else none.
func TestCutAtEveryByte(t *testing.T) {
	for _, name := range []string{"aapl", "foreign", "parallel", "sub-runs"} {
		data := readFile(t, "../fixtures/trace/"+name+".jsonl")
		all := linesOf(recordsOf(t, data))
		for cut := range len(data) + 1 {
			whole := bytes.Count(data[:cut], []byte("\n"))
			inside := cut > 0 && data[cut-1] != '\n'
			if inside && data[cut] == '\n' {
				whole, inside = whole+1, false // the event is whole without its newline
			}
			records, errs := readAll(data[:cut], ReaderOptions{})
			if !slices.Equal(linesOf(records), all[:whole]) {
				t.Fatalf("%s cut at %d: %d events, want %d", name, cut, len(records), whole)
			}
			if got := damages(t, errs); inside != slices.Equal(got, []Damage{Torn}) || !inside && len(got) > 0 {
				t.Fatalf("%s cut at %d: %v", name, cut, got)
			}
		}
	}
}

// TestCompressedCutAtEveryByte cuts compressed traces everywhere: what is read
// is the beginning of the trace, and that something is missing is said once.
func TestCompressedCutAtEveryByte(t *testing.T) {
	data := readFile(t, "../fixtures/trace/parallel.jsonl")
	all := linesOf(recordsOf(t, data))
	half := bytes.IndexByte(data, '\n') + 1
	for form, pack := range pack {
		first := len(pack(t, data[:half]))
		packed := pack(t, data[:half], data[half:])
		for cut := range len(packed) {
			records, errs := readAll(packed[:cut], ReaderOptions{})
			lines := linesOf(records)
			if len(lines) > len(all) || !slices.Equal(lines, all[:len(lines)]) {
				t.Fatalf("%s cut at %d: wrong events", form, cut)
			}
			if cut >= first && len(lines) == 0 {
				t.Fatalf("%s cut at %d: the whole first frame was not read", form, cut)
			}
			switch got := damages(t, errs); {
			case cut == 0 || cut == first:
				if len(got) > 0 {
					t.Fatalf("%s cut at %d, between frames: %v", form, cut, got)
				}
			case cut < 4 && slices.Equal(got, []Damage{Corrupt}):
				// Too little to see that it is compressed.
			case !slices.Equal(got, []Damage{Torn}):
				t.Fatalf("%s cut at %d: %v", form, cut, got)
			}
		}
	}
}
