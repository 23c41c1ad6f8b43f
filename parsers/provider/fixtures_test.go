package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/rationale"
)

// fixtureDir holds the answers written by hand after the recorded shapes:
// <format>/<case>.json is a body, .sse, .ndjson and .events.jsonl (frames of an
// AWS event stream as text) are streams. All files of a case have one
// <case>.expect.json: body and stream are one answer.
const fixtureDir = "../../fixtures/wire"

// view is an answer as <case>.expect.json has it.
type view struct {
	Text      string            `json:"text,omitempty"`
	Thinking  []viewThinking    `json:"thinking,omitempty"`
	Order     string            `json:"order,omitempty"`
	Calls     []viewCall        `json:"calls,omitempty"`
	Unmatched []string          `json:"unmatched,omitempty"`
	Builtin   []parsers.Builtin `json:"builtin,omitempty"`
	ID        string            `json:"id,omitempty"`
	Model     string            `json:"model,omitempty"`
	Finish    string            `json:"finish,omitempty"`
	Refusal   string            `json:"refusal,omitempty"`
	Usage     *parsers.Usage    `json:"usage,omitempty"`
	Cut       bool              `json:"cut,omitempty"`
	Skipped   map[string]int    `json:"skipped,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"`
	Error     string            `json:"error,omitempty"`
	Message   string            `json:"message,omitempty"`
}

type viewThinking struct {
	Format  string          `json:"format"`
	Text    string          `json:"text,omitempty"`
	Signed  json.RawMessage `json:"signed,omitempty"`
	Pointer string          `json:"pointer"`
}

type viewCall struct {
	ID        string           `json:"id,omitempty"`
	Name      string           `json:"name"`
	Arguments string           `json:"arguments"`
	Invalid   bool             `json:"invalid,omitempty"`
	Pointer   string           `json:"pointer"`
	Status    rationale.Status `json:"status"`
	Why       string           `json:"why,omitempty"`
	WhyAt     string           `json:"whyAt,omitempty"`
}

func viewOf(a parsers.Answer, err error) view {
	a.Calls = slices.Clone(a.Calls)
	parsers.Attach(&a, false)
	v := view{
		Text: a.Text(), Builtin: a.Builtin, ID: a.ID, Model: a.Model, Finish: a.Finish, Refusal: a.Refusal,
		Cut: a.Cut, Skipped: a.Skipped, Warnings: a.Warnings,
	}
	if a.Usage.Raw != nil {
		u := a.Usage
		u.Raw = nil
		v.Usage = &u
	}
	var order []string
	for _, p := range a.Parts {
		order = append(order, string(p.Kind))
		if p.Kind == parsers.PartThinking {
			v.Thinking = append(v.Thinking, viewThinking{p.Format, p.Text, p.Signed, p.Pointer})
		}
	}
	v.Order = strings.Join(order, " ")
	for _, c := range a.Calls {
		vc := viewCall{
			ID: c.ID, Name: c.Name, Arguments: string(c.Arguments), Invalid: c.Invalid, Pointer: c.Pointer,
			Status: c.Capture.Status,
		}
		if r := c.Capture.Rationale; r != nil {
			vc.Why = r.Why
			vc.WhyAt, _ = a.Place(c.Capture.Part, c.Capture.Span)
		}
		v.Calls = append(v.Calls, vc)
	}
	for _, u := range a.Unmatched {
		v.Unmatched = append(v.Unmatched, u.Reason)
	}
	if err != nil {
		v.Error = err.Error()
		var api *APIError
		if errors.As(err, &api) {
			v.Message = api.Message
		}
	}
	return v
}

// fixture is one file.
type fixture struct {
	format Format
	name   string // of the case
	file   string
	body   []byte
}

func fixtures(tb testing.TB) []fixture {
	tb.Helper()
	var out []fixture
	for _, format := range Formats {
		files, err := filepath.Glob(filepath.Join(fixtureDir, string(format), "*"))
		if err != nil || len(files) == 0 {
			tb.Fatalf("no fixtures for %s: %v", format, err)
		}
		for _, file := range files {
			name, ext, _ := strings.Cut(filepath.Base(file), ".")
			if ext == "expect.json" {
				continue
			}
			body, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			if ext == "events.jsonl" {
				body = frames(tb, body)
			}
			out = append(out, fixture{format, name, file, body})
		}
	}
	return out
}

// frames encodes the lines of an .events.jsonl as an AWS event stream.
func frames(tb testing.TB, lines []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	enc := eventstream.NewEncoder()
	for line := range bytes.Lines(lines) {
		l := gjson.ParseBytes(line)
		var msg eventstream.Message
		set := func(name, value string) { msg.Headers.Set(name, eventstream.StringValue(value)) }
		set(":content-type", "application/json")
		msg.Payload = []byte(l.Get("data").Raw)
		switch {
		case l.Get("exception").Exists():
			set(":message-type", "exception")
			set(":exception-type", l.Get("exception").Str)
		case l.Get("chunk").Exists():
			set(":message-type", "event")
			set(":event-type", "chunk")
			msg.Payload = []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(l.Get("chunk").Raw)) + `"}`)
		default:
			set(":message-type", "event")
			set(":event-type", l.Get("event").Str)
		}
		if err := enc.Encode(&out, msg); err != nil {
			tb.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestFixtures(t *testing.T) {
	first := map[string]parsers.Answer{}
	for _, f := range fixtures(t) {
		t.Run(string(f.format)+"/"+filepath.Base(f.file), func(t *testing.T) {
			got, err := Parse(f.format, f.body, ParseOptions{})
			for how, cut := range chunkings() {
				again, streamErr := streamed(t, f.format, f.body, ParseOptions{}, cut)
				if !reflect.DeepEqual(again, got) {
					t.Errorf("fed %s: got %s\nwant %s", how, dump(again), dump(got))
				}
				if !reflect.DeepEqual(streamErr, err) {
					t.Errorf("fed %s: error %v, want %v", how, streamErr, err)
				}
			}
			id := string(f.format) + "/" + f.name
			if other, ok := first[id]; ok {
				if !reflect.DeepEqual(got, other) {
					t.Errorf("body and stream differ:\n%s\n%s", dump(other), dump(got))
				}
			} else {
				first[id] = got
			}
			detected, detectErr := Detect(f.body)
			wrapped := f.format == BedrockInvoke || strings.HasPrefix(f.name, "error") || f.name == "failed" || err != nil
			if detectErr != nil || (detected != f.format && !wrapped) {
				t.Errorf("Detect: %s, %v", detected, detectErr)
			}

			want := filepath.Join(fixtureDir, string(f.format), f.name+".expect.json")
			have, _ := json.MarshalIndent(viewOf(got, err), "", "  ")
			have = append(have, '\n')
			if *update {
				if err := os.WriteFile(want, have, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			golden, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, golden) {
				t.Errorf("got:\n%s\nwant:\n%s", have, golden)
			}
		})
	}
}

// TestCutEverywhere cuts every stream at many places, with RAX_FULL=1 at all: what arrived is a prefix
// of the whole, nothing is invented, and a cut is said.
func TestCutEverywhere(t *testing.T) {
	for _, f := range fixtures(t) {
		if !isStream(f.format, f.body) && filepath.Ext(f.file) == ".json" {
			continue
		}
		whole, _ := Parse(f.format, f.body, ParseOptions{KeepTags: true})
		step := 1 + len(f.body)/60
		if os.Getenv("RAX_FULL") != "" {
			step = 1
		}
		for n := 0; n < len(f.body); n += step {
			s := NewStream(f.format, ParseOptions{KeepTags: true})
			s.Write(f.body[:n])
			a, err := s.Close()
			if !strings.HasPrefix(whole.Text(), a.Text()) {
				t.Fatalf("%s cut at %d: text is no prefix", f.file, n)
			}
			if len(a.Calls) > len(whole.Calls) {
				t.Fatalf("%s cut at %d: %d calls of %d", f.file, n, len(a.Calls), len(whole.Calls))
			}
			var syntax *SyntaxError
			if errors.As(err, &syntax) && f.name != "broken-event" {
				t.Fatalf("%s cut at %d: %v", f.file, n, err)
			}
			if !a.Cut && (a.Finish == "" && f.name != "one-index-for-all" || !reflect.DeepEqual(a.Calls, whole.Calls)) {
				t.Fatalf("%s cut at %d is not said to be cut: %+v", f.file, n, a)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, fx := range fixtures(f) {
		f.Add(slices.Index(Formats[:], fx.format), fx.body, uint64(7))
	}
	f.Fuzz(func(t *testing.T, which int, body []byte, seed uint64) {
		if which < 0 || which >= len(Formats) {
			return
		}
		format := Formats[which]
		Detect(body)
		Parse(format, body, ParseOptions{Status: 500})
		ParseRequest(format, body)
		ParseTools(body)
		whole, err := Parse(format, body, ParseOptions{})
		asParsed := dump(whole)
		parsers.Attach(&whole, true, "list_issues")
		for i, p := range whole.Parts {
			if p.Span.Len() != len(p.Text) || p.Span.Start < 0 {
				t.Fatalf("part %d: span %v of %d bytes", i, p.Span, len(p.Text))
			}
		}
		for _, c := range whole.Calls {
			if !c.Capture.Status.Valid() {
				t.Fatalf("status %q", c.Capture.Status)
			}
			if !c.Invalid && !json.Valid(c.Arguments) {
				t.Fatalf("arguments are not valid and not marked")
			}
		}

		read := func(cut func(int) int) (parsers.Answer, error) {
			s := NewStream(format, ParseOptions{OnDelta: func(Delta) {}})
			for rest := body; len(rest) > 0; {
				n := min(max(cut(len(rest)), 1), len(rest))
				s.Write(rest[:n])
				s.Text()
				rest = rest[n:]
			}
			return s.Close()
		}
		one, oneErr := read(func(n int) int { return n })
		r := rand.New(rand.NewPCG(seed, seed))
		many, manyErr := read(func(int) int { return 1 + r.IntN(9) })
		if !reflect.DeepEqual(one, many) || !sameError(oneErr, manyErr) {
			t.Fatalf("chunks: %+v, %v\nwhole: %+v, %v", many, manyErr, one, oneErr)
		}
		if isStream(format, body) && (dump(one) != asParsed || !sameError(oneErr, err)) {
			t.Fatalf("streamed: %s, %v\nparsed: %s, %v", dump(one), oneErr, asParsed, err)
		}
	})
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}

func dump(a parsers.Answer) string {
	b, _ := json.Marshal(a)
	return string(b)
}
