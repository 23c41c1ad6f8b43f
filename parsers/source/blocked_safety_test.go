package source

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety/safetytest"
)

// TestBlockedReasonOfATranscript: a reason in a transcript that safety refuses is
// blocked, noted and counted, and nothing of it is shown.
func TestBlockedReasonOfATranscript(t *testing.T) {
	content, err := os.ReadFile("../../fixtures/transcript/claude-code/blocks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	key := safetytest.Sample{Secret: safetytest.KeyBlock(safetytest.NewRand(95), "RSA PRIVATE"+" KEY", 4)}
	once, err := json.Marshal(key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(once[1 : len(once)-1]))
	if err != nil {
		t.Fatal(err)
	}
	content = bytes.Replace(content, []byte(`\"why\":\"`), []byte(`\"why\":\"`+string(twice[1:len(twice)-1])+" "), 1)
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	stream, err := Open(context.Background(), Source{Path: path}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	blocked, noted, counted := "", false, false
	for rec, err := range stream.All() {
		if err != nil {
			t.Fatal(err)
		}
		if key.Leaked(string(rec.Bytes())) {
			t.Errorf("the key is in %s", rec.Bytes())
		}
		ev, _, err := trace.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case *trace.ToolCallStart:
			if ev.RationaleStatus == rationale.Blocked && ev.Rationale == nil {
				blocked = ev.CallID
			}
		case *trace.SafetyApplied:
			noted = noted || ev.CallID == blocked && ev.Action == "block" && strings.HasPrefix(ev.Field, "rationale.")
		case *trace.Metric:
			counted = counted || ev.CallID == blocked && ev.Name == trace.MetricRationaleMissing && ev.Labels["status"] == "blocked"
		}
	}
	if blocked == "" || !noted || !counted {
		t.Errorf("blocked %q, noted %v, counted %v", blocked, noted, counted)
	}
}
