package text

import (
	"os"
	"strings"
	"testing"
)

// hostile are units that, repeated, have made parsers slow.
var hostile = map[string]string{
	"braces":           "{",
	"brackets":         "[",
	"blocks":           "<tool_call>",
	"close tags":       "</tool_call>",
	"open objects":     `{"name":"web_search","arguments":`,
	"calls":            `{"name":"web_search","arguments":{}}`,
	"tagged calls":     `<tool_call>{"name":"web_search","arguments":{}}</tool_call>`,
	"open tagged":      `<tool_call>{"name":"web_search",`,
	"tagged comment":   `<tool_call>[1,/*`,
	"tagged lines":     "<tool_call>\na: b\n",
	"one big block":    "a: b\n",
	"functions":        "<function=",
	"parameters":       "<function=web_search><parameter=a>",
	"quotes in prose":  `["x" [`,
	"single quotes":    `['`,
	"quotes by turns":  `["['`,
	"comments":         `["a",/*`,
	"line comments":    `[1,//`,
	"thinking":         "<think>",
	"thinking mention": "x <think ",
	"thinking lines":   "<think>\n</think>\n",
	"rationale":        `<rationale call="1">`,
	"rationale blocks": `<rationale call="1">{"why":"x"}</rationale>`,
	"fences":           "```json\n",
	"examples":         "e.g. {\"name\":\"web_search\",\"arguments\":{}}\n",
	"definitions":      `{"name":"web_search","description":"","parameters":{"p":`,
	"flat":             `{"tool":"web_search","p":`,
	"blanks":           " ",
	"numbers":          "[1,",
	"lines of JSON":    "a: [/*\n",
	"backslashes":      `["\`,
}

// full is for a size that tests with RAX_FULL=1 have; without it they have a
// tenth of it, which a cost that is not linear shows as well.
func full(size int) int {
	if os.Getenv("RAX_FULL") != "" {
		return size
	}
	return size / 10
}

// TestHostile ends: work that is not linear would not, at these sizes. What it
// costs per byte is for the benchmarks to say.
func TestHostile(t *testing.T) {
	for name, unit := range hostile {
		text := strings.Repeat(unit, full(2_000_000)/len(unit))
		if name == "one big block" || name == "lines of JSON" {
			text = "<tool_call>\n" + text
		}
		if r := Parse(text, tools); len(r.Warnings) > maxWarnings+1 {
			t.Errorf("%s: %d warnings", name, len(r.Warnings))
		}
	}
}

// TestHostileWide repeats calls behind a wide gap that a careless parser walks
// for each of them.
func TestHostileWide(t *testing.T) {
	gap := strings.Repeat(" ", full(1_000_000))
	for _, unit := range []string{`{"name":"web_search","arguments":{}}`, `<tool_call>{"name":"web_search","arguments":{}}</tool_call>`} {
		many := strings.Repeat(unit, full(1_000_000)/len(unit))
		for _, text := range []string{gap + "\n```\n" + many, "```\n" + gap + many, many + gap, "<tool_call>" + gap + many} {
			if r := Parse(text, tools); len(r.Calls) == 0 {
				t.Errorf("%.12q: no call is read", unit)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, unit := range hostile {
		for size, label := range map[int]string{200_000: "200kB", 2_000_000: "2MB"} {
			text := strings.Repeat(unit, size/len(unit))
			b.Run(strings.ReplaceAll(name, " ", "_")+"/"+label, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Parse(text, tools)
				}
			})
		}
	}
}

func FuzzParse(f *testing.F) {
	if len(cases) == 0 || len(hostile) == 0 {
		f.Fatal("no seeds")
	}
	for _, tt := range cases {
		f.Add(tt.in)
	}
	for _, unit := range hostile {
		f.Add(strings.Repeat(unit, 5))
	}
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text, Parse(text, tools))
		check(t, text, Parse(text, nil))
	})
}
