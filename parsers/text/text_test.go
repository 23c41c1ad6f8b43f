package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
	"github.com/tidwall/gjson"
)

var tools = []string{"web_search", "calculator", "file-read", "github/list_commits"}

// cases are the tests of Parse and the seeds of its fuzz target. want has a
// line a call, "tier name arguments status[/source] [why] [!repaired] [!untyped]",
// and a line a rejected call, "rejected name". rest is Result.Text when it is
// not "*".
var cases = []struct {
	name, in string
	noTools  bool
	want     []string
	rest     string
}{
	// The seed's example.
	{name: "seed array", in: `[ { "name": "web_search", "arguments": { "query": "AAPL stock" }, "rationale": { "why": "needs fresh price data", "refs": ["scratch:goal"] } }]`,
		want: []string{`3 web_search { "query": "AAPL stock" } present/sibling needs fresh price data`}},

	// Tier 1.
	{name: "Hermes", in: "Let me look.\n<tool_call>\n{\"name\": \"web_search\", \"arguments\": {\"query\": \"a\"}}\n</tool_call>",
		want: []string{`1 web_search {"query": "a"} missing`}, rest: "Let me look."},
	{name: "one line", in: `<tool_call>{"name":"web_search","arguments":{"q":"</tool_call>"}}</tool_call> ok`,
		want: []string{`1 web_search {"q":"</tool_call>"} missing`}, rest: "ok"},
	{name: "several blocks with rationale blocks", in: `<rationale call="1">{"why":"first"}</rationale>
<tool_call>{"name":"web_search","arguments":{}}</tool_call>
<rationale call="2">{"why":"second","confidence":0}</rationale>
<tool_call>{"name":"calculator","arguments":{"e":"1+1"}}</tool_call>`,
		want: []string{`1 web_search {} present/block first`, `1 calculator {"e":"1+1"} present/block second`}, rest: ""},
	{name: "sibling in a block", in: `<tool_call>{"name":"web_search","arguments":{},"rationale":{"why":"s"}}</tool_call>`,
		want: []string{`1 web_search {} present/sibling s`}},
	{name: "block wins over sibling", in: `<rationale call="1">{"why":"b"}</rationale><tool_call>{"name":"web_search","arguments":{},"rationale":{"why":"s"}}</tool_call>`,
		want: []string{`1 web_search {} present/block b`}},
	{name: "unterminated last", in: "<tool_call>{\"name\":\"web_search\",\"arguments\":{}}</tool_call>\n<tool_call>\n{\"name\":\"calculator\",\"arguments\":{\"e\":1}}",
		want: []string{`1 web_search {} missing`, `1 calculator {"e":1} missing`}, rest: ""},
	{name: "last brace missing", in: `<tool_call>{"name":"web_search","arguments":{"q":1}</tool_call> done`,
		want: []string{`1 web_search {"q":1} missing !repaired`}, rest: "done"},
	{name: "arguments cut off", in: `<tool_call>{"name":"web_search","arguments":{"q":12`,
		want: []string{`rejected web_search`}, rest: ""},
	{name: "two objects in one block", in: "<tool_call>\n{\"name\":\"web_search\",\"arguments\":{\"q\":1}}\n{\"name\":\"calculator\",\"arguments\":{}}\n</tool_call>",
		want: []string{`1 web_search {"q":1} missing`, `1 calculator {} missing`}, rest: ""},
	{name: "array in a block", in: `<tool_call>[{"name":"web_search","arguments":{}},{"name":"calculator","arguments":{}}]</tool_call>`,
		want: []string{`1 web_search {} missing`, `1 calculator {} missing`}, rest: ""},
	{name: "fence in a block", in: "<tool_call>\n```json\n{\"name\":\"web_search\",\"arguments\":{}}\n```\n</tool_call>x",
		want: []string{`1 web_search {} missing`}, rest: "x"},
	{name: "rationale inside the block", in: "<tool_call>\n<rationale call=\"1\">{\"why\":\"in\"}</rationale>\n{\"name\":\"web_search\",\"arguments\":{}}\n</tool_call>",
		want: []string{`1 web_search {} present/block in`}, rest: ""},
	{name: "lines", in: "<tool_call>\ntool: file-read\npath: /workspace/foo.ts\n</tool_call>",
		want: []string{`1 file-read {"path":"/workspace/foo.ts"} missing !untyped`}, rest: ""},
	{name: "lines over several lines", in: "<tool_call>\n  name: web_search\n  query: one\n    two: 2\n  https://x.y\nthree\n  rationale: {\"why\":\"w\"}\n</tool_call>",
		want: []string{`1 web_search {"query":"one\n    two: 2\n  https://x.y\nthree"} present/sibling w !untyped`}},
	{name: "lines with a block value", in: "<tool_call>\ntool: web_search\ntext: |\n  a\n    b: c\n\n  d\nn: 5\n</tool_call>",
		want: []string{`1 web_search {"text":"a\n  b: c\n\nd","n":"5"} missing !untyped`}},
	{name: "lines with JSON arguments", in: "<tool_call>\nname: web_search\narguments: {\n  \"q\": 1\n}\n</tool_call>",
		want: []string{"1 web_search {\n  \"q\": 1\n} missing"}},
	{name: "lines, not closed", in: "<tool_call>\ntool: file-read\npath: a", want: []string{`1 file-read {"path":"a"} missing !untyped`}, rest: ""},
	{name: "lines, not closed, prose after", in: "<tool_call>\ntool: file-read\npath: a\n\nNow I wait.", want: []string{"rejected "}, rest: ""},
	{name: "Qwen3-Coder cut off", in: "<tool_call>\n<function=file-read>\n<parameter=path>\n/tm", want: []string{"rejected file-read"}, rest: ""},
	{name: "Qwen3-Coder, closing tags forgotten", in: "<tool_call>\n<function=file-read>\n<parameter=path>\na\n<parameter=n>\n1\n</function>\n</tool_call>",
		want: []string{`1 file-read {"path":"a","n":"1"} missing !untyped`}, rest: ""},
	{name: "lines without a tool", in: "<tool_call>\nquery: x\n</tool_call>", want: []string{"rejected "}, rest: ""},
	{name: "lines, rationale as a string", in: "<tool_call>\ntool: web_search\nrationale: because\n</tool_call>",
		want: []string{`1 web_search {} malformed/sibling`}},
	{name: "Qwen3-Coder", in: "<tool_call>\n<function=web_search>\n<parameter=query>\na <b>\n\"c\"\n</parameter>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>",
		want: []string{`1 web_search {"query":"a <b>\n\"c\"","n":"5"} missing !untyped`}, rest: ""},
	{name: "Qwen3-Coder without the block", in: "Go.\n<function=web_search>\n<parameter=query>\na\n</parameter>\n</function>\nEnd.",
		want: []string{`1 web_search {"query":"a"} missing !untyped`}, rest: "Go.\nEnd."},
	{name: "function with JSON", in: `<function=web_search>{"q": 1}</function>`, want: []string{`1 web_search {"q": 1} missing`}, rest: ""},
	{name: "unknown tool", in: `<tool_call>{"name":"Alice","arguments":{}}</tool_call>`, want: []string{"rejected Alice"}, rest: ""},
	{name: "rejected calls keep their number", in: `<rationale call="1">{"why":"one"}</rationale><rationale call="2">{"why":"two"}</rationale>
<tool_call>{"name":"nope","arguments":{}}</tool_call><tool_call>{"name":"web_search","arguments":{}}</tool_call>`,
		want: []string{`1 web_search {} present/block two`, "rejected nope"}},
	{name: "broken block", in: `<tool_call>{"name": oops}</tool_call> and <tool_call>{"name":"web_search","arguments":{}}</tool_call>`,
		want: []string{`1 web_search {} missing`, "rejected "}, rest: "and"},
	{name: "JSON beside a block is data", in: `<tool_call>{"name":"web_search","arguments":{}}</tool_call> {"name":"calculator","arguments":{}}`,
		want: []string{`1 web_search {} missing`}},
	{name: "mention in code", in: "Write `<tool_call>` and then JSON.", rest: "*"},

	// Tier 2.
	{name: "in prose", in: `I will search {"name":"web_search","arguments":{"q":"a"}} now.`,
		want: []string{`2 web_search {"q":"a"} missing`}, rest: "I will search now."},
	{name: "nested deep", in: `{"a":[{"b":{"action":{"tool":"web_search","input":{"q":{"r":[1]}},"rationale":{"why":"deep"}}}}]}`,
		want: []string{`2 web_search {"q":{"r":[1]}} present/sibling deep`}, rest: ""},
	{name: "every spelling", in: `{"tool":"web_search","args":{}} {"tool_name":"web_search","parameters":{}} {"function":"web_search","input":{}}`,
		want: []string{`2 web_search {} missing`, `2 web_search {} missing`, `2 web_search {} missing`}},
	{name: "OpenAI", in: `{"tool_calls":[{"id":"1","type":"function","function":{"name":"web_search","arguments":"{\"q\": 1}"},"rationale":{"why":"o"}}]}`,
		want: []string{`3 web_search {"q": 1} present/sibling o`}, rest: ""},
	{name: "rationale inside function", in: `{"function":{"name":"web_search","arguments":{},"rationale":{"why":"i"}}}`,
		want: []string{`2 web_search {} present/sibling i`}},
	{name: "fenced", in: "Sure:\n```json\n{\"name\":\"web_search\",\"arguments\":{}}\n```\n", want: []string{`2 web_search {} missing`}, rest: "Sure:"},
	{name: "name alone", in: `{"name":"web_search"}`, want: []string{`2 web_search {} missing`}},
	{name: "flat", in: `Let me call {"tool": "file-read", "path": "/a", "rationale":{"why":"f"}} to read.`,
		want: []string{`2 file-read {"path":"/a"} present/sibling f`}},
	{name: "arguments null and empty", in: `{"name":"web_search","arguments":null} {"name":"web_search","arguments":""}`,
		want: []string{`2 web_search {} missing`, `2 web_search {} missing`}},
	{name: "arguments as a broken string", in: `{"name":"web_search","arguments":"q=1"}`, want: []string{"rejected web_search"}},
	{name: "arguments as an array", in: `{"name":"web_search","arguments":[1]}`, want: []string{"rejected web_search"}},
	{name: "first key counts", in: `{"name":"web_search","name":"calculator","arguments":{"a":1},"arguments":{"a":2}}`,
		want: []string{`2 web_search {"a":1} missing`}},
	{name: "rationale as a string", in: `{"name":"web_search","arguments":{},"rationale":"because"}`, want: []string{`2 web_search {} malformed/sibling`}},
	{name: "rationale null", in: `{"name":"web_search","arguments":{},"rationale":null}`, want: []string{`2 web_search {} missing`}},
	{name: "rationale without why", in: `{"name":"web_search","arguments":{},"rationale":{"why":""}}`, want: []string{`2 web_search {} malformed/sibling`}},
	{name: "block in tier 2", in: `<rationale call="1">{"why":"b"}</rationale> {"name":"web_search","arguments":{},"rationale":{"why":"s"}}`,
		want: []string{`2 web_search {} present/block b`}, rest: ""},
	{name: "malformed block, readable sibling", in: `<rationale call="1">oops</rationale> {"name":"web_search","arguments":{},"rationale":{"why":"s"}}`,
		want: []string{"2 web_search {} *"}},
	{name: "call inside a rationale block", in: `<rationale call="1">{"why":"x","tool":"web_search","arguments":{}}</rationale>`, rest: ""},
	{name: "block inside arguments", in: `{"name":"web_search","arguments":{"q":"<rationale call=\"1\">{\"why\":\"no\"}</rationale>"}}`,
		want: []string{`2 web_search {"q":"<rationale call=\"1\">{\"why\":\"no\"}</rationale>"} missing`}, rest: ""},
	{name: "block that begins inside arguments", in: `{"name":"web_search","arguments":{"q":"<rationale call=\"1\">"}} {"name":"calculator","arguments":{}} </rationale>`,
		want: []string{`2 web_search {"q":"<rationale call=\"1\">"} missing`, `2 calculator {} missing`}, rest: ""},
	{name: "block that begins inside tagged arguments", in: `<tool_call>{"name":"web_search","arguments":{"q":"<rationale call=\"1\">"}}</tool_call><tool_call>{"name":"calculator","arguments":{}}</tool_call></rationale>`,
		want: []string{`1 web_search {"q":"<rationale call=\"1\">"} missing`, `1 calculator {} missing`}, rest: ""},
	{name: "call inside arguments", in: `{"name":"web_search","arguments":{"name":"calculator","arguments":{}}}`,
		want: []string{`2 web_search {"name":"calculator","arguments":{}} missing`}},

	// Data and no calls.
	{name: "Alice", in: `{"name":"Alice","age":3}`, rest: "*"},
	{name: "known name as data", in: `{"name":"calculator","age":3}`, rest: "*"},
	{name: "definition", in: `{"name":"web_search","description":"d","parameters":{"type":"object"}} {"name":"web_search","parameters":{"type":"object","properties":{}}}`, rest: "*"},
	{name: "other type", in: `{"type":"always_allow","tool":"web_search"} {"type":"x","tool":"web_search","path":1}`, rest: "*"},
	{name: "call type", in: `{"type":"function","name":"web_search"}`, want: []string{`2 web_search {} missing`}},
	{name: "result", in: `{"tool":"web_search","result":"found"}`, rest: "*"},
	{name: "no list, arguments", noTools: true, in: `{"name":"x","arguments":{}}`, want: []string{`2 x {} missing`}},
	{name: "no list, no arguments", noTools: true, in: `{"name":"Alice","age":3} {"tool":"x","path":1}`, rest: "*"},
	{name: "example in prose", in: `For example, you could call {"name":"web_search","arguments":{}} here.`, want: []string{"example"}, rest: "*"},
	{name: "example in a fence", in: "This is an example:\n\n```json\n{\"name\":\"web_search\",\"arguments\":{}}\n```\nor\n```json\n[{\"name\":\"calculator\",\"arguments\":{}},{\"name\":\"calculator\",\"arguments\":{}}]\n```\n",
		want: []string{"example", "example", "example"}, rest: "*"},
	{name: "example, then a call", in: "E.g. {\"name\":\"calculator\",\"arguments\":{}}. Now I search: {\"name\":\"web_search\",\"arguments\":{}}",
		want: []string{`2 web_search {} missing`, "example"}},
	{name: "example in another sentence", in: `Apple, for example, rose. Now {"name":"web_search","arguments":{}}`, want: []string{`2 web_search {} missing`}},
	{name: "example of a block in a fence", in: "For example:\n```\n<tool_call>{\"name\":\"web_search\",\"arguments\":{}}</tool_call>\n```\n", want: []string{"example"}, rest: "*"},
	{name: "thinking", in: "<think>\n<tool_call>{\"name\":\"calculator\",\"arguments\":{}}</tool_call>\n<rationale call=\"1\">{\"why\":\"from thinking\"}</rationale></think>\n<tool_call>{\"name\":\"web_search\",\"arguments\":{}}</tool_call>",
		want: []string{`1 web_search {} present/block from thinking`}, rest: ""},
	{name: "thinking that the prompt opened", in: "I try {\"name\":\"calculator\",\"arguments\":{}}\n</think>\n\n{\"name\":\"web_search\",\"arguments\":{}}", want: []string{`2 web_search {} missing`}, rest: ""},
	{name: "thinking that does not end", in: "<think>{\"name\":\"calculator\",\"arguments\":{}}", rest: ""},
	{name: "think tag in arguments", in: `{"name":"web_search","arguments":{"q":"<think></think>"}}`, want: []string{`2 web_search {"q":"<think></think>"} missing`}, rest: ""},

	// Tier 3.
	{name: "array", in: `[{"name":"web_search","arguments":{}},{"name":"Alice"},{"name":"calculator","arguments":{"e":"2"}}]`,
		want: []string{`3 web_search {} missing`, `3 calculator {"e":"2"} missing`}, rest: ""},
	{name: "blocks number the array", in: `<rationale call="2">{"why":"two"}</rationale>[{"name":"web_search","arguments":{}},{"name":"calculator","arguments":{}}]`,
		want: []string{`3 web_search {} missing`, `3 calculator {} present/block two`}},
	{name: "array cut off", in: `[{"name":"web_search","arguments":{}},{"name":"calculator","argu`, want: []string{`3 web_search {} missing`}},

	// JSON as small models write it.
	{name: "small model", in: "{'name': 'web_search', # now\n 'arguments': {'q': 'it\\'s \"x\"', 'all': True, 'n': None,}, 'rationale': {'why': 'we don\\'t \"know\"',},}",
		want: []string{`2 web_search {"q":"it's \"x\"","all":true,"n":null} present/sibling we don't "know" !repaired`}},
	{name: "repaired string of arguments", in: `{"name":"web_search","arguments":"{'q': 1,}"}`, want: []string{`2 web_search {"q":1} missing !repaired`}},
	{name: "unquoted words are not guessed", in: `{name: web_search, arguments: {}}`, rest: "*"},
}

func TestParse(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			names := tools
			if tt.noTools {
				names = nil
			}
			r := Parse(tt.in, names)
			check(t, tt.in, r)
			got := summary(r)
			for i := range tt.want {
				if head, ok := strings.CutSuffix(tt.want[i], "*"); ok && i < len(got) && strings.HasPrefix(got[i], head) {
					got[i] = tt.want[i]
				}
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s\nwarnings %q", strings.Join(got, "\n"), strings.Join(tt.want, "\n"), r.Warnings)
			}
			switch {
			case tt.rest == "*" && r.Text != strings.TrimSpace(tt.in):
				t.Errorf("text changed to %q", r.Text)
			case tt.rest != "*" && (tt.rest != "" || strings.Contains(r.Text, "<")) && r.Text != tt.rest:
				t.Errorf("text %q, want %q", r.Text, tt.rest)
			}
		})
	}
}

func summary(r Result) []string {
	var out []string
	for _, c := range r.Calls {
		line := fmt.Sprintf("%d %s %s %s", c.Tier, c.Name, c.Arguments, c.Capture.Status)
		if c.Capture.Source != "" {
			line += "/" + string(c.Capture.Source)
		}
		if c.Capture.Rationale != nil {
			line += " " + c.Capture.Rationale.Why
		}
		if c.Repaired {
			line += " !repaired"
		}
		if c.Untyped {
			line += " !untyped"
		}
		out = append(out, line)
	}
	for _, x := range r.Rejected {
		out = append(out, "rejected "+x.Name)
	}
	for range r.Examples {
		out = append(out, "example")
	}
	return out
}

// check holds what is true of every result.
func check(t *testing.T, text string, r Result) {
	t.Helper()
	var tiers [4]int
	last := 0
	for _, c := range r.Calls {
		if c.Name == "" || !gjson.ValidBytes(c.Arguments) || !gjson.ParseBytes(c.Arguments).IsObject() {
			t.Fatalf("call %q with arguments %q", c.Name, c.Arguments)
		}
		if c.Span.In(text) == "" || c.Span.Start < last {
			t.Fatalf("span %v after %d", c.Span, last)
		}
		last = c.Span.End
		tiers[c.Tier]++
		if c.Confidence <= 0 || c.Confidence >= 1 {
			t.Fatalf("confidence %v", c.Confidence)
		}
		if !c.Capture.Status.Valid() || (c.Capture.Status == rationale.Present) != (c.Capture.Rationale != nil) {
			t.Fatalf("capture %+v", c.Capture)
		}
		if c.Capture.Status == rationale.Present {
			sameWhy(t, text, c)
		} else if c.WhySpan != (rationale.Span{}) {
			t.Fatalf("%s with a why at %v", c.Capture.Status, c.WhySpan)
		}
	}
	if tiers != r.Tiers {
		t.Fatalf("tiers %v, counted %v", r.Tiers, tiers)
	}
	for _, x := range r.Rejected {
		if x.Reason == "" || x.Span.End > len(text) || x.Span.Start < 0 {
			t.Fatalf("rejected %+v", x)
		}
	}
	for _, s := range append(r.Examples, r.Thinking...) {
		if s.In(text) == "" {
			t.Fatalf("span %v", s)
		}
	}
}

// sameWhy checks that the words of the why stand in the text where it says.
func sameWhy(t *testing.T, text string, c Call) {
	t.Helper()
	why := c.Capture.Rationale.Why
	stated := c.WhySpan.In(text)
	if strings.ContainsAny(stated, "\\&") { // escapes; the fuzz target of lenient proves them
		return
	}
	if !strings.HasPrefix(strings.ToValidUTF8(stated, "\ufffd"), strings.ToValidUTF8(why, "\ufffd")) {
		t.Fatalf("why %q, but the text has %q", why, stated)
	}
}

func TestConfidence(t *testing.T) {
	for in, want := range map[string]float64{
		`<tool_call>{"name":"web_search","arguments":{}}</tool_call>`: .95,
		`[{"name":"web_search","arguments":{}}]`:                      .85,
		`{"name":"web_search","arguments":{}}`:                        .75,
		`{"name":"web_search","arguments":{},}`:                       .6,
	} {
		if got := Parse(in, tools).Calls[0].Confidence; got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
	if got := Parse(`{"name":"x","arguments":{}}`, nil).Calls[0].Confidence; got != .55 {
		t.Errorf("without a list: %v", got)
	}
}

func TestPrompt(t *testing.T) {
	if Prompt(nil, true) != "" {
		t.Error("a prompt without tools")
	}
	list := []Tool{{Name: "web_search", Description: "Search <b>", Parameters: []byte(`{"type":"object"}`)}, {Name: "x", Parameters: []byte(`{`)}}
	got := Prompt(list, true)
	if got != Prompt(list, true) {
		t.Error("not constant")
	}
	for _, want := range []string{
		"\n{\"name\":\"web_search\",\"description\":\"Search <b>\",\"parameters\":{\"type\":\"object\"}}\n{\"name\":\"x\"}\n",
		"<tool_call>\n", `"rationale":{"why":`, "MANDATORY",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the prompt", want)
		}
	}
	if r := Parse(got, []string{"web_search", "x"}); len(r.Calls) > 0 {
		t.Errorf("the prompt itself was read as %d calls", len(r.Calls))
	}
	taught := strings.NewReplacer(`"name":"…"`, `"name":"web_search"`, `{…}`, `{}`, `"why":"…"`, `"why":"w"`).Replace(got)
	r := Parse(taught, []string{"web_search"})
	if len(r.Calls) != 1 || r.Calls[0].Capture.Status != rationale.Present || r.Calls[0].Tier != TierTagged {
		t.Errorf("the taught call was read as %+v", r.Calls)
	}
}
