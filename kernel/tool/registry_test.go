package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, reason string }{
		{"grep", ""}, {"tools.list", ""}, {"file_read", ""}, {"a-b", ""}, {"A1", ""},
		{"github/list_commits", ""},
		{"", "empty"},
		{"a..b", "contains .."},
		{"../etc/passwd", "path separator"},
		{"..", "contains .."},
		{"github/../x", "contains .."},
		{"github/a..b", "contains .."},
		{"github/", "empty"},
		{"github/a/b", "path separator"},
		{"gitlab/x", "namespace"},
		{"/x", "namespace"},
		{`a\b`, "path separator"},
		{"a\x00b", "control"},
		{"a\nb", "control"},
		{"a\x1b[31m", "control"},
		{"a\x7f", "control"},
		{"a b", "only letters"},
		{"naïve", "only letters"},
		{"a\u202eb", "only letters"},
		{".hidden", "only letters"},
		{"-x", "only letters"},
		{"x.", "only letters"},
		{strings.Repeat("a", 129), "longer"},
	} {
		r := NewRegistry(Limits{})
		if err := r.Namespace("github"); err != nil {
			t.Fatal(err)
		}
		err := r.Register(fake(c.name, says("")))
		if c.reason == "" {
			if err != nil {
				t.Errorf("%q: %v", c.name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%q was registered", c.name)
			continue
		}
		if e := asError[*NameError](t, err); !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%q: reason %q, want %q", c.name, e.Reason, c.reason)
		}
		if strings.ContainsAny(err.Error(), "\x00\n\x1b\x7f\u202e") {
			t.Errorf("%q: the error holds control characters", c.name)
		}
	}
	for _, name := range []string{"", "a/b", "..", `a\b`, "a\tb"} {
		if NewRegistry(Limits{}).Namespace(name) == nil {
			t.Errorf("namespace %q was declared", name)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"grep", "github/x", "../x", `a\b`, "a\x00", "a..b", "é", "/", "a/b/c", "..", "a.b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r := NewRegistry(Limits{})
		if err := r.Namespace("github"); err != nil {
			t.Fatal(err)
		}
		err := r.Register(fake(name, says("")))
		if err == nil {
			rest := strings.TrimPrefix(name, "github/")
			if rest == "" || strings.Contains(name, "..") || strings.ContainsAny(rest, `/\`) || filepath.Base(rest) != rest {
				t.Fatalf("%q was registered", name)
			}
			for _, c := range []byte(name) {
				if c <= ' ' || c >= 0x7f {
					t.Fatalf("%q was registered", name)
				}
			}
		}
		_, registered := r.Lookup(name)
		if registered != (err == nil) {
			t.Fatalf("%q: found %v, error %v", name, registered, err)
		}
		if _, err := r.Call(t.Context(), name+"x", nil); err == nil {
			t.Fatalf("%qx was called", name)
		} else if len(err.Error()) > 1000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
	})
}

func TestRegister(t *testing.T) {
	r := registry(t, Limits{}, fake("b", says("")), fake("a", says("")), fake("c", says("")))
	e := asError[*NameError](t, r.Register(fake("a", says(""))))
	if e.Name != "a" {
		t.Errorf("name %q", e.Name)
	}
	if r.Register(nil) == nil {
		t.Error("nil was registered")
	}
	var names []string
	for _, s := range r.Specs() {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("order %v", names)
	}
	for text, spec := range map[string]kernel.ToolSpec{
		"effects":        {Name: "x", Description: "d", Schema: []byte(`{}`)},
		"no description": {Name: "x", Effects: kernel.EffectRead, Schema: []byte(`{}`)},
	} {
		if err := r.Register(funcTool{spec: spec}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestUnknownTool(t *testing.T) {
	r, _ := inRoot(t, nil)
	for asked, want := range map[string]string{
		"grpe":                    "grep",
		"FileRead":                "file_read",
		"read_file":               "file_read",
		"a":                       "",
		"tools_list":              "tools.list",
		"memory":                  "memory_search memory_store",
		"rm -rf /":                "",
		strings.Repeat("x", 1000): "",
	} {
		_, err := call(t, r, asked)
		e := asError[*UnknownToolError](t, err)
		if got := strings.Join(e.Close, " "); got != want {
			t.Errorf("%q is close to %q, want %q", asked, got, want)
		}
		if len(err.Error()) > 300 {
			t.Errorf("%q: an error of %d bytes", asked, len(err.Error()))
		}
	}
	_, err := call(t, r, "a\x1b[2J\n"+strings.Repeat("b", 500))
	if strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("the error %q holds control characters", err)
	}
}

func TestSelect(t *testing.T) {
	r, _ := inRoot(t, nil)
	s, err := r.Select("time", "calculator", "tools.list", "time")
	if err != nil {
		t.Fatal(err)
	}
	var got []listed
	if err := json.Unmarshal([]byte(good(t, s, "tools.list").Content), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Name != "calculator" || got[1].Name != "time" || got[2].Name != "tools.list" {
		t.Errorf("tools.list of a selection gives %v", got)
	}
	if _, err := call(t, s, "shell", "command", "true"); err == nil {
		t.Error("a tool that was not selected could be called")
	}
	if _, err := r.Select("time", "clock"); err == nil {
		t.Error("an unknown tool was selected")
	}
	if n := len(r.Specs()); n != 12 {
		t.Errorf("the registry has %d tools after the selection", n)
	}
}

func TestList(t *testing.T) {
	r, _ := inRoot(t, nil)
	result := good(t, r, "tools.list")
	var all []listed
	if err := json.Unmarshal([]byte(result.Content), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(r.Specs()) || result.Summary != fmt.Sprintf("%d tools", len(all)) {
		t.Errorf("%d tools listed, summary %q", len(all), result.Summary)
	}
	for _, l := range all {
		spec, ok := r.Lookup(l.Name)
		if !ok || spec.Description != l.Description || spec.Effects != l.Effects || !bytes.Equal(spec.Schema, l.Schema) {
			t.Errorf("%s is listed as %+v", l.Name, l)
		}
	}
	if one := good(t, r, "tools.list", "name", "grep"); one.Summary != "1 tool" || !strings.Contains(one.Content, "RE2") {
		t.Errorf("one tool: %+v", one)
	}
	bad(t, r, "no such tool", "tools.list", "name", "nothing")
	if _, err := List().Run(t.Context(), []byte(`{}`)); err == nil {
		t.Error("tools.list without a registry lists something")
	}
}

// TestSchemas compares what the model gets to see of each tool.
func TestSchemas(t *testing.T) {
	r, _ := inRoot(t, nil)
	golden, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil || len(golden) != len(r.Specs()) && !*update {
		t.Errorf("%d golden schemas for %d tools (%v)", len(golden), len(r.Specs()), err)
	}
	for _, spec := range r.Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			var text bytes.Buffer
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(listed{spec.Name, spec.Description, spec.Effects, spec.Schema}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "schemas", spec.Name+".json")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text.Bytes(), want) {
				t.Errorf("schema differs from %s; go test -update writes it:\n%s", file, text.Bytes())
			}
		})
	}
}

func TestBuiltin(t *testing.T) {
	tools, err := Builtin(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		switch spec := tool.Spec(); spec.Name {
		case "file_read", "file_write", "file_list", "grep", "shell":
			t.Errorf("%s without a root", spec.Name)
		default:
			if spec.Effects == kernel.EffectWrite || spec.Effects == kernel.EffectExecute {
				t.Errorf("%s has effects %s", spec.Name, spec.Effects)
			}
		}
	}
	if _, err := Builtin(Options{AllowShell: true}); err == nil {
		t.Error("a shell without a root")
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r, err := NewBuiltin(Limits{}, Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Lookup("shell"); ok {
		t.Error("a shell that was not allowed")
	}
	if _, ok := r.Lookup("file_write"); !ok {
		t.Error("no file_write although there is a root")
	}
}
