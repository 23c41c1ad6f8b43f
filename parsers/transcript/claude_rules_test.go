package transcript

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// script writes a session from the content of its messages. Each line is "user",
// "meta" or the id of a model message, a space, and the content.
func script(lines ...string) []byte {
	var b strings.Builder
	for i, line := range lines {
		who, content, _ := strings.Cut(line, " ")
		kind, more := "assistant", fmt.Sprintf(`"id":%q,"model":"m",`, who)
		switch who {
		case "user", "meta":
			kind, more = "user", ""
		}
		fmt.Fprintf(&b, `{"type":%q,"sessionId":"s","uuid":"u%d","isMeta":%v,"timestamp":"2026-03-01T10:00:%02dZ","message":{%s"content":%s}}`+"\n",
			kind, i, who == "meta", i, more, content)
	}
	return []byte(b.String())
}

const (
	call   = `{"type":"tool_use","id":"%s","name":"Read","input":{}}`
	result = `{"type":"tool_result","tool_use_id":"%s","content":"ok"}`
)

func text(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func list(blocks ...string) string { return "[" + strings.Join(blocks, ",") + "]" }

func one(format, id string) string { return fmt.Sprintf(format, id) }

func TestNarratives(t *testing.T) {
	block := `<rationale call="1">{"why":"w"}</rationale>`
	described := `{"type":"tool_use","id":"d","name":"Bash","input":{"description":"Run the tests"}}`
	long := strings.Repeat("ä", rationale.MaxNarrative) + "more"
	for _, c := range []struct {
		name      string
		content   string
		narrative string
		scope     string
		cut       bool
	}{
		{"text before the call", list(text("Why."), one(call, "a")), "Why.", "call", false},
		{"the nearest of two", list(text("First."), text("Second."), one(call, "a")), "Second.", "call", false},
		{"text after the call", list(one(call, "a"), text("After.")), "", "", false},
		{"white space goes", list(text(" \n Why.\n"), one(call, "a")), "Why.", "call", false},
		{"white space alone is no text", list(text("Why."), text(" \n"), one(call, "a")), "Why.", "call", false},
		{"shared by two calls", list(text("Why."), one(call, "a"), one(call, "b")), "Why.", "group", false},
		{"not shared when the other has its own", list(text("Why."), one(call, "a"), text("Other."), one(call, "b")), "Why.", "call", false},
		{"a description", list(described), "Run the tests", "call", false},
		{"text before a description", list(text("Why."), described), "Why.", "call", false},
		{"thinking is none", list(`{"type":"thinking","thinking":"Hm.","signature":"s"}`, one(call, "a")), "", "", false},
		{"behind a block", list(text(block+"\nWhy."), one(call, "a")), "Why.", "call", false},
		{"around a block, the longer piece", list(text("Why so long.\n"+block+"\nShort."), one(call, "a")), "Why so long.", "call", false},
		{"nothing but a block", list(text(block), one(call, "a")), "", "", false},
		{"the text before nothing but a block", list(text("Why."), text(block), one(call, "a")), "Why.", "call", false},
		{"cut at its length", list(text(long), one(call, "a")), long[:2*rationale.MaxNarrative], "call", true},
		{"content that is a string", `"Why."`, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := script(`user "Go."`, "m1 "+c.content)
			events, _ := read(t, content, "s.jsonl")
			checkOrigins(t, content, events)
			starts := of[*trace.ToolCallStart](events)
			if len(starts) == 0 {
				return
			}
			got := starts[0]
			if got.Narrative != c.narrative || got.NarrativeScope != c.scope || got.NarrativeCut != c.cut {
				t.Errorf("got %q, %q, cut %v", got.Narrative, got.NarrativeScope, got.NarrativeCut)
			}
			if !utf8.ValidString(got.Narrative) {
				t.Error("cut inside a character")
			}
			if got.Rationale != nil && got.Rationale.Why != "w" {
				t.Errorf("the rationale is %q", got.Rationale.Why)
			}
		})
	}
}

func TestPairing(t *testing.T) {
	for _, c := range []struct {
		name    string
		content []byte
		// want lists starts (+) and ends (-) by call id.
		want            string
		calls, results  int
		unpaired, alone int
	}{
		{"in order", script(`user "x"`, "m1 "+list(one(call, "a")), "user "+list(one(result, "a"))), "+c1 -c1", 1, 1, 0, 0},
		{"results in any order", script("m1 "+list(one(call, "a"), one(call, "b")), "user "+list(one(result, "b"), one(result, "a"))), "+c1 +c2 -c2 -c1", 2, 2, 0, 0},
		{"a result before the message is whole", script("m1 "+list(one(call, "a")), "user "+list(one(result, "a")), "m1 "+list(one(call, "b"))), "+c1 -c1 +c2", 2, 1, 1, 0},
		{"the same id twice, open at once", script("m1 "+list(one(call, "a")), "m2 "+list(one(call, "a")), "user "+list(one(result, "a")), "user "+list(one(result, "a"))), "+c1 +c2 -c1 -c2", 2, 2, 0, 0},
		{"two results for one call", script("m1 "+list(one(call, "a")), "user "+list(one(result, "a"), one(result, "a"))), "+c1 -c1", 1, 2, 0, 1},
		{"two results for a call of an open message", script("m1 "+list(one(call, "a")), "user "+list(one(result, "a"), one(result, "a")), "m1 "+list(text("x"))), "+c1 -c1", 1, 2, 0, 1},
		{"a result of nobody", script("m1 "+list(text("x")), "user "+list(one(result, "z"))), "", 0, 1, 0, 1},
		{"a call without a result", script("m1 " + list(one(call, "a"))), "+c1", 1, 0, 1, 0},
		{"no ids at all", script("m1 "+list(`{"type":"tool_use","name":"Read"}`, `{"type":"tool_use","name":"Grep"}`), "user "+list(`{"type":"tool_result"}`)), "+c1 +c2 -c1", 2, 1, 1, 0},
		{"a message that comes back", script("m1 "+list(one(call, "a")), "m2 "+list(text("x")), "m1 "+list(one(call, "b"))), "+c1 +c2", 2, 0, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, acc := read(t, c.content, "s.jsonl")
			var got []string
			groups := make(map[int]bool)
			for _, ev := range events {
				switch e := ev.(type) {
				case *trace.ToolCallStart:
					got = append(got, "+"+e.CallID)
					if e.ParallelGroup != nil {
						groups[*e.ParallelGroup] = true
					}
				case *trace.ToolCallEnd:
					got = append(got, "-"+e.CallID)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
			if acc.Calls != c.calls || acc.Results != c.results || acc.UnpairedCalls != c.unpaired || acc.UnpairedResults != c.alone {
				t.Errorf("account: %+v", acc)
			}
			if acc.ParallelGroups != len(groups) {
				t.Errorf("%d parallel groups counted, %d written", acc.ParallelGroups, len(groups))
			}
			checkAccount(t, c.content, acc)
		})
	}
}

func TestWhatTheUserSaid(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		task  string
		turns string // states of the turns
	}{
		{"a request", []string{`user "Go."`, `m "Done."`}, "Go.", "completed"},
		{"two requests", []string{`user "Go."`, `m "Done."`, `user "More."`, `m "Done."`}, "Go.", "completed completed"},
		{"in blocks, with an image", []string{`user [{"type":"image","source":{}},{"type":"text","text":"What is it?"}]`, `m "A cat."`}, "What is it?", "completed"},
		{"beside what the editor adds", []string{"user " + list(text("<ide_selection>x</ide_selection>"), text("Explain.")), `m "So."`}, "Explain.", "completed"},
		{"meta first", []string{`meta "Caveat: x"`, `user "Go."`, `m "Done."`}, "Go.", "completed"},
		{"a command that the model answers", []string{`user "<command-name>/pr</command-name><command-args>now</command-args>"`, `meta "Write a PR."`, `m "Done."`}, "/pr now", "completed"},
		{"a command for the client", []string{`user "Go."`, `m "Done."`, `user "<command-name>/cost</command-name>"`, `user "<local-command-stdout>1$</local-command-stdout>"`}, "Go.", "completed"},
		{"a request beats an earlier command", []string{`user "<command-name>/clear</command-name>"`, `user "Go."`, `m "Done."`}, "Go.", "completed"},
		{"interrupted", []string{`user "Go."`, "m " + list(one(call, "a")), `user "[Request interrupted by user]"`}, "Go.", "interrupted"},
		{"interrupted and taken up", []string{`user "Go."`, `m "x"`, `user "[Request interrupted by user]"`, `user "Go on."`, `n "y"`}, "Go.", "interrupted completed"},
		{"stops after a call", []string{`user "Go."`, "m " + list(one(call, "a"))}, "Go.", ""},
		{"nobody asked", []string{`m "Hello."`}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, _ := read(t, script(c.lines...), "s.jsonl")
			if task := of[*trace.RunStarted](events)[0].Task; task != c.task {
				t.Errorf("task %q, want %q", task, c.task)
			}
			var states []string
			for _, turn := range of[*trace.TurnCompleted](events) {
				states = append(states, turn.State)
			}
			if got := strings.Join(states, " "); got != c.turns {
				t.Errorf("turns %q, want %q", got, c.turns)
			}
		})
	}
}

// TestAskedIsOfTheWholeRun: a block late in a run says that its first call was
// asked for a reason too, and a block in the mouth of others says nothing.
func TestAskedIsOfTheWholeRun(t *testing.T) {
	block := text(`<rationale call="1">{"why":"because"}</rationale>`)
	for _, c := range []struct {
		name  string
		lines []string
		want  []rationale.Status
	}{
		{"never", []string{"m1 " + list(one(call, "a"))}, []rationale.Status{rationale.Unasked}},
		{"late", []string{"m1 " + list(one(call, "a")), "m2 " + list(block, one(call, "b"))}, []rationale.Status{rationale.Missing, rationale.Present}},
		{"in thinking", []string{"m1 " + list(`{"type":"thinking","thinking":"<rationale call=\"1\">{\"why\":\"w\"}</rationale>"}`, one(call, "a"))}, []rationale.Status{rationale.Present}},
		{"by the user", []string{`user "<rationale call=\"1\">{\"why\":\"w\"}</rationale>"`, "m1 " + list(one(call, "a"))}, []rationale.Status{rationale.Unasked}},
		{"beside no call", []string{"m1 " + list(one(call, "a")), "m2 " + list(block)}, []rationale.Status{rationale.Unasked}},
		{"a mention", []string{"m1 " + list(text("Use `<rationale call=\"1\">` here."), one(call, "a"))}, []rationale.Status{rationale.Unasked}},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, _ := read(t, script(c.lines...), "s.jsonl")
			missing := 0
			for i, start := range of[*trace.ToolCallStart](events) {
				if start.RationaleStatus != c.want[i] {
					t.Errorf("call %d is %s, want %s", i+1, start.RationaleStatus, c.want[i])
				}
				if start.RationaleStatus == rationale.Missing {
					missing++
				}
			}
			if n := len(of[*trace.Metric](events)); n != missing {
				t.Errorf("%d metrics for %d missing", n, missing)
			}
		})
	}
}

func TestFileOfASubAgentIsItsRun(t *testing.T) {
	content := strings.ReplaceAll(string(script(`user "Find it."`, "m1 "+list(one(call, "a")), "user "+list(one(result, "a")), `m2 "Found."`)),
		`"isMeta":false`, `"isSidechain":true,"agentId":"a1"`)
	events, acc := read(t, []byte(content), "agent-a1.jsonl")
	if acc.SubRuns != 0 || acc.Calls != 1 || acc.SidechainLines != 4 {
		t.Errorf("account: %+v", acc)
	}
	if task := of[*trace.RunStarted](events)[0].Task; task != "Find it." {
		t.Errorf("task %q", task)
	}
}

func TestTimesAreKept(t *testing.T) {
	content := script(`user "Go."`, "m1 "+list(one(call, "a")), "user "+list(one(result, "a")), "m2 "+list(one(call, "b")), "user "+list(one(result, "b")))
	content = []byte(strings.NewReplacer("10:00:02Z", "09:00:00Z", `,"timestamp":"2026-03-01T10:00:03Z"`, "").Replace(string(content)))
	events, _ := read(t, content, "s.jsonl")
	ends := of[*trace.ToolCallEnd](events)
	if ends[0].DurationMs != nil || ends[1].DurationMs != nil {
		t.Error("a duration was made up")
	}
	starts := of[*trace.ToolCallStart](events)
	if ends[0].Timestamp >= starts[0].Timestamp {
		t.Error("a time was changed")
	}
	if starts[1].Timestamp != ends[0].Timestamp {
		t.Error("a line without a time has that of the line before")
	}
}
