package rationale

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// got is one line a block: "call/stated why" or "call/stated !reason", with
// the reason why it is unmatched in brackets.
func describe(blocks []Block) string {
	var out []string
	for _, b := range blocks {
		line := fmt.Sprintf("%d/%d ", b.Call, b.Stated)
		if b.Rationale != nil {
			line += b.Rationale.Why
		} else {
			line += "!" + b.Reason
		}
		if b.Unmatched != "" {
			line += " [" + b.Unmatched + "]"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

var blockRows = []struct{ name, in, want string }{
	{"none", "just text", ""},
	{"plain", `<rationale call="1">{"why":"x"}</rationale>`, "1/1 x"},
	{"two", `<rationale call="1">{"why":"x"}</rationale><rationale call="2">{"why":"y"}</rationale>`, "1/1 x\n2/2 y"},
	{"out of order", `<rationale call="2">{"why":"x"}</rationale><rationale call="1">{"why":"y"}</rationale>`, "2/2 x\n1/1 y"},
	{"prose before and after", "I look.\n<rationale call=\"1\">{\"why\":\"x\"}</rationale>\nNow.", "1/1 x"},
	{"fence around", "```xml\n<rationale call=\"1\">{\"why\":\"x\"}</rationale>\n```", "1/1 x"},
	{"fence inside", "<rationale call=\"1\">\n```json\n{\"why\":\"x\"}\n```\n</rationale>", "1/1 x"},
	{"prose inside", "<rationale call=\"1\">Here it is: {\"why\":\"x\"} That is all.</rationale>", "1/1 x"},
	{"single quotes", "<rationale call='1'>{\"why\":\"x\"}</rationale>", "1/1 x"},
	{"no quotes", "<rationale call=1>{\"why\":\"x\"}</rationale>", "1/1 x"},
	{"spaces", "<rationale  call = \"1\" >{\"why\":\"x\"}</rationale >", "1/1 x"},
	{"backslashes", `<rationale call=\"1\">{"why":"x"}</rationale>`, "1/1 x"},
	{"further attributes", `<rationale id="7" tool='web search' call="2" x>{"why":"x"}</rationale>`, "2/2 x"},
	{"attribute that ends in call", `<rationale toolcall="7">{"why":"x"}</rationale>`, "1/0 x"},
	{"upper case", `<RATIONALE CALL="1">{"why":"x"}</Rationale>`, "1/1 x"},
	{"trailing comma", `<rationale call="1">{"why":"x","refs":["a",],}</rationale>`, "1/1 x"},
	{"raw newline and tab", "<rationale call=\"1\">{\"why\":\"a\nb\tc\"}</rationale>", "1/1 a\nb\tc"},
	{"end tag in a string", `<rationale call="1">{"why":"close with </rationale> always"}</rationale>`, "1/1 close with </rationale> always"},
	{"block in a string", `<rationale call="1">{"why":"as in <rationale call='2'>{}</rationale>"}</rationale>`, "1/1 as in <rationale call='2'>{}</rationale>"},
	{"brace in a string", `<rationale call="1">{"why":"a } b { c"}</rationale>`, "1/1 a } b { c"},
	{"escapes", `<rationale call="1">{"why":"a \"b\" \\ \u00e9 \ud83d\ude00"}</rationale>`, "1/1 a \"b\" \\ é 😀"},
	{"unclosed", `<rationale call="1">{"why":"x"}`, "1/1 x"},
	{"unclosed with text", "<rationale call=\"1\">{\"why\":\"x\"}\n\nNow I call it.", "1/1 x"},
	{"each unclosed", "<rationale call=\"1\">{\"why\":\"x\"}\n<rationale call=\"2\">{\"why\":\"y\"}\n", "1/1 x\n2/2 y"},
	{"cut off in the string", `<rationale call="1">{"why":"x`, "1/1 !cut off inside its object"},
	{"cut off before the object", `<rationale call="1">`, "1/1 !cut off before its object"},
	{"cut off in the end tag", `<rationale call="1">{"why":"x"}</ration`, "1/1 x"},
	{"missing quote", "<rationale call=\"1\">{\"why\":\"x}</rationale>\n<rationale call=\"2\">{\"why\":\"y\"}</rationale>", "1/1 !not valid JSON\n2/2 y"},
	{"missing brace", `<rationale call="1">{"why":"x"</rationale><rationale call="2">{"why":"y"}</rationale>`, "1/1 !not valid JSON\n2/2 y"},
	{"cut off by the next", `<rationale call="1">{"why":"x <rationale call="2">{"why":"y"}</rationale>`, "1/1 !not valid JSON\n2/2 y"},
	{"escaped", `&lt;rationale call=&quot;1&quot;&gt;{&quot;why&quot;:&quot;x &amp;&amp; y&quot;}&lt;/rationale&gt;`, "1/1 x && y"},
	{"escaped but for quotes", `&lt;rationale call="1"&gt;{"why":"a &lt; b"}&lt;/rationale&gt;`, "1/1 a < b"},
	{"escaped quote inside", `&lt;rationale call="1"&gt;{&quot;why&quot;:&quot;say \&quot;hi\&quot;&quot;}&lt;/rationale&gt;`, `1/1 say "hi"`},
	{"escaped object only", `<rationale call="1">{&quot;why&quot;:&quot;x&quot;}</rationale>`, "1/1 x"},
	{"entity in a plain block is text", `<rationale call="1">{"why":"a &amp; b"}</rationale>`, "1/1 a &amp; b"},
	{"other entities are text", `&lt;rationale call="1"&gt;{"why":"a &Amp; &eacute; b"}&lt;/rationale&gt;`, "1/1 a &Amp; &eacute; b"},
	{"entity names a number", `&lt;rationale call=&#39;2&#39;&gt;{"why":"x"}&lt;/rationale&gt;`, "2/2 x"},

	{"empty", `<rationale call="2"></rationale>`, "2/2 !empty"},
	{"white space", "<rationale call=\"2\">\n </rationale>", "2/2 !empty"},
	{"closes itself", `<rationale call="2"/>`, "2/2 !empty"},
	{"no object", `<rationale call="1">because I need it</rationale>`, "1/1 !holds no JSON object"},
	{"two objects", `<rationale call="1">{"why":"x"}{"why":"y"}</rationale>`, "1/1 !holds more than one object"},
	{"an array", `<rationale call="1">["x"]</rationale>`, "1/1 !holds no JSON object"},
	{"single-quoted JSON", `<rationale call="1">{'why':'x'}</rationale>`, "1/1 !not valid JSON"},
	{"bare keys", `<rationale call="1">{why:"x"}</rationale>`, "1/1 !not valid JSON"},
	{"comments", "<rationale call=\"1\">{\"why\":\"x\" // so\n}</rationale>", "1/1 !not valid JSON"},
	{"bare word", `<rationale call="1">{"why":NaN}</rationale>`, "1/1 !not valid JSON"},
	{"no why", `<rationale call="1">{"reason":"x"}</rationale>`, "1/1 !why is missing"},
	{"empty why", `<rationale call="1">{"why":" "}</rationale>`, "1/1 !why is empty"},
	{"why of another type", `<rationale call="1">{"why":7}</rationale>`, "1/1 !why is not a string"},
	{"deep", `<rationale call="1">{"why":"x","a":` + strings.Repeat("[", 40) + `</rationale>`, "1/1 !not valid JSON"},
	{"too long", `<rationale call="1">{"why":"` + strings.Repeat("x", MaxBlock) + `"}</rationale>`, "1/1 !longer than 65536 bytes"},

	{"mention", "use a <rationale> block", ""},
	{"mention with a number", `each <rationale call="1"> stands before its call`, ""},
	{"mention in inline code", "write `<rationale call=\"1\">` first and `</rationale>` last", ""},
	{"mention at the end", "I use <rationale>", ""},
	{"mention and an object far off", "a <rationale> block takes {\"why\":\"x\"} as JSON", ""},
	{"mention and a block", "a <rationale> block:\n<rationale call=\"1\">{\"why\":\"x\"}</rationale>", "1/1 x"},
	{"other names", `<rationales call="1">{"why":"x"}</rationales> <rationale-x>{"why":"x"}</rationale-x>`, ""},
	{"object alone", `{"why":"x"}`, ""},
	{"end alone", `x</rationale>`, ""},

	{"no number", `<rationale>{"why":"x"}</rationale>`, "1/0 x"},
	{"no numbers", `<rationale>{"why":"x"}</rationale><rationale>{"why":"y"}</rationale>`, "1/0 x\n2/0 y"},
	{"no number after a number", `<rationale call="2">{"why":"x"}</rationale><rationale>{"why":"y"}</rationale>`, "2/2 x\n3/0 y"},
	{"malformed ones count", `<rationale>{}</rationale><rationale>{"why":"y"}</rationale>`, "1/0 !why is missing\n2/0 y"},
	{"counted onto a stated number", `<rationale>{"why":"x"}</rationale><rationale call="1">{"why":"y"}</rationale>`,
		"0/0 x [its counted number 1 is already taken]\n1/1 y"},
	{"all the same", `<rationale call="1">{"why":"x"}</rationale><rationale call="1">{"why":"y"}</rationale><rationale call="1">{"why":"z"}</rationale>`,
		"1/1 x\n2/1 y\n3/1 z"},
	{"all the same but one", `<rationale call="1">{"why":"x"}</rationale><rationale call="1">{"why":"y"}</rationale><rationale call="2">{"why":"z"}</rationale>`,
		"1/1 x\n0/1 y [call 1 is stated more than once]\n2/2 z"},
	{"repeated after a malformed one", `<rationale call="1">{}</rationale><rationale call="1">{"why":"y"}</rationale><rationale call="2">{"why":"z"}</rationale>`,
		"0/1 !why is missing [call 1 is stated more than once]\n1/1 y\n2/2 z"},
	{"zero", `<rationale call="0">{"why":"x"}</rationale>`, "0/0 x [its number is less than 1]"},
	{"all zero", `<rationale call="0">{"why":"x"}</rationale><rationale call="0">{"why":"y"}</rationale>`,
		"0/0 x [its number is less than 1]\n0/0 y [its number is less than 1]"},
	{"negative", `<rationale call="-1">{"why":"x"}</rationale>`, "0/-1 x [its number is less than 1]"},
	{"huge", `<rationale call="100001">{"why":"x"}</rationale>`, "0/100001 x [its number is larger than any number of calls]"},
	{"beyond int", `<rationale call="99999999999999999999">{"why":"x"}</rationale>`, "0/9223372036854775807 x [its number is larger than any number of calls]"},
	{"no number at all", `<rationale call="N">{"why":"x"}</rationale>`, "0/0 x [its call attribute is no number]"},
	{"fraction", `<rationale call="1.5">{"why":"x"}</rationale>`, "0/0 x [its call attribute is no number]"},
	{"empty number", `<rationale call="">{"why":"x"}</rationale>`, "0/0 x [its call attribute is no number]"},
}

func blockTexts() []string {
	var texts []string
	for _, row := range blockRows {
		if len(row.in) < 4<<10 { // long seeds make slow mutations
			texts = append(texts, row.in)
		}
	}
	return texts
}

func TestParseBlocks(t *testing.T) {
	for _, row := range blockRows {
		t.Run(row.name, func(t *testing.T) {
			blocks := ParseBlocks(row.in)
			if got := describe(blocks); got != row.want {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
			checkBlocks(t, row.in, blocks)
			checkStrip(t, row.in, 2)
		})
	}
}

func TestParseBlocksWarns(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"well formed", `<rationale call="1">{"why":"x"}</rationale>`, ""},
		{"unclosed", `<rationale call="1">{"why":"x"}`, "the block is not closed"},
		{"cut", `<rationale call="1">{"why":"` + strings.Repeat("é", 281) + `"}</rationale>`, "why cut at 280 characters"},
		{"confidence", `<rationale call="1">{"why":"x","confidence":"high"}</rationale>`, "confidence dropped: not a number between 0 and 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			blocks := ParseBlocks(row.in)
			if len(blocks) != 1 || blocks[0].Rationale == nil {
				t.Fatalf("got %s", describe(blocks))
			}
			if got := strings.Join(blocks[0].Warnings, "; "); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestBlockSpans(t *testing.T) {
	in := "é &lt;rationale call=1&gt;{&quot;why&quot;: &quot;a &amp; b&quot;, &quot;assumptions&quot;:[{&quot;assumption&quot;:&quot;x\ny&quot;,&quot;because&quot;:&quot;z&quot;},],}&lt;/rationale&gt; end"
	b := ParseBlocks(in)[0]
	if got := b.Why.In(in); got != "a &amp; b" {
		t.Errorf("why %q", got)
	}
	if got := b.Span.In(in); !strings.HasPrefix(got, "&lt;rationale") || !strings.HasSuffix(got, "/rationale&gt;") {
		t.Errorf("block %q", got)
	}
	if len(b.Assumptions) != 1 {
		t.Fatalf("assumptions %v", b.Assumptions)
	}
	a := b.Assumptions[0]
	if a.Text != "x\ny" || a.Span.In(in) != "x\ny" || a.Why != "z" || a.WhySpan.In(in) != "z" {
		t.Errorf("assumption %+v", a)
	}
}

// checkBlocks checks what holds of the blocks of every text.
func checkBlocks(t *testing.T, text string, blocks []Block) {
	t.Helper()
	end, taken := 0, map[int]bool{}
	for i, b := range blocks {
		if b.Span.Start < end || b.Span.End <= b.Span.Start || b.Span.End > len(text) {
			t.Fatalf("block %d has span %v after %d in %d bytes", i, b.Span, end, len(text))
		}
		end = b.Span.End
		if (b.Rationale == nil) == (b.Reason == "") {
			t.Errorf("block %d has rationale %v and reason %q", i, b.Rationale, b.Reason)
		}
		if (b.Call == 0) == (b.Unmatched == "") {
			t.Errorf("block %d has call %d and unmatched %q", i, b.Call, b.Unmatched)
		}
		if b.Call != 0 && taken[b.Call] {
			t.Errorf("call %d has two blocks", b.Call)
		}
		taken[b.Call] = true
		if b.Rationale == nil {
			continue
		}
		if err := Validate(*b.Rationale); err != nil {
			t.Errorf("block %d: %v", i, err)
		}
		if b.Why.Start < b.Span.Start || b.Why.End > b.Span.End {
			t.Fatalf("block %d: why %v outside %v", i, b.Why, b.Span)
		}
		checkWritten(t, b.Why.In(text), b.Rationale.Why, b.Rationale.Truncated)
		for _, a := range b.Assumptions {
			checkWritten(t, a.Span.In(text), a.Text, utf8.RuneCountInString(a.Text) == MaxAssumptionText)
		}
	}
}

// checkWritten checks that text is what the characters written say, read by
// another JSON decoder.
func checkWritten(t *testing.T, written, text string, truncated bool) {
	t.Helper()
	if !utf8.ValidString(written) {
		return // encoding/json replaces what is no UTF-8
	}
	for _, candidate := range []string{written, html.UnescapeString(written), strings.ReplaceAll(html.UnescapeString(written), `"`, `\"`)} {
		var quoted strings.Builder
		for _, r := range candidate {
			if r < 0x20 {
				fmt.Fprintf(&quoted, `\u%04x`, r)
			} else {
				quoted.WriteRune(r)
			}
		}
		var said string
		if json.Unmarshal([]byte(`"`+quoted.String()+`"`), &said) != nil {
			continue
		}
		if said == text || truncated && strings.HasPrefix(said, text) {
			return
		}
	}
	t.Errorf("%q is not what is written at its place: %q", text, written)
}

func FuzzParseBlocks(f *testing.F) {
	seed(f, "blocks", func(text string) { f.Add(text) }, blockTexts())
	f.Fuzz(func(t *testing.T, text string) { checkBlocks(t, text, ParseBlocks(text)) })
}

// hostileUnits are repeated to make the texts that readers get wrong: slow, or
// with everything held back.
var hostileUnits = []string{
	`<rationale>`,
	`<rationale call="1">{"why":"`,
	`<rationale call="1">{"why":"x"}`,
	`<rationale>{"why":"x`,
	`<rationale>x{"`,
	`<rationale>x{"a":"`,
	`<rationale>x","b":{"c":"`,
	`&lt;rationale&gt;{&quot;why&quot;:&quot;`,
	`<rationale call=1>{"a":["<rationale>x",{"c":"d"},`,
	`<rationale `,
	`</rationale>`,
	`</rationale`,
	"`<rationale>`",
	`&`,
	`<`,
	"`",
	`<rationale>{"why":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa `,
	`<rationale> {,`,
	`<rationale>{[`,
}

func TestHostileTexts(t *testing.T) {
	for _, unit := range hostileUnits {
		text := repeat(unit, 200<<10)
		checkBlocks(t, text, ParseBlocks(text))
		if whole := Strip(text); Strip(whole) != whole {
			t.Errorf("%.30q: strip is not idempotent", unit)
		}
	}
	once := `<rationale call="1">{"why":"` + strings.Repeat("x", 200<<10)
	checkBlocks(t, once, ParseBlocks(once))
	checkStrip(t, once, 5)
}

// benchmark reports the time per byte at three sizes; it must stay flat.
func benchmark(b *testing.B, units []string, run func(text string)) {
	for _, unit := range units {
		for _, size := range []int{20_000, 200_000, 2_000_000} {
			text := repeat(unit, size)
			b.Run(fmt.Sprintf("%.24q/%d", unit, size), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					run(text)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
			})
		}
	}
}

func BenchmarkParseBlocksHostile(b *testing.B) {
	benchmark(b, hostileUnits, func(text string) { ParseBlocks(text) })
}

func BenchmarkParseBlocksOneOpen(b *testing.B) {
	for _, size := range []int{20_000, 200_000, 2_000_000} {
		text := `<rationale call="1">{"why":"` + strings.Repeat("x", size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				ParseBlocks(text)
			}
		})
	}
}

func BenchmarkParseBlocksProse(b *testing.B) {
	seedText, err := os.ReadFile("testdata/seeds/blocks/parallel.txt")
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, []string{string(seedText), "Plain prose with no tag in it at all. "}, func(text string) { ParseBlocks(text) })
}

func BenchmarkStripHostile(b *testing.B) {
	benchmark(b, hostileUnits, func(text string) { Strip(text) })
}
