package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// broken holds for every rule a graph that breaks it, with the message.
var broken = []struct {
	name  string
	graph imports
	want  string
}{
	{"rationale on trace",
		imports{"rax/rationale": {"rax/trace"}, "rax/trace": {}},
		"rax/rationale imports rax/trace: rationale imports nothing of rax"},
	{"trace on its directory",
		imports{"rax/trace": {"rax/trace/dir"}, "rax/trace/dir": {}},
		"rax/trace imports rax/trace/dir: trace imports of rax only rationale and trace/safety"},
	{"safety on rationale",
		imports{"rax/trace/safety": {"rax/rationale"}, "rax/rationale": {}},
		"rax/trace/safety imports rax/rationale: trace/safety imports nothing of rax"},
	{"directory on trace",
		imports{"rax/trace/dir": {"rax/trace"}, "rax/trace": {}},
		"rax/trace/dir imports rax/trace: trace/dir imports nothing of rax"},
	{"view on parsers",
		imports{"rax/debrief/render": {"rax/parsers"}, "rax/parsers": {}},
		"rax/debrief/render imports rax/parsers: debrief imports neither kernel nor parsers"},
	{"fold on kernel through a package without rules",
		imports{"rax/debrief": {"rax/other"}, "rax/other": {"rax/kernel"}, "rax/kernel": {}},
		"rax/debrief imports rax/kernel through rax/other: debrief imports neither kernel nor parsers"},
	{"parser on debrief",
		imports{"rax/parsers/plan": {"rax/debrief/check"}, "rax/debrief/check": {}},
		"rax/parsers/plan imports rax/debrief/check: parsers import neither debrief nor kernel"},
	{"loop on a strategy",
		imports{"rax/kernel": {"rax/kernel/strategy"}, "rax/kernel/strategy": {}},
		"rax/kernel imports rax/kernel/strategy: kernel imports of its children only convo and control"},
	{"loop on a tool through its conversation",
		imports{"rax/kernel": {"rax/kernel/convo"}, "rax/kernel/convo": {"rax/kernel/tool"}, "rax/kernel/tool": {}},
		"rax/kernel imports rax/kernel/tool through rax/kernel/convo: kernel imports of its children only convo and control"},
	{"kernel on a command",
		imports{"rax/kernel/chat": {"rax/cmd/rax"}, "rax/cmd/rax": {}},
		"rax/kernel/chat imports rax/cmd/rax: nobody imports cmd"},
	{"parser on fixtures",
		imports{"rax/parsers/text": {"rax/fixtures"}, "rax/fixtures": {}},
		"rax/parsers/text imports rax/fixtures: only cmd/rax and tests import fixtures"},
	{"cobra in the kernel",
		imports{"rax/kernel/chat": {"github.com/spf13/cobra"}},
		"rax/kernel/chat imports github.com/spf13/cobra: only cmd/rax may import github.com/spf13/cobra"},
	{"treeprint in a command",
		imports{"rax/cmd/rax": {"github.com/xlab/treeprint"}},
		"rax/cmd/rax imports github.com/xlab/treeprint: only debrief/render may import github.com/xlab/treeprint"},
	{"tablewriter below its door",
		imports{"rax/debrief/stats": {"github.com/olekukonko/tablewriter/tw"}},
		"rax/debrief/stats imports github.com/olekukonko/tablewriter/tw: only debrief/render may import github.com/olekukonko/tablewriter"},
	{"validator outside rationale",
		imports{"rax/parsers/plan": {"github.com/go-playground/validator/v10"}},
		"rax/parsers/plan imports github.com/go-playground/validator/v10: only rationale may import github.com/go-playground/validator"},
	{"gjson in the fold",
		imports{"rax/debrief": {"github.com/tidwall/gjson"}},
		"rax/debrief imports github.com/tidwall/gjson: only rationale, trace/..., parsers/..., kernel/tool may import github.com/tidwall/gjson"},
	{"YAML in the kernel",
		imports{"rax/kernel": {"github.com/goccy/go-yaml"}},
		"rax/kernel imports github.com/goccy/go-yaml: only cmd/rax, kernel/flow may import github.com/goccy/go-yaml"},
	{"templates in a command",
		imports{"rax/cmd/rax": {"github.com/nikolalohinski/gonja/v2/parser"}},
		"rax/cmd/rax imports github.com/nikolalohinski/gonja/v2/parser: only kernel/flow may import github.com/nikolalohinski/gonja"},
	{"conditions in the loop",
		imports{"rax/kernel": {"github.com/expr-lang/expr"}},
		"rax/kernel imports github.com/expr-lang/expr: only kernel/flow may import github.com/expr-lang/expr"},
	{"schemas in the trace",
		imports{"rax/trace": {"github.com/google/jsonschema-go/jsonschema"}},
		"rax/trace imports github.com/google/jsonschema-go/jsonschema: only cmd/rax, debrief, kernel/tool, kernel/flow may import github.com/google/jsonschema-go"},
	{"sqlite in the gateway",
		imports{"rax/kernel/gateway": {"modernc.org/sqlite/lib"}},
		"rax/kernel/gateway imports modernc.org/sqlite/lib: only kernel/trail may import modernc.org/sqlite"},
}

func TestCheckReportsEveryRule(t *testing.T) {
	unbroken := map[string]bool{}
	for _, r := range rules {
		unbroken[r.text] = true
	}
	for _, tt := range broken {
		t.Run(tt.name, func(t *testing.T) {
			got := check(tt.graph, rules)
			if !slices.Equal(got, []string{tt.want}) {
				t.Errorf("got %q, want only %q", got, tt.want)
			}
		})
		for text := range unbroken {
			if strings.HasSuffix(tt.want, ": "+text) {
				delete(unbroken, text)
			}
		}
	}
	for text := range unbroken {
		t.Errorf("no case breaks the rule %q", text)
	}
}

func TestCheckAcceptsTheDesign(t *testing.T) {
	graph := imports{
		"rax/rationale":      {"github.com/go-playground/validator/v10", "github.com/tidwall/gjson", "strings"},
		"rax/trace/safety":   {"regexp"},
		"rax/trace/dir":      {"github.com/gofrs/flock"},
		"rax/trace":          {"rax/rationale", "rax/trace/safety", "github.com/tidwall/gjson"},
		"rax/parsers":        {"rax/rationale"},
		"rax/parsers/source": {"rax/parsers", "rax/trace", "rax/trace/dir", "github.com/tidwall/gjson"},
		"rax/debrief":        {"rax/rationale", "rax/trace"},
		"rax/debrief/render": {"rax/debrief", "github.com/xlab/treeprint", "github.com/olekukonko/tablewriter"},
		"rax/kernel/convo":   {"rax/trace"},
		"rax/kernel/control": {"rax/rationale"},
		"rax/kernel":         {"rax/parsers", "rax/debrief", "rax/kernel/convo", "rax/kernel/control"},
		"rax/kernel/tool":    {"rax/kernel", "github.com/tidwall/gjson"},
		"rax/kernel/trail":   {"rax/kernel", "modernc.org/sqlite"},
		"rax/fixtures":       {"embed"},
		"rax/cmd/rax":        {"rax/kernel/tool", "rax/fixtures", "rax/debrief/render", "github.com/spf13/cobra"},
	}
	if got := check(graph, rules); len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestCheckSurvivesCycles(t *testing.T) {
	graph := imports{"rax/a": {"rax/b"}, "rax/b": {"rax/a"}}
	if got := check(graph, rules); len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

// A name that only begins like a pattern is another package.
func TestMatchStopsAtTheElement(t *testing.T) {
	for pkg, want := range map[string]bool{"rax/kernel": true, "rax/kernel/tool": true, "rax/kernels": false, "rax": false} {
		if got := matchAny([]string{"rax/kernel/..."}, pkg); got != want {
			t.Errorf("rax/kernel/... matches %s: %t, want %t", pkg, got, want)
		}
	}
}

func TestLoadSeesEveryPlatformAndNoTests(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.org/m\n\ngo 1.26\n")
	write(t, dir, "a.go", "package m\n\nimport _ \"example.org/m/b\"\n")
	write(t, dir, "a_windows.go", "package m\n\nimport _ \"bufio\"\n")
	write(t, dir, "a_test.go", "package m\n\nimport _ \"testing\"\n")
	write(t, dir, "b/b.go", "package b\n")

	graph, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bufio", "rax/b"}; !slices.Equal(graph["rax"], want) {
		t.Errorf("imports of the root: %q, want %q", graph["rax"], want)
	}
	if _, ok := graph["rax/b"]; !ok || len(graph) != 2 {
		t.Errorf("got %v, want the packages rax and rax/b", graph)
	}
}

func TestLoadReportsWhatCannotBeListed(t *testing.T) {
	dir := t.TempDir()
	if _, err := load(dir); err == nil {
		t.Error("an empty directory: want an error")
	}
	write(t, dir, "go.mod", "module example.org/m\n\ngo 1.26\n")
	if _, err := load(dir); err == nil {
		t.Error("a module without packages: want an error")
	}
	write(t, dir, "a.go", "package m\n\nimport\n")
	if _, err := load(dir); err == nil || !strings.Contains(err.Error(), "a.go") {
		t.Errorf("got %v, want an error that names a.go", err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
