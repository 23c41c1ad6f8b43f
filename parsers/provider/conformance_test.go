package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/trace/safety"
)

var update = flag.Bool("update", false, "rewrite the committed tally")

// recordings returns the folder of real recordings: $RAX_DATA, or a shared/data
// folder beside the checkout. Tests that need it skip where it is absent.
func recordings(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv("RAX_DATA"); dir != "" {
		return filepath.Join(dir, "wire")
	}
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		candidate := filepath.Join(dir, "shared", "data", "wire")
		if info, err := os.Stat(candidate); err == nil && info.IsDir() {
			return candidate
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Skip("no recordings: set RAX_DATA or put them into shared/data beside the checkout")
		}
		dir = parent
	}
}

// expectation is an independent decode of a recording.
type expectation struct {
	Status  int             `json:"status"`
	Model   *string         `json:"model"`
	ID      *string         `json:"id"`
	Usage   json.RawMessage `json:"usage"`
	Builtin []string        `json:"builtin_calls"`
	Error   json.RawMessage `json:"error_body"`
	Choices []struct {
		Text      string `json:"text"`
		Finish    string `json:"finish"`
		Hidden    bool   `json:"reasoning_hidden"`
		Reasoning []struct {
			Kind string `json:"kind"`
			Text string `json:"text"`
		} `json:"reasoning"`
		Calls []struct {
			ID        *string         `json:"id"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
	} `json:"choices"`
}

// corrections are the recordings whose expectation is not what rax is to say.
// Each changes the expectation and says why.
var corrections = map[string]func(*expectation){
	// The provider ran the tool itself ("type":"server_tool_use", its result
	// stands in the same message): it is no call of the client.
	"bedrock-converse/bedrock/pydantic-ai-0095": serverToolIsBuiltin,
	"bedrock-converse/bedrock/pydantic-ai-0096": serverToolIsBuiltin,
	"bedrock-converse/bedrock/pydantic-ai-0057": serverToolIsBuiltin,
	// A signature without a text of thinking: the decode looks for encrypted
	// details only.
	"openai-chat/openrouter/pydantic-ai-0031": signedIsHidden,
	// The same in a stream: a thinking block of one signature_delta.
	"anthropic-messages/anthropic/pydantic-ai-0119": signedIsHidden,
}

func signedIsHidden(e *expectation) { e.Choices[0].Hidden = true }

func serverToolIsBuiltin(e *expectation) {
	calls := e.Choices[0].Calls
	for i, c := range calls {
		if c.Name == "nova_code_interpreter" {
			e.Builtin = append(e.Builtin, c.Name)
			e.Choices[0].Calls = slices.Delete(slices.Clone(calls), i, i+1)
			return
		}
	}
}

// tagged finds closed think tags, as an independent check of the splitter.
var tagged = regexp.MustCompile(`(?s)^\s*<think(?:ing)?>(.*?)</think(?:ing)?>\s*(.*)$`)

// differences compares an answer with the expectation. plain is the answer
// with the tags left in.
func differences(want expectation, got, plain parsers.Answer) (diff []string) {
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if len(want.Choices) == 0 {
		add("no choices expected")
		return diff
	}
	c := want.Choices[0]
	if plain.Text() != c.Text {
		add("text: got %d bytes, want %d", len(plain.Text()), len(c.Text))
	}
	if m := tagged.FindStringSubmatch(c.Text); m != nil {
		if got.Text() != m[2] || got.Thinking() != m[1] {
			add("think tags: got %q and %q", got.Thinking(), got.Text())
		}
	} else if !strings.Contains(c.Text, "<think") && got.Text() != c.Text {
		add("text with tags split: got %d bytes, want %d", len(got.Text()), len(c.Text))
	}
	for _, r := range c.Reasoning {
		format := string(thinking.FormatOf(thinking.Kind(r.Kind)))
		if plain.Thinking() != r.Text {
			add("reasoning %s: got %d bytes, want %d", r.Kind, len(plain.Thinking()), len(r.Text))
		}
		known := false
		for _, p := range plain.Parts {
			// A copy of a text may have been dropped in favour of this one.
			known = known || p.Kind == parsers.PartThinking && (p.Format == format || len(c.Reasoning) > 1)
		}
		if !known {
			add("reasoning %s: no part of format %s", r.Kind, format)
		}
	}
	if len(c.Reasoning) == 0 && plain.Thinking() != "" && got.Format != string(CohereV2) {
		add("reasoning: %d bytes where none is expected", len(plain.Thinking()))
	}
	if hidden := hiddenOnWire(plain); hidden != c.Hidden {
		add("hidden: got %v, want %v", hidden, c.Hidden)
	}
	if len(got.Calls) != len(c.Calls) {
		add("calls: got %d, want %d", len(got.Calls), len(c.Calls))
	} else {
		for i, w := range c.Calls {
			g := got.Calls[i]
			id := ""
			if w.ID != nil {
				id = *w.ID
			}
			if g.ID != id || g.Name != w.Name || !sameJSON(g.Arguments, w.Arguments) {
				add("call %d: got %s %s %s, want %s %s %s", i, g.ID, g.Name, g.Arguments, id, w.Name, w.Arguments)
			}
		}
	}
	if got.Finish != c.Finish {
		add("finish: got %q, want %q", got.Finish, c.Finish)
	}
	if want.Model != nil && got.Model != *want.Model {
		add("model: got %q, want %q", got.Model, *want.Model)
	}
	if want.ID != nil && got.ID != *want.ID {
		add("id: got %q, want %q", got.ID, *want.ID)
	}
	if !sameJSON(got.Usage.Raw, want.Usage) {
		add("usage: got %s, want %s", got.Usage.Raw, want.Usage)
	}
	var builtin, wantBuiltin []string
	for _, b := range got.Builtin {
		if b.Name == "" {
			b.Name = b.Type
		}
		builtin = append(builtin, b.Name)
	}
	for _, b := range want.Builtin {
		// The extractor lists the result of a search beside its call.
		if b != "tool_search_output" {
			wantBuiltin = append(wantBuiltin, b)
		}
	}
	if !slices.Equal(builtin, wantBuiltin) {
		add("builtin: got %v, want %v", builtin, wantBuiltin)
	}
	return diff
}

// hiddenOnWire reports hidden thinking that stands in the answer itself. That
// thinking was counted in tokens is rax's own addition.
func hiddenOnWire(a parsers.Answer) bool {
	return slices.ContainsFunc(a.Parts, func(p parsers.Part) bool {
		return p.Kind == parsers.PartThinking && p.Format == string(thinking.Hidden) && p.Signed != nil
	})
}

func sameJSON(a, b []byte) bool {
	if len(a) == 0 {
		a = []byte("null")
	}
	if len(b) == 0 {
		b = []byte("null")
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// streamed feeds a body to a stream in pieces and checks that the deltas and
// the text so far agree with the answer.
func streamed(tb testing.TB, format Format, body []byte, opts ParseOptions, cut func(rest int) int) (parsers.Answer, error) {
	tb.Helper()
	var text, thought strings.Builder
	args := map[int]string{}
	revised, arrived := false, 0
	opts.OnDelta = func(d Delta) {
		switch d.Kind {
		case DeltaText:
			text.WriteString(d.Text)
		case DeltaThinking:
			thought.WriteString(d.Text)
		case DeltaArguments:
			args[d.Call] += d.Text
		case DeltaRevised:
			revised = true
		}
	}
	s := NewStream(format, opts)
	for rest := body; len(rest) > 0; {
		n := min(cut(len(rest)), len(rest))
		chunk := bytes.Clone(rest[:n])
		s.Write(chunk)
		for i := range chunk { // a stream must not keep what it was given
			chunk[i] = 'X'
		}
		rest = rest[n:]
		if added := text.Len(); added != arrived && !revised {
			if arrived = added; len(s.Text()) != arrived {
				tb.Errorf("deltas give %d bytes of text so far, Text %d", arrived, len(s.Text()))
			}
		}
	}
	if !revised && s.Text() != text.String() {
		tb.Errorf("Text before Close differs from its deltas")
	}
	a, err := s.Close()
	if s.Text() != a.Text() {
		tb.Errorf("Text after Close differs from the answer")
	}
	if !revised && s.framing != frameWhole && len(a.Warnings) == 0 {
		if text.String() != a.Text() {
			tb.Errorf("text deltas give %d bytes, the answer has %d", text.Len(), len(a.Text()))
		}
	}
	return a, err
}

func chunkings() map[string]func(int) int {
	r := rand.New(rand.NewPCG(1, 2))
	return map[string]func(int) int{
		"whole":  func(n int) int { return n },
		"bytes":  func(int) int { return 1 },
		"random": func(int) int { return 1 + r.IntN(200) },
	}
}

func TestConformance(t *testing.T) {
	root := recordings(t)
	tally := map[Format][2]int{}
	for _, format := range Formats {
		dirs, _ := filepath.Glob(filepath.Join(root, string(format), "*", "*"))
		for _, dir := range dirs {
			name := filepath.ToSlash(strings.TrimPrefix(dir, root+string(filepath.Separator)))
			diff := conform(t, format, name, dir)
			counts := tally[format]
			if len(diff) == 0 {
				counts[0]++
			} else {
				counts[1]++
				t.Logf("%s:\n\t%s", name, strings.Join(diff, "\n\t"))
			}
			tally[format] = counts
		}
	}
	checkTally(t, tally)
}

// conform reads one recording in every way and returns what is wrong.
func conform(t *testing.T, format Format, name, dir string) []string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "response.*"))
	if len(files) != 1 {
		return []string{"no response file"}
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	if errors.Is(err, os.ErrNotExist) {
		return conformUnlabelled(t, format, name, body)
	} else if err != nil {
		t.Fatal(err)
	}
	var want expectation
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if fix := corrections[name]; fix != nil {
		fix(&want)
	}
	opts := ParseOptions{Status: want.Status}
	got, err := Parse(format, body, opts)
	if want.Status >= 400 {
		return conformError(want, err)
	}
	var diff []string
	var api *APIError
	if err != nil && !errors.As(err, &api) {
		return []string{err.Error()}
	}
	plain, _ := Parse(format, body, ParseOptions{Status: want.Status, KeepTags: true})
	diff = differences(want, got, plain)
	if f, err := Detect(body); err != nil || (f != format && !(format == MistralChat && f == OpenAIChat)) {
		diff = append(diff, fmt.Sprintf("detect: %s, %v", f, err))
	}
	diff = append(diff, shown(got)...)
	for how, cut := range chunkings() {
		again, streamErr := streamed(t, format, body, opts, cut)
		if format == OllamaNative && strings.HasSuffix(files[0], ".json") {
			continue // recorded with line breaks inside, which a stream never has
		}
		if !reflect.DeepEqual(again, got) || (streamErr == nil) != (err == nil) {
			diff = append(diff, "streamed "+how+" differs from whole")
		}
	}
	return diff
}

// shown compares what "rax diagnose parse --json" shows with the answer: safety
// changes none of the recordings.
func shown(a parsers.Answer) (diff []string) {
	v := parsers.NewView(a, safety.Default().Session(), true)
	if v.Text != a.Text() || !sameJSON(v.Usage, a.Usage.Raw) {
		diff = append(diff, "the view has another text or usage")
	}
	thinking := ""
	for _, r := range v.Reasoning {
		thinking += r.Text
	}
	if thinking != a.Thinking() {
		diff = append(diff, "the view has other thinking")
	}
	for i, c := range a.Calls {
		if !c.Invalid && !sameJSON(v.Calls[i].Arguments, c.Arguments) {
			diff = append(diff, fmt.Sprintf("the view has other arguments of call %d", i))
		}
	}
	return diff
}

func conformError(want expectation, err error) []string {
	var api *APIError
	if !errors.As(err, &api) {
		return []string{fmt.Sprintf("got %v, want an APIError", err)}
	}
	var wire struct {
		Message string `json:"message"`
		Error   struct {
			Message, Type string
			Code          any
		} `json:"error"`
	}
	if err := json.Unmarshal(want.Error, &wire); err != nil {
		return []string{err.Error()}
	}
	message := wire.Error.Message + wire.Message
	if api.Status != want.Status || api.Message != message || message == "" {
		return []string{fmt.Sprintf("error: got %d %q", api.Status, api.Message)}
	}
	if wire.Error.Type != "" && api.Type != wire.Error.Type {
		return []string{"error type: got " + api.Type}
	}
	return nil
}

// conformUnlabelled checks a recording that nobody decoded: it is read without
// a fault, alike in one piece and in many.
func conformUnlabelled(t *testing.T, format Format, name string, body []byte) []string {
	got, err := Parse(format, body, ParseOptions{})
	var api *APIError
	var syntax *SyntaxError
	switch {
	case strings.HasSuffix(name, "demo-endpoints.pydantic.workers.dev/pydantic-ai-0002"):
		if !errors.As(err, &syntax) { // plain text that claims to be an answer
			return []string{fmt.Sprintf("plain text: got %v", err)}
		}
		return nil
	case errors.As(err, &api):
		return nil
	case err != nil:
		return []string{err.Error()}
	}
	if got.Text() == "" && got.Thinking() == "" && len(got.Calls) == 0 && got.Finish == "" && len(got.Warnings) == 0 {
		return []string{"empty answer"}
	}
	for how, cut := range chunkings() {
		if again, _ := streamed(t, format, body, ParseOptions{}, cut); !reflect.DeepEqual(again, got) {
			return []string{"streamed " + how + " differs from whole"}
		}
	}
	return nil
}

// checkTally compares with the committed tally, which may only get better.
func checkTally(t *testing.T, tally map[Format][2]int) {
	t.Helper()
	var b strings.Builder
	for _, f := range Formats {
		fmt.Fprintf(&b, "%s\t%d\t%d\n", f, tally[f][0], tally[f][1])
	}
	t.Logf("format, equal, different:\n%s", b.String())
	if len(tally) == 0 {
		t.Fatal("the folder holds no recordings: unset RAX_DATA, or point it to the folder that has wire/ in it")
	}
	file := filepath.Join("testdata", "conformance.tsv")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(committed)) {
		var name string
		var equal, different int
		if _, err := fmt.Sscanf(line, "%s %d %d", &name, &equal, &different); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got := tally[Format(name)]
		// Another set of recordings may be smaller or larger; the share of
		// those that differ may not be.
		if total := got[0] + got[1]; total > 0 && got[1]*(equal+different) > different*total {
			t.Errorf("%s: %d of %d recordings differ, committed are %d of %d", name, got[1], total, different, equal+different)
		}
	}
}
