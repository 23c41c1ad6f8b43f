package rewrite

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
)

// edited are the formats whose answers are edited.
var edited = []provider.Format{
	provider.OpenAIChat, provider.OpenAIResponses, provider.AnthropicMessages, provider.Gemini, provider.OllamaNative,
	provider.MistralChat,
}

// recorded is an answer as a provider sent it.
type recorded struct {
	format provider.Format
	name   string
	body   []byte
}

// stream reports whether the answer came as a stream.
func (r recorded) stream() bool { return !strings.HasSuffix(r.name, ".json") }

// states reports whether a reason stands in the texts of the answer.
func (r recorded) states(t *testing.T) bool {
	a := answerOf(t, r.format, r.body)
	return !slices.Equal(texts(a, true), texts(a, false))
}

// fixtures are the answers written by hand.
func fixtures(tb testing.TB) []recorded {
	tb.Helper()
	var out []recorded
	for _, format := range edited {
		out = append(out, load(tb, format, filepath.Join("..", "..", "fixtures", "wire", string(format), "*"))...)
	}
	if len(out) < 20 {
		tb.Fatalf("%d fixtures", len(out))
	}
	return out
}

// dataFolder is the folder of real recordings: $RAX_DATA, or a shared/data
// folder beside the checkout.
func dataFolder(tb testing.TB) string {
	tb.Helper()
	folder := os.Getenv("RAX_DATA")
	for up := ".."; folder == "" && len(up) < 30; up = filepath.Join(up, "..") {
		if beside := filepath.Join(up, "shared", "data"); exists(beside) {
			folder = beside
		}
	}
	if !exists(filepath.Join(folder, "wire")) {
		tb.Skip("no folder of real recordings: set RAX_DATA")
	}
	return folder
}

// recordings are real answers.
func recordings(tb testing.TB) []recorded {
	tb.Helper()
	folder := dataFolder(tb)
	var out []recorded
	for _, format := range edited {
		out = append(out, load(tb, format, filepath.Join(folder, "wire", string(format), "*", "*", "response*"))...)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func load(tb testing.TB, format provider.Format, pattern string) []recorded {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		tb.Fatal(err)
	}
	var out []recorded
	for _, file := range files {
		if strings.HasSuffix(file, "expect.json") {
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, recorded{format, filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file), body})
	}
	return out
}

// chunked edits an answer that arrives in chunks of random sizes.
func chunked(format provider.Format, rules Rules, body []byte, r *rand.Rand) ([]byte, *Answer) {
	a := NewAnswer(format, rules)
	var out []byte
	most := []int{1, 3, 17, 200, 5000, len(body) + 1}[r.IntN(6)]
	for len(body) > 0 {
		n := min(1+r.IntN(most), len(body))
		chunk := bytes.Clone(body[:n])
		out = append(out, a.Write(chunk)...)
		for i := range chunk {
			chunk[i] = 'x' // the caller may use its buffer again
		}
		body = body[n:]
	}
	return append(out, a.Close()...), a
}

// answerOf decodes an answer, with tags left in the text.
func answerOf(t *testing.T, format provider.Format, body []byte) parsers.Answer {
	t.Helper()
	a, _ := provider.Parse(format, body, provider.ParseOptions{KeepTags: true})
	return a
}

// names are the tools that an answer calls.
func names(a parsers.Answer) (out []string) {
	for _, c := range a.Calls {
		out = append(out, c.Name)
	}
	return out
}

// texts are the text parts of an answer, as they read without reasons.
func texts(a parsers.Answer, strip bool) (out []string) {
	for _, p := range a.Parts {
		if p.Kind != parsers.PartText {
			continue
		}
		text := p.Text
		if strip && p.Signed == nil {
			text = rationale.Strip(text)
		}
		out = append(out, text)
	}
	return out
}

// place is a piece of text or arguments in a stream.
type place struct {
	at, end   int // the string, in the stream
	frame     [2]int
	arguments bool
	track     *track
	pure      bool
}

// places finds what an Answer would look at in a stream.
func places(r recorded, rules Rules) (out []place) {
	a := NewAnswer(r.format, rules)
	rest := a.start(r.body)
	at := len(r.body) - len(rest)
	if a.split.kind == frameWhole {
		return nil
	}
	for at < len(r.body) {
		n := a.split.next(r.body[at:])
		if n == 0 {
			n = len(r.body) - at
		}
		a.queue = nil
		a.read(bytes.Clone(r.body[at : at+n]))
		f := a.queue[0]
		for _, s := range f.segments {
			_, args := s.track.cutter.(*rationale.ArgumentCutter)
			out = append(out, place{
				at: at + s.value.Index, end: at + s.value.Index + len(s.value.Raw), frame: [2]int{at, at + n},
				arguments: args, track: s.track, pure: f.pure,
			})
		}
		at += n
	}
	return out
}

// escaped writes text for the inside of a JSON string.
func escaped(text string) string {
	q := quote(text)
	return q[1 : len(q)-1]
}
