package live_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/live"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace/safety"
	"github.com/rax-project/rax/trace/safety/safetytest"
)

const block = `<rationale call="1">{"why":"it is the reason"}</rationale>`

// screen is a sink: what a person has before the eyes, and all that ever was.
type screen struct {
	text, thinking string
	ever           strings.Builder
	again          int
	calls          []string
}

func (s *screen) show(c live.Chunk) {
	switch c.Kind() {
	case live.Text:
		s.text += c.Text()
	case live.Thinking:
		s.thinking += c.Text()
	case live.TextAgain:
		s.text, s.again = "", s.again+1
		s.ever.WriteString("\n\n")
	case live.ThinkingAgain:
		s.thinking, s.again = "", s.again+1
		s.ever.WriteString("\n\n")
	case live.Call:
		s.calls = append(s.calls, c.Text())
	}
	s.ever.WriteString(c.Text())
}

// watch reads a stream in pieces that end at the cuts.
func watch(t testing.TB, format provider.Format, stream []byte, cuts []int) (*screen, parsers.Answer) {
	t.Helper()
	s := new(screen)
	in := live.Open(format, provider.ParseOptions{}, safety.Default().Session(), s.show)
	last := 0
	for _, at := range append(cuts, len(stream)) {
		_ = in.Write(stream[last:at])
		last = at
	}
	answer, _ := in.Close()
	return s, answer
}

// every gives the cuts of pieces of one length.
func every(n, size int) []int {
	var cuts []int
	for at := n; at < size; at += n {
		cuts = append(cuts, at)
	}
	return cuts
}

var number = regexp.MustCompile(`#\d+\]`)

// plain leaves the numbers of marks out: text and thinking share them.
func plain(s string) string { return number.ReplaceAllString(s, "#]") }

func scrubbed(field, text string) string {
	return plain(safety.Default().Session().Text(field, rationale.Strip(text)).Text)
}

// holds checks the contract.
func holds(t *testing.T, name string, s *screen, a parsers.Answer) {
	t.Helper()
	if want := scrubbed("content", a.Text()); plain(s.text) != want {
		t.Fatalf("%s:\n text %q\n want %q", name, s.text, want)
	}
	if want := scrubbed("thinking", a.Thinking()); plain(s.thinking) != want {
		t.Fatalf("%s:\n thinking %q\n want %q", name, s.thinking, want)
	}
}

// noBlock checks that no block was ever shown.
func noBlock(t *testing.T, name string, s *screen) {
	t.Helper()
	for _, tag := range []string{"<rationale call", "</rationale>"} {
		if strings.Contains(s.ever.String(), tag) {
			t.Fatalf("%s: a block was shown: %q", name, s.ever.String())
		}
	}
}

// piece is text or thinking as one event of a stream.
type piece struct {
	thinking bool
	text     string
}

// wires writes the same pieces in several wire formats.
var wires = map[provider.Format]func(pieces []piece) string{
	provider.OpenAIChat: func(pieces []piece) string {
		var b strings.Builder
		for _, p := range pieces {
			field := "content"
			if p.thinking {
				field = "reasoning_content"
			}
			fmt.Fprintf(&b, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{%q:%s}}]}\n\n", field, quote(p.text))
		}
		return b.String() + "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	},
	provider.AnthropicMessages: func(pieces []piece) string {
		var b strings.Builder
		b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n")
		for i := 0; i < len(pieces); {
			kind := "text"
			if pieces[i].thinking {
				kind = "thinking"
			}
			at := i
			fmt.Fprintf(&b, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":%q,%q:\"\"}}\n\n", at, kind, kind)
			for ; i < len(pieces) && pieces[i].thinking == pieces[at].thinking; i++ {
				fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":%q,%q:%s}}\n\n", at, kind+"_delta", kind, quote(pieces[i].text))
			}
			fmt.Fprintf(&b, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", at)
		}
		return b.String() + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	},
	provider.OllamaNative: func(pieces []piece) string {
		var b strings.Builder
		for _, p := range pieces {
			field := "content"
			if p.thinking {
				field = "thinking"
			}
			fmt.Fprintf(&b, "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",%q:%s},\"done\":false}\n", field, quote(p.text))
		}
		return b.String() + "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n"
	},
}

func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(raw)
}

// texts are answers with secrets and blocks in all the ways in which they meet.
func texts(s safetytest.Sample) []string {
	third := len(s.Secret) / 3
	return []string{
		"I say " + s.Text() + " and go on.",
		"First " + block + "\nthen " + s.Text() + block + " end",
		"So " + s.Before + s.Secret[:third] + block + s.Secret[third:2*third] + block + s.Secret[2*third:] + s.After + " it is.",
		`<rationale call="1">{"why":"because of ` + strings.ReplaceAll(s.Secret, "\n", `\n`) + `"}</rationale> done ` + s.Text(),
		"<think>secretly " + s.Text() + "</think>openly " + s.Text(),
	}
}

// TestLiveIsScrubbedStripped: the model's own pieces split a secret, a block and
// both at every position, in every format.
func TestLiveIsScrubbedStripped(t *testing.T) {
	for i, s := range safetytest.Samples(safetytest.NewRand(81)) {
		for k, text := range texts(s) {
			step := 1 + len(text)/60
			for at := i % step; at <= len(text); at += step {
				for format, wire := range wires {
					name := fmt.Sprintf("%s, %s, text %d at %d", format, s.Rule, k, at)
					shown, answer := watch(t, format, []byte(wire([]piece{{false, text[:at]}, {false, text[at:]}})), nil)
					holds(t, name, shown, answer)
					noBlock(t, name, shown)
					if s.Leaked(shown.ever.String()) {
						t.Fatalf("%s: %q", name, shown.ever.String())
					}
				}
			}
		}
	}
}

// TestLiveAtEverySplit: one piece a character, in thinking and text by turns.
func TestLiveAtEverySplit(t *testing.T) {
	for _, s := range safetytest.Samples(safetytest.NewRand(82)) {
		for k, text := range texts(s) {
			var pieces []piece
			for i := range len(text) {
				if text[i] < 0x80 {
					pieces = append(pieces, piece{false, text[i : i+1]})
				}
			}
			pieces = append([]piece{{true, "hm: " + s.Before}, {true, s.Secret[:4]}, {true, s.Secret[4:] + s.After + block + "\n"}}, pieces...)
			for format, wire := range wires {
				shown, answer := watch(t, format, []byte(wire(pieces)), nil)
				holds(t, fmt.Sprintf("%s, %s, text %d", format, s.Rule, k), shown, answer)
				if s.Leaked(shown.ever.String()) {
					t.Fatalf("%s, %s, text %d: %q", format, s.Rule, k, shown.ever.String())
				}
			}
		}
	}
}

// TestRevised: a model whose prompt opens the thinking writes only the end of it.
// Then what was shown as text is taken back, and nothing of it stays.
func TestRevised(t *testing.T) {
	s := safetytest.Samples(safetytest.NewRand(83))[0]
	for format, wire := range wires {
		pieces := []piece{{false, "I think "}, {false, "that " + s.Text() + " is"}, {false, " it.</th"}, {false, "ink>\n"}, {false, "The answer "}, {false, "is 4."}}
		shown, answer := watch(t, format, []byte(wire(pieces)), nil)
		holds(t, string(format), shown, answer)
		if shown.again == 0 || shown.text != "The answer is 4." || !strings.HasPrefix(shown.thinking, "I think that [redacted:") {
			t.Errorf("%s: %d times anew, text %q, thinking %q", format, shown.again, shown.text, shown.thinking)
		}
	}
}

// TestLiveFixtures: the recorded streams, cut into any pieces, as they are and
// with a secret spread over their texts.
func TestLiveFixtures(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/wire/*/*.sse")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	samples := safetytest.Samples(safetytest.NewRand(84))
	hidden := 0
	for i, path := range paths {
		format := provider.Format(filepath.Base(filepath.Dir(path)))
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		secret := samples[i%len(samples)]
		for name, stream := range map[string][]byte{"as it is": content, "planted": spread(content, block+" "+secret.Text()+" ")} {
			name = path + " " + name
			whole, answer := watch(t, format, stream, nil)
			holds(t, name, whole, answer)
			if name == path+" as it is" {
				noBlock(t, name, whole)
			}
			if strings.Contains(answer.Text(), secret.Text()) {
				hidden++
				if secret.Leaked(whole.ever.String()) {
					t.Errorf("%s: %q", name, whole.ever.String())
				}
			}
			for _, size := range []int{1, 2, 7, 61, 1000} {
				got, answer := watch(t, format, stream, every(size, len(stream)))
				holds(t, fmt.Sprintf("%s in pieces of %d", name, size), got, answer)
				if got.text != whole.text || got.thinking != whole.thinking || !slices.Equal(got.calls, whole.calls) {
					t.Errorf("%s in pieces of %d: %q %q", name, size, got.text, got.thinking)
				}
			}
		}
	}
	if hidden < 10 {
		t.Errorf("the secret came whole in %d streams only", hidden)
	}
}

// spread puts a few characters of text in the place of each string of a stream
// that carries what the model wrote, and the rest in that of the last.
func spread(stream []byte, text string) []byte {
	var out bytes.Buffer
	fields := regexp.MustCompile(`"(text|content|delta|response)":"((?:[^"\\]|\\.)+)"`)
	left := len(fields.FindAll(stream, -1))
	for line := range bytes.Lines(stream) {
		if at := fields.FindSubmatchIndex(line); at != nil {
			n := min(9, len(text))
			if left--; left == 0 {
				n = len(text)
			}
			piece := quote(text[:n])
			line = slices.Concat(line[:at[4]], []byte(piece[1:len(piece)-1]), line[at[5]:])
			text = text[n:]
		}
		out.Write(line)
	}
	return out.Bytes()
}

// TestOrdinaryAnswersComeOnce: nothing is taken back where no tag asks for it.
func TestOrdinaryAnswersComeOnce(t *testing.T) {
	pieces := []piece{{true, "Let me "}, {true, "see."}, {false, "It is "}, {false, "4. " + block}, {false, "\nBye."}}
	for format, wire := range wires {
		shown, answer := watch(t, format, []byte(wire(pieces)), nil)
		holds(t, string(format), shown, answer)
		if shown.again != 0 || shown.thinking != "Let me see." {
			t.Errorf("%s: %d times anew: %q", format, shown.again, shown.thinking)
		}
	}
}

// TestProseGoesOutAtOnce: only what is not decided is held back.
func TestProseGoesOutAtOnce(t *testing.T) {
	var s screen
	p := live.New(safety.Default().Session(), s.show)
	for _, word := range []string{"The ", "quick ", "fox, ", "tok"} {
		p.Delta(provider.Delta{Kind: provider.DeltaText, Text: word})
	}
	if s.text != "The quick fox, " {
		t.Errorf("shown so far: %q", s.text)
	}
	p.Delta(provider.Delta{Kind: provider.DeltaCall, Name: "look\u200Bup", Call: 1})
	p.Delta(provider.Delta{Kind: provider.DeltaArguments, Text: `{"q":`})
	if !slices.Equal(s.calls, []string{"lookup"}) {
		t.Errorf("calls %q", s.calls)
	}
}

// TestBlockedThinking: what must not be stored is known at the end.
func TestBlockedThinking(t *testing.T) {
	key := safetytest.KeyBlock(safetytest.NewRand(85), "RSA PRIVATE"+" KEY", 4)
	in := live.Open(provider.OpenAIChat, provider.ParseOptions{}, safety.Default().Session(), func(live.Chunk) {})
	if err := in.Write([]byte(wires[provider.OpenAIChat]([]piece{{true, key}, {false, "ok"}}))); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Close(); err != nil || !in.Blocked() {
		t.Errorf("blocked %v, %v", in.Blocked(), err)
	}
}

func FuzzLive(f *testing.F) {
	samples := safetytest.Samples(safetytest.NewRand(86))
	if len(samples) < 50 {
		f.Fatal("no seeds")
	}
	for i, s := range samples {
		f.Add(texts(s)[i%5], uint16(i*13), uint16(i*29))
	}
	f.Add("a</think>b<think>c</think>", uint16(1), uint16(9))
	f.Fuzz(func(t *testing.T, text string, one, two uint16) {
		text = strings.ToValidUTF8(text, "?")
		cuts := []int{int(one) % (len(text) + 1), int(two) % (len(text) + 1)}
		slices.Sort(cuts)
		if !strings.HasPrefix(text[cuts[0]:], strings.ToValidUTF8(text[cuts[0]:], "?")) || strings.ToValidUTF8(text[:cuts[0]], "?") != text[:cuts[0]] ||
			strings.ToValidUTF8(text[:cuts[1]], "?") != text[:cuts[1]] {
			return // JSON cannot carry half a character
		}
		shown, answer := watch(t, provider.OpenAIChat, []byte(wires[provider.OpenAIChat]([]piece{{false, text[:cuts[0]]}, {false, text[cuts[0]:cuts[1]]}, {false, text[cuts[1]:]}})), nil)
		if plain(shown.text) != scrubbed("content", answer.Text()) {
			t.Fatalf("text %q, want %q", shown.text, scrubbed("content", answer.Text()))
		}
	})
}
