package rewrite

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
)

const stated = `<rationale call="1">{"why":"the price \"today\" decides","confidence":0.9}</rationale>`

// TestWithoutReasons: an answer without reasons comes out as it went in, byte
// for byte, whatever the rules and the chunks.
func TestWithoutReasons(t *testing.T) {
	n := 0
	for _, r := range append(fixtures(t), maybeRecordings(t)...) {
		if r.states(t) {
			continue
		}
		n++
		random := rand.New(rand.NewPCG(1, uint64(len(r.body))))
		for range 4 {
			rules := Rules{Stream: r.stream(), Injected: names(answerOf(t, r.format, r.body))}
			got, a := chunked(r.format, rules, r.body, random)
			if !bytes.Equal(got, r.body) {
				t.Errorf("%s %s: %d bytes became %d, first difference at %d", r.format, r.name, len(r.body), len(got), differ(got, r.body))
			}
			if len(a.Notes()) > 0 && !strings.Contains(r.name, "broken") {
				t.Errorf("%s %s: %q", r.format, r.name, a.Notes())
			}
		}
	}
	t.Logf("%d answers", n)
}

func maybeRecordings(t *testing.T) (out []recorded) {
	t.Run("recordings", func(t *testing.T) { out = recordings(t) })
	return out
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestWithReasons: of the answers that hold reasons these go, and all else stays.
func TestWithReasons(t *testing.T) {
	n := 0
	for _, r := range fixtures(t) {
		if !r.states(t) {
			continue
		}
		n++
		before := answerOf(t, r.format, r.body)
		random := rand.New(rand.NewPCG(2, uint64(len(r.body))))
		for range 6 {
			got, a := chunked(r.format, Rules{Stream: r.stream()}, r.body, random)
			sameButReasons(t, r, before, answerOf(t, r.format, got))
			if len(a.Notes()) > 0 {
				t.Errorf("%s %s: %q", r.format, r.name, a.Notes())
			}
		}
	}
	if n < 8 {
		t.Errorf("%d fixtures hold reasons", n)
	}
}

// sameButReasons compares two answers but for the reasons in the text of the
// first.
func sameButReasons(t *testing.T, r recorded, before, after parsers.Answer) {
	t.Helper()
	want := slices.DeleteFunc(texts(before, true), func(s string) bool { return strings.TrimSpace(s) == "" })
	got := slices.DeleteFunc(texts(after, false), func(s string) bool { return strings.TrimSpace(s) == "" })
	if !slices.Equal(got, want) {
		t.Errorf("%s %s: text\n%q\nwant\n%q", r.format, r.name, got, want)
	}
	for _, x := range []*parsers.Answer{&before, &after} {
		x.Parts = slices.DeleteFunc(slices.Clone(x.Parts), func(p parsers.Part) bool { return p.Kind == parsers.PartText })
		for i := range x.Parts {
			x.Parts[i].Pointer = "" // blocks before it may have gone
		}
		x.Calls = slices.Clone(x.Calls)
		for i := range x.Calls {
			x.Calls[i].Pointer = ""
		}
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("%s %s:\nbefore %+v\nafter  %+v", r.format, r.name, before, after)
	}
}

// TestInserted puts reasons into streams that have none, inside of their deltas
// and as deltas of their own. What comes out are the streams without them, to
// the byte.
func TestInserted(t *testing.T) {
	inserted := 0
	for _, r := range append(fixtures(t), maybeRecordings(t)...) {
		if !r.stream() || r.states(t) || r.format == provider.OpenAIResponses {
			continue
		}
		rules := Rules{Stream: true, Injected: names(answerOf(t, r.format, r.body))}
		random := rand.New(rand.NewPCG(3, uint64(len(r.body))))
		for range 3 {
			with, n := insert(r, rules, random)
			inserted += n
			got, a := chunked(r.format, rules, with, random)
			if !bytes.Equal(got, r.body) {
				i := differ(got, r.body)
				t.Errorf("%s %s: first difference at %d\ngot  %.300s\nwant %.300s", r.format, r.name, i, got[max(0, i-80):], r.body[max(0, i-80):])
			}
			if len(a.Notes()) > 0 {
				t.Errorf("%s %s: %q", r.format, r.name, a.Notes())
			}
		}
	}
	if inserted < 20 {
		t.Errorf("%d reasons inserted", inserted)
	}
	t.Logf("%d reasons inserted", inserted)
}

// insert puts reasons into a stream where they leave nothing behind.
func insert(r recorded, rules Rules, random *rand.Rand) (with []byte, n int) {
	var e splice
	begun := map[*track]bool{}
	for _, p := range places(r, rules) {
		raw := string(r.body[p.at+1 : p.end-1])
		if p.arguments {
			if begun[p.track] || !strings.HasPrefix(raw, "{") {
				continue
			}
			begun[p.track] = true
			text := `\"rationale\":{\"why\":\"` + escaped(escaped("it \"counts\"")) + `\"},`
			if raw == "{}" || strings.HasPrefix(raw, "{ }") {
				text = strings.TrimSuffix(text, ",")
			}
			if raw == "{" { // what follows is not known here
				next := nextOf(r, rules, p)
				if next == "}" {
					text = strings.TrimSuffix(text, ",")
				}
			}
			e.insert(p.at+2, text)
			n++
			continue
		}
		if random.IntN(3) == 0 {
			continue
		}
		for i := 1; i < len(raw); i++ {
			if plain(raw[i-1]) && plain(raw[i]) && !strings.Contains(raw[max(0, i-6):i], `\`) {
				e.insert(p.at+1+i, escaped(stated))
				n++
				if p.pure && random.IntN(2) == 0 {
					e[len(e)-1] = edit{p.frame[1], p.frame[1], ownDeltas(r, p, random)}
					if !plain(raw[len(raw)-1]) || strings.Contains(raw, `\`) {
						e = e[:len(e)-1]
						n--
					}
				}
				break
			}
		}
	}
	return e.apply(nil, r.body), n
}

// nextOf is the next piece of the track of p.
func nextOf(r recorded, rules Rules, p place) string {
	found := false
	for _, q := range places(r, rules) {
		if q.at == p.at {
			found = true
			p.track = q.track
		} else if found && q.track == p.track && q.end-q.at > 2 {
			return string(r.body[q.at+1 : q.end-1])
		}
	}
	return ""
}

// ownDeltas is the block as copies of the frame of p, cut anywhere.
func ownDeltas(r recorded, p place, random *rand.Rand) string {
	var out strings.Builder
	for rest := stated; rest != ""; {
		n := min(1+random.IntN(20), len(rest))
		out.Write(r.body[p.frame[0] : p.at+1])
		out.WriteString(escaped(rest[:n]))
		out.Write(r.body[p.end-1 : p.frame[1]])
		rest = rest[n:]
	}
	return out.String()
}

// plain reports whether c has no part in where a block begins or ends.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == ','
}

// TestResponsesInserted does the same for Responses, whose events repeat the
// text.
func TestResponsesInserted(t *testing.T) {
	n := 0
	for _, r := range append(fixtures(t), maybeRecordings(t)...) {
		if r.format != provider.OpenAIResponses || r.states(t) {
			continue
		}
		before := answerOf(t, r.format, r.body)
		with := r.body
		for _, p := range before.Parts {
			if p.Kind == parsers.PartText && len(p.Text) > 20 {
				raw := escaped(p.Text)
				if i := bytes.Index(with, []byte(`"text":"`+raw)); i < 0 {
					continue
				}
				with = bytes.ReplaceAll(with, []byte(`"text":"`+raw), []byte(`"text":"`+escaped(stated)+raw))
				n++
			}
		}
		if bytes.Equal(with, r.body) {
			continue
		}
		if r.stream() { // a delta in front of the first one
			i := bytes.Index(with, []byte("event: response.output_text.delta"))
			if i < 0 {
				continue
			}
			end := i + bytes.Index(with[i:], []byte("\n\n")) + 2
			frame := string(with[i:end])
			at := strings.Index(frame, `"delta":"`) + len(`"delta":"`)
			stop := at + strings.Index(frame[at:], `"`)
			own := frame[:at] + escaped(stated) + frame[stop:]
			with = slices.Concat(with[:i], []byte(own), with[i:])
		}
		random := rand.New(rand.NewPCG(4, uint64(len(r.body))))
		for range 3 {
			got, _ := chunked(r.format, Rules{Stream: r.stream()}, with, random)
			sameButReasons(t, r, before, answerOf(t, r.format, got))
			if r.stream() && !bytes.Contains(r.body, []byte("sequence_number")) && !bytes.Equal(got, r.body) {
				t.Errorf("%s: differs at %d", r.name, differ(got, r.body))
			}
			if !r.stream() && !bytes.Equal(got, r.body) {
				t.Errorf("%s: differs at %d", r.name, differ(got, r.body))
			}
		}
	}
	if n < 2 {
		t.Errorf("%d reasons inserted", n)
	}
	t.Logf("%d reasons inserted", n)
}

// TestAnywhere puts blocks anywhere into texts: what comes out reads as Strip
// of the whole.
func TestAnywhere(t *testing.T) {
	for _, r := range append(fixtures(t), maybeRecordings(t)...) {
		// Gemini repeats its sums in every event: of a stream that stops, those of
		// an event that goes are lost.
		stops := r.format == provider.Gemini && answerOf(t, r.format, r.body).Cut
		if !r.stream() || r.format == provider.OpenAIResponses || stops {
			continue
		}
		random := rand.New(rand.NewPCG(5, uint64(len(r.body))))
		for range 3 {
			var e splice
			for _, p := range places(r, Rules{Stream: true}) {
				if p.end-p.at == 2 {
					continue // an empty one may stand behind the end
				}
				at := p.at + 1
				for at < p.end-1 && random.IntN(4) > 0 {
					n, _, _ := char(string(r.body[:p.end-1]), at)
					at += n
				}
				pieces := []string{stated, "\n" + stated + "\n", "<ratio", "</rationale>", "`<rationale>`", "<rationale call=\"2\">{\"why\":", " ", "\n\n", "é😀"}
				e.insert(at, escaped(pieces[random.IntN(len(pieces))]))
			}
			with := e.apply(nil, r.body)
			got, a := chunked(r.format, Rules{Stream: true}, with, random)
			if slices.Contains(a.Notes(), onlyRationale) {
				if !bytes.Equal(got, with) {
					t.Errorf("%s: not passed as it is", r.name)
				}
				continue
			}
			sameButReasons(t, r, answerOf(t, r.format, with), answerOf(t, r.format, got))
			if t.Failed() {
				return
			}
		}
	}
}

func FuzzAnswer(f *testing.F) {
	n := 0
	for _, r := range fixtures(f) {
		for i, format := range edited {
			if format == r.format && len(r.body) < 20_000 {
				f.Add(r.body, uint8(i), uint64(len(r.body)), r.stream())
				n++
			}
		}
	}
	if n == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, body []byte, format uint8, random uint64, stream bool) {
		rules := Rules{Stream: stream, Injected: []string{"list_issues", "list_commits", "get_weather"}}
		r := rand.New(rand.NewPCG(random, 1))
		one, _ := chunked(edited[int(format)%len(edited)], rules, body, r)
		two, _ := chunked(edited[int(format)%len(edited)], rules, body, r)
		if !bytes.Equal(one, two) {
			t.Errorf("chunks matter:\n%q\n%q", one, two)
		}
		if bytes.Contains(bytes.ToLower(body), []byte("<r")) || bytes.ContainsAny(body, "&\\") {
			return // a tag, or half of one, may stand there
		}
		got, _ := chunked(edited[int(format)%len(edited)], Rules{Stream: stream}, body, r)
		if !bytes.Contains(body, []byte("<")) && !bytes.Equal(got, body) {
			t.Errorf("%q became %q", body, got)
		}
	})
}
