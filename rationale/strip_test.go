package rationale

import (
	"math/rand/v2"
	"strings"
	"testing"
)

const b1 = `<rationale call="1">{"why":"needs a price"}</rationale>`

var stripRows = []struct{ name, in, want string }{
	{"nothing", "plain text", "plain text"},
	{"empty", "", ""},
	{"own line", "one\n" + b1 + "\ntwo", "one\ntwo"},
	{"paragraph of its own", "one\n\n" + b1 + "\n\ntwo", "one\n\ntwo"},
	{"first", b1 + "\n\ntwo", "two"},
	{"last", "one\n\n" + b1, "one\n\n"},
	{"two lines", "one\n" + b1 + "\n" + b1 + "\ntwo", "one\ntwo"},
	{"two paragraphs", "one\n\n" + b1 + "\n\n" + b1 + "\n\ntwo", "one\n\ntwo"},
	{"indentation stays", "one\n\n" + b1 + "\n\n    code", "one\n\n    code"},
	{"inside a line", "one " + b1 + " two", "one two"},
	{"end of a line", "one " + b1 + "\ntwo", "one \ntwo"},
	{"no spaces", "one" + b1 + "two", "onetwo"},
	{"crlf", "one\r\n" + b1 + "\r\ntwo", "one\r\ntwo"},
	{"crlf paragraphs", "one\r\n\r\n" + b1 + "\r\n\r\ntwo", "one\r\n\r\ntwo"},
	{"mention", "use a <rationale> block", "use a <rationale> block"},
	{"mention in code", "write `<rationale call=\"1\">` and `</rationale>`", "write `<rationale call=\"1\">` and `</rationale>`"},
	{"mention before a block", "a <rationale> block:\n" + b1 + "\nend", "a <rationale> block:\nend"},
	{"orphaned end", "one</rationale> two", "one two"},
	{"doubled tag", "one <rationale>" + b1 + " two", "one two"},
	{"tag name of another", "a <rationales> b </rationale-x>", "a <rationales> b </rationale-x>"},
	{"malformed goes too", "one\n<rationale call=\"1\">{'why':'x'}</rationale>\ntwo", "one\ntwo"},
	{"cut off", "one\n<rationale call=\"1\">{\"why\":\"x", "one\n"},
	{"cut off in the tag", "one\n<rationale cal", "one\n"},
	{"cut off in the name stays", "one <ratio", "one <ratio"},
	{"unclosed", "<rationale call=\"1\">{\"why\":\"x\"}\nNow.", "Now."},
	{"nested tag does not come together", "<ratio" + b1 + "nale>{\"why\":\"y\"}", "<ratio\nnale>{\"why\":\"y\"}"},
	{"nested attribute", "<rationale " + b1 + "call=\"1\">{\"why\":\"y\"}", "<rationale \ncall=\"1\">{\"why\":\"y\"}"},
	{"nested entity", "&l" + b1 + "t;rationale&gt;{\"why\":\"y\"}", "&l\nt;rationale&gt;{\"why\":\"y\"}"},
	{"escaped", "one &lt;rationale call=&quot;1&quot;&gt;{&quot;why&quot;:&quot;x&quot;}&lt;/rationale&gt; two", "one two"},
	{"other markup stays", "a <b>c</b> &amp; d < e", "a <b>c</b> &amp; d < e"},
}

func TestStrip(t *testing.T) {
	for _, row := range stripRows {
		t.Run(row.name, func(t *testing.T) {
			if got := Strip(row.in); got != row.want {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
			checkStrip(t, row.in, 1)
		})
	}
}

// checkStrip checks what holds of every text.
func checkStrip(t *testing.T, in string, random uint64) {
	t.Helper()
	whole := Strip(in)
	if again := Strip(whole); again != whole {
		t.Errorf("not idempotent\nin    %q\nonce  %q\ntwice %q", in, whole, again)
	}
	if left := ParseBlocks(whole); len(left) > 0 {
		t.Errorf("a block is left in %q", whole)
	}
	if got := inChunks(in, func() int { return 1 }); got != whole {
		t.Errorf("byte by byte\nin   %q\ngot  %q\nwant %q", in, got, whole)
	}
	r := rand.New(rand.NewPCG(random, 1))
	if got := inChunks(in, func() int { return 1 + r.IntN(40) }); got != whole {
		t.Errorf("in chunks\nin   %q\ngot  %q\nwant %q", in, got, whole)
	}
}

func inChunks(in string, size func() int) string {
	var s Stripper
	var out strings.Builder
	for len(in) > 0 {
		n := min(size(), len(in))
		out.WriteString(s.Write(in[:n]))
		in = in[n:]
	}
	out.WriteString(s.Close())
	return out.String()
}

func TestStripperShowsProseAtOnce(t *testing.T) {
	var s Stripper
	if got := s.Write("Let me look."); got != "Let me look." {
		t.Errorf("prose is held back: %q", got)
	}
	if got := s.Write(" a < b and "); got != " a < b and " {
		t.Errorf("a bracket holds prose back: %q", got)
	}
	if got := s.Write(`<rationale call="1">{"why":"x"}`); got != "" {
		t.Errorf("part of a block is shown: %q", got)
	}
	if got := s.Write("</rationale>done"); got != "done" {
		t.Errorf("got %q after the block", got)
	}
}

func TestStripperBoundsWhatItHolds(t *testing.T) {
	for _, unit := range hostileUnits {
		var s Stripper
		text := repeat(unit, 300<<10)
		most := 0
		for i := 0; i < len(text); i += 100 {
			s.Write(text[i:min(i+100, len(text))])
			most = max(most, len(s.scan.text))
		}
		if limit := 2*MaxBlock + 8<<10; most > limit {
			t.Errorf("%.30q: held %d bytes, want at most %d", unit, most, limit)
		}
	}
}

// TestStripNested joins every part of a block with every other around a block:
// nothing may come together that was apart.
func TestStripNested(t *testing.T) {
	parts := []string{"<", "<ratio", "nale>", "<rationale", " ", "call=1", ">", "{", `{"why":"y"}`, `"`, "</", "rationale>",
		"</rationale>", "<rationale>", `<rationale call="2">`, "`", "```json\n", "x", "\n", "&lt;rationale", "&gt;", "&g", "t;", b1}
	r := rand.New(rand.NewPCG(7, 7))
	for range 40_000 {
		var in strings.Builder
		for range 2 + r.IntN(9) {
			in.WriteString(parts[r.IntN(len(parts))])
		}
		checkStrip(t, in.String(), 3)
		if t.Failed() {
			return
		}
	}
}

func FuzzStrip(f *testing.F) {
	var rows []string
	for _, row := range stripRows {
		rows = append(rows, row.in)
	}
	seed(f, "blocks", func(text string) { f.Add(text, uint64(1)) }, rows, blockTexts())
	f.Fuzz(func(t *testing.T, text string, random uint64) { checkStrip(t, text, random) })
}
