package safety

import (
	"encoding/json"
	"strings"
	"testing"
)

// seeds are the texts of the other tests; an empty set is a fault.
func seeds(f *testing.F) []string {
	f.Helper()
	texts := streamTexts(21)
	if len(texts) < 50 {
		f.Fatalf("only %d seeds", len(texts))
	}
	return texts
}

func FuzzText(f *testing.F) {
	for i, text := range seeds(f) {
		f.Add(text, uint16(i*7))
	}
	small, err := New(Config{Limits: Limits{Text: 100}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, split uint16) {
		s := Default().Session()
		once := s.Text("why", text)
		if (once.Findings == nil) && once.Text != text {
			t.Fatalf("changed without a finding: %q", text)
		}
		twice := Default().Session().Text("why", once.Text)
		if twice.Text != once.Text {
			t.Fatalf("not idempotent:\n  text %q\n  once %q\n twice %q", text, once.Text, twice.Text)
		}
		if len(text) > 0 {
			at := int(split) % (len(text) + 1)
			half := (at + len(text)) / 2
			if got, _ := streamed(Default().Session(), "why", text, []int{at, half}); got != once.Text {
				t.Fatalf("chunked at %d and %d:\n  text %q\n   got %q\n  want %q", at, half, text, got, once.Text)
			}
			cut := small.Session().Text("why", text).Text
			if got, _ := streamed(small.Session(), "why", text, []int{at, half}); got != cut {
				t.Fatalf("cut and chunked at %d and %d:\n  text %q\n   got %q\n  want %q", at, half, text, got, cut)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, text := range seeds(f) {
		quoted, err := json.Marshal(map[string]any{"password": text, "args": []string{text}, text: 1})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(quoted)
		f.Add([]byte(`{"a":"` + escapeAll(text) + `","n":1.50}`))
		nested, err := json.Marshal(string(quoted))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(nested)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := string(raw)
		once, findings := Default().Session().Line(nil, raw)
		if string(raw) != in {
			t.Fatal("the input was changed")
		}
		if findings == nil && string(once) != in {
			t.Fatalf("changed without a finding: %q", raw)
		}
		if json.Valid(raw) && !json.Valid(once) {
			t.Fatalf("valid JSON broke:\n from %q\n   to %q", raw, once)
		}
		twice, _ := Default().Session().Line(nil, once)
		if string(twice) != string(once) {
			t.Fatalf("not idempotent:\n  line %q\n  once %q\n twice %q", raw, once, twice)
		}
	})
}

// A secret of a known shape does not come out, whatever stands around it.
func FuzzSecretDoesNotReappear(f *testing.F) {
	for i, text := range seeds(f) {
		f.Add(text, strings.ToUpper(text), uint64(i))
	}
	f.Fuzz(func(t *testing.T, before, after string, seed uint64) {
		r := newRand(seed)
		list := samples(r)
		c := list[r.IntN(len(list))]
		if c.rule == "password" || c.rule == "secret" {
			return // what stands around a labelled value may make it none
		}
		if strings.Contains(before+after, c.secret) || strings.ContainsAny(before, "{<\\") {
			return
		}
		text := before + "\n " + c.text() + " \n" + after
		out := Default().Session().Text("result", text).Text
		if strings.Contains(out, c.secret) {
			t.Fatalf("%s reappears in %q", c.rule, out)
		}
	})
}

// What is stored is scrubbed for good, also where its JSON is quoted or a block
// divides it.
func FuzzStored(f *testing.F) {
	const block = `<rationale call="1">{"why":"x"}</rationale>`
	for i, text := range seeds(f) {
		f.Add(text)
		at := (i * 7) % (len(text) + 1)
		f.Add(text[:at] + block + text[at:])
		quoted, err := json.Marshal(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(quoted))
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Default().Session().Stored("narrative", text)
		if once.Findings == nil && once.Text != text {
			t.Fatalf("changed without a finding: %q", text)
		}
		if twice := Default().Session().Stored("narrative", once.Text); twice.Text != once.Text {
			t.Fatalf("not idempotent:\n  text %q\n  once %q\n twice %q", text, once.Text, twice.Text)
		}
		cut := Default().Session().Beginning("narrative", text).Text
		if !strings.HasPrefix(once.Text, cut) {
			t.Fatalf("the beginning %q is none of %q", cut, once.Text)
		}
		if again := Default().Session().Stored("narrative", cut).Text; again != cut {
			t.Fatalf("the beginning is not scrubbed:\n  text %q\n  once %q\n twice %q", text, cut, again)
		}
		half := len(text) / 2
		Default().Session().Part("narrative", text, half/2, half)
	})
}
