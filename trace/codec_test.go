package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
)

// TestEveryFieldOfEveryKind writes events in which every field is set, and reads
// them back.
func TestEveryFieldOfEveryKind(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			ev := filled(kind)
			data, records := written(t, ev)
			if got := string(records[0].Bytes()) + "\n"; got != string(data) {
				t.Errorf("the record is not what the file holds:\n%s\n%s", got, data)
			}
			read := recordsOf(t, data)
			got, warnings, err := Decode(read[0])
			if err != nil || len(warnings) > 0 {
				t.Fatalf("decoding: %v %v", err, warnings)
			}
			if !reflect.DeepEqual(got, ev) {
				t.Errorf("not equal after reading\nwrote %+v\n read %+v\n line %s", ev, got, data)
			}
			if got.EventKind() != kind {
				t.Errorf("kind is %s", got.EventKind())
			}
		})
	}
}

// TestEmptyEventsAreStable writes events in which nothing is set: what a reader
// makes of them is written as the same bytes again.
func TestEmptyEventsAreStable(t *testing.T) {
	for _, kind := range Kinds() {
		ev := New(kind)
		ev.Common().RunID = "r"
		first, _ := written(t, ev)
		again, warnings, err := Decode(recordsOf(t, first)[0])
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: %v %v", kind, err, warnings)
		}
		if second, _ := written(t, again); !bytes.Equal(first, second) {
			t.Errorf("%s:\n first %s\nsecond %s", kind, first, second)
		}
		if again.Common().Iter != NoIter {
			t.Errorf("%s: iter is %d, want %d", kind, again.Common().Iter, NoIter)
		}
	}
}

// TestKeyOrder checks the order that the documentation promises for what rax
// writes.
func TestKeyOrder(t *testing.T) {
	head := append([]string{"kind"}, headOrder...)
	for _, kind := range Kinds() {
		data, _ := written(t, filled(kind))
		got := names(data)
		var small []string
		for _, name := range head {
			if slices.Contains(got, name) {
				small = append(small, name)
			}
		}
		equal(t, string(kind)+": the small members come first", got[:len(small)], small)
		extra := []string{"x-object", "a-null", "RunId"}
		equal(t, string(kind)+": unknown members come last", got[len(got)-len(extra):], extra)
	}
	documented := []string{"kind", "runId", "timestamp", "iter", "seq", "callId", "toolName", "ok", "durationMs", "error"}
	equal(t, "documented order", head[:len(documented)], documented)
}

func TestKeyOrderOfExchange(t *testing.T) {
	data, _ := written(t, filled(KindLLMExchange))
	want := []string{
		"kind", "runId", "timestamp", "iter", "seq", "callId", "durationMs",
		"rootRunId", "parentRunId", "depth", "sessionId", "threadId", "turn",
		"provider", "model", "requestKind", "messageId", "stopReason", "tokens", "costUsd", "cut",
		"temperature", "maxTokens", "toolSchemaNames", "systemPromptTruncated", "messagesFrom",
		"systemPrompt", "messages", "response", "x-object", "a-null", "RunId",
	}
	equal(t, "llm-exchange", names(data), want)
}

func TestRegistryIsWhole(t *testing.T) {
	seen := make(map[Kind]bool)
	for _, r := range registry {
		ev := r.make()
		if ev.EventKind() != r.kind {
			t.Errorf("%s makes a %s", r.kind, ev.EventKind())
		}
		if seen[r.kind] {
			t.Errorf("%s stands twice", r.kind)
		}
		seen[r.kind] = true
		p := planOf(reflect.TypeOf(ev).Elem())
		if len(p.byName) != len(p.fields) {
			t.Errorf("%s has two fields of one name", r.kind)
		}
		if _, ok := p.byName["kind"]; ok {
			t.Errorf("%s has a field named kind", r.kind)
		}
	}
	if ev, ok := New(aliasToolCallStarted).(*ToolCallStart); !ok || ev.Iter != NoIter {
		t.Error("the alias does not make a tool-call-start")
	}
}

func TestNumbersThatJSONHasNot(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var file memory
		w := newWriter(t, &file, WriterOptions{})
		bad := []Event{
			&Metric{Base: Base{RunID: "r"}, Name: "m", Value: f},
			&ToolCallStart{Base: Base{RunID: "r"}, Rationale: &rationale.Rationale{Why: "w", Confidence: &f}},
			&EntropyScored{Base: Base{RunID: "r"}, Sources: map[string]float64{"token": f}},
		}
		for _, ev := range bad {
			if _, err := w.Write(ev); err == nil || !strings.Contains(err.Error(), "is no JSON number") {
				t.Errorf("%v in a %s: error %v", f, ev.EventKind(), err)
			}
		}
		if file.Len() > 0 {
			t.Errorf("%v left %q in the file", f, file.String())
		}
		good := &Metric{Base: Base{RunID: "r"}, Name: "m"}
		if _, err := w.Write(good); err != nil || good.Seq != 0 {
			t.Errorf("after a refused event: seq %d, error %v", good.Seq, err)
		}
	}
}

func TestNumbersReadBackEqual(t *testing.T) {
	for _, f := range []float64{0, 1, -1, 0.1, 1e-7, 1e15, 123456789012345680, 1e21, -2.5e-300, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		data, _ := written(t, &Metric{Base: Base{RunID: "r"}, Value: f})
		ev, _, err := Decode(recordsOf(t, data)[0])
		if err != nil || ev.(*Metric).Value != f {
			t.Errorf("%v became %v (%v) by %s", f, ev.(*Metric).Value, err, data)
		}
	}
}

func TestStrings(t *testing.T) {
	tests := []struct{ name, in, json, out string }{
		{"plain", "a/b<c>&d", `"a/b<c>&d"`, "a/b<c>&d"},
		{"quotes", `say "hi" \ bye`, `"say \"hi\" \\ bye"`, `say "hi" \ bye`},
		{"control", "a\x00b\x1fc\x7f\n\r\t", "\"a\\u0000b\\u001fc\x7f\\n\\r\\t\"", "a\x00b\x1fc\x7f\n\r\t"},
		{"beyond ASCII", "≥ 日本 🙂", `"≥ 日本 🙂"`, "≥ 日本 🙂"},
		{"no UTF-8", "a\xffb\xc3", `"a�b�"`, "a�b�"},
		{"half a surrogate", "\xed\xa0\x80", `"���"`, "���"},
		{"U+FFFD itself", "�", `"�"`, "�"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, _ := written(t, &TurnStarted{Base: Base{RunID: "r"}, Input: tt.in})
			if want := `"input":` + tt.json + "}\n"; !strings.HasSuffix(string(data), want) {
				t.Errorf("wrote %s, want the end %s", data, want)
			}
			var got struct{ Input string }
			if err := json.Unmarshal(data, &got); err != nil || got.Input != tt.out {
				t.Errorf("encoding/json reads %q (%v), want %q", got.Input, err, tt.out)
			}
			ev, _, err := Decode(recordsOf(t, data)[0])
			if err != nil || ev.(*TurnStarted).Input != tt.out {
				t.Errorf("Decode reads %q (%v), want %q", ev.(*TurnStarted).Input, err, tt.out)
			}
		})
	}
}

func TestRawJSON(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	tests := []struct{ name, in, out string }{
		{"bytes stay", `{ "b":1.0, "a":"A", "a":2}`, `{ "b":1.0, "a":"A", "a":2}`},
		{"newlines between tokens", "{\n\t\"a\": [1,\r\n 2],\n\"b\":\"x  y\"\n}", `{"a":[1,2],"b":"x  y"}`},
		{"no UTF-8", "{\"a\":\"\xff\"}", `{"a":"�"}`},
		{"white space around", " \n[1] ", `[1]`},
		{"empty object", `{}`, `{}`},
		{"null", `null`, `null`},
		{"truncated", `{"a":`, `"{\"a\":"`},
		{"a newline inside a string", "\"a\nb\"", "\"\\\"a\\nb\\\"\""},
		{"two values", `1 2`, `"1 2"`},
		{"text", `exit status 1`, `"exit status 1"`},
		{"too deep", deep, `"` + deep + `"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, _ := written(t, &ToolCallEnd{Base: Base{RunID: "r"}, ToolName: "t", Result: json.RawMessage(tt.in)})
			if bytes.Count(data, []byte("\n")) != 1 {
				t.Errorf("not one line: %q", data)
			}
			ev, _, err := Decode(recordsOf(t, data)[0])
			if err != nil {
				t.Fatal(err)
			}
			if got := string(ev.(*ToolCallEnd).Result); got != tt.out {
				t.Errorf("got %.80s, want %.80s", got, tt.out)
			}
		})
	}
}

func TestEventsWithoutKindOrRun(t *testing.T) {
	var file memory
	w := newWriter(t, &file, WriterOptions{})
	if _, err := w.Write(&Unknown{Base: Base{RunID: "r"}}); err == nil {
		t.Error("an event without a kind was written")
	}
	if _, err := w.Write(&IterationEnter{}); err == nil {
		t.Error("an event without a run was written")
	}
	if file.Len() > 0 {
		t.Errorf("the file holds %q", file.String())
	}
}
