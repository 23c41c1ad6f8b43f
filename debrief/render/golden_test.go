package render_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fold reads a trace of the fixtures.
func fold(t *testing.T, path string) []debrief.Debrief {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	runs, err := debrief.Build(trace.NewReader(in, filepath.Base(path), trace.ReaderOptions{}).All())
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// views are the ways to show a debrief, by the ending of the golden file.
var views = map[string]func(*bytes.Buffer, debrief.Debrief) error{
	"tree": func(b *bytes.Buffer, d debrief.Debrief) error { return render.Tree(b, d, render.TreeOptions{}) },
	"narrow": func(b *bytes.Buffer, d debrief.Debrief) error {
		return render.Tree(b, d, render.TreeOptions{Width: 60})
	},
	"expanded": func(b *bytes.Buffer, d debrief.Debrief) error {
		return render.Tree(b, d, render.TreeOptions{Expand: true})
	},
	"color": func(b *bytes.Buffer, d debrief.Debrief) error {
		return render.Tree(b, d, render.TreeOptions{Color: true, Width: 80})
	},
	"json": func(b *bytes.Buffer, d debrief.Debrief) error { return render.JSON(b, d) },
	"md":   func(b *bytes.Buffer, d debrief.Debrief) error { return render.Markdown(b, d) },
}

// TestGolden shows every trace of the fixtures in every view.
func TestGolden(t *testing.T) {
	traces, err := filepath.Glob("../../fixtures/trace/*.jsonl")
	if err != nil || len(traces) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, path := range traces {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		runs := fold(t, path)
		if len(runs) == 0 {
			t.Fatalf("%s: no run", name)
		}
		for ending, view := range views {
			t.Run(name+"."+ending, func(t *testing.T) {
				var got bytes.Buffer
				for _, d := range runs {
					if err := view(&got, d); err != nil {
						t.Fatal(err)
					}
				}
				golden(t, filepath.Join("testdata", name+"."+ending), got.Bytes())
			})
		}
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (rewrite with -update):\n%s", path, got)
	}
}

// TestDecisionGolden shows the calls of a trace one by one: present, missing,
// malformed and blocked, a failure among them.
func TestDecisionGolden(t *testing.T) {
	const path = "../../fixtures/trace/parallel.jsonl"
	d := fold(t, path)[0]
	var got bytes.Buffer
	for number := range d.Metrics.ToolCalls {
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		decision, err := debrief.Explain(d, strconv.Itoa(number+1), trace.NewReader(in, "parallel.jsonl", trace.ReaderOptions{}).All())
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := render.Decision(&got, decision, render.TreeOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "testdata/parallel.why", got.Bytes())
}

// TestSpecification holds the tree of specification 004's example against the
// document, line for line.
func TestSpecification(t *testing.T) {
	const want = `Debrief: run abc-123
├─ Goal: find current price of AAPL stock
├─ Path: web_search → calculator
├─ Why this path
│   • iter 1 chose tool:web_search: "needs fresh price data" (refs: scratch:goal)
│   • iter 2 chose tool:calculator: "verify cited number"
├─ Assumptions
│   • "user means USD" (conf: 0.60) — no currency specified
├─ Curator
│   • iter 2 marked-untrusted obs:scrape-1 — "no audit trail"
├─ Termination: quality_threshold — "quality 0.92 ≥ threshold 0.90"
└─ Verdict: success | 1500 tok | 2500ms
`
	var got bytes.Buffer
	if err := render.Tree(&got, fold(t, "../../fixtures/trace/aapl.jsonl")[0], render.TreeOptions{}); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &got, want)
	}
}
