//go:build !noreasoning

package strategy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel"
	kernelmodel "github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// endToEnd are the techniques with the answers of a model that works with them.
func endToEnd() map[string]struct {
	strategy kernel.Strategy
	answers  []string
	output   string
} {
	return map[string]struct {
		strategy kernel.Strategy
		answers  []string
		output   string
	}{
		"cot":          {strategy.Cot{Format: strategy.ProsCons}, []string{solved}, "12"},
		"react":        {strategy.React{MaxSteps: 5}, []string{look, scrape, done}, "42"},
		"self-correct": {strategy.SelfCorrect{Rounds: 2}, []string{"v1", objects, "v2", accepts}, "v2"},
		"decompose": {strategy.Decompose{MaxDepth: 1, Parallel: 1}, []string{
			`{"subproblems":[{"problem":"first half"},{"problem":"second half"}]}`, solved, solved, "12 and 12",
		}, "12 and 12"},
	}
}

// TestTechniques holds the trace and the debrief of every technique against
// goldens.
func TestTechniques(t *testing.T) {
	for name, tt := range endToEnd() {
		t.Run(name, func(t *testing.T) {
			cfg := kernel.Config{Model: script(tt.answers...), Tools: tools(t), Strategy: tt.strategy}
			if name == "decompose" {
				cfg.Now = func() time.Time { return time.UnixMilli(1_767_225_600_000) }
			}
			r := play(t, cfg)
			if r.err != nil || r.Failed || r.Output != tt.output {
				t.Fatalf("%+v %v", r.Result, r.err)
			}
			checkOrigins(t, r)
			if name == "decompose" {
				// Sub-runs write at once: the order of their lines among each other
				// is not the same each time, what each of them says is.
				golden(t, name+".jsonl", byRun(r.file.Bytes()))
				golden(t, name+".json", timeless(t, r))
			} else {
				golden(t, name+".jsonl", r.file.Bytes())
				golden(t, name+".json", r.indented(t))
			}
			golden(t, name+".tree", []byte(r.tree(t)))
		})
	}
}

// byRun puts the lines of each run together and takes their numbers away.
func byRun(trace []byte) []byte {
	lines := slices.Collect(bytes.Lines(trace))
	run := func(line []byte) string {
		_, rest, _ := strings.Cut(string(line), `"runId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	slices.SortStableFunc(lines, func(a, b []byte) int { return strings.Compare(run(a), run(b)) })
	return regexp.MustCompile(`"seq":[0-9]+,`).ReplaceAll(bytes.Join(lines, nil), nil)
}

// TestTechniquesOnAServer runs every technique on a server that speaks Ollama's
// format.
func TestTechniquesOnAServer(t *testing.T) {
	for name, tt := range endToEnd() {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			next := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if req.URL.Path != "/api/chat" || next >= len(tt.answers) {
					http.Error(w, `{"error":"no answer"}`, http.StatusBadRequest)
					return
				}
				content, _ := json.Marshal(tt.answers[next])
				next++
				fmt.Fprintf(w, `{"model":"m","message":{"role":"assistant","content":%s},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}`+"\n", content)
			}))
			defer srv.Close()
			m, err := kernelmodel.Open("ollama:m", kernelmodel.Options{MaxRetries: -1, Getenv: func(name string) string {
				if name == "OLLAMA_HOST" {
					return srv.URL
				}
				return ""
			}})
			if err != nil {
				t.Fatal(err)
			}
			r := play(t, kernel.Config{Model: m, Tools: tools(t), Strategy: tt.strategy})
			if r.err != nil || r.Output != tt.output {
				t.Errorf("%+v %v", r.Result, r.err)
			}
			if x := find[*trace.LLMExchange](r); x[0].Provider != "ollama" || *x[0].Tokens.Input != 7 {
				t.Errorf("%+v", x[0])
			}
		})
	}
}

// TestCotTagsOnAServer: where a provider's decoder takes the thinking out of its
// tags, it is read from there.
func TestCotTagsOnAServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"model":"m","message":{"role":"assistant","content":"<thinking>\n0.15 × 80\n</thinking>\n12"},"done":true,"done_reason":"stop"}`)
	}))
	defer srv.Close()
	m, err := kernelmodel.Open("ollama:m", kernelmodel.Options{MaxRetries: -1, Getenv: func(string) string { return srv.URL }})
	if err != nil {
		t.Fatal(err)
	}
	r := play(t, kernel.Config{Model: m, Strategy: strategy.Cot{}})
	if r.err != nil {
		t.Fatal(r.err)
	}
	out := r.Detail.(strategy.ReasoningTrace).Result.(strategy.CotOutput)
	if r.Output != "12" || out.Thinking != "0.15 × 80" || out.Reading != strategy.ReadDelimiters {
		t.Errorf("%+v", out)
	}
}

// TestLiveOllama runs the techniques on a live Ollama. What a small model says
// cannot be known; that every run ends with a trace that keeps the rules can.
func TestLiveOllama(t *testing.T) {
	if os.Getenv("OLLAMA_HOST") == "" {
		t.Skip("OLLAMA_HOST is not set: no live Ollama to run on")
	}
	name := os.Getenv("RAX_TEST_OLLAMA_MODEL")
	if name == "" {
		name = "llama3.2"
	}
	m, err := kernelmodel.Open("ollama:"+name, kernelmodel.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[string]string{
		"cot": "What is 15% of 80?", "react": "Search for the word aapl and say what was found.",
		"self-correct": "Write a haiku about rivers.", "decompose": "Name the capitals of France and of Japan.",
	}
	for _, technique := range []string{"cot", "react", "self-correct", "decompose"} {
		t.Run(technique, func(t *testing.T) {
			s, err := strategy.New(technique, strategy.Options{Rounds: new(1)})
			if err != nil {
				t.Fatal(err)
			}
			r := playTask(t, t.Context(), kernel.Config{Model: m, Tools: tools(t), Strategy: s}, tasks[technique])
			t.Logf("%s: %s %v\n%s", r.Reason, r.Output, r.err, r.tree(t))
			if r.Reason == kernel.ReasonModelError || r.Reason == kernel.ReasonTraceError {
				t.Error(r.err)
			}
			for _, c := range find[*trace.ToolCallStart](r) {
				if c.RationaleStatus == rationale.Unasked {
					t.Errorf("nothing was asked of %+v", c)
				}
			}
		})
	}
}

// TestLogger: the steps come to log/slog as they are stored.
func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	key := "sk-" + "ant-" + "api03-" + strings.Repeat("aB3", 31) + "-" + strings.Repeat("x9", 3) + "AA"
	turn := strings.Replace(scrape, "the page may help", "the key is "+key, 1)
	play(t, kernel.Config{
		Model: script(turn, done), Tools: tools(t), Strategy: strategy.React{MaxSteps: 5}, Watch: strategy.NewLogger(log),
	})
	contains(t, out.String(), "level=INFO msg=run-started", "msg=tool-call-start", `why="the index has no prices"`, "level=WARN msg=tool-call-end", "no such host", "msg=run-completed")
	if strings.Contains(out.String(), key) {
		t.Error("the log shows what the trace must not hold")
	}
	var quiet bytes.Buffer
	play(t, kernel.Config{
		Model: script(done), Tools: tools(t), Strategy: strategy.React{MaxSteps: 5},
		Watch: strategy.NewLogger(slog.New(slog.NewTextHandler(&quiet, &slog.HandlerOptions{Level: slog.LevelError}))),
	})
	if quiet.Len() > 0 {
		t.Errorf("%s", quiet.String())
	}
}

func TestNames(t *testing.T) {
	names := strategy.Names()
	if len(names) != 6 {
		t.Errorf("%v", names)
	}
	for _, name := range names {
		if s, err := strategy.New(name); err != nil || s.Name() != name {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
	if _, err := strategy.New("magic"); err == nil {
		t.Error("an unknown strategy was made")
	}
}
