package tool

import (
	"fmt"
	"strings"
	"testing"
)

func TestTime(t *testing.T) {
	r, _ := inRoot(t, nil)
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"action", "now"}, "2026-01-31T23:30:00Z"},
		{[]any{"action", "now", "zone", "Europe/Vienna"}, "2026-02-01T00:30:00+01:00"},
		{[]any{"action", "now", "layout", "weekday"}, "Saturday"},
		{[]any{"action", "now", "layout", "unix"}, "1769902200"},
		{[]any{"action", "now", "layout", "unix_ms"}, "1769902200000"},
		{[]any{"action", "now", "layout", "week"}, "2026-W05"},
		{[]any{"action", "now", "layout", "02.01.2006 15:04"}, "31.01.2026 23:30"},
		{[]any{"action", "format", "time", "2026-07-01T12:00:00Z", "zone", "America/New_York"}, "2026-07-01T08:00:00-04:00"},
		{[]any{"action", "format", "time", "2026-07-01 12:00", "zone", "America/New_York"}, "2026-07-01T12:00:00-04:00"},
		{[]any{"action", "format", "time", "1769902200"}, "2026-01-31T23:30:00Z"},
		{[]any{"action", "format", "time", "1769902200000"}, "2026-01-31T23:30:00Z"},
		{[]any{"action", "format", "time", "January 2, 2026", "layout", "date"}, "2026-01-02"},
		{[]any{"action", "format", "time", "2026-01-02", "layout", "datetime"}, "2026-01-02 00:00:00"},
		{[]any{"action", "format", "time", "2026-01-02T10:00:00Z", "layout", "time"}, "10:00:00"},
		{[]any{"action", "format", "time", "Fri, 02 Jan 2026 10:00:00 GMT"}, "2026-01-02T10:00:00Z"},
		{[]any{"action", "diff", "time", "2026-01-01", "until", "2026-03-01T01:02:03.5Z"}, "59d 1h 2m 3.5s (5101323.5 seconds)"},
		{[]any{"action", "diff", "time", "2026-03-01T01:02:03.5Z", "until", "2026-01-01"}, "-59d 1h 2m 3.5s (-5101323.5 seconds)"},
		{[]any{"action", "diff", "time", "0001-01-01", "until", "9999-12-31"}, "3652058d 0h 0m 0s (315537811200 seconds)"},
		{[]any{"action", "add", "time", "2026-01-31", "duration", "36h"}, "2026-02-01T12:00:00Z"},
		{[]any{"action", "add", "time", "2026-01-31", "duration", "-31d"}, "2025-12-31T00:00:00Z"},
		// A day is a calendar day also where the clock changes.
		{[]any{"action", "add", "time", "2026-03-28T12:00", "zone", "Europe/Vienna", "duration", "1d"}, "2026-03-29T12:00:00+02:00"},
		{[]any{"action", "add", "time", "2026-03-28T12:00", "zone", "Europe/Vienna", "duration", "24h"}, "2026-03-29T13:00:00+02:00"},
	} {
		if got := good(t, r, "time", c.args...); got.Content != c.want {
			t.Errorf("%v gives %q, want %q", c.args, got.Content, c.want)
		}
	}
	for _, c := range []struct {
		want string
		args []any
	}{
		{"IANA name", []any{"action", "now", "zone", "Mars/Olympus"}},
		{"IANA name", []any{"action", "now", "zone", "../../etc/passwd"}},
		{"IANA name", []any{"action", "now", "zone", "/etc/localtime"}},
		{"IANA name", []any{"action", "now", "zone", "Local"}},
		{"time is missing", []any{"action", "format"}},
		{"until is missing", []any{"action", "diff", "time", "2026-01-01"}},
		{"time cannot be read", []any{"action", "format", "time", "tomorrow"}},
		{"time cannot be read", []any{"action", "format", "time", "20260131"}},
		{"time cannot be read", []any{"action", "format", "time", "2026-02-30"}},
		{"abbreviation", []any{"action", "format", "time", "Fri, 02 Jan 2026 10:00:00 PST"}},
		{"outside of the years", []any{"action", "format", "time", "9223372036854775807"}},
		{"duration cannot be read", []any{"action", "add", "time", "2026-01-01", "duration", "soon"}},
		{"duration cannot be read", []any{"action", "add", "time", "2026-01-01", "duration", "9999999999d"}},
		{"outside of the years", []any{"action", "add", "time", "2026-01-01", "duration", "3999999d"}},
		{`"action" must be one of`, []any{"action", "stop"}},
	} {
		bad(t, r, c.want, "time", c.args...)
	}
}

func TestJSONQuery(t *testing.T) {
	r, _ := inRoot(t, nil)
	doc := `{"users":[{"name":"Ann","age":30,"mail":"ann@keys.example"},{"name":"Bob","age":41,"mail":"b@x"}],"n":null,"ok":true,"n":1,"a.b":2}`
	for _, c := range []struct{ path, want, summary string }{
		{"users.0.name", `"Ann"`, "a string"},
		{"users.#", "2", "a number"},
		{"users.#.name", `["Ann","Bob"]`, "2 elements"},
		{"users.#(age>35).name", `"Bob"`, "a string"},
		{`users.#(mail=="ann@keys.example").name`, `"Ann"`, "a string"},
		{`users.#(mail%"*@x").name`, `"Bob"`, "a string"},
		{"users.0.{name,age}", `{"name":"Ann","age":30}`, "an object"},
		{"users.@reverse.0.name", `"Bob"`, "a string"},
		{"users.0|@keys", `["name","age","mail"]`, "3 elements"},
		{"n", "null", "null"}, // the first of two
		{"ok", "true", "a true"},
		{`a\.b`, "2", "a number"},
	} {
		got := good(t, r, "json_query", "json", doc, "path", c.path)
		if got.Content != c.want || got.Summary != c.summary {
			t.Errorf("%s gives %q, %q", c.path, got.Content, got.Summary)
		}
	}
	for _, c := range []struct{ json, path, want string }{
		{doc, "users.5", "nothing at this path"},
		{doc, "Users", "nothing at this path"},
		{doc[:50], "users", "not valid"},
		{"{} {}", "a", "not valid"},
		{strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "0", "not valid"},
		{strings.Repeat(" ", maxQueried) + "{}", "a", "1 to 262144 characters"},
		{doc, strings.Repeat("a", 300), "1 to 256 characters"},
		{doc, "@tostr|@tostr", "modifier"},
		{doc, "users.@tostr", "modifier"},
		{doc, "users|@dig:name", "modifier"},
		{doc, "{users.@pretty}", "modifier"},
		{doc, "@group", "modifier"},
		{doc, "[@this,@this]|[@this,@this]", "more than one"},
		{doc, "{users,users.#.{name}}", "more than one"},
	} {
		bad(t, r, c.want, "json_query", "json", c.json, "path", c.path)
	}
}

// FuzzJSONQuery looks for answers that grow without bound.
func FuzzJSONQuery(f *testing.F) {
	for _, path := range []string{"a.b", "#.a", "#(a>1)#", "[@this,@this,@this]", "a|@keys|0", `{"x":a,"y":!"lit"}`, "..#", "@flatten:{\"deep\":true}", "*", `#(a%"*b*")`} {
		f.Add(`[{"a":{"b":[1,[2,[3]]]}},{"a":2}]`, path)
	}
	f.Fuzz(func(t *testing.T, doc, path string) {
		if len(doc) > 10_000 {
			return
		}
		got, err := query(jsonQueryArgs{doc, path})
		if err == nil && len(got.Content) > (len(doc)+len(path)+10)*(len(path)+10) {
			t.Fatalf("%d bytes from %d with a path of %d", len(got.Content), len(doc), len(path))
		}
	})
}

func TestMemory(t *testing.T) {
	r, _ := inRoot(t, nil)
	for _, m := range [][2]string{
		{"build", "The build runs with make test."},
		{"deploy", "Deploy after the build; the build must be green."},
		{"name", "The user is called Zoë."},
	} {
		if got := good(t, r, "memory_store", "key", m[0], "text", m[1]); got.Summary != "stored as scratch:"+m[0] {
			t.Errorf("%+v", got)
		}
	}
	for query, want := range map[string]string{
		"make":        "[scratch:build] The build runs with make test.\n",
		"ZOË":         "[scratch:name] The user is called Zoë.\n",
		"deploy":      "[scratch:deploy] Deploy after the build; the build must be green.\n",
		"nothing":     "[no match among 3 texts]\n",
		"... !":       "[no match among 3 texts]\n",
		"build green": "[scratch:deploy] Deploy after the build; the build must be green.\n[scratch:build] The build runs with make test.\n",
	} {
		if got := good(t, r, "memory_search", "query", query); got.Content != want {
			t.Errorf("%q gives %q, want %q", query, got.Content, want)
		}
	}
	if got := good(t, r, "memory_search", "query", "the", "limit", 1); !got.Truncated || got.Summary != "3 texts" || !strings.HasSuffix(got.Content, "[1 of 3 matches]\n") {
		t.Errorf("limited: %+v", got)
	}
	if got := good(t, r, "memory_store", "key", "name", "text", "Forgotten"); got.Summary != "replaced scratch:name" {
		t.Errorf("%+v", got)
	}
	if got := good(t, r, "memory_search", "query", "zoë"); !strings.HasPrefix(got.Content, "[no match") {
		t.Errorf("a replaced text is found: %q", got.Content)
	}
	other, _ := inRoot(t, nil)
	if got := good(t, other, "memory_search", "query", "build"); got.Content != "[no match among 0 texts]\n" {
		t.Errorf("another run remembers: %q", got.Content)
	}
	bad(t, r, "larger than 8192", "memory_store", "key", "k", "text", strings.Repeat("é", maxMemory))
	bad(t, r, "1 to 200 characters", "memory_store", "key", "", "text", "x")
	bad(t, r, "1 to 1000 characters", "memory_search", "query", "")

	m := newMemory()
	for i := range maxMemories {
		if _, err := m.store(fmt.Sprint(i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.store("one more", "x"); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("text %d: %v", maxMemories+1, err)
	}
	if _, err := m.store("7", "y"); err != nil {
		t.Errorf("replacing in a full memory: %v", err)
	}
	m = newMemory()
	var err error
	for i := 0; err == nil && i < maxMemories; i++ {
		_, err = m.store(fmt.Sprint(i), strings.Repeat("x", maxMemory))
	}
	if err == nil || m.size > maxMemorySize {
		t.Errorf("holds %d bytes: %v", m.size, err)
	}
	if _, err := m.store("0", "short"); err != nil || m.size > maxMemorySize-maxMemory+10 {
		t.Errorf("after replacing: %d bytes, %v", m.size, err)
	}
}
