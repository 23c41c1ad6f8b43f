package rationale

import (
	"fmt"
	"strings"
	"testing"
)

func block(n any, why string) string {
	return fmt.Sprintf(`<rationale call="%v">{"why":%q}</rationale>`, n, why)
}

func TestAttach(t *testing.T) {
	bad := `<rationale call="1">{'why':'x'}</rationale>`
	text := func(s string) Part { return Part{Text: s} }
	thought := func(s string) Part { return Part{Text: s, Thinking: true} }
	for _, row := range []struct {
		name      string
		parts     []Part
		calls     int
		want      string // a call each: why, "-" when missing, "!reason"
		unmatched string
	}{
		{"nothing", nil, 0, "", ""},
		{"missing", []Part{text("Let me look.")}, 2, "- -", ""},
		{"one", []Part{text(block(1, "x"))}, 1, "x@0", ""},
		{"two parts count together", []Part{text(block(1, "x")), text(block(2, "y"))}, 2, "x@0 y@1", ""},
		{"unnumbered over parts", []Part{text(`<rationale>{"why":"x"}</rationale>`), text(`<rationale>{"why":"y"}</rationale>`)}, 2, "x@0 y@1", ""},
		{"one of two", []Part{text(block(2, "y"))}, 2, "- y@0", ""},
		{"malformed", []Part{text(bad)}, 1, "!not valid JSON@0", ""},
		{"too many", []Part{text(block(1, "x") + block(2, "y"))}, 1, "x@0", "part 0 call 2: it is for call 2 of 1"},
		{"no call", []Part{text(block(1, "x"))}, 0, "", "part 0 call 1: the message has no call"},
		{"all the same", []Part{text(block(1, "x")), text(block(1, "y"))}, 2, "x@0 y@1", ""},
		{"thinking alone", []Part{thought(block(1, "x"))}, 1, "x@0", ""},
		{"text before thinking", []Part{thought(block(1, "draft")), text(block(1, "x"))}, 1, "x@1", ""},
		{"thinking fills in", []Part{thought(block(1, "draft") + block(2, "y")), text(block(1, "x"))}, 2, "x@1 y@0", ""},
		{"thinking does not mend text", []Part{thought(block(1, "draft")), text(bad)}, 1, "!not valid JSON@1", ""},
		{"drafts of one call are no two calls", []Part{thought(block(1, "a") + block(1, "b")), text(block(1, "x"))}, 2, "x@1 -", ""},
		{"drafts of one call without text", []Part{thought(block(1, "a") + block(1, "b") + block(1, "c"))}, 2, "a@0 -", ""},
		{"as many drafts as calls", []Part{thought(block(1, "a") + block(1, "b"))}, 2, "a@0 b@0", ""},
		{"a draft beyond the calls", []Part{thought(block(3, "a")), text(block(1, "x"))}, 1, "x@1", "part 0 call 3: it is for call 3 of 1"},
		{"bad number", []Part{text(block(0, "x"))}, 1, "-", "part 0 call 0: its number is less than 1"},
		{"in order of parts", []Part{thought(block(9, "a")), text(block(8, "x"))}, 1, "-", "part 0 call 9: it is for call 9 of 1; part 1 call 8: it is for call 8 of 1"},
		{"negative", []Part{text("x")}, -1, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			captures, unmatched := Attach(row.parts, row.calls)
			var got, rest []string
			for _, c := range captures {
				switch c.Status {
				case Present:
					got = append(got, fmt.Sprintf("%s@%d", c.Rationale.Why, c.Part))
					if c.Source != SourceBlock || c.Span.In(row.parts[c.Part].Text) != c.Rationale.Why {
						t.Errorf("%+v", c)
					}
				case Malformed:
					got = append(got, fmt.Sprintf("!%s@%d", c.Reason, c.Part))
					if c.Rationale != nil || !strings.HasPrefix(c.Span.In(row.parts[c.Part].Text), "<rationale") {
						t.Errorf("%+v", c)
					}
				case Missing:
					got = append(got, "-")
					if c.Part != -1 || c.Source != "" {
						t.Errorf("%+v", c)
					}
				}
			}
			for _, u := range unmatched {
				rest = append(rest, fmt.Sprintf("part %d call %d: %s", u.Part, u.Call, u.Reason))
			}
			if s := strings.Join(got, " "); s != row.want {
				t.Errorf("got %q, want %q", s, row.want)
			}
			if s := strings.Join(rest, "; "); s != row.unmatched {
				t.Errorf("unmatched %q, want %q", s, row.unmatched)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	present := func(s Source, why string) Capture {
		return Capture{Status: Present, Source: s, Rationale: &Rationale{Why: why}, Warnings: []string{"w"}[:0:0]}
	}
	malformed := func(s Source) Capture { return Capture{Status: Malformed, Source: s, Reason: "r"} }
	missing := Capture{Status: Missing, Part: -1}
	for _, row := range []struct {
		name     string
		in       []Capture
		want     string
		warnings string
	}{
		{"nothing", nil, "missing ", ""},
		{"missing", []Capture{missing, missing}, "missing ", ""},
		{"unasked", []Capture{{Status: Unasked, Part: -1}}, "unasked ", ""},
		{"unasked and missing", []Capture{{Status: Unasked}, missing}, "missing ", ""},
		{"one", []Capture{missing, present(SourcePlan, "x")}, "present plan", ""},
		{"argument first", []Capture{present(SourceBlock, "x"), present(SourceArgument, "x")}, "present argument", ""},
		{"disagreement", []Capture{present(SourcePlan, "y"), present(SourceSibling, "z"), present(SourceBlock, "x")}, "present block", "another reason than in block is stated in sibling, plan"},
		{"present before malformed", []Capture{malformed(SourceArgument), present(SourcePlan, "x")}, "present plan", ""},
		{"malformed before missing", []Capture{missing, malformed(SourceSibling), malformed(SourceBlock)}, "malformed block", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Resolve(row.in...)
			if s := fmt.Sprintf("%s %s", got.Status, got.Source); s != row.want {
				t.Errorf("got %q, want %q", s, row.want)
			}
			if s := strings.Join(got.Warnings, "; "); s != row.warnings {
				t.Errorf("warnings %q, want %q", s, row.warnings)
			}
		})
	}
}
