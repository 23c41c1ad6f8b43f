package parsers

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
)

// encode writes a view as "rax diagnose parse --json" does.
func encode(t *testing.T, v View, s *safety.Session) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	doc, ok := Defuse(b.Bytes(), s)
	if !ok {
		t.Fatal("too long")
	}
	return doc
}

// TestExactView: what is harmless once it is escaped stays what the model wrote,
// and what is a secret does not.
func TestExactView(t *testing.T) {
	key := "sk-" + "proj-" + strings.Repeat("a1B2c3D4", 6)
	const odd = "a <|im_start|>system\u200bb [INST] \U000E0041 <b> ü"
	a := Answer{
		Parts: []Part{{Kind: PartThinking, Format: "parsed", Text: odd}, {Kind: PartText, Text: odd}},
		Calls: []Call{
			{Name: "f", Arguments: json.RawMessage(`{"q":"<|im_end|> x"}`)},
			{Name: "g", Arguments: json.RawMessage(`{"q":"<|im_end|>","key":"` + key + `"}`)},
		},
	}
	s := safety.Default().Session()
	doc := encode(t, NewView(a, s, true), s)
	for _, raw := range []string{"<|im_start|>", "<|im_end|>", "[INST]", "\u200b", "\U000E0041", key} {
		if bytes.Contains(doc, []byte(raw)) {
			t.Errorf("%q stands in the JSON: %s", raw, doc)
		}
	}
	var v View
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	if v.Text != odd || v.Reasoning[0].Text != odd || !strings.Contains(string(v.Calls[1].Arguments), "redacted") {
		t.Errorf("got %s", doc)
	}
	var args struct{ Q string }
	if err := json.Unmarshal(v.Calls[0].Arguments, &args); err != nil || args.Q != "<|im_end|> x" {
		t.Errorf("arguments %s, %v", v.Calls[0].Arguments, err)
	}
	if plain := NewView(a, s, false); strings.Contains(plain.Text, "<|im_start|>") || strings.Contains(plain.Text, "\u200b") {
		t.Errorf("a plain view has %q", plain.Text)
	}
}

func TestDefuseTooLong(t *testing.T) {
	p, err := safety.New(safety.Config{Limits: safety.Limits{Payload: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := Defuse([]byte(`"`+strings.Repeat("a", 200)+`<|im_end|>"`), p.Session()); ok {
		t.Error("what was not looked at passes")
	}
}

// TestViewSplitSecret: a key with a hidden character inside is a key.
func TestViewSplitSecret(t *testing.T) {
	key := "sk-" + "proj-" + strings.Repeat("a1B2c3D4", 6)
	a := Answer{Parts: []Part{{Kind: PartText, Text: "use " + key[:12] + "\u200b" + key[12:]}}}
	s := safety.Default().Session()
	if v := NewView(a, s, true); strings.Contains(v.Text, key[12:]) {
		t.Errorf("got %q", v.Text)
	}
}

func TestViewBlocksReason(t *testing.T) {
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEA", 8) + "\n-----END RSA " + "PRIVATE KEY-----"
	a := Answer{Calls: []Call{{Name: "f", Arguments: json.RawMessage(`{}`), Capture: rationale.Capture{
		Status: rationale.Present, Source: rationale.SourceBlock, Rationale: &rationale.Rationale{Why: pem},
	}}}}
	s := safety.Default().Session()
	v := NewView(a, s, true)
	if c := v.Calls[0]; c.Status != rationale.Blocked || c.Rationale != nil || c.Reason == "" {
		t.Errorf("got %+v", c)
	}
}

func TestViewTokensOnce(t *testing.T) {
	n := int64(7)
	a := Answer{Parts: []Part{{Kind: PartThinking, Format: "summary", Text: "a"}, {Kind: PartThinking, Format: "hidden"}}}
	a.Usage.Reasoning = &n
	v := NewView(a, safety.Default().Session(), true)
	if len(v.Reasoning) != 2 || v.Reasoning[0].Tokens == nil || v.Reasoning[1].Tokens != nil || !v.Reasoning[1].Hidden {
		t.Errorf("got %+v", v.Reasoning)
	}
}

// TestViewSaysWhy: a call without a rationale says why, so far as it is known.
func TestViewSaysWhy(t *testing.T) {
	text := Part{Kind: PartText, Text: "Let me look."}
	thought := Part{Kind: PartThinking, Format: "parsed", Text: "hm"}
	hidden := Part{Kind: PartThinking, Format: "hidden"}
	for _, c := range []struct {
		parts  []Part
		status rationale.Status
		want   string
	}{
		{nil, rationale.Missing, "no text beside the call"},
		{[]Part{hidden}, rationale.Missing, "no text beside the call, and the thinking is withheld"},
		{[]Part{text, hidden}, rationale.Missing, "no block for call 1 in the text"},
		{[]Part{thought}, rationale.Missing, "no block for call 1 in the thinking"},
		{[]Part{text, thought}, rationale.Missing, "no block for call 1 in the text and the thinking"},
		{[]Part{text}, rationale.Unasked, "nothing asked for one"},
		{[]Part{text}, rationale.Present, ""},
	} {
		a := Answer{Parts: c.parts, Calls: []Call{{Name: "f", Arguments: json.RawMessage(`{}`), Capture: rationale.Capture{Status: c.status}}}}
		if v := NewView(a, safety.Default().Session(), true); v.Calls[0].Reason != c.want {
			t.Errorf("%v: got %q, want %q", c.parts, v.Calls[0].Reason, c.want)
		}
	}
}
