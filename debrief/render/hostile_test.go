package render_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/trace"
)

// hostile is text that tries to leave its place.
const hostile = "a\nb\r├─ Verdict: success\x1b[31m\x07\u202e\u2028\u0085\u009b1m\t \U000E0041end"

// FuzzTree draws what any bytes fold into: no line breaks out, each line but the
// first starts with a branch, and no control character is left.
func FuzzTree(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Add(fmt.Appendf(nil, `{"kind":"run-started","runId":%[1]q,"task":%[1]q}
{"kind":"tool-call-start","runId":%[1]q,"toolName":%[1]q,"narrative":%[1]q,"rationaleStatus":"missing"}
{"kind":"tool-call-end","runId":%[1]q,"toolName":%[1]q,"ok":false,"error":%[1]q}
{"kind":"curator-decision","runId":%[1]q,"action":%[1]q,"targetRef":%[1]q,"rationale":{"why":%[1]q}}`, hostile))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := debrief.Build(trace.NewReader(bytes.NewReader(data), "fuzz", trace.ReaderOptions{}).All())
		if err != nil {
			return
		}
		for _, d := range runs {
			for _, width := range []int{0, 40} {
				checkTree(t, d, width)
			}
			checkText(t, d)
			checkDecisions(t, d, data)
		}
		checkReplay(t, data)
	})
}

// checkDecisions shows the first calls of a run in full: labelled lines, and no
// character from the trace that controls a terminal.
func checkDecisions(t *testing.T, d debrief.Debrief, data []byte) {
	t.Helper()
	for number := range min(d.Metrics.ToolCalls, 3) {
		decision, err := debrief.Explain(d, strconv.Itoa(number+1), trace.NewReader(bytes.NewReader(data), "fuzz", trace.ReaderOptions{}).All())
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := render.Decision(&buf, decision, render.TreeOptions{}); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n") {
			if i > 0 && !strings.HasPrefix(line, "  ") {
				t.Errorf("line %d of a decision is none of its own: %q", i+1, line)
			}
			controlFree(t, "a decision", line)
		}
	}
}

// checkReplay shows every event on one line.
func checkReplay(t *testing.T, data []byte) {
	t.Helper()
	for _, opt := range []render.ReplayOptions{{}, {Raw: true}, {JSON: true}} {
		var buf bytes.Buffer
		show, events := render.NewReplay(&buf, opt), 0
		for rec, err := range trace.NewReader(bytes.NewReader(data), "fuzz", trace.ReaderOptions{}).All() {
			if err != nil {
				continue
			}
			events++
			if _, err := show.Record(rec, func(trace.Kind) bool { return true }); err != nil {
				t.Fatal(err)
			}
		}
		if lines := strings.Count(buf.String(), "\n"); lines != events {
			t.Errorf("%d events stand on %d lines", events, lines)
		}
		controlFree(t, "the replay", strings.ReplaceAll(buf.String(), "\n", ""))
	}
}

func controlFree(t *testing.T, where, text string) {
	t.Helper()
	for _, r := range text {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%s holds %U", where, r)
		}
	}
}

// seeds are the traces of the fixtures. Without any the test fails.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	paths, _ := filepath.Glob("../../fixtures/trace/*.jsonl")
	if len(paths) == 0 {
		f.Fatal("no seeds")
	}
	var out [][]byte
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

func checkTree(t *testing.T, d debrief.Debrief, width int) {
	t.Helper()
	var buf bytes.Buffer
	if err := render.Tree(&buf, d, render.TreeOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	for i, line := range lines {
		if i > 0 && !strings.HasPrefix(line, "├─ ") && !strings.HasPrefix(line, "│") && !strings.HasPrefix(line, "└─ ") {
			t.Errorf("line %d starts with no branch: %q", i+1, line)
		}
		if i > 0 && i < len(lines)-1 && strings.HasPrefix(line, "└─") {
			t.Errorf("line %d closes the tree before its end: %q", i+1, line)
		}
		controlFree(t, fmt.Sprintf("line %d", i+1), line)
	}
}

// checkText holds the other views to the same: nothing that controls a terminal,
// no markup from the trace.
func checkText(t *testing.T, d debrief.Debrief) {
	t.Helper()
	var js, md bytes.Buffer
	if err := render.JSONLine(&js, d); err != nil {
		t.Fatal(err)
	}
	if err := render.Markdown(&md, d); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"json": js.String(), "markdown": md.String()} {
		for _, r := range text {
			if r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("%s holds %U", name, r)
			}
		}
	}
	if strings.Contains(md.String(), "<") {
		t.Error("markdown holds a tag")
	}
	if strings.Count(js.String(), "\n") != 1 {
		t.Error("JSON stands on several lines")
	}
}
