package exchange

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// memory is a trace file in memory.
type memory struct{ bytes.Buffer }

func (m *memory) Sync() error          { return nil }
func (m *memory) Close() error         { return nil }
func (m *memory) Truncate(int64) error { return nil }

const body = `{"id":"c","model":"m","choices":[{"message":{"content":"Look.\n<rationale call=\"1\">{\"why\":\"the <newest> list\",\"assumptions\":[{\"assumption\":\"it is complete\"}]}</rationale>\n<rationale call=\"7\">{\"why\":\"x\"}</rationale>",
"reasoning_content":"Assume nothing.","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"2","function":{"name":"g","arguments":"{\"rationale\":{\"why\":\"as said\"},\"b\":2}"}},{"id":"3","function":{"name":"h","arguments":"{broken"}}]}}],
"usage":{"prompt_tokens":5,"completion_tokens":7}}`

// TestStored: what is said of calls is read from the stored event, to the
// character.
func TestStored(t *testing.T) {
	a, err := provider.Parse(provider.OpenAIChat, []byte(body), provider.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := trace.NewWriter(&memory{}, trace.WriterOptions{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var records []trace.Record
	log := Log(func(ev trace.Event) (trace.Record, error) {
		ev.Common().RunID = "r"
		rec, err := w.Write(ev)
		records = append(records, rec)
		return rec, err
	})
	ev := &trace.LLMExchange{}
	if ev.Response, err = Response(a); err != nil {
		t.Fatal(err)
	}
	rec, err := log(ev)
	if err != nil {
		t.Fatal(err)
	}
	s := Read(rec, ev.Seq, len(a.Calls))
	calls := s.Calls(a, true, []string{"g"})
	for i, want := range []struct {
		why, args string
		source    rationale.Source
		status    rationale.Status
	}{
		{"the <newest> list", `{"a":1}`, rationale.SourceBlock, rationale.Present},
		{"as said", `{"b":2}`, rationale.SourceArgument, rationale.Present},
		{"", `"{broken"`, "", rationale.Missing},
	} {
		c := calls[i]
		if c.Capture.Status != want.status || c.Capture.Source != want.source || string(c.Args) != want.args {
			t.Errorf("call %d: %+v", i, c)
		}
		if want.why == "" {
			continue
		}
		if text, ok := trace.Pointer(rec, c.Origin.Field); !ok || text[c.Origin.Start:c.Origin.End] != want.why {
			t.Errorf("call %d: %+v points at %q", i, c.Origin, text)
		}
		if c.Narrative != "Look." || c.NarrativeScope != "group" {
			t.Errorf("call %d: narrative %q, %s", i, c.Narrative, c.NarrativeScope)
		}
	}
	for i, c := range calls {
		if err := log.Started(string(rune('a'+i)), nil, c, "native"); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Reasoning(s, a); err != nil {
		t.Fatal(err)
	}
	if err := log.Unmatched(s); err != nil {
		t.Fatal(err)
	}
	kinds := map[trace.Kind]int{}
	for _, rec := range records {
		row, err := trace.RowOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		kinds[row.Kind()]++
	}
	for kind, want := range map[trace.Kind]int{
		trace.KindToolCallStart: 3, trace.KindMetric: 2, trace.KindAssumptionRecorded: 1,
		trace.KindReasoningRecorded: 1, trace.KindRationaleUnmatched: 1,
	} {
		if kinds[kind] != want {
			t.Errorf("%d %s, want %d", kinds[kind], kind, want)
		}
	}
	if unasked := s.Calls(a, false, nil)[2]; unasked.Capture.Status != rationale.Unasked {
		t.Errorf("status %s", unasked.Capture.Status)
	}
}

func TestCounts(t *testing.T) {
	var c Counts
	if total, tokens := c.Total(); total != nil || tokens != nil {
		t.Error("something was counted")
	}
	c.Add(parsers.Usage{Input: new(int64(5)), Output: new(int64(7)), CacheRead: new(int64(2))})
	c.Add(parsers.Usage{Total: new(int64(3))})
	c.Add(parsers.Usage{})
	total, tokens := c.Total()
	out, err := json.Marshal(tokens)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"input":8,"output":7,"cacheRead":2,"lowerBound":true}`; *total != 15 || string(out) != want {
		t.Errorf("%d, %s", *total, out)
	}
}
