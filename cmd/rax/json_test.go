package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/trace"
)

// world runs command lines in a trace directory of its own that holds three
// traces, the oldest long ago.
type world struct{ dir string }

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{t.TempDir()}
	for id, name := range map[string]string{
		"01KDVSG000AAAAAAAAAAAAAAAA": "aapl", "01KDVSG000BBBBBBBBBBBBBBBB": "parallel", "01KDVSG000CCCCCCCCCCCCCCCC": "sub-runs",
	} {
		data, err := os.ReadFile("../../fixtures/trace/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(w.dir, id+".jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_800_000_000, 0)
		switch name {
		case "aapl":
			at = at.AddDate(0, -2, 0)
		case "sub-runs":
			at = at.Add(-time.Hour)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// rax runs a command line and gives its output.
func (w world) rax(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	code = run(append([]string{"rax"}, args...), system{
		in: strings.NewReader(""), out: &out, err: &talk,
		getenv: func(name string) string { return map[string]string{"RAX_TRACE_DIR": w.dir}[name] },
		home:   func() (string, error) { return w.dir, nil },
		now:    func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	return code, out.String(), talk.String()
}

// jsonCases gives each command that has --json its command lines, and what its
// documents are held against: the published schema where there is one, else the
// golden shape of the document (its members and their types).
var jsonCases = []struct {
	command, schema string
	lines           []string
	args            []string
}{
	{"rax diagnose debrief", "debrief", []string{"01KDVSG000A", "01KDVSG000B", "01KDVSG000C", "../../fixtures/trace/decisions.jsonl", "../../fixtures/trace/foreign.jsonl",
		"../../fixtures/transcript/claude-code/blocks.jsonl", "../../fixtures/transcript/claude-code/subagents.jsonl"}, nil},
	{"rax diagnose debrief", "debrief", []string{"../../fixtures/trace/several-runs.jsonl"}, []string{"--all"}},
	{"rax diagnose replay", "event", []string{"01KDVSG000A", "../../fixtures/trace/all-kinds.jsonl", "../../fixtures/transcript/claude-code/parallel.jsonl"}, nil},
	{"rax diagnose why", "", []string{"01KDVSG000B"}, []string{"1"}},
	{"rax diagnose why", "", []string{"../../fixtures/transcript/claude-code/blocks.jsonl"}, []string{"4"}},
	{"rax diagnose list", "", []string{""}, nil},
	{"rax diagnose parse", "", []string{"../../fixtures/wire/anthropic-messages/rationale-parallel.json"}, nil},
	{"rax diagnose scan", "", []string{"../../trace/safety/testdata/odd.jsonl"}, nil},
	{"rax diagnose prune", "", []string{""}, []string{"--older-than", "30d", "--compress-after", "1m"}},
	{"rax import", "", []string{"../../fixtures/transcript/claude-code/damaged.jsonl"}, nil},
	{"rax version", "", []string{""}, nil},
}

// withoutCase are commands whose JSON other tests hold against its schema.
var withoutCase = []string{"rax run", "rax tools list"}

func TestEveryJSONOutput(t *testing.T) {
	shapes := make(map[string][]string)
	debriefs, events := compile(t, debrief.Schema), compile(t, trace.Schema)
	for _, c := range jsonCases {
		for _, line := range c.lines {
			w := newWorld(t)
			args := strings.Fields(c.command)[1:]
			if line != "" {
				args = append(args, line)
			}
			args = append(append(args, c.args...), "--json")
			code, out, talk := w.rax(t, args...)
			if code != exitDone {
				t.Errorf("%v: exit %d: %s", args, code, talk)
				continue
			}
			documents := decodeAll(t, out)
			if len(documents) == 0 {
				t.Errorf("%v prints no document", args)
			}
			for _, doc := range documents {
				switch c.schema {
				case "debrief":
					for _, d := range oneOrMore(doc) {
						validate(t, args, debriefs, d)
					}
				case "event":
					shapeOf("", doc.(map[string]any)["line"], add(shapes, c.command+".line"))
					validate(t, args, events, doc.(map[string]any)["event"])
				default:
					shapeOf("", doc, add(shapes, c.command))
				}
			}
		}
	}
	var lines []string
	for command, shape := range shapes {
		slices.Sort(shape)
		for _, s := range slices.Compact(shape) {
			lines = append(lines, command+" "+s)
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	const golden = "testdata/json-shapes.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	// A member that is gone breaks who reads it; a new one is written down.
	for _, line := range missing(string(want), got) {
		t.Errorf("gone: %s", line)
	}
	for _, line := range missing(got, string(want)) {
		t.Errorf("new (write it down with -update): %s", line)
	}
}

// missing gives the lines of a text that another lacks.
func missing(text, from string) (lines []string) {
	there := strings.Split(from, "\n")
	for _, line := range strings.Split(text, "\n") {
		if !slices.Contains(there, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestNoJSONOutputIsForgotten finds the commands with --json in the program.
func TestNoJSONOutputIsForgotten(t *testing.T) {
	covered := slices.Clone(withoutCase)
	for _, c := range jsonCases {
		covered = append(covered, c.command)
	}
	everyCommand(newRoot(system{}), func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("json") != nil && !slices.Contains(covered, cmd.CommandPath()) {
			t.Errorf("%s --json is held against nothing", cmd.CommandPath())
		}
	})
}

func everyCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		everyCommand(c, visit)
	}
}

func add(shapes map[string][]string, name string) func(string) {
	return func(line string) { shapes[name] = append(shapes[name], line) }
}

// shapeOf names every member of a document with its type.
func shapeOf(path string, v any, note func(string)) {
	switch x := v.(type) {
	case map[string]any:
		for name, member := range x {
			shapeOf(path+"."+name, member, note)
		}
		note(path + " object")
	case []any:
		for _, item := range x {
			shapeOf(path+"[]", item, note)
		}
		note(path + " array")
	case json.Number:
		note(path + " number")
	default:
		note(fmt.Sprintf("%s %T", path, v))
	}
}

func decodeAll(t *testing.T, text string) (documents []any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	for dec.More() {
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		documents = append(documents, v)
	}
	return documents
}

func oneOrMore(doc any) []any {
	if several, ok := doc.([]any); ok {
		return several
	}
	return []any{doc}
}

func compile(t *testing.T, schema func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, args []string, schema *jsonschema.Schema, doc any) {
	t.Helper()
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v: %v", args, err)
	}
}
