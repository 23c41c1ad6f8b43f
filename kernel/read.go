package kernel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// The JSON Pointers of the texts in an llm-exchange event.
const (
	contentField  = "/response/content"
	thinkingField = "/response/thinking"
)

// The ways in which a call can be written; they are the path label of the
// metric rationale_missing.
const (
	pathNative = "native"
	pathText   = "text"
	pathPlan   = "plan"
)

// read makes a Thought of an answer. The calls and their arguments are those of
// the answer itself; what is said about them is read from the stored exchange.
func (r *run) read(ask Ask, o offer, x exchange, a parsers.Answer) Thought {
	t := Thought{Raw: x.content, Refused: a.Refusal != "", exchange: x, written: join(a, parsers.PartText)}
	if onlyTags(a) {
		t.Tagged = x.thinking
	}
	captures, unmatched := rationale.Attach(x.parts(), len(a.Calls))
	switch {
	case ask.Read != nil:
		parsed, stored := ask.Read(t.written), ask.Read(x.content)
		t.Text = strings.TrimSpace(stored.Text)
		t.Calls = r.textCalls(x, parsed, stored)
		unmatched = stored.Unmatched
	case len(a.Calls) > 0 || r.native() || !o.offered():
		t.Text = strings.TrimSpace(rationale.Strip(x.content))
		t.Calls = nativeCalls(o, x, a, captures)
	default:
		parsed := text.Parse(t.written, o.names())
		stored := text.Parse(x.content, o.names())
		t.Text = strings.TrimSpace(stored.Text)
		t.Calls = r.textCalls(x, parsed, stored)
		unmatched = stored.Unmatched
	}
	if !o.asked {
		for i := range t.Calls {
			if t.Calls[i].Capture.Status == rationale.Missing {
				t.Calls[i].Capture.Status = rationale.Unasked
			}
		}
	}
	t.exchange.unmatched = unmatched
	if len(t.Calls) > 0 {
		beside(t.Calls, x, a)
	}
	return t
}

// onlyTags reports whether all thinking of an answer stood in tags of its text.
func onlyTags(a parsers.Answer) bool {
	tagged := false
	for _, p := range a.Parts {
		if p.Kind != parsers.PartThinking || p.Text == "" {
			continue
		}
		if p.Format != string(thinking.ThinkTags) {
			return false
		}
		tagged = true
	}
	return tagged
}

// parts are the stored texts in which blocks are looked for.
func (x exchange) parts() []rationale.Part {
	return []rationale.Part{{Text: x.content}, {Text: x.thinking, Thinking: true}}
}

// at is the origin of a span of a stored text.
func (x exchange) at(part int, span rationale.Span) *rationale.Origin {
	field := contentField
	if part == 1 {
		field = thinkingField
	}
	return &rationale.Origin{Event: new(x.seq), Field: field, Start: span.Start, End: span.End}
}

func nativeCalls(o offer, x exchange, a parsers.Answer, captures []rationale.Capture) []Call {
	var calls []Call
	for i, c := range a.Calls {
		c.Capture = captures[i]
		if slices.Contains(o.injected, c.Name) {
			c.TakeArgument()
		}
		call := Call{Name: c.Name, Args: c.Arguments, ProviderID: c.ID, Capture: c.Capture, Path: pathNative}
		if c.Invalid {
			call.Invalid = "the arguments are not valid JSON"
		}
		switch {
		case c.Capture.Source == rationale.SourceArgument:
			call.Origin = x.argument(i, c.Capture)
		case c.Capture.Part >= 0 && c.Capture.Span.Len() > 0:
			call.Origin = x.at(c.Capture.Part, c.Capture.Span)
		}
		calls = append(calls, call)
	}
	return calls
}

// argument is the origin of a reason that stands in the arguments of call i; nil
// where the trace holds them as no object.
func (x exchange) argument(i int, c rationale.Capture) *rationale.Origin {
	field := fmt.Sprintf("/response/toolCalls/%d/arguments/rationale/why", i)
	why, ok := trace.Pointer(x.rec, field)
	if !ok || c.Rationale == nil {
		return nil
	}
	end := len(why)
	if c.Rationale.Truncated { // what is kept is shorter than what stands there
		end = min(end, len(c.Rationale.Why))
	}
	return &rationale.Origin{Event: new(x.seq), Field: field, End: end}
}

// reasonStoredDiffers says why a call has no reason although one was stated.
const reasonStoredDiffers = "the text reads differently once secrets are removed from it"

// textCalls are the calls that a model wrote as text. What was stored says why;
// what came says what. Where storing changed a text so much that both read
// differently, no reason is given to any call.
func (r *run) textCalls(x exchange, parsed, stored text.Result) []Call {
	var calls []Call
	same := len(parsed.Calls) == len(stored.Calls)
	for i, c := range parsed.Calls {
		call := Call{Name: c.Name, Args: c.Arguments, Path: pathText}
		if c.Untyped {
			call.Args = r.typed(c.Name, c.Arguments)
		}
		call.Capture = rationale.Capture{
			Status: rationale.Malformed, Part: -1,
			Reason: reasonStoredDiffers,
		}
		if same && stored.Calls[i].Name == c.Name {
			s := stored.Calls[i]
			call.Capture = s.Capture
			if s.WhySpan.Len() > 0 {
				call.Origin = x.at(0, s.WhySpan)
			}
		}
		calls = append(calls, call)
	}
	for _, rejected := range parsed.Rejected {
		calls = append(calls, Call{
			Name: rejected.Name, Invalid: rejected.Reason, Path: pathText, Args: json.RawMessage("{}"),
			Capture: rationale.Capture{Status: rationale.Missing, Part: -1},
		})
	}
	return calls
}

// beside gives every call the text that stands beside it.
func beside(calls []Call, x exchange, a parsers.Answer) {
	text := x.content
	if calls[0].Path == pathText {
		// The calls stand in the text themselves: what comes before the first.
		if i := strings.IndexAny(text, "{[<"); i >= 0 {
			text = text[:i]
		}
	}
	span, cut := rationale.Narrative(text)
	for i := range calls {
		c := &calls[i]
		c.Withheld = a.Withheld()
		if span.Len() == 0 {
			continue
		}
		c.Narrative, c.NarrativeCut = span.In(text), cut
		c.NarrativeOrigin = x.at(0, span)
		c.NarrativeScope = "call"
		if len(calls) > 1 {
			c.NarrativeScope = "group"
		}
	}
}

// offered reports whether the model was given anything to call.
func (o offer) offered() bool { return len(o.known) > 0 }

// names are the tools that the model was given.
func (o offer) names() []string { return o.known }

// recordThinking stores what the provider disclosed of the model's thinking, or
// that it did not.
func (r *run) recordThinking(x exchange, a parsers.Answer) error {
	verbatim := 0
	for _, p := range a.Parts {
		if p.Kind != parsers.PartThinking {
			continue
		}
		ev := &trace.ReasoningRecorded{Format: p.Format, Hidden: p.Text == "", Tokens: a.Usage.Reasoning, Text: p.Text}
		if p.Text != "" && p.Format != string(thinking.Summary) {
			if i := strings.Index(x.thinking[min(verbatim, len(x.thinking)):], p.Text); i >= 0 {
				start := min(verbatim, len(x.thinking)) + i
				ev.Origin = x.at(1, rationale.Span{Start: start, End: start + len(p.Text)})
				verbatim = start + len(p.Text)
			}
		}
		if err := r.note(ev); err != nil {
			return err
		}
	}
	return nil
}

// recordUnmatched stores the blocks that belong to no call.
func (r *run) recordUnmatched(x exchange) error {
	for _, u := range x.unmatched {
		if err := r.note(&trace.RationaleUnmatched{StatedCall: u.Call, Reason: u.Reason, Origin: x.at(u.Part, u.Span)}); err != nil {
			return err
		}
	}
	return nil
}

// recordAssumptions stores what the model says that it assumes, in its text and
// in its thinking, at most rationale.MaxAssumptions in one iteration.
func (r *run) recordAssumptions(t Thought) error {
	x := t.exchange
	said := rationale.Assumptions(x.content)
	inText := len(said)
	for _, a := range rationale.Assumptions(x.thinking) {
		if !slices.ContainsFunc(said, func(b rationale.Assumption) bool { return strings.EqualFold(a.Text, b.Text) }) {
			said = append(said, a)
		}
	}
	for i, a := range said[:min(len(said), rationale.MaxAssumptions)] {
		part := 0
		if i >= inText {
			part = 1
		}
		if err := r.assume(a, x.at(part, a.Span)); err != nil {
			return err
		}
	}
	return nil
}

// assume stores one assumption. Without a stated reason it has none, and that
// is counted.
func (r *run) assume(a rationale.Assumption, at *rationale.Origin) error {
	ev := &trace.AssumptionRecorded{Assumption: a.Text, Origin: at}
	if a.Why != "" {
		ev.Rationale = &rationale.Rationale{Why: a.Why, Confidence: a.Confidence}
	}
	if err := r.note(ev); err != nil || a.Why != "" {
		return err
	}
	return r.metric(trace.MetricAssumptionUnjustified, nil)
}

// typed converts arguments that were all written as strings to what the tool's
// schema says they are. A value that does not convert stays as written, for the
// validation to complain about.
func (r *run) typed(tool string, args json.RawMessage) json.RawMessage {
	spec, ok := r.cfg.Tools.Lookup(tool)
	var written map[string]string
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if !ok || json.Unmarshal(args, &written) != nil || json.Unmarshal(spec.Schema, &schema) != nil {
		return args
	}
	out := make(map[string]json.RawMessage, len(written))
	for name, value := range written {
		quoted, err := json.Marshal(value)
		if err != nil {
			return args
		}
		out[name] = quoted
		switch schema.Properties[name].Type {
		case "integer", "number", "boolean", "object", "array":
			if json.Valid([]byte(value)) {
				out[name] = json.RawMessage(value)
			}
		}
	}
	converted, err := json.Marshal(out)
	if err != nil {
		return args
	}
	return converted
}
