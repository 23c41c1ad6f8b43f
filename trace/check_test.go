package trace

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// goodFixtures are the golden traces that break no rule; the others are of
// another program, or of one that was killed.
var goodFixtures = []string{"aapl", "all-kinds", "decisions", "parallel", "sub-runs", "several-runs"}

func TestCheckOfFixtures(t *testing.T) {
	for _, path := range fixtures(t) {
		name := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".jsonl")
		violations, err := Check(NewReader(bytes.NewReader(readFile(t, path)), name, ReaderOptions{}).All())
		if slices.Contains(goodFixtures, name) {
			if len(violations) > 0 || err != nil {
				t.Errorf("%s: violations %v, error %v", name, violations, err)
			}
			continue
		}
		switch name {
		case "killed":
			var syntax *SyntaxError
			if len(violations) != 1 || violations[0].Rule != "no-end" || !errors.As(err, &syntax) || syntax.Damage != Torn {
				t.Errorf("killed: violations %v, error %v", violations, err)
			}
		case "foreign":
			if len(violations) > 0 || err != nil {
				t.Errorf("foreign: violations %v, error %v", violations, err)
			}
		default:
			t.Errorf("%s: nothing says whether it is good", name)
		}
	}
}

// TestCheckOfWriter: what a Writer makes of an orderly run breaks no rule, notes
// of safety after the end included.
func TestCheckOfWriter(t *testing.T) {
	base := Base{RunID: "r"}
	call := base
	call.CallID = "c1"
	data, _ := written(t,
		&RunStarted{Base: base, Task: "t"},
		&ToolCallStart{Base: call, ToolName: "x"},
		&ToolCallEnd{Base: call, ToolName: "x"},
		&RunCompleted{Base: base, Status: "success", Output: "use " + secret},
	)
	violations, err := Check(NewReader(bytes.NewReader(data), "x", ReaderOptions{}).All())
	if len(violations) > 0 || err != nil {
		t.Errorf("violations %v, error %v", violations, err)
	}
	if records := recordsOf(t, data); !bytes.Contains(records[len(records)-1].Bytes(), []byte(`"kind":"safety-applied"`)) {
		t.Error("the last event is no note of safety")
	}
}

func TestCheckRules(t *testing.T) {
	const (
		start = `{"kind":"run-started","runId":"r","seq":0}`
		end   = `{"kind":"run-completed","runId":"r","seq":9}`
	)
	event := func(kind, more string) string {
		return fmt.Sprintf(`{"kind":%q,"runId":"r",%s}`, kind, more)
	}
	open := func(seq int, more string) string {
		return event("tool-call-start", fmt.Sprintf(`"seq":%d,%s`, seq, more))
	}
	ends := func(seq int, more string) string {
		return event("tool-call-end", fmt.Sprintf(`"seq":%d,%s`, seq, more))
	}
	tests := []struct {
		name  string
		lines []string
		want  []string // "line rule"
	}{
		{"nothing", nil, nil},
		{"the least", []string{start, end}, nil},
		{"no kind", []string{start, `{"runId":"r","seq":1}`, end}, []string{"2 no-kind"}},
		{"kind of another type", []string{start, `{"kind":3,"runId":"r","seq":1}`, end}, []string{"2 no-kind"}},
		{"no run", []string{start, `{"kind":"metric","seq":1}`, end}, []string{"2 no-run"}},
		{"seq repeated", []string{start, event("metric", `"seq":0`), end}, []string{"2 seq-order"}},
		{"seq backwards", []string{start, event("metric", `"seq":5`), event("metric", `"seq":4`), end}, []string{"3 seq-order"}},
		{"seq absent", []string{start, event("metric", `"x":1`), end}, []string{"2 seq-order"}},
		{"seq with gaps, of two runs", []string{
			start, `{"kind":"run-started","runId":"q","seq":0}`, `{"kind":"run-completed","runId":"q","seq":1}`, end,
		}, nil},
		{"no start", []string{event("metric", `"seq":3`), end}, []string{"1 no-start"}},
		{"second start", []string{start, event("run-started", `"seq":1`), end}, []string{"2 second-start"}},
		{"after the end", []string{start, end, event("metric", `"seq":10`), event("safety-applied", `"seq":11`)}, []string{"3 after-end"}},
		{"unknown parent", []string{start, `{"kind":"run-started","runId":"q","seq":0,"parentRunId":"p"}`, `{"kind":"run-completed","runId":"q","seq":1}`, end},
			[]string{"2 unknown-parent"}},
		{"its own parent", []string{`{"kind":"run-started","runId":"r","seq":0,"parentRunId":"r"}`, end}, []string{"1 unknown-parent"}},
		{"known parent", []string{start, `{"kind":"run-started","runId":"q","seq":0,"parentRunId":"r"}`, `{"kind":"run-completed","runId":"q","seq":1}`, end}, nil},
		{"end without start", []string{start, ends(1, `"toolName":"t"`), end}, []string{"2 end-without-start"}},
		{"end of another call", []string{start, open(1, `"callId":"a","toolName":"t"`), ends(2, `"callId":"b","toolName":"t"`), end},
			[]string{"3 end-without-start", "4 open-call"}},
		{"open calls", []string{start, open(1, `"toolName":"t"`), open(2, `"toolName":"t"`), open(3, `"toolName":"u"`), end}, []string{"5 open-call"}},
		{"calls without ids", []string{start, open(1, `"toolName":"t"`), open(2, `"toolName":"t"`), ends(3, `"toolName":"t"`), ends(4, `"toolName":"t"`), end}, nil},
		{"no end", []string{start, open(1, `"toolName":"t"`)}, []string{"2 no-end"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := strings.NewReader(strings.Join(tt.lines, "\n"))
			violations, err := Check(NewReader(in, "in.jsonl", ReaderOptions{}).All())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range violations {
				got = append(got, fmt.Sprintf("%d %s", v.Line, v.Rule))
				if want := fmt.Sprintf("in.jsonl:%d: %s: ", v.Line, v.Rule); !strings.HasPrefix(v.String(), want) || v.Message == "" {
					t.Errorf("the violation reads %q", v)
				}
				if v.RunID == "" && v.Rule != "no-kind" && v.Rule != "no-run" {
					t.Errorf("%s has no run", v)
				}
			}
			equal(t, "violations", got, tt.want)
			if tt.name == "open calls" && violations[0].Message != "calls without an end: 3" {
				t.Errorf("the message is %q", violations[0].Message)
			}
		})
	}
}

// TestCheckGoesOn: damage does not hide the violations behind it.
func TestCheckGoesOn(t *testing.T) {
	in := "null\n{\"kind\":\"metric\",\"runId\":\"r\",\"seq\":1}\n{\"kind\":\"m"
	violations, err := Check(NewReader(strings.NewReader(in), "in", ReaderOptions{}).All())
	var syntax *SyntaxError
	if len(violations) != 2 || !errors.As(err, &syntax) || syntax.Line != 3 {
		t.Errorf("violations %v, error %v", violations, err)
	}
}
