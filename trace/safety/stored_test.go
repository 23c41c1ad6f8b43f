package safety

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rax-project/rax/trace/safety/safetytest"
)

func TestStoredUnwrapsQuotedJSON(t *testing.T) {
	for _, c := range safetytest.Samples(newRand(31)) {
		text := c.Text()
		for level := range maxLevels {
			quoted, err := json.Marshal(map[string]string{"a": text})
			if err != nil {
				t.Fatal(err)
			}
			text = string(quoted)
			s := Default().Session()
			got := s.Stored("why", "the model wrote "+text)
			if c.Leaked(got.Text) {
				t.Errorf("%s, level %d: %s", c.Rule, level, got.Text)
			}
			if again := s.Stored("why", got.Text); again.Text != got.Text {
				t.Errorf("%s, level %d: not idempotent: %s", c.Rule, level, again.Text)
			}
			if got.Blocked != (c.Rule == "private-key") {
				t.Errorf("%s, level %d: blocked %v", c.Rule, level, got.Blocked)
			}
		}
	}
	key := "gs" + "k_" + random(newRand(32), base62, 52)
	if got := Default().Session().Stored("why", `{"a":"`+escapeAll(key)+`"}`); got.Text != `{"a":"[redacted:groq-key#1]"}` {
		t.Errorf("escaped: %s", got.Text)
	}
}

// A reason that was read from a text that was stored already is refused all the
// same.
func TestMarkOfABlockingRuleBlocks(t *testing.T) {
	strict, err := New(Config{Policy: map[string]Action{"npm-token": Block, "private-key": Redact}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p           *Pipeline
		field, text string
		blocked     bool
	}{
		{Default(), "why", "it is [redacted:private-key#3] here", true},
		{Default(), "narrative", "[redacted:npm-token#1] [redacted:private-key#1]", true},
		{Default(), "args", "[redacted:private-key#3]", false},
		{Default(), "why", "[redacted:npm-token#1] [redacted:private-key", false},
		{strict, "why", "[redacted:npm-token#1]", true},
		{strict, "why", "[redacted:private-key#1]", false},
	} {
		got := c.p.Session().Stored(c.field, c.text)
		if got.Blocked != c.blocked || got.Text != c.text || c.blocked != (len(got.Findings) == 1 && got.Findings[0].Action == Block) {
			t.Errorf("%s %q: %+v", c.field, c.text, got)
		}
	}
}

// A block inside a secret hides neither half, wherever it stands.
func TestBlockInsideASecret(t *testing.T) {
	block := `<rationale call="1">{"why":"a reason"}</rationale>`
	for _, c := range safetytest.Samples(newRand(36)) {
		if c.Rule == "private-key" {
			continue // a key block is found with whatever stands in it
		}
		for at := 1; at < len(c.Secret); at++ {
			text := "so " + c.Before + c.Secret[:at] + block + c.Secret[at:] + c.After
			got := Default().Session().Stored("content", text)
			whole := Default().Session().Text("content", "so "+c.Text()).Text
			if shown := strings.ReplaceAll(got.Text, block, ""); shown != whole {
				t.Fatalf("%s at %d: %q, want %q", c.Rule, at, shown, whole)
			}
			if again := Default().Session().Stored("content", got.Text); again.Text != got.Text {
				t.Fatalf("%s at %d: not idempotent: %q", c.Rule, at, again.Text)
			}
			var doc bytes.Buffer
			enc := json.NewEncoder(&doc)
			enc.SetEscapeHTML(at%2 == 0)
			if err := enc.Encode(map[string]any{"response": map[string]string{"content": text}}); err != nil {
				t.Fatal(err)
			}
			raw := doc.Bytes()
			if out, _ := Default().Session().Line(nil, raw); !json.Valid(out) || c.Secret[:at] != "" && strings.Contains(string(out), c.Secret[at:]) && len(c.Secret)-at > 8 {
				t.Fatalf("%s at %d: %s", c.Rule, at, out)
			}
		}
	}
	two := "np" + "m_" + random(newRand(37), base62, 36)
	got := Default().Session().Stored("content", two[:9]+block+two[9:20]+block+two[20:]+" and "+two)
	if got.Text != "[redacted:npm-token#1]"+block+block+" and [redacted:npm-token#1]" {
		t.Errorf("two blocks: %s", got.Text)
	}
}

// A bare string is judged by the field it stands in: a member that no type of
// event knows comes alone.
func TestBareStringIsLabelledByItsField(t *testing.T) {
	value := "hunt" + random(newRand(33), base62, 10)
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"password": `"[redacted:password#1]"`, "env.API_TOKEN": `"[redacted:secret#1]"`, "clientSecret": `"[redacted:secret#1]"`,
		"note": string(raw), "": string(raw), "password.hint": string(raw),
	} {
		if got, _ := Default().Session().JSON(nil, field, raw); string(got) != want {
			t.Errorf("%s: %s", field, got)
		}
	}
}

// Wherever a text was cut, nothing of a secret stays at its end.
func TestBeginningHidesCutSecrets(t *testing.T) {
	for _, c := range safetytest.Samples(newRand(34)) {
		text := "the reason is " + c.Text()
		before := len(text) - len(c.Secret) - len(c.After)
		public := 3
		if c.Before == "" {
			public = len("github_pat_") // half of what every such key begins with
		}
		for at := before + 1; at <= before+len(c.Secret); at++ {
			got := Default().Session().Beginning("why", text[:at])
			if kept := strings.TrimPrefix(got.Text, text[:before]); len(kept) > public && strings.HasPrefix(c.Secret, kept) {
				t.Errorf("%s cut after %d bytes: %q", c.Rule, at-before, got.Text)
				break
			}
			if !utf8.ValidString(got.Text) || got.Text != text[:at] && got.Findings == nil {
				t.Errorf("%s cut after %d bytes: changed without a finding: %q", c.Rule, at-before, got.Text)
			}
			if again := Default().Session().Beginning("why", got.Text); again.Text != got.Text {
				t.Errorf("%s cut after %d bytes: not idempotent: %q", c.Rule, at-before, again.Text)
			}
		}
	}
	for _, text := range []string{"", "prose that stops in the midd", "and then the pass", "a tok", "ends with s", "x <|"} {
		if got := Default().Session().Beginning("why", text); got.Text != text {
			t.Errorf("%q became %q", text, got.Text)
		}
	}
}

// A part of a text shows nothing that the scrubbed whole does not.
func TestPartSeesTheWhole(t *testing.T) {
	for _, c := range safetytest.Samples(newRand(35)) {
		text := "a: " + c.Text() + " :z"
		whole := Default().Session().Stored("cited", text).Text
		for start := 0; start <= len(text); start += 3 {
			for _, end := range []int{start, start + 14, len(text) - 9, len(text)} {
				got := Default().Session().Part("cited", text, start, end)
				if c.Leaked(got) {
					t.Fatalf("%s [%d:%d]: %q", c.Rule, start, end, got)
				}
			}
		}
		if got := Default().Session().Part("cited", text, 0, len(text)); got != whole {
			t.Errorf("%s: %q, want %q", c.Rule, got, whole)
		}
	}
	if got := Default().Session().Part("cited", "plain", -3, 99); got != "plain" {
		t.Errorf("out of range: %q", got)
	}
}
