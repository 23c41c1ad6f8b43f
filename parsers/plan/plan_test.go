package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"
)

const seedStep = `{ "title": "Fetch recent commits", "type": "tool_call", "toolName": "github/list_commits", "toolArgs": { "owner": "acme", "repo": "app", "perPage": 10 }, "rationale": { "why": "Need the raw commit list before any summarization can begin", "confidence": 0.95 }}`

// cases are the tests of Parse and the seeds of its fuzz target. want has a
// line a step, "type tool args status [why] [!problem]", and "missing N"; or
// "error …" alone.
var cases = []struct {
	name, in string
	want     []string
}{
	{"seed", `{"steps":[` + seedStep + `]}`, []string{
		`tool_call github/list_commits { "owner": "acme", "repo": "app", "perPage": 10 } present Need the raw commit list before any summarization can begin`, "missing 0"}},
	{"fence and prose", "Here is the plan:\n```json\n{\"steps\":[{\"title\":\"t\",\"type\":\"analysis\"}]}\n```\nGood luck.", []string{"analysis  {} unasked", "missing 0"}},
	{"lacking", `{"steps":[{"title":"a","type":"tool_call","toolName":"x"},{"type":"tool_call","toolName":"y","rationale":null},{"type":"tool_call","toolName":"z","rationale":"because"},{"type":"tool_call","toolName":"z","rationale":{"why":" "}}]}`,
		[]string{"tool_call x {} missing", "tool_call y {} missing", "tool_call z {} malformed", "tool_call z {} malformed", "missing 4"}},
	{"analysis may state one", `{"steps":[{"type":"analysis","rationale":{"why":"w"}},{"type":"analysis","rationale":3}]}`,
		[]string{"analysis  {} present w", "analysis  {} malformed", "missing 0"}},
	{"args as a string", `{"steps":[{"type":"tool_call","toolName":"x","toolArgs":"{\"a\": {\"b\":1}}","rationale":{"why":"w"}}]}`,
		[]string{`tool_call x {"a": {"b":1}} present w`, "missing 0"}},
	{"args as a broken string", `{"steps":[{"type":"tool_call","toolName":"x","toolArgs":"a=1"},{"type":"tool_call","toolName":"x","toolArgs":[1]}]}`,
		[]string{`tool_call x  missing !`, `tool_call x  missing !`, "missing 2"}},
	{"args repaired", `{"steps":[{"type":"tool_call","toolName":"x","toolArgs":"{'a': 1,}"}]}`, []string{`tool_call x {"a":1} missing`, "missing 1"}},
	{"no type", `{"steps":[{"toolName":"x"},{"title":"think"}]}`, []string{"tool_call x {} missing", "  {} unasked", "missing 1"}},
	{"type spelled otherwise", `{"steps":[{"type":"Tool-Call","toolName":"x"},{"type":"toolCall","toolName":""}]}`,
		[]string{"tool_call x {} missing", "tool_call  {} missing !", "missing 2"}},
	{"repaired", "{'steps': [{'type': 'tool_call', 'toolName': 'x', 'rationale': {'why': 'it\\'s \"so\"', 'confidence': 1,},}, # one\n]}",
		[]string{`tool_call x {} present it's "so"`, "missing 0"}},
	{"bare array", `[{"title":"a","type":"analysis"},{"title":"b","type":"analysis"}]`, []string{"analysis  {} unasked", "analysis  {} unasked", "missing 0"}},
	{"wrapped", `{"plan":{"steps":[{"type":"analysis"}]}}`, []string{"analysis  {} unasked", "missing 0"}},
	{"the last of several", `Not {"steps":[]} but {"steps":[{"type":"analysis"}]}`, []string{"analysis  {} unasked", "missing 0"}},
	{"steps inside arguments", `{"steps":[{"type":"tool_call","toolName":"x","toolArgs":{"steps":[1]}}]}`, []string{`tool_call x {"steps":[1]} missing`, "missing 1"}},
	{"draft in thinking", "<think>{\"steps\":[{\"type\":\"composite\"}]}</think>\n{\"steps\":[{\"type\":\"analysis\"}]}", []string{"analysis  {} unasked", "missing 0"}},
	{"first key counts", `{"steps":[{"type":"tool_call","toolName":"x","rationale":{"why":"1"},"rationale":{"why":"2"}}]}`, []string{"tool_call x {} present 1", "missing 0"}},
	{"other elements", `{"steps":[1,"x",{"type":"analysis"}]}`, []string{"analysis  {} unasked", "missing 0"}},
	{"no steps", `{"steps":[]}`, []string{"missing 0"}},
	{"last brace missing", `{"steps":[{"type":"analysis"}]`, []string{"analysis  {} unasked", "missing 0"}},

	{"empty", "", []string{"error"}},
	{"prose", "I would first look and then act.", []string{"error"}},
	{"cut off", `{"steps":[{"type":"analysis"}`, []string{"error"}},
	{"cut in a string", `{"steps":[{"type":"anal`, []string{"error"}},
	{"steps is no array", `{"steps":"1. look"}`, []string{"error"}},
	{"no step is an object", `{"steps":["look","act"]}`, []string{"error"}},
}

func TestParse(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse(tt.in)
			check(t, tt.in, p, err)
			got := []string{"error"}
			if err == nil {
				got = nil
				for _, s := range p.Steps {
					line := fmt.Sprintf("%s %s %s %s", s.Type, s.ToolName, s.ToolArgs, s.Capture.Status)
					if s.Capture.Rationale != nil {
						line += " " + s.Capture.Rationale.Why
					}
					if s.Problem != "" {
						line += " !"
					}
					got = append(got, line)
				}
				got = append(got, fmt.Sprint("missing ", p.Missing))
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s\n%v %q", strings.Join(got, "\n"), strings.Join(tt.want, "\n"), err, p.Warnings)
			}
		})
	}
}

// check holds what is true of every result.
func check(t *testing.T, output string, p Plan, err error) {
	t.Helper()
	if err != nil {
		var unreadable *Error
		if !errors.As(err, &unreadable) || unreadable.Raw != output || unreadable.Reason == "" {
			t.Fatalf("error %#v", err)
		}
		return
	}
	if p.Steps == nil || p.Span.In(output) == "" {
		t.Fatalf("plan %+v", p)
	}
	missing := 0
	for _, s := range p.Steps {
		if s.Lacks() {
			missing++
		}
		if in := s.Span.In(output); in == "" || in[0] != '{' || s.Span.Start < p.Span.Start || s.Span.End > p.Span.End {
			t.Fatalf("step at %v: %q", s.Span, in)
		}
		if s.Problem == "" && !gjson.ValidBytes(s.ToolArgs) {
			t.Fatalf("arguments %q", s.ToolArgs)
		}
		c := s.Capture
		if !c.Status.Valid() || (c.Status == rationale.Present) != (c.Rationale != nil) {
			t.Fatalf("capture %+v", c)
		}
		if c.Status != rationale.Present {
			continue
		}
		if c.Source != rationale.SourcePlan || s.WhySpan.Start < s.Span.Start || s.WhySpan.End > s.Span.End {
			t.Fatalf("why at %v of step %v from %s", s.WhySpan, s.Span, c.Source)
		}
		stated := s.WhySpan.In(output)
		if !strings.Contains(stated, `\`) && !strings.HasPrefix(strings.ToValidUTF8(stated, "?"), strings.ToValidUTF8(c.Rationale.Why, "?")) {
			t.Fatalf("why %q, but the output has %q", c.Rationale.Why, stated)
		}
	}
	if missing != p.Missing {
		t.Fatalf("missing %d, counted %d", p.Missing, missing)
	}
}

func TestErrorKeepsThePayloadOut(t *testing.T) {
	_, err := Parse("my password is swordfish")
	if err == nil || strings.Contains(err.Error(), "swordfish") || !strings.HasPrefix(err.Error(), "unreadable plan: ") {
		t.Errorf("%v", err)
	}
}

func TestStrictRetry(t *testing.T) {
	p, err := Parse(`{"steps":[` + seedStep + `,{"title":"Save \"it\"","type":"tool_call","toolName":"w"},{"title":"Think","type":"analysis"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	got := StrictRetry(p)
	if !strings.HasPrefix(got, "[STRICT RETRY] ") || !strings.Contains(got, "- step 2: \"Save \\\"it\\\"\"\n") {
		t.Errorf("%s", got)
	}
	for _, no := range []string{"step 1", "step 3", "raw commit list"} {
		if strings.Contains(got, no) {
			t.Errorf("it has %q:\n%s", no, got)
		}
	}
	p.Steps = p.Steps[:1]
	if got := StrictRetry(p); got != "" {
		t.Errorf("nothing lacks, but %q", got)
	}
	p.Steps = make([]Step, 100)
	for i := range p.Steps {
		p.Steps[i] = Step{Type: ToolCall, Title: strings.Repeat("長", 500)}
	}
	if got := StrictRetry(p); len(got) > 10_000 || !strings.Contains(got, "and 80 more") {
		t.Errorf("%d bytes", len(got))
	}
}

func compile(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemas(t *testing.T) {
	strictStep := `{"title":"t","type":"tool_call","toolName":"x","toolArgs":"{}","rationale":{"why":"w","confidence":null}}`
	for _, tt := range []struct {
		step         string
		strict, open bool
	}{
		{seedStep, false, true},
		{strictStep, true, false},
		{`{"title":"t","type":"analysis"}`, true, true},
		{strings.Replace(strictStep, `,"rationale":{"why":"w","confidence":null}`, "", 1), false, false},
		{`{"title":"t","type":"tool_call","toolName":"x","toolArgs":{}}`, false, false},
		{`{"title":"t","type":"tool_call","toolName":"x","toolArgs":{},"rationale":{"confidence":1}}`, false, false},
		{`{"title":"t","type":"tool_call"}`, false, false},
		{`{"title":"t","type":"dance"}`, false, false},
	} {
		for name, want := range map[string]bool{"strict": tt.strict, "open": tt.open} {
			schema := map[string][]byte{"strict": Schema(), "open": OpenSchema()}[name]
			var doc any
			if err := json.Unmarshal([]byte(`{"steps":[`+tt.step+`]}`), &doc); err != nil {
				t.Fatal(err)
			}
			if err := compile(t, schema).Validate(doc); (err == nil) != want {
				t.Errorf("%s: %s: %v", name, tt.step, err)
			}
		}
	}
}

// TestStrictMode checks the rules of OpenAI's strict mode: every object closed,
// every property required, the root no anyOf.
func TestStrictMode(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc["type"] != "object" {
		t.Error("the root is no object")
	}
	objects := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if v["type"] == "object" {
				objects++
				properties, _ := v["properties"].(map[string]any)
				required, _ := v["required"].([]any)
				if v["additionalProperties"] != false || len(properties) == 0 || len(required) != len(properties) {
					t.Errorf("not strict: %v", v)
				}
			}
			for key, e := range v {
				for _, banned := range []string{"minLength", "maxLength", "if", "allOf", "oneOf", "not", "patternProperties"} {
					if key == banned {
						t.Errorf("%s is no keyword of the strict mode", key)
					}
				}
				walk(e)
			}
		}
	}
	walk(doc)
	if objects != 4 {
		t.Errorf("%d objects", objects)
	}
}

var hostile = []string{"{", "[", `{"steps":[`, `{"steps":[]}`, `{"title":"`, `[{"title":1},`, `["x" [`, `{'`, "```json\n", "<think>", `{"steps":[1,/*`}

// TestHostile holds the cost of bad texts; with RAX_FULL=1 of larger ones.
func TestHostile(t *testing.T) {
	size := 200_000
	if os.Getenv("RAX_FULL") != "" {
		size = 2_000_000
	}
	for _, unit := range hostile {
		output := strings.Repeat(unit, size/len(unit))
		p, err := Parse(output)
		check(t, output, p, err)
	}
	long := `{"steps":[` + strings.Repeat(seedStep+",", 5000) + `]}`
	if p, err := Parse(long); err != nil || len(p.Steps) != 5000 {
		t.Errorf("%d steps, %v", len(p.Steps), err)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, unit := range append(hostile, seedStep+",") {
		for size, label := range map[int]string{200_000: "200kB", 2_000_000: "2MB"} {
			output := `{"steps":[` + strings.Repeat(unit, size/len(unit)) + `]}`
			b.Run(fmt.Sprintf("%.12s/%s", strings.ReplaceAll(unit, "/", "|"), label), func(b *testing.B) {
				b.SetBytes(int64(len(output)))
				for b.Loop() {
					_, _ = Parse(output)
				}
			})
		}
	}
}

func FuzzParse(f *testing.F) {
	if len(cases) == 0 {
		f.Fatal("no seeds")
	}
	for _, tt := range cases {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, output string) {
		p, err := Parse(output)
		check(t, output, p, err)
		_ = StrictRetry(p)
	})
}
