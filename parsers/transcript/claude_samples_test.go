package transcript

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

func TestClaudeSamplesEqualTheirFacts(t *testing.T) {
	for _, s := range samples(t, "claude-code") {
		t.Run(s.File, func(t *testing.T) {
			events, acc := read(t, s.content, s.File)
			f := s.Facts
			beside := 0 // calls with text before them in their message
			for _, call := range of[*trace.ToolCallStart](events) {
				if call.Depth == 0 && call.NarrativeOrigin != nil && !strings.HasSuffix(call.NarrativeOrigin.Field, "/input/description") {
					beside++
				}
			}
			iso := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
			for _, c := range []struct {
				name      string
				got, want any
			}{
				{"models", strings.Join(acc.Models, " "), strings.Join(f.Model, " ")},
				{"user messages", acc.UserMessages, f.UserMsgs},
				{"calls", acc.Calls, f.ToolCalls},
				{"results", acc.Results, f.ToolResults},
				{"errors", acc.Errors, f.ToolErrors},
				{"parallel groups", acc.ParallelGroups, f.ParallelGroups},
				{"bad lines", acc.BadLines, f.BadLines},
				{"first time", iso(acc.FirstTime), f.T0},
				{"last time", iso(acc.LastTime), f.T1},
				{"sessions", acc.Sessions, f.Sessions},
				{"messages", acc.Messages, f.Messages},
				{"compactions", acc.Compactions, f.Compactions},
				{"sidechain lines", acc.SidechainLines, f.SidechainLines},
				{"agent progress lines", acc.AgentProgressLines, f.AgentProgressLines},
				{"API errors", acc.APIErrors, f.APIErrors},
				{"unpaired calls", acc.UnpairedCalls, f.UnpairedCalls},
				{"text before calls", beside, f.Rationale["assistant_text_before"]},
				{"input tokens", acc.Tokens.Input, f.Tokens["input_tokens"]},
				{"output tokens", acc.Tokens.Output, f.Tokens["output_tokens"]},
				{"cache read tokens", acc.Tokens.CacheRead, f.Tokens["cache_read_input_tokens"]},
				{"cache write tokens", acc.Tokens.CacheWrite, f.Tokens["cache_creation_input_tokens"]},
			} {
				if c.got != c.want {
					t.Errorf("%s: got %v, counted %v", c.name, c.got, c.want)
				}
			}
			if len(acc.UnknownTypes) > 0 {
				t.Errorf("unknown types: %v", acc.UnknownTypes)
			}
			checkAccount(t, s.content, acc)
		})
	}
}

func TestClaudeSamplesBreakNoRule(t *testing.T) {
	for _, s := range samples(t, "claude-code") {
		events, acc := read(t, s.content, s.File)
		openRuns := 0
		for _, v := range violations(t, written(t, events)) {
			if v.Rule == "open-call" { // the transcript has no result: none is invented
				openRuns++
				continue
			}
			t.Errorf("%s: %s", s.File, v)
		}
		if (openRuns > 0) != (acc.UnpairedCalls > 0) {
			t.Errorf("%s: %d runs with open calls, %d calls without a result", s.File, openRuns, acc.UnpairedCalls)
		}
	}
}

// TestClaudeSamplesOrigins reads the source a second time, with another JSON
// package, and finds every text at the place that its event names.
func TestClaudeSamplesOrigins(t *testing.T) {
	narratives := 0
	for _, s := range samples(t, "claude-code") {
		events, _ := read(t, s.content, s.File)
		narratives += checkOrigins(t, s.content, events)
	}
	if narratives < 200 {
		t.Errorf("only %d narratives in all samples", narratives)
	}
}

// checkOrigins looks up every origin and counts the narratives.
func checkOrigins(t *testing.T, source []byte, events []trace.Event) (narratives int) {
	t.Helper()
	for _, ev := range events {
		switch e := ev.(type) {
		case *trace.ToolCallStart:
			if (e.Narrative == "") != (e.NarrativeOrigin == nil) {
				t.Errorf("call %s: a narrative and its origin go together", e.CallID)
			}
			if e.NarrativeOrigin != nil {
				narratives++
				text := lookUp(t, source, e.NarrativeOrigin)
				if text != e.Narrative || text == "" {
					t.Errorf("call %s: narrative %q stands as %q", e.CallID, e.Narrative, text)
				}
				sameMessage(t, source, e.NarrativeOrigin, e.ProviderCallID)
			}
			if (e.Rationale == nil) != (e.Origin == nil) {
				t.Errorf("call %s: a rationale and its origin go together", e.CallID)
			}
			if e.Origin != nil {
				var why string
				stands := lookUp(t, source, e.Origin)
				if err := json.Unmarshal([]byte(`"`+stands+`"`), &why); err != nil || why != e.Rationale.Why {
					t.Errorf("call %s: why %q stands as %q", e.CallID, e.Rationale.Why, stands)
				}
				sameMessage(t, source, e.Origin, e.ProviderCallID)
			}
		case *trace.ReasoningRecorded:
			if e.Origin != nil && lookUp(t, source, e.Origin) != e.Text {
				t.Errorf("thinking of iteration %d stands elsewhere", e.Iter)
			}
		case *trace.AssumptionRecorded:
			if stands := lookUp(t, source, e.Origin); stands != e.Assumption {
				t.Errorf("assumption %q stands as %q", e.Assumption, stands)
			}
		}
	}
	return narratives
}

// lookUp gives the characters that an origin names.
func lookUp(t *testing.T, source []byte, o *rationale.Origin) string {
	t.Helper()
	v := at(t, objectAt(t, source, o), o.Field)
	text, ok := v.(string)
	if !ok || o.Start < 0 || o.End < o.Start || o.End > len(text) {
		t.Fatalf("origin %+v names no range of a string", *o)
	}
	return text[o.Start:o.End]
}

// objectAt decodes the object that an origin names, and checks its line.
func objectAt(t *testing.T, source []byte, o *rationale.Origin) any {
	t.Helper()
	if line := 1 + bytes.Count(source[:o.Offset], []byte("\n")); line != o.Line {
		t.Fatalf("offset %d is on line %d, not %d", o.Offset, line, o.Line)
	}
	var v any
	if err := json.NewDecoder(bytes.NewReader(source[o.Offset:])).Decode(&v); err != nil && err != io.EOF {
		t.Fatalf("offset %d: %v", o.Offset, err)
	}
	return v
}

// at follows a JSON Pointer.
func at(t *testing.T, v any, pointer string) any {
	t.Helper()
	for _, name := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				t.Fatalf("no %s in an array of %d", name, len(x))
			}
			v = x[i]
		default:
			t.Fatalf("nothing at %s", pointer)
		}
	}
	return v
}

// sameMessage checks that the call stands in the message of the origin.
func sameMessage(t *testing.T, source []byte, o *rationale.Origin, call string) {
	t.Helper()
	prefix := o.Field[:strings.Index(o.Field, "/content")]
	id, _ := at(t, objectAt(t, source, o), prefix+"/id").(string)
	dec := json.NewDecoder(bytes.NewReader(nil))
	for line := range bytes.Lines(source) {
		if !bytes.Contains(line, []byte(call)) || !bytes.Contains(line, []byte(id)) {
			continue
		}
		dec = json.NewDecoder(bytes.NewReader(line))
		for {
			var v struct {
				Message wireMessage `json:"message"`
				Data    struct {
					Message struct {
						Message wireMessage `json:"message"`
					} `json:"message"`
				} `json:"data"`
			}
			if dec.Decode(&v) != nil {
				break
			}
			if v.Message.calls(id, call) || v.Data.Message.Message.calls(id, call) {
				return
			}
		}
	}
	t.Errorf("call %s is not in message %s", call, id)
}

type wireMessage struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"`
}

func (m wireMessage) calls(id, call string) bool {
	var blocks []struct{ Type, ID string }
	if m.ID != id || json.Unmarshal(m.Content, &blocks) != nil {
		return false
	}
	for _, b := range blocks {
		if b.Type == "tool_use" && b.ID == call {
			return true
		}
	}
	return false
}

// checkAccount checks that the figures of an account add up.
func checkAccount(t testing.TB, content []byte, acc Account) {
	t.Helper()
	sum := func(m map[string]int) (n int) {
		for _, c := range m {
			n += c
		}
		return n
	}
	objects := sum(acc.Objects) + sum(acc.PassedOver) + sum(acc.UnknownTypes)
	if want := acc.Lines - acc.BadLines + acc.Recovered; objects != want {
		t.Errorf("%d objects are accounted for, %d were read: %+v", objects, want, acc)
	}
	lines := 0
	for line := range bytes.Lines(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		if len(bytes.TrimSpace(line)) > 0 {
			lines++
		}
	}
	if acc.Lines != lines {
		t.Errorf("%d lines are accounted for, there are %d", acc.Lines, lines)
	}
	if acc.Calls-acc.UnpairedCalls != acc.Results-acc.UnpairedResults {
		t.Errorf("calls and results do not add up: %+v", acc)
	}
	if acc.Calls+acc.SubCalls != acc.Events[string(trace.KindToolCallStart)] {
		t.Errorf("%d+%d calls, %d events", acc.Calls, acc.SubCalls, acc.Events[string(trace.KindToolCallStart)])
	}
}
