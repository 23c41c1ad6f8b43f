package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/model/fake"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// agents are models of every provider that the kernel speaks to.
var agents = []string{"openai:m", "openai-responses:m", "anthropic:m", "gemini:m", "ollama:m"}

// command is a finished command line.
type command struct {
	code           int
	stdout, stderr string
	dir            string
}

// rax runs a command line in this process, with a server's environment.
func rax(t *testing.T, dir string, server *fake.Server, args ...string) command {
	t.Helper()
	return raxWith(t, dir, server, nil, args...)
}

// raxWith is rax with somebody at the terminal who types lines; nil for nobody.
func raxWith(t *testing.T, dir string, server *fake.Server, typed []string, args ...string) command {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(append([]string{"rax"}, args...), system{
		in: strings.NewReader(strings.Join(typed, "")), out: &stdout, err: &stderr, person: typed != nil,
		getenv: func(name string) string {
			switch name {
			case "RAX_TRACE_DIR":
				return dir
			case "XDG_CONFIG_HOME":
				return filepath.Join(dir, "no-config")
			}
			if server == nil {
				return ""
			}
			return server.Getenv(name)
		},
		home: func() (string, error) { return dir, nil },
		now:  time.Now,
	})
	return command{code, stdout.String(), stderr.String(), dir}
}

// result runs a task against a server and reads the result.
func result(t *testing.T, server *fake.Server, spec string, args ...string) (kernel.Result, command) {
	t.Helper()
	c := rax(t, t.TempDir(), server, append([]string{"run", "the task", "--model", spec, "--json"}, args...)...)
	var res kernel.Result
	if err := json.Unmarshal([]byte(c.stdout), &res); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", c.code, err, c.stdout, c.stderr)
	}
	for _, p := range server.Problems() {
		t.Errorf("the provider would refuse: %s", p)
	}
	return res, c
}

const (
	sumBlock  = `<rationale call="1">{"why":"the sum is needed","confidence":0.9}</rationale>`
	timeBlock = `<rationale call="2">{"why":"the date decides the rate"}</rationale>`
)

func sumCall(id string) fake.Call {
	return fake.Call{ID: id, Name: "calculator", Arguments: `{"expression":"2+3"}`}
}

func statuses(d debrief.Debrief) string {
	var out []string
	for _, s := range d.Path {
		out = append(out, strings.TrimPrefix(s.Action, "tool:")+" "+string(s.Status)+" "+string(s.Outcome))
	}
	return strings.Join(out, ", ")
}

// TestRunEveryProvider drives rax run end to end against each wire format, as
// bodies and as streams: parallel calls, signed thinking, a tool's error.
func TestRunEveryProvider(t *testing.T) {
	for _, spec := range agents {
		for _, mode := range []string{"stream", "body"} {
			t.Run(spec+" "+mode, func(t *testing.T) {
				server := fake.New(
					fake.Step{Answer: fake.Answer{
						Thinking: "Two things to find out.", Signature: "c2lnbmF0dXJl",
						Text:  "I look both up.\n" + sumBlock + "\n" + timeBlock,
						Calls: []fake.Call{sumCall("call_a"), {ID: "call_b", Name: "time", Arguments: `{}`}},
						Usage: fake.Usage{Input: 100, Output: 30},
					}},
					fake.Step{Answer: fake.Answer{Text: "It is 5.", Usage: fake.Usage{Input: 150, Output: 5}}},
				)
				defer server.Close()
				args := []string{"--tools", "calculator,time"}
				if mode == "body" {
					args = append(args, "--no-stream")
				}
				res, c := result(t, server, spec, args...)
				if c.code != exitDone || res.Output != "It is 5." {
					t.Fatalf("exit %d, %q\n%s", c.code, res.Output, c.stderr)
				}
				if got := statuses(res.Debrief); got != "calculator present success, time present error" {
					t.Errorf("%s", got)
				}
				if g := res.Debrief.Path[0].ParallelGroup; g == nil {
					t.Error("parallel calls are in no group")
				}
				if n := res.Debrief.Tokens; n == nil || *n.Total != 285 {
					t.Errorf("tokens: %+v", n)
				}
				requests := server.Requests()
				if len(requests) != 2 {
					t.Fatalf("%d requests", len(requests))
				}
				if !bytes.Contains(requests[0].Body, []byte("Decision Rationale")) {
					t.Error("the request does not ask for reasons")
				}
				if bytes.Contains(requests[1].Body, []byte("the sum is needed")) {
					t.Error("a rationale block went back to the model")
				}
				for what, text := range map[string]string{"stdout": c.stdout, "stderr": c.stderr} {
					if strings.Contains(text, server.Key) {
						t.Errorf("the key is on %s", what)
					}
				}
			})
		}
	}
}

// TestRunText teaches the calls as text to a model that has none of its own.
func TestRunText(t *testing.T) {
	for _, spec := range agents {
		t.Run(spec, func(t *testing.T) {
			server := fake.New(
				fake.Step{Answer: fake.Answer{Text: "<tool_call>\n" + `{"name":"calculator","arguments":{"expression":"2+3"},"rationale":{"why":"the sum is needed"}}` + "\n</tool_call>"}},
				fake.Step{Answer: fake.Answer{Text: "It is 5."}},
			)
			defer server.Close()
			res, c := result(t, server, spec, "--tool-mode", "text", "--tools", "calculator")
			if got := statuses(res.Debrief); got != "calculator present success" || res.Debrief.Path[0].Source != rationale.SourceSibling {
				t.Errorf("%s %s\n%s", got, res.Debrief.Path[0].Source, c.stderr)
			}
		})
	}
}

// TestRunChannels covers models that never say why, that say it when asked
// again, and that return no text beside their calls.
func TestRunChannels(t *testing.T) {
	silent := fake.Step{Answer: fake.Answer{Calls: []fake.Call{sumCall("call_a")}}}
	stated := fake.Step{Answer: fake.Answer{Text: sumBlock, Calls: []fake.Call{sumCall("call_a")}}}
	done := fake.Step{Answer: fake.Answer{Text: "It is 5."}}
	argued := fake.Step{Answer: fake.Answer{Calls: []fake.Call{{
		ID: "call_a", Name: "calculator", Arguments: `{"rationale":{"why":"the sum is needed"},"expression":"2+3"}`,
	}}}}
	tests := []struct {
		name  string
		steps []fake.Step
		args  []string
		want  string
	}{
		{"never", []fake.Step{silent, done}, nil, "calculator missing success"},
		{"not asked", []fake.Step{silent, done}, []string{"--rationale", "off"}, "calculator unasked success"},
		{"when asked again", []fake.Step{silent, stated, done}, []string{"--rationale", "strict"}, "calculator present success"},
		{"not even then", []fake.Step{silent, silent, done}, []string{"--rationale", "strict"}, "calculator missing success"},
		{"as an argument", []fake.Step{argued, done}, []string{"--rationale-channel", "argument"}, "calculator present success"},
		{"found out", []fake.Step{silent, argued, done}, []string{"--rationale-channel", "auto"}, "calculator missing success, calculator present success"},
	}
	for _, spec := range agents {
		for _, tt := range tests {
			t.Run(spec+" "+tt.name, func(t *testing.T) {
				server := fake.New(tt.steps...)
				defer server.Close()
				res, c := result(t, server, spec, append([]string{"--tools", "calculator"}, tt.args...)...)
				if got := statuses(res.Debrief); got != tt.want {
					t.Errorf("%s, want %s\n%s", got, tt.want, c.stderr)
				}
			})
		}
	}
}

// TestRunFaults has servers that are slow to serve, break off, or refuse.
func TestRunFaults(t *testing.T) {
	done := fake.Step{Answer: fake.Answer{Text: "It is 5."}}
	for _, spec := range agents {
		t.Run(spec+" too many requests", func(t *testing.T) {
			server := fake.New(fake.Step{Status: 429, Message: "slow down", Header: map[string]string{"Retry-After": "0"}}, done)
			defer server.Close()
			if res, c := result(t, server, spec); c.code != exitDone || res.Output != "It is 5." {
				t.Errorf("exit %d %+v\n%s", c.code, res, c.stderr)
			}
		})
		t.Run(spec+" cut stream", func(t *testing.T) {
			server := fake.New(fake.Step{Answer: fake.Answer{Text: strings.Repeat("a long answer ", 40)}, Stop: fake.StopCut, After: 3})
			defer server.Close()
			res, c := result(t, server, spec)
			if c.code != exitFindings || res.Reason != kernel.ReasonModelError || res.Debrief.Verdict.Status != "failure" {
				t.Errorf("exit %d %+v\n%s", c.code, res, c.stderr)
			}
		})
		t.Run(spec+" refused", func(t *testing.T) {
			server := fake.New(fake.Step{Status: 400, Message: "no such model"})
			defer server.Close()
			res, c := result(t, server, spec)
			if c.code != exitFindings || res.Debrief.Termination.By != kernel.ReasonModelError || !strings.Contains(c.stderr, "error: ") {
				t.Errorf("exit %d %+v\n%s", c.code, res, c.stderr)
			}
		})
	}
}

func TestRunWithoutAKey(t *testing.T) {
	for _, spec := range []string{"openai:m", "anthropic:m", "gemini:m", "nobody:m", "m"} {
		c := rax(t, t.TempDir(), nil, "run", "x", "--model", spec)
		if c.code != exitUsage || !strings.Contains(c.stderr, "hint: ") || c.stdout != "" {
			t.Errorf("%s: exit %d\n%s%s", spec, c.code, c.stdout, c.stderr)
		}
	}
}

// TestReplay runs an agent from its trace: the same decisions, without a server.
func TestReplay(t *testing.T) {
	script := filepath.Join("..", "..", "fixtures", "scripts", "invoice.jsonl")
	dir := t.TempDir()
	first := rax(t, dir, nil, "run", "What does it come to?", "--model", "scripted:"+script, "--tools", "calculator,time", "--json")
	again := rax(t, dir, nil, "run", "--replay", "latest", "--json")
	if first.code != exitDone || again.code != exitDone {
		t.Fatalf("%d %s\n%d %s", first.code, first.stderr, again.code, again.stderr)
	}
	var a, b kernel.Result
	if err := json.Unmarshal([]byte(first.stdout), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(again.stdout), &b); err != nil {
		t.Fatal(err)
	}
	if statuses(a.Debrief) != statuses(b.Debrief) || a.Output != b.Output || a.RunID == b.RunID || len(a.Debrief.Path) != 3 {
		t.Errorf("%s\n%s", statuses(a.Debrief), statuses(b.Debrief))
	}
	if c := rax(t, dir, nil, "run", "--replay", filepath.Join("..", "..", "fixtures", "trace", "foreign.jsonl")); c.code != exitUnreadable {
		t.Errorf("a foreign trace: exit %d %s", c.code, c.stderr)
	}
}

// TestKilledRun kills a run at many moments: what is left is a trace that a
// debrief explains.
func TestKilledRun(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range 30 {
		call := map[string]any{
			"text":  `<rationale call="1">{"why":"one more step"}</rationale>`,
			"calls": []any{map[string]any{"name": "shell", "arguments": map[string]any{"command": "sleep 0.0" + string(rune('1'+i%3))}}},
			"usage": map[string]any{"input": 10, "output": 1},
		}
		line, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	script := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(script, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	explained := 0
	for i := range 6 {
		dir := t.TempDir()
		p, err := os.StartProcess(binary, []string{"rax", "run", "x", "--model", "scripted:" + script, "--root", dir, "--allow-shell", "--approve", "all", "--max-iterations", "40"}, &os.ProcAttr{
			Env: append(os.Environ(), "RAX_TRACE_DIR="+filepath.Join(dir, "traces")),
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(40+i*70) * time.Millisecond)
		_ = p.Kill()
		_, _ = p.Wait()
		c := rax(t, filepath.Join(dir, "traces"), nil, "diagnose", "debrief", "latest", "--json")
		if c.code == exitUnreadable {
			continue // killed before its first event
		}
		var d debrief.Debrief
		if err := json.Unmarshal([]byte(c.stdout), &d); err != nil || c.code != exitDone {
			t.Fatalf("exit %d: %v\n%s", c.code, err, c.stderr)
		}
		if d.Goal != "x" || d.Metrics.Present != d.Metrics.ToolCalls {
			t.Errorf("%+v", d)
		}
		if d.Verdict == nil && len(d.Path) > 2 {
			explained++
			if d.Tokens == nil || *d.Tokens.Total == 0 || !d.Tokens.LowerBound {
				t.Errorf("tokens so far: %+v", d.Tokens)
			}
		}
	}
	if explained == 0 {
		t.Error("no run was killed in its middle")
	}
}

// TestTraceOfRunKeepsTheFormat holds a run's trace against the format.
func TestTraceOfRunKeepsTheFormat(t *testing.T) {
	script := filepath.Join("..", "..", "fixtures", "scripts", "invoice.jsonl")
	dir := t.TempDir()
	if c := rax(t, dir, nil, "run", "x", "--model", "scripted:"+script, "--tools", "calculator"); c.code != exitDone {
		t.Fatal(c.stderr)
	}
	if c := rax(t, dir, nil, "diagnose", "replay", "latest", "--strict", "--only", string(trace.KindRunCompleted)); c.code != exitDone {
		t.Error(c.stderr)
	}
}

// TestReplayGoesOn asks a model where the recording is left: the calls that were
// recorded until then are not made again.
func TestReplayGoesOn(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join("..", "..", "fixtures", "scripts", "invoice.jsonl")
	if c := rax(t, dir, nil, "run", "What does it come to?", "--model", "scripted:"+script, "--tools", "calculator,time"); c.code != exitDone {
		t.Fatal(c.stderr)
	}
	server := fake.New(
		fake.Step{Answer: fake.Answer{Text: sumBlock, Calls: []fake.Call{sumCall("call_a")}}},
		fake.Step{Answer: fake.Answer{Text: "Five."}},
	)
	defer server.Close()
	c := rax(t, dir, server, "run", "--replay", "latest", "--from", "1", "--model", "openai:m", "--tools", "calculator", "--json")
	var res kernel.Result
	if err := json.Unmarshal([]byte(c.stdout), &res); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr)
	}
	if got := statuses(res.Debrief); got != "calculator present success, calculator present success" || res.Output != "Five." {
		t.Errorf("%s %q\n%s", got, res.Output, c.stderr)
	}
	if n := len(server.Requests()); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
	if c := rax(t, dir, nil, "run", "--replay", "latest", "--from", "1"); c.code != exitUsage {
		t.Errorf("without a model: exit %d", c.code)
	}
}

// TestSubAgents delegates a part of the task: its run stands below the call.
func TestSubAgents(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.jsonl")
	lines := `{"text":"<rationale call=\"1\">{\"why\":\"the sum is a task of its own\"}</rationale>","calls":[{"name":"delegate","arguments":{"task":"add 2 and 3"}}]}
{"text":"<rationale call=\"1\">{\"why\":\"the calculator adds exactly\"}</rationale>","calls":[{"name":"calculator","arguments":{"expression":"2+3"}}]}
{"text":"5"}
{"text":"It is 5."}
`
	if err := os.WriteFile(script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	c := rax(t, t.TempDir(), nil, "run", "What is it?", "--model", "scripted:"+script, "--sub-agents", "--json")
	var res kernel.Result
	if err := json.Unmarshal([]byte(c.stdout), &res); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr)
	}
	if len(res.Debrief.Children) != 1 || res.Debrief.Children[0].Goal != "add 2 and 3" || statuses(res.Debrief.Children[0]) != "calculator present success" {
		t.Errorf("%+v\n%s", res.Debrief.Children, c.stderr)
	}
	if statuses(res.Debrief) != "delegate present success" || res.Output != "It is 5." {
		t.Errorf("%s %q", statuses(res.Debrief), res.Output)
	}
}

// TestApprove asks the person at the terminal before a file is written, and
// takes nobody's silence for a no.
func TestApprove(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.jsonl")
	line := `{"text":"<rationale call=\"1\">{\"why\":\"the note was asked for\"}</rationale>","calls":[{"name":"file_write","arguments":{"path":"note.txt","content":"hello"}}]}`
	if err := os.WriteFile(script, []byte(line+"\n"+`{"text":"done"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, typed := range map[string][]string{"yes": {"y\n"}, "no": {"n\n"}, "end of input": {}, "nobody": nil} {
		t.Run(name, func(t *testing.T) {
			dir, root := t.TempDir(), t.TempDir()
			c := raxWith(t, dir, nil, typed, "run", "write a note", "--model", "scripted:"+script, "--root", root, "--json")
			var res kernel.Result
			if err := json.Unmarshal([]byte(c.stdout), &res); err != nil {
				t.Fatalf("%v\n%s", err, c.stderr)
			}
			want, outcome := name == "yes", "file_write present rejected"
			if want {
				outcome = "file_write present success"
			}
			_, err := os.Stat(filepath.Join(root, "note.txt"))
			if written := err == nil; written != want || statuses(res.Debrief) != outcome {
				t.Errorf("written %v, %s\n%s", written, statuses(res.Debrief), c.stderr)
			}
			if asked := strings.Contains(c.stderr, `"the note was asked for" [y/N]`); asked != (typed != nil) {
				t.Errorf("asked %v:\n%s", asked, c.stderr)
			}
		})
	}
}
