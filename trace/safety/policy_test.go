package safety

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func pipeline(t *testing.T, cfg Config) *Pipeline {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Policy: map[string]Action{"no-such-rule": Warn}}, "no rule is named"},
		{Config{Policy: map[string]Action{"escape": Warn}}, "no rule is named"},
		{Config{Policy: map[string]Action{"jwt": 0}}, "unknown action"},
		{Config{Policy: map[string]Action{"jwt": 99}}, "unknown action"},
		{Config{Policy: map[string]Action{"instruction-override": Redact}}, "cannot redact"},
		{Config{Policy: map[string]Action{"hidden-unicode": Warn}}, "cannot warn"},
		{Config{Policy: map[string]Action{"length": Block}}, "cannot block"},
		{Config{Allow: []string{"ok", ""}}, "entry 2"},
		{Config{Allow: []string{"*"}}, "entry 1"},
		{Config{Limits: Limits{Text: 63}}, "text limit 63"},
		{Config{Limits: Limits{Payload: 1}}, "payload limit 1"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.cfg, err, c.want)
		}
	}
}

func TestActions(t *testing.T) {
	key := "gs" + "k_" + random(newRand(6), base62, 52)
	for _, c := range []struct {
		action Action
		want   string
	}{
		{Warn, key}, {Review, key}, {Sanitize, "[redacted:groq-key#1]"}, {Redact, "[redacted:groq-key#1]"}, {Block, "[redacted:groq-key#1]"},
	} {
		p := pipeline(t, Config{Policy: map[string]Action{"groq-key": c.action}})
		got := p.Session().Text("why", "x "+key)
		want := []Finding{{"groq-key", High, c.action, "why", &[2]int{2, 2 + len(key)}}}
		if got.Text != "x "+c.want || !reflect.DeepEqual(got.Findings, want) || got.Blocked != (c.action == Block) {
			t.Errorf("%s: got %+v", c.action, got)
		}
	}
	if got := pipeline(t, Config{Policy: map[string]Action{"chat-template": Redact}}).Session().Text("why", "<|im_end|>"); got.Text != "[redacted:chat-template#1]" {
		t.Errorf("redacted template: %q", got.Text)
	}
}

func TestAPrivateKeyBlocksReasoningOnly(t *testing.T) {
	key := block(newRand(7), "EC PRIVATE"+" KEY", 4)
	for field, want := range map[string]Action{
		"why": Block, "narrative": Block, "rationale.why": Block, "rationale.alternatives.rejectedBecause": Block,
		"args": Redact, "result": Redact, "args.why": Redact, "toolName": Redact,
	} {
		got := Default().Session().Text(field, "see "+key)
		if got.Text != "see [redacted:private-key#1]" || got.Findings[0].Action != want || got.Blocked != (want == Block) {
			t.Errorf("%s: %+v", field, got)
		}
	}
	line := `{"rationale":{"why":` + quote(t, key) + `},"args":{"why":` + quote(t, key) + `}}`
	out, findings := Default().Session().Line(nil, []byte(line))
	if want := `{"rationale":{"why":"[redacted:private-key#1]"},"args":{"why":"[redacted:private-key#1]"}}`; string(out) != want {
		t.Errorf("got %s", out)
	}
	if len(findings) != 2 || findings[0].Action != Block || findings[0].Field != "rationale.why" || findings[1].Action != Redact || findings[1].Field != "args.why" {
		t.Errorf("findings %+v", findings)
	}
}

func TestAllow(t *testing.T) {
	r := newRand(8)
	a, b := "gs"+"k_"+random(r, base62, 52), "gs"+"k_"+random(r, base62, 52)
	for _, allow := range []string{a, a[:20] + "*"} {
		got := pipeline(t, Config{Allow: []string{allow}}).Session().Text("why", a+" "+b)
		if want := a + " [redacted:groq-key#1]"; got.Text != want || len(got.Findings) != 1 {
			t.Errorf("allow %.8s…: %+v", allow, got)
		}
	}
}

func TestLengthGuard(t *testing.T) {
	p := pipeline(t, Config{Limits: Limits{Text: 100, Payload: 200}})
	long := strings.Repeat("word ", 50) // 250 bytes
	for _, c := range []struct {
		field, text, want string
	}{
		{"why", long[:100], long[:100]},
		{"why", long[:101], long[:60] + "[cut: 41 bytes]"},
		{"args", long[:200], long[:200]},
		{"args", long, long[:160] + "[cut: 90 bytes]"},
		// No character and no secret is cut in two.
		{"why", strings.Repeat("é", 60), strings.Repeat("é", 30) + "[cut: 60 bytes]"},
		{"why", strings.Repeat("x ", 20) + "sk-" + "proj-" + random(newRand(9), base62, 100), strings.Repeat("x ", 20) + "[cut: 108 bytes]"},
	} {
		got := p.Session().Text(c.field, c.text)
		if got.Text != c.want {
			t.Errorf("%s: got %q, want %q", c.field, got.Text, c.want)
		}
		if cut := c.text != c.want; cut && (got.Findings[0].Rule != "length" || got.Findings[0].Span[1] != len(c.text)) {
			t.Errorf("%s: findings %+v", c.field, got.Findings)
		}
		out, _ := p.Session().JSON(nil, c.field, []byte(quote(t, c.text)))
		if want := quote(t, c.want); string(out) != want {
			t.Errorf("%s as JSON: got %s, want %s", c.field, out, want)
		}
	}
	tight := pipeline(t, Config{Limits: Limits{Payload: 100}})
	if out, _ := tight.Session().Line(nil, []byte(`{"args":"`+long+`"}`)); string(out) != `{"args":"`+long[:60]+`[cut: 190 bytes]"}` {
		t.Errorf("payload limit under the text limit: got %s", out)
	}
	if got := pipeline(t, Config{Limits: Limits{Text: -1}}).Session().Text("why", strings.Repeat("a ", 2<<20)); got.Findings != nil {
		t.Errorf("no limit: %+v", got.Findings)
	}
	if got := Default().Session().Text("why", strings.Repeat("a ", 1<<20)); len(got.Text) > 1<<20 || got.Findings[0].Rule != "length" {
		t.Errorf("default limit: %d bytes, %+v", len(got.Text), got.Findings)
	}
	if got := Default().Session().Text("result", strings.Repeat("a ", 1<<20)); got.Findings != nil {
		t.Errorf("default payload limit: %+v", got.Findings)
	}
}

func TestFindingsHoldNoMaterial(t *testing.T) {
	for _, c := range samples(newRand(10)) {
		s := Default().Session()
		_, findings := s.Line(nil, []byte(`{"args":{`+quote(t, c.text())+`:{"x":`+quote(t, c.text())+`}}}`))
		b, err := json.Marshal(findings)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(unescapeAll(string(b)), c.secret) {
			t.Errorf("%s: the findings hold the secret", c.rule)
		}
	}
}

func TestNames(t *testing.T) {
	for a := Warn; a <= Block; a++ {
		var back Action
		if err := back.UnmarshalText([]byte(a.String())); err != nil || back != a {
			t.Errorf("%s: %v, %v", a, back, err)
		}
	}
	var a Action
	if err := a.UnmarshalText([]byte("explode")); err == nil {
		t.Error("an unknown action was read")
	}
	if got := Action(0).String() + Severity(9).String() + Critical.String(); got != "action(0)severity(9)critical" {
		t.Error(got)
	}
}
