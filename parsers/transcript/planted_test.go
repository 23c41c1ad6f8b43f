package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// plant inserts a rationale block for every call of the main thread, as a model
// that was asked for its reasons would have written them: before text that is
// there, else as a text of its own. It gives the reason of each call by the
// provider's id.
func plant(t *testing.T, content []byte) ([]byte, map[string]string) {
	t.Helper()
	var objects []map[string]any
	for line := range bytes.Lines(content) {
		for dec := json.NewDecoder(bytes.NewReader(line)); ; {
			var o map[string]any
			if dec.Decode(&o) != nil {
				break
			}
			objects = append(objects, o)
		}
	}
	calls := make(map[string][]string) // ids of the calls by message
	blocks := func(o map[string]any) (string, []any) {
		m, _ := o["message"].(map[string]any)
		if o["type"] != "assistant" || m == nil || m["model"] == "<synthetic>" {
			return "", nil
		}
		list, _ := m["content"].([]any)
		return m["id"].(string), list
	}
	hasText := make(map[string]bool)
	for _, o := range objects {
		id, list := blocks(o)
		for _, b := range list {
			b := b.(map[string]any)
			if b["type"] == "tool_use" {
				calls[id] = append(calls[id], b["id"].(string))
			}
			hasText[id] = hasText[id] || b["type"] == "text"
		}
	}
	reasons := make(map[string]string)
	write := func(id string) string {
		var text strings.Builder
		for i, call := range calls[id] {
			reasons[call] = fmt.Sprintf("planted for %s \"as stated\" – %d", call, i)
			stated, err := json.Marshal(map[string]any{"why": reasons[call], "confidence": 0.5})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "<rationale call=\"%d\">%s</rationale>\n", i+1, stated)
		}
		delete(calls, id)
		return text.String()
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, o := range objects {
		id, list := blocks(o)
		for _, b := range list {
			b := b.(map[string]any)
			switch {
			case len(calls[id]) == 0:
			case b["type"] == "text":
				b["text"] = write(id) + b["text"].(string)
			case b["type"] == "tool_use" && !hasText[id]:
				m := o["message"].(map[string]any)
				own := map[string]any{
					"type": "assistant", "sessionId": o["sessionId"], "uuid": "planted-" + id, "timestamp": o["timestamp"],
					"message": map[string]any{
						"id": id, "model": m["model"], "role": "assistant",
						"content": []any{map[string]any{"type": "text", "text": write(id)}},
					},
				}
				if err := enc.Encode(own); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := enc.Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes(), reasons
}

func TestPlantedRationalesAreAllFound(t *testing.T) {
	total := 0
	for _, s := range samples(t, "claude-code") {
		content, reasons := plant(t, s.content)
		events, acc := read(t, content, s.File)
		if acc.Calls != s.Facts.ToolCalls || len(reasons) != acc.Calls {
			t.Fatalf("%s: %d calls, %d planted", s.File, acc.Calls, len(reasons))
		}
		for _, call := range of[*trace.ToolCallStart](events) {
			if call.Depth > 0 {
				if call.RationaleStatus != rationale.Unasked {
					t.Errorf("%s: a sub-agent's call is %s", s.File, call.RationaleStatus)
				}
				continue
			}
			if call.RationaleStatus != rationale.Present || call.RationaleSource != rationale.SourceBlock {
				t.Fatalf("%s: call %s is %s: %s", s.File, call.ProviderCallID, call.RationaleStatus, call.RationaleReason)
			}
			if call.Rationale.Why != reasons[call.ProviderCallID] {
				t.Errorf("%s: call %s has the reason %q", s.File, call.ProviderCallID, call.Rationale.Why)
			}
			if strings.Contains(call.Narrative, "planted") {
				t.Errorf("%s: a block stands in the narrative %q", s.File, call.Narrative)
			}
			total++
		}
		checkOrigins(t, content, events)
		if n := len(of[*trace.RationaleUnmatched](events)) + len(of[*trace.Metric](events)) - unjustified(events); n > 0 {
			t.Errorf("%s: %d blocks unmatched or calls missed", s.File, n)
		}
	}
	if total < 400 {
		t.Errorf("only %d calls in all samples", total)
	}
}

func unjustified(events []trace.Event) (n int) {
	for _, m := range of[*trace.Metric](events) {
		if m.Name == trace.MetricAssumptionUnjustified {
			n++
		}
	}
	return n
}

// TestDamage damages a good transcript in the ways that files are damaged, and
// counts what is lost.
func TestDamage(t *testing.T) {
	whole := session(12, 200)
	wantEvents, wantAcc := read(t, whole, "s.jsonl")
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(l ...[]byte) []byte { return bytes.Join(l, nil) }
	for _, c := range []struct {
		name           string
		content        []byte
		bad, recovered int
	}{
		{"a byte order mark", append([]byte("\ufeff"), whole...), 0, 0},
		{"CRLF", bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")), 0, 0},
		{"blank lines", bytes.ReplaceAll(whole, []byte("\n"), []byte("\n \n")), 0, 0},
		{"no last line break", whole[:len(whole)-1], 0, 0},
		{"two objects on a line", join(bytes.TrimSuffix(lines[0], []byte("\n")), join(lines[1:]...)), 1, 2},
		{"everything on one line", bytes.ReplaceAll(whole, []byte("\n"), nil), 1, len(lines)},
		{"NUL bytes at the end", append(slices.Clone(whole), make([]byte, 4096)...), 1, 0},
		{"NUL bytes after an object", bytes.Replace(whole, []byte("\n"), []byte("\x00\x00\n"), 1), 1, 1},
		{"a line that is no JSON", append([]byte("Killed\n"), whole...), 1, 0},
		{"a line that is an array", append([]byte("[1]\n"), whole...), 1, 0},
		{"a torn line", append(slices.Clone(whole), lines[3][:40]...), 1, 0},
		{"a line nested too deep", join(lines[0], []byte(`{"a":`), bytes.Repeat([]byte("["), 1<<20), []byte("\n"), join(lines[1:]...)), 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, acc := read(t, c.content, "s.jsonl")
			if acc.BadLines != c.bad || acc.Recovered != c.recovered {
				t.Errorf("%d bad lines, %d objects recovered: %v", acc.BadLines, acc.Recovered, acc.Bad)
			}
			if len(events) != len(wantEvents) || acc.Calls != wantAcc.Calls || acc.Results != wantAcc.Results {
				t.Errorf("%d events and %d calls, want %d and %d", len(events), acc.Calls, len(wantEvents), wantAcc.Calls)
			}
			checkOrigins(t, c.content, events)
			checkAccount(t, c.content, acc)
		})
	}
}

// TestCutAtEveryByte reads every beginning of a transcript.
func TestCutAtEveryByte(t *testing.T) {
	whole := session(2, 5)
	for n := range whole {
		events, acc, err := tryRead(whole[:n], "s.jsonl")
		if err != nil {
			continue // too little to be recognised
		}
		checkAccount(t, whole[:n], acc)
		if n%16 != 0 {
			continue // writing a trace takes longer than all of it
		}
		for _, v := range violations(t, written(t, events)) {
			if v.Rule != "open-call" {
				t.Fatalf("cut at %d: %s", n, v)
			}
		}
	}
}

// session writes a session of n calls, with results of size bytes.
func session(n, size int) []byte {
	var b bytes.Buffer
	line := func(kind string, at int, message string) {
		fmt.Fprintf(&b, `{"parentUuid":"u%d","isSidechain":false,"sessionId":"s-1","version":"2.1.0","type":%q,"message":%s,"uuid":"u%d","timestamp":"2026-03-01T10:%02d:%02d.000Z"}`+"\n",
			at-1, kind, message, at, at/60%60, at%60)
	}
	at := 0
	next := func() int { at++; return at }
	line("user", next(), `{"role":"user","content":"Go through the files."}`)
	for i := range n {
		head := fmt.Sprintf(`"id":"msg_%d","model":"claude-sonnet-4-5","role":"assistant","usage":{"input_tokens":1,"output_tokens":2}`, i)
		line("assistant", next(), fmt.Sprintf(`{%s,"content":[{"type":"text","text":"File %d is next."}]}`, head, i))
		line("assistant", next(), fmt.Sprintf(`{%s,"content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/f%d"}}]}`, head, i, i))
		line("user", next(), fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, i, strings.Repeat("x", size)))
	}
	line("assistant", next(), `{"id":"msg_end","model":"claude-sonnet-4-5","role":"assistant","content":[{"type":"text","text":"Done."}]}`)
	return b.Bytes()
}

// FuzzImport: nothing panics, the account adds up and the events keep the rules,
// whatever a file holds. The seeds are short, because the fuzzer makes what it
// finds shorter before it goes on.
func FuzzImport(f *testing.F) {
	agent := `{"type":"progress","sessionId":"s","parentToolUseID":"a","data":{"type":"agent_progress","agentId":"x","prompt":"p","message":%s}}`
	for _, seed := range [][]byte{
		session(1, 1),
		script(`user "Go."`, "m1 "+list(text(`<rationale call="1">{"why":"w","assumptions":[{"assumption":"a"}]}</rationale>I assume it.`), one(call, "a"))),
		script("m1 "+list(one(call, "a"), one(call, "a")), "user "+list(one(result, "a"), one(result, "a"), one(result, "a"))),
		script("m1 "+list(one(call, "a")), "m2 "+list(one(call, "b")), "m1 "+list(one(call, "c"))),
		script(`user "<command-name>/x</command-name>"`, `meta "y"`, `m1 "z"`, `user "[Request interrupted by user]"`),
		script("m1 " + list(`{"type":"tool_use"}`, `{"type":"thinking","thinking":"","signature":"s"}`, `{"type":"redacted_thinking"}`, `{}`, `1`)),
		append(script("m1 "+list(one(call, "a"))), fmt.Sprintf(agent, `{"type":"assistant","message":{"id":"n","content":[{"type":"tool_use"}]}}`)...),
		[]byte(`{"type":"user","sessionId":"s","uuid":"u","isSidechain":true,"message":{"content":[{"type":"tool_result"}]}}`),
		[]byte(`{"type":"user","sessionId":"s","uuid":"u"}{"type":"assistant","isSidechain":true,"agentId":"x","isApiErrorMessage":true}` + "\n\x00{\n"),
		[]byte(`{"type":"system","subtype":"compact_boundary","sessionId":"s","uuid":"u","compactMetadata":{"trigger":"auto"}}` + "\r\n" + `{"type":"user"}`),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var events []trace.Event
		acc, err := Import(context.Background(), bytes.NewReader(content), "f.jsonl", func(ev trace.Event) error {
			events = append(events, ev)
			return nil
		}, Options{RunID: plainID})
		if err != nil {
			return
		}
		checkAccount(t, content, acc)
		for _, v := range violations(t, written(t, events)) {
			if v.Rule != "open-call" {
				t.Error(v)
			}
		}
	})
}
