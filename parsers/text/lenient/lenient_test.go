package lenient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/tidwall/gjson"
)

// texts are the seeds of the fuzz targets and the inputs of the table tests:
// want is the strict JSON of the first object with an "a"; "" when there is
// none to read.
var texts = []struct {
	name, in, want string
	repaired, cut  bool
}{
	{"strict", `{"a": [1, -2.5e3, true, null, "x\né"]}`, `{"a": [1, -2.5e3, true, null, "x\né"]}`, false, false},
	{"in prose", `I say {"a":1} here`, `{"a":1}`, false, false},
	{"nested", `{"x":{"y":[{"a":{}}]}}`, `{"a":{}}`, false, false},
	{"braces in strings", `{"a":"}{]["}`, `{"a":"}{]["}`, false, false},
	{"after a broken one", `{"x":[1,} {"a":1}`, `{"a":1}`, false, false},
	{"inside a broken one", `{"x":{"a":1},oops}`, `{"a":1}`, false, false},
	{"after an open quotation mark", `["so {"a":1}`, `{"a":1}`, false, false},
	{"inside a broken one, once", `["x",{a:1} oops`, `{"a":1}`, true, false},
	{"trailing commas", `{"a":[1,2,],}`, `{"a":[1,2]}`, true, false},
	{"comments", "{/* one */\"a\": 1, // two\n \"b\":2 # three\n}", `{"a":1,"b":2}`, true, false},
	{"comment in a string", `{"a":"// no /* no */ # no",}`, `{"a":"// no /* no */ # no"}`, true, false},
	{"single quotes", `{'a': 'it is "so", isn\'t it'}`, `{"a":"it is \"so\", isn't it"}`, true, false},
	{"python", `{"a": True, "b": False, "c": None}`, `{"a":true,"b":false,"c":null}`, true, false},
	{"literals in a string", `{'a': 'True None'}`, `{"a":"True None"}`, true, false},
	{"bare names", `{a: 1, _b$2: 2}`, `{"a":1,"_b$2":2}`, true, false},
	{"line break in a string", "{\"a\":\"x\ny\tz\x01\"}", `{"a":"x\ny\tz\u0001"}`, true, false},
	{"regexp in a string", `{"a":"\d+\."}`, `{"a":"\\d+\\."}`, true, false},
	{"unclosed", `{"a":[1,{"b":2}`, `{"a":[1,{"b":2}]}`, true, true},
	{"two values in one", `{"a":1,"a":2}`, `{"a":1,"a":2}`, false, false},
	{"escaped name", `{"\u0061":1}`, `{"\u0061":1}`, false, false},
	{"raw bytes", "{\"a\":\"\xff\",}", "{\"a\":\"\xff\"}", true, false},

	{"cut in a string", `{"a":"x`, "", false, false},
	{"cut after a comma", `{"a":1,`, "", false, false},
	{"cut after a colon", `{"a":`, "", false, false},
	{"open comment", `{"a":1 /* `, "", false, false},
	{"apostrophe in single quotes", `{'a': 'it's'}`, "", false, false},
	{"quote in a string", `{"a":"say "hi" now"}`, "", false, false},
	{"missing comma", `{"a":1 "b":2}`, "", false, false},
	{"two commas", `{"a":1,,"b":2}`, "", false, false},
	{"missing value", `{"a":,"b":2}`, "", false, false},
	{"hex escape", `{"a":"\x41"}`, "", false, false},
	{"short unicode escape", `{"a":"\u12"}`, "", false, false},
	{"bad numbers", `{"a":01}`, "", false, false},
	{"NaN", `{"a":NaN}`, "", false, false},
	{"mismatched", `{"a":[1}]`, "", false, false},
	{"bare value", `{"a":yes}`, "", false, false},
}

func TestScan(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			objects := Scan(tt.in, []string{"a"})
			if tt.want == "" {
				if len(objects) > 0 {
					t.Fatalf("read %q", objects[0].Span.In(tt.in))
				}
				return
			}
			if len(objects) != 1 {
				t.Fatalf("%d objects, want 1", len(objects))
			}
			o := objects[0]
			n, ok := Normalize(tt.in, o.Span)
			if !ok || string(n.JSON) != tt.want {
				t.Errorf("normalized to %s, %v, want %s", n.JSON, ok, tt.want)
			}
			if o.Repaired != tt.repaired || o.Cut != tt.cut {
				t.Errorf("repaired %v, cut %v", o.Repaired, o.Cut)
			}
			if m, ok := o.Member("a"); !ok || m.Span.Len() == 0 {
				t.Errorf("member a: %+v", m)
			}
		})
	}
}

func TestScanFindsEveryObject(t *testing.T) {
	text := `[{"a":1,"b":2},{"c":{"a":{"a":3}}}] and {"a":4}`
	var got []string
	for _, o := range Scan(text, []string{"a"}) {
		got = append(got, o.Span.In(text)+" "+o.Root.In(text)[:3])
		if o.InArray != (o.Span.Start == 1) {
			t.Errorf("%s: in array %v", o.Span.In(text), o.InArray)
		}
	}
	want := []string{`{"a":1,"b":2} [{"`, `{"a":{"a":3}} [{"`, `{"a":3} [{"`, `{"a":4} {"a`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
}

func TestFirstMemberCounts(t *testing.T) {
	text := `{"a":1,"b":0,"a":{"x":2}}`
	o := Scan(text, []string{"a"})[0]
	if m, _ := o.Member("a"); m.Span.In(text) != "1" || m.Kind != Number || o.Others != 1 || len(o.Members) != 1 {
		t.Errorf("%+v", o)
	}
}

func TestDepth(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+50) + `{"a":1}` + strings.Repeat("]", MaxDepth+50)
	if got := Scan(deep, []string{"a"}); len(got) != 1 {
		t.Errorf("%d objects below the limit, want 1", len(got))
	}
	if _, _, ok := At(deep, 0, nil); ok {
		t.Error("read a value beyond the limit")
	}
}

func TestNormalizeMapsBack(t *testing.T) {
	text := "so: {'a': 'x\n\"y\"', b: True,}"
	o := Scan(text, []string{"a"})[0]
	n, _ := Normalize(text, o.Span)
	at := strings.Index(string(n.JSON), `x\n`)
	end := strings.Index(string(n.JSON), `","b"`)
	if got := text[n.Source(at):n.Source(end)]; got != "x\n\"y\"" {
		t.Errorf("mapped back to %q", got)
	}
	if got := n.Whole(rationale.Span{Start: at - 1, End: end + 1}).In(text); got != "'x\n\"y\"'" {
		t.Errorf("the value is %q", got)
	}
}

func FuzzScan(f *testing.F) {
	if len(texts) == 0 {
		f.Fatal("no seeds")
	}
	for _, tt := range texts {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := -1
		for _, o := range Scan(text, []string{"a", "name"}) {
			if o.Span.Start <= last {
				t.Fatal("objects out of order")
			}
			last = o.Span.Start
			if o.Root.In(text) == "" || o.Root.Start > o.Span.Start || o.Root.End < o.Span.End {
				t.Fatalf("root %v of %v", o.Root, o.Span)
			}
			n, ok := Normalize(text, o.Span)
			if !ok || !json.Valid(n.JSON) || !gjson.ValidBytes(n.JSON) {
				t.Fatalf("%q -> %q, %v", o.Span.In(text), n.JSON, ok)
			}
			if json.Valid([]byte(o.Span.In(text))) == o.Repaired {
				t.Fatalf("%q: repaired %v", o.Span.In(text), o.Repaired)
			}
			for _, m := range o.Members {
				v, ok := Normalize(text, m.Span)
				if !ok || !gjson.ValidBytes(v.JSON) {
					t.Fatalf("member %q -> %q, %v", m.Span.In(text), v.JSON, ok)
				}
				if m.Kind == String {
					sameWords(t, text, v, m.Span)
				}
			}
		}
		if json.Valid([]byte(text)) {
			if start := nextBracket(text, 0); start >= 0 && strings.TrimLeft(text[:start], " \t\r\n") == "" {
				if _, _, ok := At(text, start, nil); !ok && depth(text) <= MaxDepth {
					t.Fatalf("strict JSON not read: %q", text)
				}
			}
		}
	})
}

// sameWords checks that every character of a string's content in the JSON is
// the character of the text that it maps back to, escapes aside.
func sameWords(t *testing.T, text string, n Normal, span rationale.Span) {
	t.Helper()
	src := span.Start + 1
	for i := 1; i < len(n.JSON)-1; i++ {
		if got := n.Source(i); got != src {
			t.Fatalf("%q: byte %d of %q maps to %d, want %d", span.In(text), i, n.JSON, got, src)
		}
		switch c := n.JSON[i]; {
		case c != '\\':
			if text[src] == '\\' && text[src+1] == '\'' && c == '\'' {
				src++
			} else if text[src] != c {
				t.Fatalf("%q became %q", span.In(text), n.JSON)
			}
			src++
		case text[src] == '\\' && text[src+1] == n.JSON[i+1]: // the same escape
			src += 2
			i++
		case text[src] == '\\': // a backslash that stands for itself
			if n.JSON[i+1] != '\\' {
				t.Fatalf("%q became %q", span.In(text), n.JSON)
			}
			src++
			i++
		default: // a character that had to be escaped
			if want := spell(text[src]); !strings.HasPrefix(string(n.JSON[i:]), want) {
				t.Fatalf("%q became %q", span.In(text), n.JSON)
			} else {
				i += len(want) - 1
			}
			src++
		}
	}
	if src != span.End-1 {
		t.Fatalf("%q became %q: the end is missing", span.In(text), n.JSON)
	}
}

func depth(text string) int {
	deepest, now := 0, 0
	for _, c := range text {
		switch c {
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}
