package trace

import "testing"

func TestPointer(t *testing.T) {
	rec := Record{line: []byte(`{"kind":"x","a":{"b":["zero",{"c":"deep"}],"b":["second"],"":"empty","~/":"odd","1":"key"},` +
		`"text":"e\u0301\n","n":1,"a\u0062":"escaped"}`)}
	tests := []struct {
		pointer, want string
		ok            bool
	}{
		{"/kind", "x", true},
		{"/a/b/0", "zero", true},
		{"/a/b/1/c", "deep", true},
		{"/a/", "empty", true},
		{"/a/~0~1", "odd", true},
		{"/a/1", "key", true},
		{"/text", "e\u0301\n", true},
		{"/ab", "escaped", true},

		{"", "", false},
		{"kind", "", false},
		{"/", "", false},
		{"/a/b/2", "", false},
		{"/a/b/-1", "", false},
		{"/a/b/-", "", false},
		{"/a/b/00", "", false},
		{"/a/b/+1", "", false},
		{"/a/b/99999999999999999999", "", false},
		{"/kind/0", "", false},
		{"/Kind", "", false},
	}
	for _, tt := range tests {
		if got, ok := Pointer(rec, tt.pointer); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q gives %q, %t", tt.pointer, got, ok)
		}
	}
	if _, ok := Pointer(rec, "/n"); ok {
		t.Error("a number passes for a string")
	}
}

func TestMembers(t *testing.T) {
	rec := Record{line: []byte(` { "b" : 1 , "a":[ {"b":2} ],"b":null, "\u0062":"x" } `)}
	var got []string
	for _, m := range Members(rec) {
		got = append(got, m.Name+"="+string(m.Value))
	}
	equal(t, "members", got, []string{"b=1", `a=[ {"b":2} ]`, "b=null", `b="x"`})
	if got := Members(Record{line: []byte(`{}`)}); len(got) > 0 {
		t.Errorf("an empty object has %v", got)
	}
}
