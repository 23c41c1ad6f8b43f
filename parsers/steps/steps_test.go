package steps

import (
	"strings"
	"testing"
	"unicode"
)

// cases are the tests of Parse and the seeds of its fuzz target. want has a
// line "phase|content" a step.
var cases = []struct {
	name, in string
	want     []string
}{
	{"empty", " \n\t\n", nil},
	{"default", "I should look first.\nThen decide.", []string{"thinking|I should look first.\nThen decide."}},
	{"seed export", `[思考] The user asked me to check system status. I should verify
credits balance first, then check if any inbox messages are pending.

[計画] 1. Call check_credits  2. Call check_inbox

[実行] check_credits -> $2.50 remaining (tool_call: 01JXYZ-TC1)

[実行] check_inbox -> 3 unprocessed messages (tool_call: 01JXYZ-TC2)
`, []string{
		"thinking|The user asked me to check system status. I should verify\ncredits balance first, then check if any inbox messages are pending.",
		"plan|1. Call check_credits  2. Call check_inbox",
		"execute|check_credits -> $2.50 remaining (tool_call: 01JXYZ-TC1)",
		"execute|check_inbox -> 3 unprocessed messages (tool_call: 01JXYZ-TC2)",
	}},
	{"every marker", "[思考]a[計画]b[承認待ち]c[実行]d[エラー]e", []string{"thinking|a", "plan|b", "waiting_approval|c", "execute|d", "error|e"}},
	{"English markers", "[Thinking] a\n[PLAN] b\n[waiting approval] c\n[waiting_approval] d\n[execute] e\n[error] f",
		[]string{"thinking|a", "plan|b", "waiting_approval|c", "waiting_approval|d", "execute|e", "error|f"}},
	{"marker wins over words", "[思考] it failed\n1. not a plan", []string{"thinking|it failed\n1. not a plan"}},
	{"marked paragraphs", "[実行] a\n\nb failed", []string{"execute|a\n\nb failed"}},
	{"text before the first marker", "Hm.\n1. go\n[実行] went", []string{"thinking|Hm.", "plan|1. go", "execute|went"}},
	{"marker alone", "[計画]\n[実行]", []string{"plan|", "execute|"}},
	{"no markers", "list[error] and [plan](http://x) and [planet] and [plan", []string{"error|list[error] and [plan](http://x) and [planet] and [plan"}},
	{"numbered", "So:\n1. read\n2) write\n   with care\nDone.", []string{"thinking|So:", "plan|1. read\n2) write\n   with care", "thinking|Done."}},
	{"numbers that are none", "3.14 is pi\n2026. was\n1234. x", []string{"thinking|3.14 is pi\n2026. was\n1234. x"}},
	{"bullets after a keyword", "My plan:\n- read\n* write\n\nFine.", []string{"thinking|My plan:", "plan|- read\n* write", "thinking|Fine."}},
	{"bullets after 手順", "手順:\n・読む\n- 書く", []string{"thinking|手順:", "plan|・読む\n- 書く"}},
	{"bullets without one", "I explain:\n- a\n- b", []string{"thinking|I explain:\n- a\n- b"}},
	{"errors", "The call failed.\nTypeError: x\n接続に失敗しました\nエラーです\nok",
		[]string{"error|The call failed.\nTypeError: x\n接続に失敗しました\nエラーです", "thinking|ok"}},
	{"plan item about an error", "1. fix the error", []string{"plan|1. fix the error"}},
	{"carriage returns", "a\r\n\r\n1. b\r\n", []string{"thinking|a", "plan|1. b"}},
	{"no-break space", "\u00a0x\u00a0", []string{"thinking|x"}},
	{"broken UTF-8", "\xff[計画]\xfe", []string{"thinking|\xff", "plan|\xfe"}},
}

func TestParse(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			steps := Parse(tt.in)
			checkComplete(t, tt.in, steps)
			var got []string
			for _, s := range steps {
				got = append(got, string(s.Phase)+"|"+s.Content)
			}
			if strings.Join(got, "\n--\n") != strings.Join(tt.want, "\n--\n") {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// checkComplete checks that every character but white space stands in exactly
// one step, and that a step's content is the end of its span.
func checkComplete(t *testing.T, raw string, steps []Step) {
	t.Helper()
	labels := Labels()
	at := 0
	for _, s := range steps {
		if _, ok := labels[s.Phase]; !ok {
			t.Fatalf("phase %q has no label", s.Phase)
		}
		if s.Span.Start < at || s.Span.Len() <= 0 || s.Span.End > len(raw) {
			t.Fatalf("span %v after %d in %q", s.Span, at, raw)
		}
		if gap := raw[at:s.Span.Start]; strings.TrimFunc(gap, unicode.IsSpace) != "" {
			t.Fatalf("%q is lost", gap)
		}
		marker, ok := strings.CutSuffix(s.Span.In(raw), s.Content)
		if !ok {
			t.Fatalf("content %q does not end %q", s.Content, s.Span.In(raw))
		}
		if marker = strings.TrimSpace(marker); marker != "" {
			if _, end, phase := nextMarker(marker, 0, len(marker)); phase != s.Phase || end != len(marker) {
				t.Fatalf("%q before the content is no marker of %s", marker, s.Phase)
			}
		}
		at = s.Span.End
	}
	if strings.TrimSpace(raw[at:]) != "" {
		t.Fatalf("%q is lost", raw[at:])
	}
}

// TestLabelsAreMarkers holds the export and the parser together.
func TestLabelsAreMarkers(t *testing.T) {
	for phase, label := range Labels() {
		for _, name := range []string{label.Japanese, label.English} {
			steps := Parse("[" + name + "] x")
			if len(steps) != 1 || steps[0].Phase != phase || steps[0].Content != "x" {
				t.Errorf("[%s]: %+v", name, steps)
			}
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
	f.Fuzz(func(t *testing.T, raw string) {
		checkComplete(t, raw, Parse(raw))
	})
}

var hostile = map[string]string{
	"bracket":   "[",
	"marker":    "[計画]",
	"blank":     "   ",
	"line":      "\n",
	"numbered":  "1. x\n",
	"prose":     "and then I look again at the output ",
	"not quite": "[thinkin",
}

func BenchmarkParse(b *testing.B) {
	for name, unit := range hostile {
		for _, size := range []int{200_000, 2_000_000} {
			raw := strings.Repeat(unit, size/len(unit))
			b.Run(name+"/"+map[bool]string{true: "2MB", false: "200kB"}[size > 1_000_000], func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					Parse(raw)
				}
			})
		}
	}
}

func TestHostile(t *testing.T) {
	for name, unit := range hostile {
		text := strings.Repeat(unit, 2_000_000/len(unit))
		if steps := Parse(text); (len(steps) == 0) != (strings.TrimSpace(text) == "") {
			t.Errorf("%s: %d steps", name, len(steps))
		}
	}
}
