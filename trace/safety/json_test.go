package safety

import (
	"strings"
	"sync"
	"testing"
)

func TestUntouchedBytesAreExact(t *testing.T) {
	key := "gs" + "k_" + random(newRand(14), base62, 52)
	const mark = "[redacted:groq-key#1]"
	for _, template := range []string{
		` { "a" : 1.50e+3 , "b":[ true,null ,"\u00e9\/\u2028 KEY \n" ], "a":"x" } `,
		`["KEY"]`, `"KEY"`, `{"KEY":{"KEY":["KEY"]}}`, "{\"a\":\"KEY\"}\r\n", `{"a":"\"KEY\"","b":"\\","c":"\ud83d\ude00KEY"}`,
		`{"a":"{\"b\":\"{\\\"c\\\":\\\"KEY\\\"}\"}"}`, `{"a":"\ud800KEY"}`,
		"not JSON: KEY", `{"a": KEY}`, `{"a":"KEY"`, `"KEY`, `{"a":"b"} trailing KEY`, `[[["KEY"]]`, "{\"x\":1}\n{\"y\":\"KEY\"}", `"a"KEY"b"`,
		strings.Repeat("[", 20_000) + `"KEY"` + strings.Repeat("]", 20_000),
	} {
		in := strings.ReplaceAll(template, "KEY", key)
		want := strings.ReplaceAll(template, "KEY", mark)
		dst := []byte("before")
		out, findings := Default().Session().Line(dst, []byte(in))
		if string(out) != "before"+want {
			t.Errorf("%.100q:\n got %.200q\nwant %.200q", template, out[6:], want)
		}
		if len(findings) < strings.Count(template, "KEY") {
			t.Errorf("%.100q: %d findings", template, len(findings))
		}
	}
}

func TestFieldNames(t *testing.T) {
	key := "gs" + "k_" + random(newRand(15), base62, 52)
	for _, c := range []struct{ in, want string }{
		{`{"why":"KEY"}`, "why"},
		{`{"args":{"env":[{"A.b":"KEY"}]}}`, "args.env.A.b"},
		{`{"args":{"x":1,"KEY":2}}`, "args"},
		{`{"a":{"KEY":{"b":"tok ` + "AK" + "IA" + `ABCDEFGHIJKLMN23"}}}`, "a"},
		{`["KEY"]`, ""},
		{`{"` + strings.Repeat("k", 100) + `":"KEY"}`, strings.Repeat("k", 64)},
		{strings.Repeat(`{"d":`, 20) + `"KEY"` + strings.Repeat("}", 20), strings.TrimSuffix(strings.Repeat("d.", maxPath), ".")},
	} {
		_, findings := Default().Session().Line(nil, []byte(strings.ReplaceAll(c.in, "KEY", key)))
		if len(findings) == 0 || findings[0].Field != c.want {
			t.Errorf("%.80s: %+v, want field %q", c.in, findings, c.want)
		}
	}
	_, findings := Default().Session().JSON(nil, "args", []byte(`{"why":"`+key+`"}`))
	if findings[0].Field != "args.why" {
		t.Errorf("JSON: field %q", findings[0].Field)
	}
}

func TestSessionIsSafeForConcurrentUse(t *testing.T) {
	r := newRand(16)
	var keys []string
	for range 20 {
		keys = append(keys, "gs"+"k_"+random(r, base62, 52))
	}
	s := Default().Session()
	results := make([][]string, 8)
	var group sync.WaitGroup
	for g := range results {
		group.Go(func() {
			for _, k := range keys {
				s.Line(nil, []byte(`{"a":"`+k+`"}`))
				results[g] = append(results[g], s.Text("why", k).Text)
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for i := range keys {
		seen[results[0][i]] = true
		for g := range results {
			if results[g][i] != results[0][i] {
				t.Fatalf("secret %d has the marks %s and %s", i, results[g][i], results[0][i])
			}
		}
	}
	if len(seen) != len(keys) {
		t.Errorf("%d marks for %d secrets", len(seen), len(keys))
	}
}

func TestUntouchedLinesDoNotAllocate(t *testing.T) {
	s := Default().Session()
	line := cleanLine(4 << 10)
	dst := make([]byte, 0, 8<<10)
	if n := testing.AllocsPerRun(100, func() { dst, _ = s.Line(dst[:0], line) }); n > 0 {
		t.Errorf("%v allocations a line", n)
	}
}

// Every input costs about the same a byte: what repeats an anchor must not make
// each of its matchers read on and on.
func TestHostileInputIsLinear(t *testing.T) {
	const size = 1 << 18
	for _, unit := range []string{
		"password: ", "password=\"", "token=a1b2c3d4", "ya29.", "eyJ", "eyJ.", " eyJaaaaaaaa.eyJ", "://a:", "bearer ", "bearer a/", "basic ", "<|a", "\u200B", "1\uFE0F", `\\`, `\u0073`, `\"`, "ignore all ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n-----END ", "sk-", "sk-ant-", "hooks.slack.com/", "?sig=", "1234567890:AA", "[", "{\"a\":", "\"", ",\"secret\":\"", "AKIAAKIA", "-----BEGIN PRIVATE KEY----- password=aB3dE6gH ", "password: \"ignore all [redacted:a#1] ", "https://a:b@c password: x=", "token" + `\\\\`,
	} {
		text := strings.Repeat(unit, size/len(unit))
		s := Default().Session()
		s.Text("result", text)
		s.Line(nil, []byte(text))
		s.Line(nil, []byte(`{"result":"`+text+`"}`))
		st := s.Stream("result")
		for i := 0; i < len(text); i += 16 {
			st.Write(text[i:min(len(text), i+16)])
		}
		st.Close()
	}
}
