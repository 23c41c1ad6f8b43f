package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/trace/safety/safetytest"
)

// rounds of planting: one under the race detector, for the time it takes.
func rounds(n int) int {
	if safetytest.Race {
		return 1
	}
	return n
}

// planter puts secrets of every shape into the strings of documents, one after
// the other.
type planter struct {
	samples []safetytest.Sample
	next    int
	// kept are the members that decide what a document is.
	kept []string
}

// newPlanter begins at one of the shapes, so that several planters put every
// shape into every place.
func newPlanter(from int, kept ...string) *planter {
	return &planter{samples: safetytest.Samples(safetytest.NewRand(uint64(51 + from))), next: from, kept: kept}
}

func (p *planter) text() string {
	s := p.samples[p.next%len(p.samples)]
	p.next++
	return s.Text()
}

// document plants into every string of a JSON value but the kept members.
func (p *planter) document(t *testing.T, doc []byte) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p.value(t, v)); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

func (p *planter) value(t *testing.T, v any) any {
	switch v := v.(type) {
	case string:
		// A reason in a block, and JSON in a string, stay readable.
		if doc := []byte(v); len(v) > 0 && v[0] == '{' && json.Valid(doc) {
			return string(p.document(t, doc))
		}
		reason, err := json.Marshal(p.text())
		if err != nil {
			t.Fatal(err)
		}
		v = strings.ReplaceAll(v, `"why":"`, `"why":"`+string(reason[1:len(reason)-1])+" ")
		return v + " " + p.text() + " so"
	case []any:
		for i := range v {
			v[i] = p.value(t, v[i])
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if !slices.Contains(p.kept, k) {
				v[k] = p.value(t, v[k])
			}
		}
		v["planted"] = map[string]any{p.text(): []any{p.text(), map[string]any{"deep": p.text()}}}
	}
	return v
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// lines plants into every line that is JSON; what stands before it ("data: ")
// and other lines stay.
func (p *planter) lines(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for line := range bytes.Lines(content) {
		line = bytes.TrimSpace(line)
		at := max(0, bytes.IndexByte(line, '{'))
		if json.Valid(line[at:]) && len(line) > at {
			out.Write(line[:at])
			line = p.document(t, line[at:])
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// leaks reports every shape that stands in what was shown.
func (p *planter) leaks(t *testing.T, what, out string) {
	t.Helper()
	levels := safetytest.Levels(out)
	for _, s := range p.samples {
		for _, level := range levels {
			if at := s.At(level); at >= 0 {
				t.Errorf("%s shows a secret of rule %s: …%q…", what, s.Rule, level[max(0, at-200):min(len(level), at+120)])
				break
			}
		}
	}
}

// stage is a directory in which commands run.
type stage struct{ dir string }

func (s stage) write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rax gives all that a command line shows.
func (s stage) rax(args ...string) (code int, shown string) {
	return s.reading("", args...)
}

func (s stage) reading(stdin string, args ...string) (code int, shown string) {
	var out bytes.Buffer
	code = run(append([]string{"rax"}, args...), system{
		in: strings.NewReader(stdin), out: &out, err: &out,
		getenv: func(name string) string {
			return map[string]string{"RAX_TRACE_DIR": filepath.Join(s.dir, "traces"), "XDG_CONFIG_HOME": s.dir}[name]
		},
		home: func() (string, error) { return s.dir, nil },
		now:  func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	return code, out.String()
}

// views are the command lines that show a trace or a transcript.
func views(path string) [][]string {
	return [][]string{
		{"diagnose", "debrief", path}, {"diagnose", "debrief", path, "--expand", "--all"}, {"diagnose", "debrief", path, "--json"},
		{"diagnose", "debrief", path, "--jsonl"}, {"diagnose", "debrief", path, "--markdown"}, {"diagnose", "debrief", path, "--strict"},
		{"diagnose", "why", path, "1"}, {"diagnose", "why", path, "1", "--json"}, {"diagnose", "why", path, "3"}, {"diagnose", "why", path, "nope"},
		{"diagnose", "replay", path}, {"diagnose", "replay", path, "--raw"}, {"diagnose", "replay", path, "--json"}, {"diagnose", "replay", path, "--strict"},
		{"diagnose", "parse", path}, {"diagnose", "parse", path, "--json"}, {"diagnose", "parse", path, "--format", "text"},
		{"diagnose", "scan", path}, {"diagnose", "scan", path, "--json"},
		{"import", path}, {"import", path, "--json", "--strict"},
		{"run", "--replay", path},
	}
}

// look runs every view of a file and reads what they wrote.
func (p *planter) look(t *testing.T, s stage, path string, wantDone int) {
	t.Helper()
	done := 0
	for _, args := range views(path) {
		code, shown := s.rax(args...)
		if code == exitDone {
			done++
		}
		p.leaks(t, "rax "+strings.ReplaceAll(strings.Join(args, " "), path, filepath.Base(path)), shown)
	}
	for _, args := range [][]string{{"diagnose", "list"}, {"diagnose", "list", "--json"}} {
		_, shown := s.rax(args...)
		p.leaks(t, "rax "+strings.Join(args, " "), shown)
	}
	if done < wantDone {
		t.Errorf("%s: only %d views worked", filepath.Base(path), done)
	}
	written, err := filepath.Glob(filepath.Join(s.dir, "traces", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range written {
		if data, err := os.ReadFile(path); err == nil {
			p.leaks(t, "the file "+filepath.Base(path), string(data))
		}
	}
}

func fixtureFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob("../../fixtures/" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures match %s: %v", pattern, err)
	}
	return slices.DeleteFunc(files, func(path string) bool {
		return strings.Contains(path, ".golden.") || strings.Contains(path, ".expect.") || strings.Contains(path, ".account.")
	})
}

// TestPlantedInTraces: traces without a stamp, every string planted.
func TestPlantedInTraces(t *testing.T) {
	for i, path := range fixtureFiles(t, "trace/*.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for round := range rounds(3) {
				p := newPlanter(7*i+19*round, "kind", "runId", "rationaleStatus", "rationaleSource", "callId", "rootRunId", "parentRunId")
				if round == 2 {
					p.kept = []string{"kind", "runId"}
				}
				s := stage{t.TempDir()}
				p.look(t, s, s.write(t, "foreign.jsonl", p.lines(t, content)), 8)
			}
		})
	}
}

// TestPlantedInTranscripts: sessions of Claude Code, read directly and imported.
func TestPlantedInTranscripts(t *testing.T) {
	structure := []string{"type", "role", "uuid", "parentUuid", "sessionId", "id", "tool_use_id", "timestamp", "subtype", "leafUuid", "parentToolUseID", "toolUseID", "operation"}
	for i, path := range fixtureFiles(t, "transcript/claude-code/*.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for round := range rounds(3) {
				p := newPlanter(11*i+23*round, structure...)
				if round == 2 {
					p.kept = []string{"role", "timestamp", "type"}
				}
				s := stage{t.TempDir()}
				data := p.lines(t, content)
				unknown := fmt.Sprintf(`{"type":%q,"message":{"role":"user","content":[{"type":%q}]}}`, p.text(), p.text())
				data = append(data, unknown+"\n{\"type\":\""+p.text()+"\n"...)
				p.look(t, s, s.write(t, "session.jsonl", data), 8)
				code, shown := s.reading(string(data), "diagnose", "debrief", "-")
				if code != exitDone {
					t.Errorf("standard input: exit %d", code)
				}
				p.leaks(t, "rax diagnose debrief -", shown)
			}
		})
	}
}

// TestPlantedInAnswers: every wire format, bodies and streams, also as a request
// that names tools.
func TestPlantedInAnswers(t *testing.T) {
	structure := []string{"type", "role", "object", "id", "finish_reason", "stop_reason", "stopReason", "status", "event", "index", "call_id", "tool_call_id", "item_id", "finishReason", "done_reason", "format"}
	for i, path := range append(fixtureFiles(t, "wire/*/*.json"), fixtureFiles(t, "wire/*/*.sse")...) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(path, "../../fixtures/wire/")
		for round := range rounds(2) {
			p := newPlanter(5*i+31*round, structure...)
			if round == 1 {
				p.kept = []string{"type", "role", "object"}
			}
			data := p.lines(t, content)
			if filepath.Ext(path) == ".json" && json.Valid(content) {
				data = p.document(t, content)
			}
			s := stage{t.TempDir()}
			body := s.write(t, filepath.Base(path), data)
			format, _, _ := strings.Cut(name, "/")
			for _, args := range [][]string{
				{"diagnose", "parse", body}, {"diagnose", "parse", body, "--json"}, {"diagnose", "parse", body, "--format", format},
				{"diagnose", "parse", body, "--format", format, "--json"}, {"diagnose", "parse", body, "--format", "text", "--json"},
				{"diagnose", "parse", body, "--tools", body}, {"diagnose", "scan", body},
			} {
				_, shown := s.rax(args...)
				p.leaks(t, name+": rax "+strings.ReplaceAll(strings.Join(args, " "), body, "F"), shown)
			}
		}
	}
}

// TestPlantedInRun: what a scripted model writes, through the whole agent: text,
// thinking, reasons, arguments, a tool that answers with an error.
func TestPlantedInRun(t *testing.T) {
	for i, sample := range safetytest.Samples(safetytest.NewRand(61)) {
		if safetytest.Race && i%6 != 0 {
			continue
		}
		p := &planter{samples: []safetytest.Sample{sample}}
		quoted, err := json.Marshal(sample.Text())
		if err != nil {
			t.Fatal(err)
		}
		inner := string(quoted[1 : len(quoted)-1])
		block, err := json.Marshal(fmt.Sprintf(`Now: %s <rationale call="1">{"why":"because %s","alternatives":[{"option":"o %s","rejectedBecause":"r"}]}</rationale>`, sample.Text(), inner, inner))
		if err != nil {
			t.Fatal(err)
		}
		half := len(sample.Secret) / 2
		split, err := json.Marshal("I am done: " + sample.Before + sample.Secret[:half] + `<rationale call="9">{"why":"no call"}</rationale>` + sample.Secret[half:] + sample.After)
		if err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf(`{"thinking":%[1]s,"text":%[2]s,"calls":[{"id":"call_1","name":"calculator","arguments":{"expression":%[1]s,"nested":{"a":[%[1]s]}}}]}
{"text":%[1]s,"calls":[{"id":"call_2","name":"nope","arguments":{"x":%[1]s}}]}
{"text":%[3]s}
`, quoted, block, split)
		s := stage{t.TempDir()}
		path := s.write(t, "script.jsonl", []byte(script))
		for _, args := range [][]string{
			{"run", "use " + sample.Text(), "--model", "scripted:" + path, "--tools", "calculator"},
			{"run", "task", "--model", "scripted:" + path, "--tools", "calculator", "--json", "--approve", "all"},
			{"run", "task", "--model", "scripted:" + path, "--tools", "calculator", "--rationale-channel", "argument", "--rationale", "strict"},
			{"run", "task", "--model", "scripted:" + path, "--strategy", "plan-execute-reflect", "--json"},
		} {
			_, shown := s.rax(args...)
			p.leaks(t, fmt.Sprintf("%d: rax %s", i, strings.Join(args[:1], " ")), strings.ReplaceAll(shown, path, ""))
		}
		written, err := filepath.Glob(filepath.Join(s.dir, "traces", "*.jsonl"))
		if err != nil || len(written) < 3 {
			t.Fatalf("%d traces, %v", len(written), err)
		}
		for _, trace := range written {
			data, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			p.leaks(t, fmt.Sprintf("%d: the trace", i), string(data))
		}
	}
}

// TestPlantedInMessages: errors and hints repeat what was typed.
func TestPlantedInMessages(t *testing.T) {
	s := stage{t.TempDir()}
	for _, sample := range safetytest.Samples(safetytest.NewRand(62)) {
		p := &planter{samples: []safetytest.Sample{sample}}
		text := strings.ReplaceAll(sample.Text(), "\n", " ")
		for _, args := range [][]string{
			{"diagnose", "debrief", "no/" + text}, {"diagnose", "debrief", "nobody:" + text}, {text}, {"diagnose", "debrief", "x", "--run=" + text},
			{"diagnose", "parse", "x", "--format", text}, {"run", "t", "--model", text}, {"schema", text}, {"diagnose", "list", "--color", text},
		} {
			if code, shown := s.rax(args...); code == exitDone {
				t.Errorf("rax %s works", args[0])
			} else {
				p.leaks(t, "rax "+strings.Join(args[:1], " "), shown)
			}
		}
	}
}

// TestSafetyConfig: the allow list, the policy and the limits of a configuration
// act in every command, and a mistake in them is a usage error with its line.
func TestSafetyConfig(t *testing.T) {
	r := safetytest.NewRand(63)
	test := "gl" + "pat-" + safetytest.Random(r, safetytest.Base62, 20)
	live := "sk" + "_live_" + safetytest.Random(r, safetytest.Base62, 24)
	token := "np" + "m_" + safetytest.Random(r, safetytest.Base62, 36)
	key := safetytest.KeyBlock(r, "RSA PRIVATE"+" KEY", 4)
	quoted, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long text ", 60)
	content := fmt.Sprintf(`{"kind":"run-started","runId":"r","seq":0,"task":"allowed %s and %s or %s"}
{"kind":"tool-call-start","runId":"r","seq":1,"callId":"c1","toolName":"t","rationaleStatus":"present","rationale":{"why":%s},"narrative":%q}
`, test, live, token, quoted, long)
	s := stage{t.TempDir()}
	path := s.write(t, "trace.jsonl", []byte(content))
	if err := os.MkdirAll(filepath.Join(s.dir, "rax"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(s.dir)
	_, shown := s.rax("diagnose", "replay", path, "--raw")
	for _, secret := range []string{test, live, token, key[40:80]} {
		if strings.Contains(shown, secret) {
			t.Errorf("without a configuration: %s", shown)
		}
	}
	s.write(t, "rax/config.yaml", []byte("safety:\n  allow: ["+test+"]\n  policy:\n    npm-token: warn\n  limits:\n    text: 300\n"))
	for _, args := range [][]string{{"diagnose", "replay", path, "--raw"}, {"diagnose", "debrief", path, "--json"}, {"diagnose", "parse", path, "--format", "text"}} {
		_, shown := s.rax(args...)
		if !strings.Contains(shown, test) || !strings.Contains(shown, token) || strings.Contains(shown, live) || !strings.Contains(shown, "[redacted:stripe-key#1]") {
			t.Errorf("%v: %s", args, shown)
		}
	}
	if _, shown := s.rax("diagnose", "replay", path, "--raw"); strings.Contains(shown, long) || !strings.Contains(shown, "[cut: ") {
		t.Errorf("the limit does not act: %s", shown)
	}
	// The project's file wins.
	s.write(t, ".rax.yaml", []byte("safety:\n  policy: {npm-token: redact}\n"))
	if _, shown := s.rax("diagnose", "replay", path, "--raw"); strings.Contains(shown, token) || !strings.Contains(shown, test) {
		t.Errorf("both files: %s", shown)
	}
	for _, bad := range []struct{ text, want string }{
		{"safety:\n  policy:\n    npm-token: redact\n    nope: warn\n", ".rax.yaml:4: safety: no rule is named"},
		{"safety:\n  policy:\n    jwt: explode\n", ".rax.yaml:3: safety: rule jwt: unknown action"},
		{"safety:\n  policy: {length: warn}\n", ".rax.yaml:2: safety: rule length cannot warn"},
		{"safety:\n  allow:\n    - x\n    - '*'\n", ".rax.yaml:4: safety: allow entry"},
		{"safety:\n  limits:\n    text: 3\n", ".rax.yaml:3: safety: text limit 3 is under 64"},
		{"safety:\n  limits:\n    payload: 3\n", ".rax.yaml:3: safety: payload limit 3 is under 64"},
		{"safety:\n  alow: [x]\n", ".rax.yaml:2: "},
	} {
		s.write(t, ".rax.yaml", []byte(bad.text))
		for _, args := range [][]string{{"diagnose", "debrief", path}, {"diagnose", "parse", path}, {"diagnose", "list"}, {"import", path}, {"diagnose", "scan", path}, {"run", "t", "--model", "scripted:x"}} {
			if code, shown := s.rax(args...); code != exitUsage || !strings.Contains(shown, bad.want) {
				t.Errorf("%q: rax %s: exit %d: %s", bad.text, strings.Join(args[:2], " "), code, shown)
			}
		}
	}
}

// TestScanExits: 1 where something of severity high or critical stands, also
// next to files that are clean.
func TestScanExits(t *testing.T) {
	s := stage{t.TempDir()}
	clean := s.write(t, "clean.jsonl", []byte("{\"a\":\"b\"}\n"))
	for _, sample := range safetytest.Samples(safetytest.NewRand(65)) {
		quoted, err := json.Marshal(map[string]any{"args": map[string]string{"x": sample.Text()}})
		if err != nil {
			t.Fatal(err)
		}
		path := s.write(t, "leak.jsonl", append([]byte("{}\n"), quoted...))
		code, shown := s.rax("diagnose", "scan", clean, path)
		if code != exitFindings || !strings.Contains(shown, "leak.jsonl:2: "+sample.Rule+" (") || !strings.Contains(shown, " in args.x\n") {
			t.Errorf("%s: exit %d: %s", sample.Rule, code, shown)
		}
	}
	if code, shown := s.rax("diagnose", "scan", clean); code != exitDone {
		t.Errorf("exit %d: %s", code, shown)
	}
}

// TestConfigSchema: the published schema knows what the configuration takes.
func TestConfigSchema(t *testing.T) {
	code, shown := stage{t.TempDir()}.rax("schema", "config")
	var schema struct {
		Properties struct {
			Safety struct {
				Properties map[string]any `json:"properties"`
			} `json:"safety"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(shown), &schema); code != exitDone || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, shown)
	}
	for _, name := range []string{"allow", "policy", "limits"} {
		if schema.Properties.Safety.Properties[name] == nil {
			t.Errorf("safety.%s is not in the schema", name)
		}
	}
}

// TestOneSecretOneNumber: in every view of a transcript the same secret has the
// same mark, the cited characters included.
func TestOneSecretOneNumber(t *testing.T) {
	content, err := os.ReadFile("../../fixtures/transcript/claude-code/blocks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := safetytest.NewRand(64)
	first, second := "np"+"m_"+safetytest.Random(r, safetytest.Base62, 36), "np"+"m_"+safetytest.Random(r, safetytest.Base62, 36)
	content = bytes.Replace(content, []byte("Find the slow query."), []byte("Find the slow query with "+first), 1)
	content = bytes.Replace(content, []byte(`\"why\":\"`), []byte(`\"why\":\"`+second+" "), 1)
	s := stage{t.TempDir()}
	path := s.write(t, "session.jsonl", content)
	_, shown := s.rax("diagnose", "why", path, "1", "--json")
	var decision struct {
		Rationale struct {
			Why string `json:"why"`
		} `json:"rationale"`
		Cited string `json:"cited"`
	}
	if err := json.Unmarshal([]byte(shown), &decision); err != nil {
		t.Fatalf("%v: %s", err, shown)
	}
	if !strings.HasPrefix(decision.Rationale.Why, "[redacted:npm-token#2] ") || !strings.HasPrefix(decision.Cited, "[redacted:npm-token#2] ") {
		t.Errorf("%+v", decision)
	}
}
