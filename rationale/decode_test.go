package rationale

import (
	"encoding/json"
	"strings"
	"testing"
)

var decodeRows = []struct {
	name, in string
	// want is the rationale as JSON, or "!" and the error.
	want     string
	warnings string
}{
	{"least", `{"why":"x"}`, `{"why":"x"}`, ""},
	{"all", `{"why":"x","refs":["obs:1"],"alternatives":[{"option":"a","rejectedBecause":"b"}],"confidence":0.5}`,
		`{"why":"x","refs":["obs:1"],"alternatives":[{"option":"a","rejectedBecause":"b"}],"confidence":0.5}`, ""},
	{"confidence 0 is a value", `{"why":"x","confidence":0}`, `{"why":"x","confidence":0}`, ""},
	{"minus zero", `{"why":"x","confidence":-0}`, `{"why":"x","confidence":0}`, ""},
	{"white space around", " \n{\"why\" : \"x\"}\t", `{"why":"x"}`, ""},
	{"why is kept as written", `{"why":" x "}`, `{"why":" x "}`, ""},
	{"unknown keys", `{"reason":"y","why":"x","rejected_because":1,"Why":"z"}`, `{"why":"x"}`, ""},
	{"first key wins", `{"why":"x","why":"y","confidence":0.1,"confidence":0.2}`, `{"why":"x","confidence":0.1}`, ""},
	{"first key wins, escaped", `{"wh\u0079":"x","why":"y"}`, `{"why":"x"}`, ""},
	{"first key wins though it is bad", `{"why":7,"why":"y"}`, "!why is not a string", ""},
	{"names are case-sensitive", `{"WHY":"x"}`, "!why is missing", ""},
	{"nulls are absent", `{"why":"x","refs":null,"alternatives":null,"confidence":null,"assumptions":null}`, `{"why":"x"}`, ""},
	{"null why", `{"why":null}`, "!why is not a string", ""},
	{"cut", `{"why":"` + strings.Repeat("é", 281) + `"}`, `{"why":"` + strings.Repeat("é", 280) + `","truncated":true}`, "why cut at 280 characters"},
	{"not cut", `{"why":"` + strings.Repeat("é", 280) + `"}`, `{"why":"` + strings.Repeat("é", 280) + `"}`, ""},
	{"stated truncated is no field", `{"why":"x","truncated":true}`, `{"why":"x"}`, ""},
	{"blank up to the cut", `{"why":"` + strings.Repeat(" ", 280) + `x"}`, "!why is empty", ""},

	{"half a surrogate pair", `{"why":"a\ud800\u0041b","refs":["\uD800\u0042"]}`, "{\"why\":\"a\ufffdAb\",\"refs\":[\"\ufffdB\"]}", ""},

	{"confidence as text", `{"why":"x","confidence":"0.9"}`, `{"why":"x"}`, "confidence dropped: not a number between 0 and 1"},
	{"confidence in words", `{"why":"x","confidence":"high"}`, `{"why":"x"}`, "confidence dropped: not a number between 0 and 1"},
	{"confidence in per cent", `{"why":"x","confidence":90}`, `{"why":"x"}`, "confidence dropped: not a number between 0 and 1"},
	{"confidence beyond floats", `{"why":"x","confidence":1e999}`, `{"why":"x"}`, "confidence dropped: not a number between 0 and 1"},
	{"confidence true", `{"why":"x","confidence":true}`, `{"why":"x"}`, "confidence dropped: not a number between 0 and 1"},
	{"one ref", `{"why":"x","refs":"obs:1"}`, `{"why":"x"}`, "refs dropped: not an array"},
	{"bad refs", `{"why":"x","refs":["a",1,"",{"b":1},"c"]}`, `{"why":"x","refs":["a","c"]}`,
		"refs[1] dropped: not a text; refs[2] dropped: not a text; refs[3] dropped: not a text"},
	{"bad alternatives", `{"why":"x","alternatives":["a",{"option":"b"},{"rejectedBecause":"c"},{"option":"d","rejectedBecause":"` + strings.Repeat("e", 161) + `"},{"option":"f","rejectedBecause":"g"},{"option":"h","rejected_because":"i"}]}`,
		`{"why":"x","alternatives":[{"option":"f","rejectedBecause":"g"}]}`,
		"alternatives[0] dropped: not an object; alternatives[1] dropped: no rejectedBecause; alternatives[2] dropped: no option; alternatives[3] dropped: rejectedBecause longer than 160 characters; alternatives[5] dropped: no rejectedBecause"},
	{"many bad refs", `{"why":"x","refs":[` + strings.Repeat("1,", 40) + `"a"]}`, `{"why":"x","refs":["a"]}`, "..."},

	{"empty", ``, "!not valid JSON", ""},
	{"cut off", `{"why":"x"`, "!not valid JSON", ""},
	{"two", `{"why":"x"}{"why":"y"}`, "!not valid JSON", ""},
	{"an array", `[{"why":"x"}]`, "!not a JSON object", ""},
	{"a string", `"x"`, "!not a JSON object", ""},
	{"null", `null`, "!not a JSON object", ""},
	{"no why", `{}`, "!why is missing", ""},
	{"empty why", `{"why":""}`, "!why is empty", ""},
	{"blank why", `{"why":" \n\u200b"}`, "!why is empty", ""},
	{"why in an array", `{"why":["x"]}`, "!why is not a string", ""},
	{"deep", `{"why":"x","a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, "!nested deeper than 256 levels", ""},
	{"very deep", strings.Repeat("[", 5_000_000), "!nested deeper than 256 levels", ""},
}

func TestDecode(t *testing.T) {
	for _, row := range decodeRows {
		t.Run(row.name, func(t *testing.T) {
			out, err := Decode([]byte(row.in))
			var got string
			if err != nil {
				got = "!" + err.Error()
			} else {
				text, err := json.Marshal(out.Rationale)
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if warnings := strings.Join(out.Warnings, "; "); row.warnings != "..." && warnings != row.warnings {
				t.Errorf("warnings %q, want %q", warnings, row.warnings)
			}
			checkDecoded(t, []byte(row.in))
		})
	}
}

func TestDecodeAssumptions(t *testing.T) {
	in := `{"why":"x","assumptions":["a \u00e9",{"assumption":"b","because":"c","confidence":0.5},{"assumption":"d","why":"e","because":"f"},{"assumption":"g","why":null,"because":"h"},{"why":"i"},7,{"assumption":"j","why":1}]}`
	out, err := Decode([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, a := range out.Assumptions {
		lines = append(lines, a.Text+"|"+a.Span.In(in)+"|"+a.Why+"|"+a.WhySpan.In(in))
	}
	want := `a é|a \u00e9|| b|b|c|c d|d|e|e g|g|h|h j|j||`
	if got := strings.Join(lines, " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if c := out.Assumptions[1].Confidence; c == nil || *c != 0.5 {
		t.Errorf("confidence %v", c)
	}
	wantWarnings := "assumptions[4] dropped: no assumption; assumptions[5] dropped: no assumption; assumptions[6]: reason dropped: not a text"
	if got := strings.Join(out.Warnings, "; "); got != wantWarnings {
		t.Errorf("warnings %q", got)
	}
}

func TestDecodeWhySpan(t *testing.T) {
	for _, in := range []string{`{"why":"x"}`, " {\n\"refs\":[\"a\"], \"why\" :\t\"a \\\"b\\\" \\u00e9\"}", `{"a":{"why":"no"},"why":"yes"}`} {
		out, err := Decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if in[out.WhySpan.Start-1] != '"' || in[out.WhySpan.End] != '"' {
			t.Errorf("%s: span %v", in, out.WhySpan)
		}
		checkWritten(t, out.WhySpan.In(in), out.Rationale.Why, false)
	}
}

func TestDecodeBoundsWarnings(t *testing.T) {
	out, err := Decode([]byte(`{"why":"x","refs":[` + strings.Repeat("1,", 1000) + `1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.Warnings); n != maxDropped+1 || out.Warnings[n-1] != "985 more entries dropped" {
		t.Errorf("%d warnings, the last %q", n, out.Warnings[n-1])
	}
}

// checkDecoded checks what holds of everything that can be decoded.
func checkDecoded(t *testing.T, raw []byte) {
	t.Helper()
	out, err := Decode(raw)
	if err != nil {
		return
	}
	if err := Validate(out.Rationale); err != nil {
		t.Errorf("decoded but not valid: %v", err)
	}
	text := string(raw)
	checkWritten(t, out.WhySpan.In(text), out.Rationale.Why, out.Rationale.Truncated)
	for _, a := range out.Assumptions {
		checkWritten(t, a.Span.In(text), a.Text, true)
		if a.Why != "" {
			checkWritten(t, a.WhySpan.In(text), a.Why, true)
		}
	}
	if len(out.Warnings) > maxDropped+2 {
		t.Errorf("%d warnings", len(out.Warnings))
	}
}

func FuzzDecode(f *testing.F) {
	var rows []string
	for _, row := range decodeRows {
		if len(row.in) < 10_000 {
			rows = append(rows, row.in)
		}
	}
	seed(f, "objects", func(text string) { f.Add(text) }, rows)
	f.Fuzz(func(t *testing.T, text string) { checkDecoded(t, []byte(text)) })
}
