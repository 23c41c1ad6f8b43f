package rationale

import (
	"strings"
	"testing"
)

func TestPrompt(t *testing.T) {
	p := Prompt()
	if !strings.HasPrefix(p, "## Decision Rationale (MANDATORY — every tool call)\nEvery tool call you issue MUST be preceded by a rationale block in your text content") {
		t.Errorf("opening of specification 004 is missing:\n%s", p)
	}
	for _, word := range []string{"280", "confidence", "refs", "alternatives", "rejectedBecause", "assumptions", `<rationale call="1">{"why":"…","confidence":0.9}</rationale>`, `<rationale call="2">`, "No tool call, no block"} {
		if !strings.Contains(p, word) {
			t.Errorf("%s is missing", word)
		}
	}
	if p != Prompt() {
		t.Error("not constant")
	}
	// It is paid for on every call.
	if len(p) > 1400 {
		t.Errorf("%d bytes", len(p))
	}
	if len(ArgumentPrompt) > 500 || !strings.Contains(ArgumentPrompt, "280") {
		t.Errorf("argument prompt: %d bytes", len(ArgumentPrompt))
	}
}

// TestPromptIsReadable checks that the examples of the prompt are blocks that
// the reader reads: it must not ask for what it refuses. The first is a shape
// with "…" for the words; a model that copies it states no reason.
func TestPromptIsReadable(t *testing.T) {
	blocks := ParseBlocks(Prompt())
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	if shape := blocks[0]; shape.Rationale != nil || shape.Reason != "why holds no word" {
		t.Errorf("the copied shape is a reason: %+v", shape)
	}
	for _, b := range blocks[1:] {
		if b.Rationale == nil || len(b.Warnings) > 0 {
			t.Errorf("%s: %s %v", b.Span.In(Prompt()), b.Reason, b.Warnings)
		}
	}
}
