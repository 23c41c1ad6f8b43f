package debrief_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// build folds a trace given as text.
func build(t testing.TB, text string) []debrief.Debrief {
	t.Helper()
	runs, err := debrief.Build(trace.NewReader(strings.NewReader(text), "test", trace.ReaderOptions{}).All())
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// one folds a trace that holds one run.
func one(t testing.TB, lines ...string) debrief.Debrief {
	t.Helper()
	runs := build(t, strings.Join(lines, "\n")+"\n")
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	return runs[0]
}

const start = `{"kind":"run-started","runId":"r","timestamp":1,"iter":-1,"seq":0,"task":"t","model":"m","provider":"p"}`

func outcomes(d debrief.Debrief) string {
	var out []string
	for _, s := range d.Path {
		out = append(out, fmt.Sprintf("%s %s %s", strings.TrimPrefix(s.Action, "tool:"), s.Status, s.Outcome))
	}
	return strings.Join(out, "; ")
}

func codes(d debrief.Debrief) []string {
	var out []string
	for _, w := range d.Warnings {
		out = append(out, w.Code)
	}
	return out
}

func TestOutcomesAndPairing(t *testing.T) {
	call := func(seq int, tool, more string) string {
		return fmt.Sprintf(`{"kind":"tool-call-start","runId":"r","iter":1,"seq":%d,"toolName":%q%s}`, seq, tool, more)
	}
	end := func(seq int, tool, more string) string {
		return fmt.Sprintf(`{"kind":"tool-call-end","runId":"r","iter":-1,"seq":%d,"toolName":%q%s}`, seq, tool, more)
	}
	tests := []struct {
		name, want string
		lines      []string
		warns      []string
	}{
		{"by id, in another order", "a unasked success; a unasked error", []string{
			call(1, "a", `,"callId":"c1"`), call(2, "a", `,"callId":"c2"`),
			end(3, "a", `,"callId":"c2","ok":false`), end(4, "a", `,"callId":"c1","ok":true`),
		}, nil},
		{"by order and tool without ids", "a unasked error; b unasked success; a unasked success", []string{
			call(1, "a", ""), call(2, "b", ""), call(3, "a", ""),
			end(4, "a", `,"ok":false`), end(5, "a", `,"ok":true`), end(6, "b", `,"ok":true`),
		}, nil},
		{"a call without an end", "a unasked open", []string{call(1, "a", "")}, []string{debrief.WarnOpenCalls}},
		{"an end without a call", "", []string{end(1, "a", "")}, []string{debrief.WarnEndWithoutStart}},
		{"rejected", "a unasked rejected", []string{call(1, "a", ""), end(2, "a", `,"ok":false,"rejected":true`)}, nil},
		{"an end that does not say how", "a unasked unknown", []string{call(1, "a", ""), end(2, "a", "")}, nil},
		{"an error without ok", "a unasked error", []string{call(1, "a", ""), end(2, "a", `,"error":"x"`)}, nil},
		{"the alias of specification 004", "a present open", []string{
			`{"kind":"ToolCallStarted","runId":"r","seq":1,"toolName":"a","rationale":{"why":"w"}}`,
		}, []string{debrief.WarnOpenCalls}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := slices.Concat([]string{start}, tt.lines, []string{`{"kind":"run-completed","runId":"r","seq":99,"status":"success"}`})
			d := one(t, lines...)
			if got := outcomes(d); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := codes(d); !slices.Equal(got, tt.warns) {
				t.Errorf("warnings %v, want %v", got, tt.warns)
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	call := func(more string) string {
		return `{"kind":"tool-call-start","runId":"r","seq":1,"toolName":"a"` + more + `}`
	}
	tests := []struct {
		name  string
		lines []string
		want  []rationale.Status
		warns bool
	}{
		{"nobody asked", []string{call("")}, []rationale.Status{rationale.Unasked}, false},
		{"one states a reason, so all were asked", []string{call(""), call(`,"rationale":{"why":"w"}`)},
			[]rationale.Status{rationale.Missing, rationale.Present}, false},
		{"declared", []string{call(`,"rationaleStatus":"missing"`), call(`,"rationaleStatus":"blocked"`), call(`,"rationaleStatus":"unasked"`)},
			[]rationale.Status{rationale.Missing, rationale.Blocked, rationale.Unasked}, false},
		{"an empty why is malformed", []string{call(`,"rationale":{"why":""}`)}, []rationale.Status{rationale.Malformed}, false},
		{"no object is malformed", []string{call(`,"rationale":"because"`)}, []rationale.Status{rationale.Malformed}, false},
		{"null is none", []string{call(`,"rationale":null`)}, []rationale.Status{rationale.Unasked}, false},
		{"present is claimed and none stands there", []string{call(`,"rationaleStatus":"present"`)}, []rationale.Status{rationale.Missing}, true},
		{"missing is claimed and one stands there", []string{call(`,"rationaleStatus":"missing","rationale":{"why":"w"}`)}, []rationale.Status{rationale.Present}, true},
		{"an unknown status", []string{call(`,"rationaleStatus":"perhaps"`)}, []rationale.Status{rationale.Unasked}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := one(t, append([]string{start}, tt.lines...)...)
			var got []rationale.Status
			for _, s := range d.Path {
				got = append(got, s.Status)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if warned := slices.Contains(codes(d), debrief.WarnStatus); warned != tt.warns {
				t.Errorf("warned %v, want %v: %v", warned, tt.warns, d.Warnings)
			}
			m := d.Metrics
			if sum := m.Present + m.Missing + m.Malformed + m.Blocked + m.Unasked; sum != m.ToolCalls || sum != len(tt.want) {
				t.Errorf("metrics do not add up: %+v", m)
			}
			if (m.Coverage == nil) != (m.Asked() == 0) {
				t.Errorf("coverage %v of %d asked calls", m.Coverage, m.Asked())
			}
		})
	}
}

func TestLongWhyOfForeignTraceIsCutAndMarked(t *testing.T) {
	long := strings.Repeat("ä", rationale.MaxWhy+5)
	d := one(t, start, `{"kind":"tool-call-start","runId":"r","seq":1,"toolName":"a","rationale":{"why":"`+long+`"}}`)
	got := d.Path[0].Rationale
	if got == nil || !got.Truncated || got.Why != strings.Repeat("ä", rationale.MaxWhy) {
		t.Errorf("got %+v", got)
	}
}

func TestSubRuns(t *testing.T) {
	d := one(t, start,
		`{"kind":"tool-call-start","runId":"r","seq":1,"callId":"c1","toolName":"delegate","rationale":{"why":"w"}}`,
		`{"kind":"run-started","runId":"s","parentRunId":"r","rootRunId":"r","depth":1,"seq":2,"callId":"c1","task":"sub"}`,
		`{"kind":"tool-call-start","runId":"s","parentRunId":"r","seq":3,"toolName":"a","rationaleStatus":"missing"}`,
		`{"kind":"run-completed","runId":"s","seq":4,"status":"success"}`,
		`{"kind":"run-completed","runId":"r","seq":5,"status":"success"}`)
	if len(d.Children) != 1 || d.Children[0].Goal != "sub" || d.Children[0].ParentCallID != "c1" {
		t.Fatalf("children: %+v", d.Children)
	}
	if d.Metrics.ToolCalls != 1 || d.Children[0].Metrics.Missing != 1 || *d.Metrics.Coverage != 1 {
		t.Errorf("a child's calls count for its parent: %+v", d.Metrics)
	}
	if _, ok := debrief.Find([]debrief.Debrief{d}, "s"); !ok {
		t.Error("the sub-run cannot be found")
	}
}

func TestForgedParents(t *testing.T) {
	// A cycle, a parent that does not exist, and a chain without end.
	var b strings.Builder
	b.WriteString(`{"kind":"run-started","runId":"a","parentRunId":"b","seq":0}` + "\n")
	b.WriteString(`{"kind":"run-started","runId":"b","parentRunId":"a","seq":0}` + "\n")
	b.WriteString(`{"kind":"run-started","runId":"c","parentRunId":"nobody","seq":0}` + "\n")
	for i := range 20000 {
		fmt.Fprintf(&b, `{"kind":"run-started","runId":"d%d","parentRunId":"d%d","seq":0}`+"\n", i+1, i)
	}
	runs := build(t, b.String())
	total := 0
	var count func(ds []debrief.Debrief)
	count = func(ds []debrief.Debrief) {
		for _, d := range ds {
			total++
			count(d.Children)
		}
	}
	count(runs)
	if total != 20003 {
		t.Errorf("%d runs shown, want 20003: none may be lost", total)
	}
	if !slices.Contains(codes(runs[0]), debrief.WarnLostParent) {
		t.Errorf("no warning: %v", runs[0].Warnings)
	}
}

func TestDamageAndKilledRun(t *testing.T) {
	d := one(t, start,
		`{"kind":"kernel-state-snapshot","runId":"r","seq":1,"tokens":77,"cost":0.5}`,
		`nonsense`, `{"no":"kind"}`, `{"kind":"iteration-enter","runId":"r","seq":2}{"kind":"iteration-exit","runId":"r","seq":3}`,
		`{"kind":"tool-call-st`)
	for _, code := range []string{debrief.WarnNoEnd, debrief.WarnUnreadable, debrief.WarnNoKind, debrief.WarnJoined} {
		if !slices.Contains(codes(d), code) {
			t.Errorf("no warning %s in %v", code, d.Warnings)
		}
	}
	if d.Verdict != nil || d.Tokens == nil || *d.Tokens.Total != 77 || !d.Tokens.LowerBound || *d.Cost != 0.5 {
		t.Errorf("tokens so far: verdict %v tokens %+v", d.Verdict, d.Tokens)
	}
}

func TestTerminationIsLoggedOnce(t *testing.T) {
	snapshot := `{"kind":"kernel-state-snapshot","runId":"r","seq":1,"terminatedBy":"final_answer","terminationRationale":{"why":"w"}}`
	d := one(t, start, snapshot, snapshot)
	if len(d.Rationale) != 1 || d.Rationale[0].Decision != "termination:final_answer" {
		t.Errorf("log: %+v", d.Rationale)
	}
	if d = one(t, start); d.Termination.By != debrief.TerminationUnknown || d.Termination.Rationale != nil {
		t.Errorf("a termination was made up: %+v", d.Termination)
	}
}

// TestDecisionTags holds the unified log of a fixture against the five kinds of
// tags of specification 004, each with all its values. What the log looks like
// in every view is golden in the package render.
func TestDecisionTags(t *testing.T) {
	text, err := os.ReadFile("../fixtures/trace/decisions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	free := `{"kind":"decision-evaluated","runId":"01KDVSG000DCSN000000000001","iter":4,"seq":99,"decisionType":"branch","reason":"free text is no structured reason"}`
	d := one(t, string(text)+free)
	var got []string
	for _, e := range d.Rationale {
		if e.Rationale.Why == "" {
			t.Errorf("%s: no reason", e.Decision)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Iteration, e.Decision, e.ToolName)))
	}
	want := []string{
		"1 tool-selection github/list_commits",
		"2 curator-kept", "2 curator-dropped", "2 curator-compressed", "2 curator-marked-untrusted",
		"2 strategy-switch:reactive→plan-execute-reflect",
		"3 reactive-early-stop", "3 reactive-branch", "3 reactive-compress", "3 reactive-switch-strategy", "3 reactive-attribute",
		"4 termination:quality_threshold",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestSchemaTakesEveryDebrief(t *testing.T) {
	doc, err := debrief.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(doc, &schema); err != nil {
		t.Fatal(err)
	}
	schema.ID = "" // a relative id cannot be resolved without a base
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob("../fixtures/trace/*.jsonl")
	if len(paths) == 0 {
		t.Fatal("no fixtures")
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range build(t, string(text)) {
			if err := resolved.Validate(asJSON(t, d)); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
	broken := asJSON(t, one(t, start)).(map[string]any)
	broken["path"] = nil
	if resolved.Validate(broken) == nil {
		t.Error("the schema takes null for an array")
	}
}

func asJSON(t testing.TB, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzFold folds any bytes: it never panics, gives equal bytes for equal input,
// loses no call, and its metrics add up.
func FuzzFold(f *testing.F) {
	paths, _ := filepath.Glob("../fixtures/trace/*.jsonl")
	if len(paths) == 0 {
		f.Fatal("no seeds")
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fold := func() ([]debrief.Debrief, []byte) {
			runs, err := debrief.Build(trace.NewReader(bytes.NewReader(data), "fuzz", trace.ReaderOptions{}).All())
			if err != nil {
				return nil, nil
			}
			out, err := json.Marshal(runs)
			if err != nil {
				t.Fatal(err)
			}
			return runs, out
		}
		runs, first := fold()
		if _, second := fold(); !bytes.Equal(first, second) {
			t.Error("two folds of one input differ")
		}
		starts := 0
		for rec, err := range trace.NewReader(bytes.NewReader(data), "fuzz", trace.ReaderOptions{}).All() {
			if err != nil {
				continue
			}
			if row, err := trace.RowOf(rec); err == nil && row.Kind() == trace.KindToolCallStart {
				starts++
			}
		}
		var check func(ds []debrief.Debrief)
		check = func(ds []debrief.Debrief) {
			for _, d := range ds {
				m := d.Metrics
				if m.Present+m.Missing+m.Malformed+m.Blocked+m.Unasked != m.ToolCalls {
					t.Errorf("metrics do not add up: %+v", m)
				}
				starts -= m.ToolCalls
				check(d.Children)
			}
		}
		check(runs)
		if runs != nil && starts != 0 {
			t.Errorf("%d calls lost", starts)
		}
	})
}

// TestLatest: of several runs the one that started last, wherever it stands; of
// equals the one that stands last.
func TestLatest(t *testing.T) {
	at := func(starts ...int64) []debrief.Debrief {
		var runs []debrief.Debrief
		for _, s := range starts {
			runs = append(runs, debrief.Debrief{StartedAt: s})
		}
		return runs
	}
	for _, tt := range []struct {
		runs []debrief.Debrief
		want int
	}{{nil, -1}, {at(5), 0}, {at(1, 2, 3), 2}, {at(3, 1, 2), 0}, {at(2, 2), 1}, {at(0, 0), 1}} {
		if got := debrief.Latest(tt.runs); got != tt.want {
			t.Errorf("%d runs: %d, want %d", len(tt.runs), got, tt.want)
		}
	}
}
