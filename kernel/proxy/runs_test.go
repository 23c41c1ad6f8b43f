package proxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// counting answers every request with a call of its own id, and with text once
// the conversation holds three results.
func counting() http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		id := n
		mu.Unlock()
		plays("application/json", []byte(strings.Replace(silent, "call_1", fmt.Sprintf("call_%d", id), 1)))(w, r)
	}
}

// agent is a client that keeps its conversation.
type agent struct {
	r        *rig
	messages []provider.Message
	header   []string
	path     string
}

func (a *agent) round(content string) {
	a.r.tb.Helper()
	path := a.path + chatPath
	_, got := a.r.post(path, chatRequest(a.r.tb, a.messages...), a.header...)
	seen := answerOf(a.r.tb, provider.OpenAIChat, got)
	a.messages = append(a.messages, provider.AssistantMessage(seen))
	if len(seen.Calls) > 0 {
		a.messages = append(a.messages, results(seen, content))
	}
}

func newAgent(r *rig, task string) *agent {
	return &agent{r: r, messages: []provider.Message{text(provider.RoleUser, task)}}
}

// TestSubAgents: agents that share a proxy stay apart, even with one and the
// same task, and at once.
func TestSubAgents(t *testing.T) {
	r := newRig(t, proxy.Config{}, counting())
	var all sync.WaitGroup
	const agents, rounds = 6, 4
	for i := range agents {
		all.Go(func() {
			a := newAgent(r, []string{"one task", "another"}[i%2])
			for n := range rounds {
				a.round(fmt.Sprintf("result %d of %d", n, i))
			}
		})
	}
	all.Wait()
	files := r.end()
	if len(files) != agents {
		t.Fatalf("%d runs, want %d", len(files), agents)
	}
	for _, f := range files {
		evs := events(t, f, "open-call")
		ends := of[*trace.ToolCallEnd](evs)
		if len(of[*trace.ToolCallStart](evs)) != rounds || len(ends) != rounds-1 {
			t.Errorf("%d ends", len(ends))
		}
		for n, e := range ends {
			if !strings.HasPrefix(string(e.Result), fmt.Sprintf(`"result %d of `, n)) || string(e.Result)[12:] != string(ends[0].Result)[12:] {
				t.Errorf("result %s", e.Result)
			}
		}
	}
}

// TestNamedRuns: the header and the path name a run; neither reaches the
// upstream.
func TestNamedRuns(t *testing.T) {
	r := newRig(t, proxy.Config{}, counting())
	a, b := newAgent(r, "one"), newAgent(r, "two")
	a.header, b.path = []string{proxy.HeaderRun, "night"}, "/run/night"
	a.round("x")
	b.round("y")
	a.round("x")
	c := newAgent(r, "one")
	c.round("z")
	for _, sent := range r.up.asked() {
		if sent.path != chatPath || sent.header.Get(proxy.HeaderRun) != "" {
			t.Errorf("sent to %s with %v", sent.path, sent.header)
		}
	}
	if resp, _ := r.post("/run/a%2Fb"+chatPath, "{}"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a bad name gives %d", resp.StatusCode)
	}
	r.proxy.Flush()
	runs := r.proxy.Runs()
	if len(runs) != 2 || runs[0].Name != "night" || runs[1].Name != "" {
		t.Errorf("runs %+v", runs)
	}
	files := r.end()
	if n := len(of[*trace.ToolCallStart](events(t, files[0], "open-call"))); n != 3 {
		t.Errorf("%d calls in the named run", n)
	}
}

// TestRunAgain: the same task a second time is a second run; a request again
// after a failure is the same one.
func TestRunAgain(t *testing.T) {
	limited := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{}}`, http.StatusTooManyRequests)
	}
	r := newRig(t, proxy.Config{}, limited, plays("application/json", []byte(silent)), plays("application/json", []byte(final)))
	body := chatRequest(t, text(provider.RoleUser, "hi"))
	r.post(chatPath, body)
	r.post(chatPath, body)
	r.post(chatPath, body)
	files := r.end()
	if len(files) != 2 {
		t.Fatalf("%d runs, want 2", len(files))
	}
	all := events(t, files[0], "open-call")
	if x := of[*trace.LLMExchange](all); len(x) != 2 || string(x[1].Messages) != "[]" {
		t.Errorf("%d exchanges", len(x))
	}
	if d := debriefOf(t, files[1]); d.Verdict.Status != "completed" {
		t.Errorf("verdict %+v", d.Verdict)
	}
}

// TestTurns: what the user says later is a turn of the same run.
func TestTurns(t *testing.T) {
	r := newRig(t, proxy.Config{}, plays("application/json", []byte(silent)), plays("application/json", []byte(final)),
		plays("application/json", []byte(final)))
	a := newAgent(r, "first")
	a.round("x")
	a.round("")
	a.messages = append(a.messages, text(provider.RoleUser, "second"))
	a.round("")
	files := r.end()
	if len(files) != 1 {
		t.Fatalf("%d runs", len(files))
	}
	all := events(t, files[0])
	turns := of[*trace.TurnStarted](all)
	if len(turns) != 2 || turns[0].Input != "first" || turns[1].Input != "second" {
		t.Errorf("turns %+v", turns)
	}
	if done := of[*trace.TurnCompleted](all); len(done) != 2 || done[0].Response != "All done." {
		t.Errorf("ended %+v", done)
	}
}

// TestShortened: a client that shortens its conversation is known by the calls
// that it gives results for.
func TestShortened(t *testing.T) {
	r := newRig(t, proxy.Config{}, counting())
	a := newAgent(r, "task")
	a.round("one")
	a.round("two")
	a.messages = append([]provider.Message{text(provider.RoleUser, "Summary of what was.")}, a.messages[3:]...)
	a.round("three")
	files := r.end()
	if len(files) != 1 {
		t.Fatalf("%d runs", len(files))
	}
	if ends := of[*trace.ToolCallEnd](events(t, files[0], "open-call")); len(ends) != 2 || string(ends[1].Result) != `"two"` {
		t.Errorf("ends %+v", ends)
	}
}

// TestPreviousResponse: a Responses request that names the answer it goes on
// from belongs to its run.
func TestPreviousResponse(t *testing.T) {
	r := newRig(t, proxy.Config{}, plays("application/json", fixture(t, "openai-responses/rationale-parallel.json")))
	_, got := r.post("/v1/responses", `{"model":"m","input":"hi","tools":[{"type":"function","name":"list_issues"}]}`)
	a := answerOf(t, provider.OpenAIResponses, got)
	next, err := json.Marshal(map[string]any{
		"model": "m", "previous_response_id": a.ID, "tools": []any{map[string]string{"type": "function", "name": "list_issues"}},
		"input": []any{map[string]string{"type": "function_call_output", "call_id": a.Calls[1].ID, "output": "b"},
			map[string]string{"type": "function_call_output", "call_id": a.Calls[0].ID, "output": "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.proxy.Flush()
	r.post("/v1/responses", string(next))
	files := r.end()
	if len(files) != 1 {
		t.Fatalf("%d runs", len(files))
	}
	ends := of[*trace.ToolCallEnd](events(t, files[0], "open-call"))
	if len(ends) != 2 || ends[0].CallID != "c2" || string(ends[1].Result) != `"a"` {
		t.Errorf("ends %+v", ends)
	}
}

// TestIdle: a run that is silent ends, and can be read before.
func TestIdle(t *testing.T) {
	r := newRig(t, proxy.Config{Idle: time.Minute}, counting())
	a := newAgent(r, "task")
	a.round("x")
	r.proxy.Flush()
	file := r.files[r.order[0]]
	if d := debriefOf(t, file.bytes()); len(d.Path) != 1 || d.Verdict != nil {
		t.Errorf("while it goes on: %+v", d)
	}
	r.pass(30 * time.Second)
	r.proxy.EndIdle()
	if file.closed {
		t.Error("ended too early")
	}
	r.pass(31 * time.Second)
	r.proxy.EndIdle()
	if !file.closed {
		t.Error("not ended")
	}
	a.round("y") // goes on in a run of its own
	if files := r.end(); len(files) != 2 {
		t.Errorf("%d runs", len(files))
	}
}

// TestManyRuns: at the limit the run that was silent longest ends.
func TestManyRuns(t *testing.T) {
	r := newRig(t, proxy.Config{Limits: proxy.Limits{Runs: 2}}, counting())
	for i := range 4 {
		newAgent(r, fmt.Sprint("task ", i)).round("x")
		r.proxy.Flush()
	}
	open := 0
	for _, f := range r.files {
		if !f.closed {
			open++
		}
	}
	if open != 2 || len(r.end()) != 4 {
		t.Errorf("%d runs are open", open)
	}
}
