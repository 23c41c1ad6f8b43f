package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// RecordedError is what ended a request in the run that is replayed.
type RecordedError struct {
	Message string
	Code    string
}

func (e *RecordedError) Error() string { return "recorded: " + e.Message }

// errNoResponse is the error of an exchange whose response was not stored.
var errNoResponse = errors.New("the trace holds no response for this exchange")

// FromTrace returns the player of a trace's root run: the answers of its
// llm-exchange events, the first upTo of them, or all when upTo is negative.
// The sub-runs have players of their own, see [Player.Sub].
//
// A trace holds what the safety rules left, so that secrets play as their
// redaction marks. It holds neither signatures of thinking nor where between
// the texts a thought or a call stood: thinking plays first, then the text, then
// the calls. Line breaks stand between texts that were apart.
//
// Records that are damaged are an error, except for a last line that is torn: of
// a run that crashed everything before it is played.
func FromTrace(records iter.Seq2[trace.Record, error], upTo int) (*Player, error) {
	root, err := readRuns(records)
	if err != nil {
		return nil, err
	}
	p := root.player(0)
	if upTo >= 0 && upTo < len(p.answers) {
		p.answers = p.answers[:upTo]
	}
	return p, nil
}

// recorded is a run as its trace holds it.
type recorded struct {
	id, parent, openedBy, model string
	nested                      bool
	answers                     []recordedAnswer
	tools                       names // that were offered, by the provider's own means
	structured                  bool  // an answer's shape was enforced
	calls                       []*recordedCall
	open                        map[callKey][]*recordedCall // without an end, by tool and id
	subs                        []*recorded
}

type recordedAnswer struct {
	seq int64
	Answer
	// thoughts are what reasoning-recorded events hold, if there are any.
	thoughts []parsers.Part
}

// readRuns reads a trace and gives its root run.
func readRuns(records iter.Seq2[trace.Record, error]) (*recorded, error) {
	var runs []*recorded
	byID := map[string]*recorded{}
	for rec, err := range records {
		if err != nil {
			var damage *trace.SyntaxError
			if errors.As(err, &damage) && (damage.Damage == trace.Torn || damage.Damage == trace.Joined) {
				continue // what was read is whole
			}
			return nil, err
		}
		ev, _, err := trace.Decode(rec)
		if err != nil {
			continue // of no kind: no event
		}
		id := ev.Common().RunID
		r := byID[id]
		if r == nil {
			r = &recorded{id: id, open: map[callKey][]*recordedCall{}}
			byID[id] = r
			runs = append(runs, r)
		}
		r.add(ev)
	}
	var roots []*recorded
	for _, r := range runs {
		switch parent := byID[r.parent]; {
		case parent != nil && parent != r:
			parent.subs = append(parent.subs, r)
		case !r.nested:
			roots = append(roots, r)
		}
	}
	switch len(roots) {
	case 0:
		return nil, errors.New("the trace holds no root run")
	case 1:
		return roots[0], nil
	}
	return nil, fmt.Errorf("the trace holds %d root runs; one can be replayed", len(roots))
}

func (r *recorded) add(ev trace.Event) {
	if b := ev.Common(); b.ParentRunID != "" {
		r.parent, r.nested = b.ParentRunID, true
	} else if b.Depth > 0 || b.RootRunID != "" && b.RootRunID != b.RunID {
		r.nested = true
	}
	var last *recordedAnswer
	if n := len(r.answers); n > 0 {
		last = &r.answers[n-1]
	}
	switch ev := ev.(type) {
	case *trace.RunStarted:
		r.openedBy, r.model = ev.CallID, ev.Model
	case *trace.LLMExchange:
		r.exchange(ev)
	case *trace.ReasoningRecorded:
		if last != nil && (ev.Origin == nil || ev.Origin.Event == nil || *ev.Origin.Event == last.seq) {
			last.thoughts = append(last.thoughts, parsers.Part{
				Kind: parsers.PartThinking, Text: ev.Text, Format: ev.Format, Span: rationale.Span{End: len(ev.Text)},
			})
		}
	case *trace.ErrorRaised:
		if ev.Where == "model" && last != nil {
			last.Err = &RecordedError{Message: ev.Message, Code: ev.Code}
		}
	case *trace.ToolCallStart:
		r.started(ev)
	case *trace.ToolCallEnd:
		r.ended(ev)
	}
}

// exchange reads an answer. The members of response are Reactive Agents' and
// rax's.
func (r *recorded) exchange(ev *trace.LLMExchange) {
	a := &parsers.Answer{ID: ev.MessageID, Model: ev.Model, Finish: ev.StopReason, Cut: ev.Cut}
	if t := ev.Tokens; t != nil {
		a.Usage = parsers.Usage{
			Input: t.Input, Output: t.Output, Reasoning: t.Reasoning, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite,
		}
	}
	answer := recordedAnswer{seq: ev.Seq, Answer: Answer{Parsed: a}}
	if ev.Cut {
		answer.Err = &CutError{Provider: "recorded"}
	}
	m, err := object(ev.Response)
	if err != nil {
		answer.Err = errNoResponse
	}
	if s := text(m["stopReason"]); a.Finish == "" {
		a.Finish = s
	}
	a.Refusal = text(m["refusal"])
	counts := map[string]**int64{"tokensIn": &a.Usage.Input, "tokensOut": &a.Usage.Output}
	for name, into := range counts {
		var n int64
		if *into == nil && m[name] != nil && json.Unmarshal(m[name], &n) == nil {
			*into = &n
		}
	}
	add := func(kind parsers.PartKind, field, format string) {
		if s := text(m[field]); s != "" {
			a.Parts = append(a.Parts, parsers.Part{
				Kind: kind, Text: s, Format: format, Pointer: "/response/" + field, Span: rationale.Span{End: len(s)},
			})
		}
	}
	add(parsers.PartThinking, "thinking", "parsed")
	add(parsers.PartText, "content", "")
	var calls []json.RawMessage
	if m["toolCalls"] != nil && json.Unmarshal(m["toolCalls"], &calls) != nil {
		answer.Err = errNoResponse
	}
	for i, raw := range calls {
		c, err := object(raw)
		if err != nil {
			answer.Err = errNoResponse
			continue
		}
		call := parsers.Call{
			ID: text(c["id"]), Name: text(c["name"]), Arguments: c["arguments"],
			Pointer: fmt.Sprintf("/response/toolCalls/%d", i),
			Capture: rationale.Capture{Status: rationale.Missing, Part: -1},
		}
		var written string
		switch {
		case len(call.Arguments) == 0:
			call.Arguments = json.RawMessage("{}")
		case json.Unmarshal(call.Arguments, &written) == nil && !json.Valid([]byte(written)):
			// Arguments that were no JSON are stored as a string.
			call.Arguments, call.Invalid = json.RawMessage(written), true
		}
		a.Parts = append(a.Parts, parsers.Part{Kind: parsers.PartCall, Call: len(a.Calls), Pointer: call.Pointer})
		a.Calls = append(a.Calls, call)
	}
	r.structured = r.structured || ev.RequestKind == "completeStructured"
	for _, name := range ev.ToolSchemaNames {
		r.tools.add(name)
	}
	r.answers = append(r.answers, answer)
}

// player makes the run's player and those of its sub-runs.
func (r *recorded) player(depth int) *Player {
	p := Script("of run " + r.id)
	native := len(r.tools.list) > 0 || len(r.calls) == 0
	for _, a := range r.answers {
		native = native || len(a.Parsed.Calls) > 0
		if len(a.thoughts) > 0 {
			parts := a.thoughts
			for _, part := range a.Parsed.Parts {
				if part.Kind != parsers.PartThinking {
					parts = append(parts, part)
				}
			}
			a.Parsed.Parts = parts
		}
		p.answers = append(p.answers, a.Answer)
	}
	p.info = kernel.ModelInfo{
		Provider: scripted, Name: r.model, Format: provider.OpenAIChat,
		// A run whose calls stand in no answer had them written as text.
		NativeTools: native, Structured: r.structured,
	}
	p.subs = map[string]*Player{}
	for _, sub := range r.subs {
		if _, taken := p.subs[sub.openedBy]; !taken && sub.openedBy != "" && depth < maxDepth {
			p.subs[sub.openedBy] = sub.player(depth + 1)
		}
	}
	return p
}

// maxDepth bounds how deep sub-runs are followed.
const maxDepth = 64

// names is a list without repetitions.
type names struct {
	list []string
	has  map[string]bool
}

func (n *names) add(s string) {
	if n.has[s] {
		return
	}
	if n.has == nil {
		n.has = map[string]bool{}
	}
	n.has[s] = true
	n.list = append(n.list, s)
}
