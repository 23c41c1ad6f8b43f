package rationale

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// assumptionRows: the text, and what is found in it as "text|why" lines.
var assumptionRows = []struct{ in, want string }{
	// The example of specification 004.
	{"I assume the user wants USD because no currency given. Next I search.", "the user wants USD|no currency given"},

	// Announcements.
	{"I assume the user wants USD.", "the user wants USD|"},
	{"I assume that the user wants USD.", "the user wants USD|"},
	{"i assume the user wants USD", "the user wants USD|"},
	{"I'm assuming the file is UTF-8.", "the file is UTF-8|"},
	{"I’m assuming the file is UTF-8!", "the file is UTF-8|"},
	{"I am assuming that it is UTF-8.", "it is UTF-8|"},
	{"I'll assume USD since no currency was given.", "USD|no currency was given"},
	{"I will assume the default port as none is configured.", "the default port|none is configured"},
	{"We assume the API is stable.", "the API is stable|"},
	{"we're assuming a clean checkout.", "a clean checkout|"},
	{"Let's assume the test data is sorted.", "the test data is sorted|"},
	{"Let us assume the test data is sorted.", "the test data is sorted|"},
	{"Let me assume the latest version.", "the latest version|"},
	{"I'm going to assume Linux.", "Linux|"},
	{"I also assume it is public.", "it is public|"},
	{"I'll just assume it is public.", "it is public|"},
	{"I therefore assume the list is complete.", "the list is complete|"},
	{"So I assume the list is complete.", "the list is complete|"},
	{"For now I assume the list is complete.", "the list is complete|"},
	{"Okay, I'll assume the list is complete.", "the list is complete|"},
	{"No currency was given, so I'll assume USD.", "USD|"},
	{"My assumption is that the user means Paris, France.", "the user means Paris, France|"},
	{"My working assumption is the port is free because nothing listens on it.", "the port is free|nothing listens on it"},
	{"Our assumption here is that the cache is warm.", "the cache is warm|"},
	{"Assuming the config is valid, I will start the server.", "the config is valid|"},
	{"Assuming that the config is valid, I will start the server.", "the config is valid|"},
	{"Assuming the user wants USD because no currency was given, I search for it.", "the user wants USD|no currency was given"},
	{"I'll start the server, assuming the port is free.", "the port is free|"},
	{"I'll start the server (assuming the port is free) and wait.", "the port is free|"},
	{"I chose USD because I assume the user is in the US.", "the user is in the US|"},

	// Reasons.
	{"I assume the user wants USD (because no currency was given).", "the user wants USD|no currency was given"},
	{"I assume the user wants USD (since no currency was given) and go on.", "the user wants USD|no currency was given"},
	{"I assume the user wants USD, because no currency was given.", "the user wants USD|no currency was given"},
	{"I assume UTF-8 because of the file header.", "UTF-8|the file header"},
	{"I assume USD, as no currency was given.", "USD|no currency was given"},
	{"I assume USD as the default is USD.", "USD|the default is USD"},
	{"Since no currency was given, I assume USD.", "USD|no currency was given"},
	{"Because the header is missing, I'll assume UTF-8.", "UTF-8|the header is missing"},
	{"I assume the server has been running since 2020.", "the server has been running since 2020|"},
	{"I assume nothing changed since yesterday.", ""},
	{"I assume the API has changed since the last release.", "the API has changed since the last release|"},
	{"I assume the user works as a developer.", "the user works as a developer|"},
	{"I assume the file stays as it is.", "the file stays as it is|"},
	{"I assume dates such as these are UTC.", "dates such as these are UTC|"},
	{"I assume it runs as soon as the disk is mounted.", "it runs as soon as the disk is mounted|"},
	{"I assume this is stored as the user entered it.", "this is stored as the user entered it|"},
	{"I assume USD because no currency was given, so I search for dollar prices.", "USD|no currency was given"},
	{"I assume USD, so I search for dollar prices.", "USD|"},
	{"I assume USD, but I will check.", "USD|"},
	{"I assume USD; EUR is unlikely.", "USD|"},
	{"I assume USD — the page is American.", "USD|"},
	{"I assume the build passes, and I'll push then.", "the build passes|"},

	{"I assume it is fine — because the tests pass.", "it is fine|the tests pass"},
	{"I assume the port is 80 because `config.json` holds no other.", "the port is 80|`config.json` holds no other"},
	{"I assume the port is 80 since `config.json` holds no other.", "the port is 80|`config.json` holds no other"},
	{"* I assume **X** because *Y*.", "X|Y"},
	{"I assume X **because** Y holds.", "X|Y holds"},
	{"I assume USD because they said \"dollars.\" Next I search.", "USD|they said \"dollars.\""},
	{"I assume USD because they said “dollars.” Next I search.", "USD|they said “dollars.”"},
	{"I assume so because it is late.", ""},

	// Not cut short.
	{"I assume the user lives in the U.S. because the zip has five digits.", "the user lives in the U.S.|the zip has five digits"},
	{"I assume the user lives in the U.S.", "the user lives in the U.S.|"},
	{"I assume the user lives in the U.S. I will use dollars.", "the user lives in the U.S.|"},
	{"I assume a small file, e.g. under 1 MB, because it is a config.", "a small file, e.g. under 1 MB|it is a config"},
	{"I assume a text format, i.e. no binary.", "a text format, i.e. no binary|"},
	{"I assume dates, times etc. are UTC.", "dates, times etc. are UTC|"},
	{"I assume a rate of 1.5 because the table says 1.5.", "a rate of 1.5|the table says 1.5"},
	{"I assume version v1.2 is installed. Next.", "version v1.2 is installed|"},
	{"I assume config.json holds the port because README.md says so.", "config.json holds the port|README.md says so"},
	{"I assume https://example.com/a?b=1 is the right page.", "https://example.com/a?b=1 is the right page|"},
	{"I assume `config.json` holds the port.", "`config.json` holds the port|"},
	{"I assume \"apple\" means the company.", "\"apple\" means the company|"},
	{"I assume Dr. Smith is the author.", "Dr. Smith is the author|"},
	{"I assume the user wants\nprices in USD because no currency\nwas given.", "the user wants\nprices in USD|no currency\nwas given"},
	{"I assume the user wants USD\nNext I search.", "the user wants USD|"},
	{"I assume the user wants USD...", "the user wants USD|"},

	// Markdown.
	{"**I assume** the user wants USD.", "the user wants USD|"},
	{"**I assume the user wants USD** because none was given.", "the user wants USD|none was given"},
	{"I **assume** that the user wants **USD**.", "the user wants **USD**|"},
	{"I assume **USD**.", "USD|"},
	{"- I assume the port is free\n- I assume the disk is empty because it is new", "the port is free|\nthe disk is empty|it is new"},
	{"1. I assume the port is free", "the port is free|"},
	{"## Plan\n\n*I assume the port is free.*", "the port is free|"},

	// Questions.
	{"Should I assume USD?", ""},
	{"Should I assume the user wants USD because none was given?", ""},
	{"Can I assume the port is free? I will check.", ""},
	{"I assume the user wants USD, right?", ""},
	{"Do we assume a clean checkout", ""},
	{"I assume this is it?!", ""},

	// Negations.
	{"I don't assume the port is free.", ""},
	{"I do not assume the port is free.", ""},
	{"I never assume that input is valid.", ""},
	{"I can't assume the port is free.", ""},
	{"I cannot assume the port is free.", ""},
	{"I won't assume the port is free.", ""},
	{"I will not assume the port is free.", ""},
	{"I'm not assuming that the port is free.", ""},
	{"We shouldn't assume a clean checkout.", ""},
	{"Never assume the port is free.", ""},
	{"Not assuming anything, I check first.", ""},
	{"I assume nothing.", ""},
	{"It is not that I assume malice.", ""},

	// Conditions.
	{"If I assume USD, the total is 12.", ""},
	{"If we assume a clean checkout, it works.", ""},
	{"Unless I assume USD, the total is open.", ""},
	{"Were I to assume USD, the total would be 12.", ""},
	{"Suppose I assume USD.", ""},
	{"It works if I assume USD.", ""},
	{"When I assume USD, the total is 12.", ""},
	{"If no currency is given, I assume USD.", ""},
	{"I would assume USD.", ""},
	{"I could assume USD.", ""},
	{"I'm not sure whether it is EUR, so I'll assume USD.", "USD|"},
	{"I don't know if it is EUR, but I'll assume USD.", "USD|"},

	// Other people's words.
	{"He said \"I assume the port is free\".", ""},
	{"He said “I assume the port is free”.", ""},
	{"He said 'I assume the port is free'.", ""},
	{"> I assume the port is free.", ""},
	{"```\nI assume the port is free.\n```", ""},
	{"The pattern `I assume X because Y` is read.", ""},
	{"The user said I assume the port is free.", ""},
	{"He wrote: I assume the port is free.", ""},
	{"They assume the port is free.", ""},
	{"The user assumes the port is free.", ""},
	{"You assume the port is free.", ""},

	// Other senses.
	{"I assume the role of a reviewer.", ""},
	{"I assume an IAM role with write access.", ""},
	{"I assume the role is already defined.", "the role is already defined|"},
	{"I assume responsibility for this.", ""},
	{"I assume so.", ""},
	{"The port, I assume, is free.", ""},
	{"The port is free, I assume.", ""},
	{"What I assume is that the port is free.", ""},
	{"As I assume the port is free, I start.", ""},
	{"Assuming is dangerous.", ""},
	{"My assumption is wrong.", ""},
	{"If my assumption is right, it works.", ""},
	{"Reassuming the plan, I assumed control.", ""},
	{"I assume because of the header.", ""},
	{"The assumption is documented.", ""},

	{"Let's assume the following numbers: 1 and 2.", ""},

	// Repetitions and the bound.
	{"I assume USD. I assume USD. I assume usd because no currency was given.", "USD|"},
	{"I assume a1. I assume b2. I assume c3. I assume d4.", "a1|\nb2|\nc3|"},
	{"I assume a1 is set and I assume b2 is set because c3 is.", "a1 is set and I assume b2 is set|c3 is"},
	{"", ""},
	{"no such thing here", ""},
}

func TestAssumptions(t *testing.T) {
	for _, row := range assumptionRows {
		t.Run(row.in, func(t *testing.T) {
			found := Assumptions(row.in)
			var lines []string
			for _, a := range found {
				lines = append(lines, a.Text+"|"+a.Why)
			}
			if got := strings.Join(lines, "\n"); got != row.want {
				t.Errorf("\ngot  %q\nwant %q", got, row.want)
			}
			checkAssumptions(t, row.in, found)
		})
	}
}

func TestAssumptionsAreBounded(t *testing.T) {
	long := strings.Repeat("é", 400)
	found := Assumptions("I assume " + long + " because " + long + ".")
	if len(found) != 1 || found[0].Text != strings.Repeat("é", MaxAssumptionText) {
		t.Fatalf("got %+v", found)
	}
	found = Assumptions("I assume x because " + long + ".")
	if len(found) != 1 || found[0].Why != strings.Repeat("é", MaxAssumptionText) {
		t.Fatalf("got %+v", found)
	}
}

// checkAssumptions checks what holds of the assumptions of every text.
func checkAssumptions(t *testing.T, text string, found []Assumption) {
	t.Helper()
	if len(found) > MaxAssumptions {
		t.Errorf("%d assumptions", len(found))
	}
	for _, a := range found {
		if a.Text == "" || a.Span.In(text) != a.Text {
			t.Errorf("%q is not at its place: %q", a.Text, a.Span.In(text))
		}
		if a.WhySpan.In(text) != a.Why || a.Why == "" && a.WhySpan != (Span{}) {
			t.Errorf("why %q is not at its place %v: %q", a.Why, a.WhySpan, a.WhySpan.In(text))
		}
		if utf8.RuneCountInString(a.Text) > MaxAssumptionText || utf8.RuneCountInString(a.Why) > MaxAssumptionText {
			t.Errorf("too long: %q, %q", a.Text, a.Why)
		}
		if strings.TrimSpace(a.Text) != a.Text || strings.TrimSpace(a.Why) != a.Why {
			t.Errorf("not trimmed: %q, %q", a.Text, a.Why)
		}
	}
}

func FuzzAssumptions(f *testing.F) {
	var rows []string
	for _, row := range assumptionRows {
		rows = append(rows, row.in)
	}
	seed(f, "assumptions", func(text string) { f.Add(text) }, rows)
	f.Fuzz(func(t *testing.T, text string) { checkAssumptions(t, text, Assumptions(text)) })
}

func BenchmarkAssumptions(b *testing.B) {
	units := []string{"I assume a because ", "I assume a; ", "I assume a. ", "I assume ", "if I assume a ", "assuming ", "as it ", "\"", "`", "“", "U.S. ",
		"The quick brown fox jumps over the lazy dog. "}
	benchmark(b, units, func(text string) { Assumptions(text) })
}
