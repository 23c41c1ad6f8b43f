package rationale

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

var argumentRows = []struct {
	name, in, rest string
	// rationale is "" when none is found.
	rationale string
}{
	{"first", `{"rationale":{"why":"x"},"a":1}`, `{"a":1}`, `{"why":"x"}`},
	{"first, spaced", `{"rationale": {"why": "x"}, "a": 1}`, `{"a": 1}`, `{"why": "x"}`},
	{"last", `{"a": 1, "rationale": {"why":"x"}}`, `{"a": 1}`, `{"why":"x"}`},
	{"between", `{"a": 1, "rationale": {"why":"x"}, "b": 2}`, `{"a": 1, "b": 2}`, `{"why":"x"}`},
	{"alone", `{"rationale":{"why":"x"}}`, `{}`, `{"why":"x"}`},
	{"alone, spaced", "{\n \"rationale\" : {} \n}", "{\n  \n}", `{}`},
	{"lines", "{\n  \"rationale\": {},\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n", `{}`},
	{"none", `{"a":1,"b":[1,2]}`, `{"a":1,"b":[1,2]}`, ""},
	{"empty object", `{}`, `{}`, ""},
	{"nested stays", `{"a":{"rationale":1},"b":[{"rationale":2}]}`, `{"a":{"rationale":1},"b":[{"rationale":2}]}`, ""},
	{"text stays", `{"a":"\"rationale\":1,","rationales":1,"Rationale":2}`, `{"a":"\"rationale\":1,","rationales":1,"Rationale":2}`, ""},
	{"escaped name", `{"r\u0061tionale":{},"a":1}`, `{"a":1}`, `{}`},
	{"all escaped", `{"\u0072\u0061\u0074\u0069\u006f\u006e\u0061\u006c\u0065":{},"a":1}`, `{"a":1}`, `{}`},
	{"only the first", `{"rationale":1,"rationale":2}`, `{"rationale":2}`, `1`},
	{"a string", `{"rationale":"be}c\"ause","a":1}`, `{"a":1}`, `"be}c\"ause"`},
	{"a number", `{"a":1,"rationale":17 }`, `{"a":1 }`, `17`},
	{"null", `{"rationale":null}`, `{}`, `null`},
	{"brackets in strings", `{"rationale":{"why":"]}{["},"a":"}"}`, `{"a":"}"}`, `{"why":"]}{["}`},
	{"long names", `{"` + strings.Repeat("r", 500) + `":1,"rationale":{}}`, `{"` + strings.Repeat("r", 500) + `":1}`, `{}`},
	{"behind the object", `{"rationale":{}} {"rationale":{}}`, `{} {"rationale":{}}`, `{}`},
	{"cut off in the value", `{"a":1,"rationale":{"why":"x`, `{"a":1,"rationale":{"why":"x`, ""},
	{"cut off in the name", `{"a":1, "ration`, `{"a":1, "ration`, ""},
	{"cut off in a number", `{"rationale":1`, `{"rationale":1`, ""},
	{"cut off behind it", `{"rationale":{},"a":`, `{"a":`, `{}`},
	{"an array", `[{"rationale":{}}]`, `[{"rationale":{}}]`, ""},
	{"a string alone", `"rationale"`, `"rationale"`, ""},
	{"empty", ``, ``, ""},
	{"no JSON", `{rationale:1}`, `{rationale:1}`, ""},
	{"no colon", `{"rationale" 1}`, `{"rationale" 1}`, ""},
	{"no value", `{"rationale":,"a":1}`, `{"rationale":,"a":1}`, ""},
	{"no comma", `{"a":1 "rationale":{}}`, `{"a":1 "rationale":{}}`, ""},
}

func TestExtractArgument(t *testing.T) {
	for _, row := range argumentRows {
		t.Run(row.name, func(t *testing.T) {
			rest, rationale, found := ExtractArgument([]byte(row.in))
			if string(rest) != row.rest || string(rationale) != row.rationale || found != (row.rationale != "") {
				t.Errorf("got  %s and %s, %v\nwant %s and %s", rest, rationale, found, row.rest, row.rationale)
			}
			checkArgument(t, []byte(row.in), 1)
		})
	}
}

func TestArgumentExtractorIsPrompt(t *testing.T) {
	var x ArgumentExtractor
	for _, step := range []struct{ in, out string }{
		{`{"pa`, `{`}, // the name is not known yet
		{`th`, ``},
		{`":"/t`, `"path":"/t`},
		{`mp`, `mp`},
		{`", "ration`, `"`},
		{`ale":{"why":`, ``},
		{`"x"}`, ``},
		{`, "b":2`, `, "b":2`},
		{`}`, `}`},
	} {
		if got := string(x.Write([]byte(step.in))); got != step.out {
			t.Errorf("%s: got %q, want %q", step.in, got, step.out)
		}
	}
	if rationale, found := x.Rationale(); !found || string(rationale) != `{"why":"x"}` || len(x.Close()) > 0 {
		t.Errorf("got %s, %v", rationale, found)
	}
}

func TestAddArgument(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{`{}`, `{"rationale":{"why":"x"}}`},
		{` { }`, ` { "rationale":{"why":"x"}}`},
		{"{\n \"a\": 1}", "{\n \"rationale\":{\"why\":\"x\"},\"a\": 1}"},
	} {
		got, err := AddArgument([]byte(row.in), []byte(` {"why":"x"} `))
		if err != nil || string(got) != row.want {
			t.Errorf("%s: got %s, %v", row.in, got, err)
		}
	}
	for _, row := range [][2]string{{`[]`, `{}`}, {`{}`, `1`}, {`{`, `{}`}, {``, `{}`}} {
		if got, err := AddArgument([]byte(row[0]), []byte(row[1])); err == nil {
			t.Errorf("%v: got %s", row, got)
		}
	}
}

// checkArgument checks what holds of all arguments.
func checkArgument(t *testing.T, args []byte, random uint64) {
	t.Helper()
	before := bytes.Clone(args)
	rest, rationale, found := ExtractArgument(args)
	if !bytes.Equal(args, before) {
		t.Error("the arguments were changed")
	}
	if !found && !bytes.Equal(rest, args) {
		t.Errorf("nothing found, and %q became %q", args, rest)
	}
	r := rand.New(rand.NewPCG(random, 1))
	for _, most := range []int{1, 7, 40} {
		var x ArgumentExtractor
		var out []byte
		for left := args; len(left) > 0; {
			n := min(1+r.IntN(most), len(left))
			chunk := bytes.Clone(left[:n])
			out = append(out, x.Write(chunk)...)
			clear(chunk) // the caller may use its buffer again
			left = left[n:]
		}
		out = append(out, x.Close()...)
		got, ok := x.Rationale()
		if !bytes.Equal(out, rest) || !bytes.Equal(got, rationale) || ok != found {
			t.Errorf("%q in chunks: got %q and %q, want %q and %q", args, out, got, rest, rationale)
		}
	}
	if !json.Valid(args) || deeper(args, maxDepth) {
		return
	}
	if found && !json.Valid(rest) {
		t.Errorf("%q: the rest %q is not valid JSON", args, rest)
	}
	if object := bytes.TrimSpace(args); len(object) == 0 || object[0] != '{' {
		return
	}
	stated := []byte(`{"why":"x } \" ,","refs":["a"]}`)
	added, err := AddArgument(args, stated)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	back, got, ok := ExtractArgument(added)
	if !ok || !bytes.Equal(back, args) || !bytes.Equal(got, stated) {
		t.Errorf("%q: added and taken out: %q and %q", args, back, got)
	}
}

func FuzzExtractArgument(f *testing.F) {
	var rows []string
	for _, row := range argumentRows {
		rows = append(rows, row.in)
	}
	seed(f, "arguments", func(text string) { f.Add([]byte(text), uint64(1)) }, rows)
	f.Fuzz(checkArgument)
}

func FuzzInjectArgument(f *testing.F) {
	seed(f, "arguments", func(text string) { f.Add([]byte(text)) },
		[]string{`{}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`, `{"properties":{},"required":[],"propertyOrdering":[ ]}`})
	f.Fuzz(func(t *testing.T, schema []byte) {
		for _, dialect := range []Dialect{DialectDefault, DialectStrict, DialectGemini} {
			out, injected, err := InjectArgument(schema, dialect)
			if (err != nil || !injected) && !bytes.Equal(out, schema) && len(bytes.TrimSpace(schema)) > 0 && string(bytes.TrimSpace(schema)) != "null" {
				t.Fatalf("changed without being injected: %q", out)
			}
			if err != nil || !injected {
				continue
			}
			if !json.Valid(out) && json.Valid(schema) {
				t.Fatalf("%q became invalid: %q", schema, out)
			}
			again, injected, err := InjectArgument(out, dialect)
			if err != nil || !injected || !bytes.Equal(again, out) {
				t.Fatalf("not idempotent: %q, %q", out, again)
			}
		}
	})
}

func BenchmarkExtractArgument(b *testing.B) {
	units := []string{`{"a":`, `{"rationale":{"why":"x"},"a":1} `, `{"rationale":"`, `{"r`, `[`, `{"a":"b", `}
	benchmark(b, units, func(text string) { ExtractArgument([]byte(text)) })
}
