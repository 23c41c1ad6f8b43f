package provider

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/parsers"
)

func chatEvent(delta string) string {
	return `data: {"id":"c","choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
}

func TestStreamDeltas(t *testing.T) {
	var log []string
	s := NewStream(OpenAIChat, ParseOptions{
		Names:   NewNameMap([]string{"github/list"}),
		OnDelta: func(d Delta) { log = append(log, fmt.Sprintf("%s %d %s %s", d.Kind, d.Call, d.Name, d.Text)) },
	})
	wire := NewNameMap([]string{"github/list"}).Wire("github/list")
	steps := []struct{ event, text string }{
		{`{"content":"<thi"}`, ""},
		{`{"content":"nk>hm</think>\n"}`, ""},
		{`{"content":"A"}`, "A"},
		{`{"content":"B","tool_calls":[{"index":0,"id":"x","function":{"name":"` + wire + `","arguments":""}}]}`, "AB"},
		{`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`, "AB"},
	}
	for _, step := range steps {
		if err := s.Write([]byte(chatEvent(step.event))); err != nil {
			t.Fatal(err)
		}
		if s.Text() != step.text {
			t.Errorf("after %s: text %q, want %q", step.event, s.Text(), step.text)
		}
	}
	a, err := s.Close()
	if err != nil || !a.Cut {
		t.Errorf("cut %v, %v", a.Cut, err)
	}
	want := []string{"thinking 0  hm", "text 0  A", "text 0  B", "call 0 github/list ", "arguments 0  {}"}
	if fmt.Sprint(log) != fmt.Sprint(want) {
		t.Errorf("deltas: got %q, want %q", log, want)
	}
	if again, _ := s.Close(); again.Text() != a.Text() || s.Write([]byte("x")) != nil {
		t.Error("a closed stream is not closed")
	}
}

// TestStreamRevises covers text that turns out to be thinking when it is
// already shown.
func TestStreamRevises(t *testing.T) {
	revised := 0
	s := NewStream(OpenAIChat, ParseOptions{OnDelta: func(d Delta) {
		if d.Kind == DeltaRevised {
			revised++
		}
	}})
	s.Write([]byte(chatEvent(`{"content":"So the sum is"}`)))
	if s.Text() != "So the sum is" {
		t.Errorf("shown: %q", s.Text())
	}
	s.Write([]byte(chatEvent(`{"content":" 4.</think>4"}`)))
	if s.Text() != "4" || revised != 1 {
		t.Errorf("text %q, revised %d times", s.Text(), revised)
	}
}

// TestNoDoubleDeltas: a vendor that sends thinking twice shows it once.
func TestNoDoubleDeltas(t *testing.T) {
	for _, f := range fixtures(t) {
		if !strings.HasPrefix(f.name, "openrouter") && f.name != "vllm-twice" && f.name != "verbatim" {
			continue
		}
		var thought strings.Builder
		s := NewStream(f.format, ParseOptions{OnDelta: func(d Delta) {
			if d.Kind == DeltaThinking {
				thought.WriteString(d.Text)
			}
		}})
		s.Write(f.body)
		a, _ := s.Close()
		if s.framing != frameWhole && thought.String() != a.Thinking() {
			t.Errorf("%s: shown %q, answer %q", f.file, thought.String(), a.Thinking())
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := Parse("telegraph", []byte(`{}`), ParseOptions{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown format: %v", err)
	}
	if err := NewStream("telegraph", ParseOptions{}).Write([]byte("x")); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown format, stream: %v", err)
	}
	for _, format := range Formats {
		if _, err := Parse(format, []byte(`{"hello":"world"}`), ParseOptions{}); !errors.Is(err, ErrUnknown) && format != OllamaNative && format != BedrockInvoke {
			t.Errorf("%s: foreign JSON gives %v", format, err)
		}
		var syntax *SyntaxError
		if _, err := Parse(format, []byte(`{"choices":[`), ParseOptions{}); format != OllamaNative && !errors.As(err, &syntax) {
			t.Errorf("%s: broken JSON gives %v", format, err)
		}
		deep := []byte(strings.Repeat("[", 1<<20))
		if _, err := Parse(format, deep, ParseOptions{}); err == nil && format != Gemini && format != OllamaNative {
			t.Errorf("%s: takes nesting without end", format)
		}
		// A status of an error is one, whatever the body holds.
		for _, body := range []string{`{"choices":[{"message":{"content":"hi"}}]}`, "<html>bad gateway</html>", ""} {
			var api *APIError
			a, err := Parse(format, []byte(body), ParseOptions{Status: 502, RetryAfter: time.Second})
			if !errors.As(err, &api) || api.Status != 502 || api.RetryAfter != time.Second || a.Text() != "" {
				t.Errorf("%s: status 502 with %q gives %+v, %v", format, body, a, err)
			}
		}
	}
	for _, body := range []string{"", "hello", "{}", `{"level":"info","message":"x","n":1}`, "data: {}\n\n", "event: x\n\n", "[]", "null"} {
		if f, err := Detect([]byte(body)); !errors.Is(err, ErrUnknown) {
			t.Errorf("Detect(%q) = %s, %v", body, f, err)
		}
	}
	var syntax *SyntaxError
	if f, err := Detect([]byte(`{"object":"response","output":[}`)); f != OpenAIResponses || !errors.As(err, &syntax) {
		t.Errorf("broken body: %s, %v", f, err)
	}
}

// TestErrorsHoldNoPayload: a provider's message may repeat a key.
func TestErrorsHoldNoPayload(t *testing.T) {
	key := "sk-" + strings.Repeat("a1B2", 8)
	body := fmt.Sprintf(`{"error":{"message":"Incorrect API key: %s","type":"%s","code":"%s"}}`, key, key+" ", strings.Repeat("x", 70))
	_, err := Parse(OpenAIChat, []byte(body), ParseOptions{Status: 401})
	var api *APIError
	if !errors.As(err, &api) || !strings.Contains(api.Message, key) {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(err.Error(), key) {
		t.Errorf("the error repeats the message: %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	body := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"7s"}]}}`
	var api *APIError
	if _, err := Parse(Gemini, []byte(body), ParseOptions{Status: 429}); !errors.As(err, &api) || api.RetryAfter != 7*time.Second {
		t.Errorf("got %+v", api)
	}
}

// TestBodyInStream: a server that is asked for a stream may answer at once.
func TestBodyInStream(t *testing.T) {
	body := `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	s := NewStream(OpenAIChat, ParseOptions{})
	for i := range body {
		s.Write([]byte{body[i]})
	}
	if a, err := s.Close(); err != nil || a.Text() != "hi" || a.Cut {
		t.Errorf("got %+v, %v", a, err)
	}
}

// bigAnswer is a stream of about n bytes of text in small deltas.
func bigAnswer(n int) []byte {
	var b strings.Builder
	for i := 0; i < n; i += 8 {
		b.WriteString(chatEvent(`{"content":"abcdefgh"}`))
	}
	b.WriteString("data: [DONE]\n\n")
	return []byte(b.String())
}

// TestStreamCostIsFlat: ten times the text costs about ten times the memory,
// not a hundred times.
func TestStreamCostIsFlat(t *testing.T) {
	cost := func(n int) float64 {
		body := bigAnswer(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := NewStream(OpenAIChat, ParseOptions{})
		for rest := body; len(rest) > 0; {
			k := min(100, len(rest))
			s.Write(rest[:k])
			_ = s.Text()
			rest = rest[k:]
		}
		if a, err := s.Close(); err != nil || len(a.Text()) != n {
			t.Fatalf("%d bytes, %v", len(a.Text()), err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	}
	small, large := cost(20_000), cost(200_000)
	if large > 3*small {
		t.Errorf("bytes allocated per byte of text: %.0f at 20 kB, %.0f at 200 kB", small, large)
	}
}

// TestHostileStreams holds the time of streams made to be slow, with RAX_FULL=1
// of longer ones in smaller pieces.
func TestHostileStreams(t *testing.T) {
	n, piece := 5_000, 1000
	if os.Getenv("RAX_FULL") != "" {
		n, piece = 20_000, 16
	}
	repeat := func(event string) []byte { return []byte(strings.Repeat(event, n)) }
	sse := func(data string) []byte { return repeat("data: " + data + "\n\n") }
	many := func(format string) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "data: "+format+"\n\n", i)
		}
		return []byte(b.String())
	}
	for name, c := range map[string]struct {
		format Format
		body   []byte
	}{
		"signatures":    {AnthropicMessages, sse(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"AAAA"}}`)},
		"growing usage": {AnthropicMessages, many(`{"type":"message_delta","delta":{},"usage":{"k%d":1}}`)},
		"blocks":        {AnthropicMessages, many(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":"a</think>b"}}`)},
		"calls":         {OpenAIChat, many(`{"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"x","function":{"name":"a","arguments":"{}"}}]}}]}`)},
		"details":       {OpenAIChat, many(`{"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":%d}]}}]}`)},
		"items":         {OpenAIResponses, many(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"message","content":[{"type":"output_text","text":"a"}]}}`)},
		"refusals":      {OpenAIResponses, sse(`{"type":"response.refusal.delta","delta":"no"}`)},
		"completions":   {OpenAIResponses, sse(`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"<think>"}]}]}}`)},
		"parts":         {Gemini, sse(`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"s"},{"functionCall":{"name":"f"}}]}}]}`)},
		"array":         {Gemini, append([]byte("["), repeat(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},`)...)},
		"one element":   {Gemini, append([]byte(`[{"a":"`), repeat("xxxxxxxx")...)},
		"one line":      {OllamaNative, repeat("xxxxxxxx")},
		"data lines":    {OpenAIChat, repeat("data: {}\n")},
		"no end":        {OpenAIChat, append([]byte("data: "), repeat("xxxxxxxx")...)},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStream(c.format, ParseOptions{OnDelta: func(Delta) {}})
			for rest := c.body; len(rest) > 0; {
				k := min(piece, len(rest))
				s.Write(rest[:k])
				rest = rest[k:]
			}
			a, _ := s.Close()
			parsers.Attach(&a, true)
			if len(a.Warnings) > maxWarnings+1 {
				t.Errorf("%d warnings", len(a.Warnings))
			}
		})
	}
}

func BenchmarkParseBody(b *testing.B) {
	text := strings.Repeat("The answer, line by line.\\n", 200_000/26)
	body := []byte(`{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + text +
		`","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(OpenAIChat, body, ParseOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStream reads answers of three sizes: the time per byte of text stays
// the same.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{2_000, 20_000, 200_000} {
		body := bigAnswer(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				s := NewStream(OpenAIChat, ParseOptions{})
				for rest := body; len(rest) > 0; {
					k := min(1400, len(rest)) // a packet
					s.Write(rest[:k])
					_ = s.Text()
					rest = rest[k:]
				}
				if _, err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
