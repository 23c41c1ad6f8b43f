package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/trace"
)

// recordedCall is a tool call as its trace holds it.
type recordedCall struct {
	tool string
	args json.RawMessage
	end  *trace.ToolCallEnd
	// answers is how many answers the run had when the call was made.
	answers int
}

func (r *recorded) started(ev *trace.ToolCallStart) {
	c := &recordedCall{tool: ev.ToolName, args: ev.Args, answers: len(r.answers)}
	r.calls = append(r.calls, c)
	key := callKey{ev.ToolName, ev.CallID}
	r.open[key] = append(r.open[key], c)
}

// ended finds the call that ended: by its tool and id, or else the first open
// one of the tool, as traces of other programs have it.
func (r *recorded) ended(ev *trace.ToolCallEnd) {
	key := callKey{ev.ToolName, ev.CallID}
	calls := r.open[key]
	if len(calls) == 0 {
		return
	}
	c := calls[0]
	r.open[key] = calls[1:]
	c.end = ev
	if len(c.args) == 0 {
		c.args = ev.Args
	}
}

// Replay is a toolbox that makes no calls: it gives what the calls of a recorded
// run gave. It stands beside [Player], since both play what one reading of a
// trace found. It may be used by several goroutines.
type Replay struct {
	specs []kernel.ToolSpec
	known map[string]kernel.ToolSpec
	subs  map[string]*Replay

	mu sync.Mutex
	// open are the calls that were not asked for yet, in their order, by tool
	// and arguments; made counts those that were.
	open map[callKey][]*recordedCall
	made map[callKey]int
}

// callKey finds calls again: by a tool, and its arguments or a call's id.
type callKey struct{ tool, of string }

// ReplayTools returns the toolbox of a trace's root run. It lists the tools that
// the model was offered, or where the trace does not say so those that were
// called. Their schemas take any object: a trace does not hold them. So do the
// effects, which are none.
func ReplayTools(records iter.Seq2[trace.Record, error]) (*Replay, error) {
	root, err := readRuns(records)
	if err != nil {
		return nil, err
	}
	return root.replay(0), nil
}

func (r *recorded) replay(depth int) *Replay {
	t := &Replay{
		known: map[string]kernel.ToolSpec{}, subs: map[string]*Replay{},
		open: map[callKey][]*recordedCall{}, made: map[callKey]int{},
	}
	offered := len(r.tools.list)
	for _, c := range r.calls {
		r.tools.add(c.tool)
		if c.end != nil && c.end.Rejected {
			continue // it never reached a toolbox
		}
		key := keyOf(c.tool, c.args)
		t.open[key] = append(t.open[key], c)
	}
	for i, name := range r.tools.list {
		spec := kernel.ToolSpec{
			Name: name, Description: "replayed from a trace",
			Schema: json.RawMessage(`{"type":"object"}`), Effects: kernel.EffectNone,
		}
		t.known[name] = spec
		// A name that the model made up is known, for its recorded error, and
		// not offered.
		if i < offered || offered == 0 {
			t.specs = append(t.specs, spec)
		}
	}
	for _, sub := range r.subs {
		if _, taken := t.subs[sub.openedBy]; !taken && sub.openedBy != "" && depth < maxDepth {
			t.subs[sub.openedBy] = sub.replay(depth + 1)
		}
	}
	return t
}

// keyOf makes equal arguments equal, whatever their spacing and the order of
// their members.
func keyOf(tool string, args json.RawMessage) callKey {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if len(args) == 0 || d.Decode(&v) != nil {
		return callKey{tool, string(args)}
	}
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return callKey{tool, ""} // a call without arguments may be stored without
	}
	canonical, err := json.Marshal(v)
	if err != nil {
		return callKey{tool, string(args)}
	}
	return callKey{tool, string(canonical)}
}

// Sub is the toolbox of the sub-run that a call opened, by its callId; nil when
// there is none.
func (t *Replay) Sub(callID string) *Replay { return t.subs[callID] }

// Specs implements [kernel.Toolbox].
func (t *Replay) Specs() []kernel.ToolSpec { return slices.Clone(t.specs) }

// Lookup implements [kernel.Toolbox].
func (t *Replay) Lookup(name string) (kernel.ToolSpec, bool) {
	spec, ok := t.known[name]
	return spec, ok
}

// NotRecordedError says that a trace does not hold what a call gave.
type NotRecordedError struct {
	Tool   string
	Reason string
}

func (e *NotRecordedError) Error() string {
	return fmt.Sprintf("replay of %s: %s", e.Tool, e.Reason)
}

// Call implements [kernel.Toolbox]: it gives the results in the order in which
// they were recorded for the tool and the arguments.
func (t *Replay) Call(ctx context.Context, name string, args json.RawMessage) (kernel.ToolResult, error) {
	if err := ctx.Err(); err != nil {
		return kernel.ToolResult{}, err
	}
	c, err := t.take(keyOf(name, args))
	if err != nil {
		return kernel.ToolResult{}, err
	}
	end := c.end
	switch {
	case end == nil:
		return kernel.ToolResult{}, &NotRecordedError{name, "the trace does not hold what this call gave"}
	case end.Error != "":
		return kernel.ToolResult{}, errors.New(end.Error)
	case end.OK != nil && !*end.OK:
		return kernel.ToolResult{}, errors.New("the call failed; the trace does not say why")
	}
	res := kernel.ToolResult{Content: string(end.Result), Summary: end.Outcome, Truncated: end.ResultTruncated}
	var s string
	if json.Unmarshal(end.Result, &s) == nil {
		res.Content = s
	}
	return res, nil
}

func (t *Replay) take(key callKey) (*recordedCall, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := t.open[key]
	if len(calls) > 0 {
		t.open[key] = calls[1:]
		t.made[key]++
		return calls[0], nil
	}
	reason := "the trace holds no call with these arguments"
	if _, ok := t.known[key.tool]; !ok {
		reason = "the trace holds no call of it"
	} else if n := t.made[key]; n > 0 {
		reason = fmt.Sprintf("the trace holds %d such calls, and all were made", n)
	}
	return nil, &NotRecordedError{key.tool, reason}
}

// Then gives the toolbox of a run that goes on after a number of recorded
// answers: the calls of those are replayed, all others are made by live.
func (t *Replay) Then(answers int, live kernel.Toolbox) kernel.Toolbox {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, calls := range t.open {
		t.open[key] = slices.DeleteFunc(calls, func(c *recordedCall) bool { return c.answers > answers })
	}
	return goingOn{live, t}
}

// goingOn is a live toolbox behind a recorded one.
type goingOn struct {
	kernel.Toolbox
	recorded *Replay
}

// Call implements [kernel.Toolbox].
func (g goingOn) Call(ctx context.Context, name string, args json.RawMessage) (kernel.ToolResult, error) {
	if g.recorded.holds(keyOf(name, args)) {
		return g.recorded.Call(ctx, name, args)
	}
	return g.Toolbox.Call(ctx, name, args)
}

// holds reports whether a call is still to be replayed.
func (t *Replay) holds(key callKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open[key]) > 0
}
