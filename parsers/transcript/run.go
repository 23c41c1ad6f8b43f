package transcript

import (
	"strconv"

	"github.com/rax-project/rax/trace"
)

// The values of trace.RunCompleted.Status. A transcript does not say whether its
// run did what was asked, so nothing here is called a success. "completed" means
// that the last turn ended with an answer of the model and without open calls,
// "cancelled" that the user interrupted it,
// "failure" that it ended with an error of the model's API. Everything else,
// such as a file that stops after a tool result, is "unknown".
const (
	statusCompleted = "completed"
	statusCancelled = "cancelled"
	statusFailure   = "failure"
	statusUnknown   = "unknown"
)

// The values of trace.TurnCompleted.State.
const (
	turnDone        = "completed"
	turnFailed      = "failed"
	turnInterrupted = "interrupted"
)

// run writes the events of one run. It knows no format.
type run struct {
	out      *output
	base     trace.Base
	provider string
	// asked says that something asked the model for its reasons.
	asked bool
	// main is the run that the account counts.
	main bool

	// first and last are the times of the first and the last thing of the run.
	first, last int64
	turn        int
	groups      int // parallel groups of the turn
	iters       int
	calls       int
	open        map[string][]*openCall // by the provider's id, oldest first
	opened      int                    // how many are open
	prompts     map[string]*openCall   // those that start a sub-agent, by its task
	tokens      trace.Tokens
	counted     bool // some message said what it cost

	// What the turn, or the run without turns, ended with so far.
	answer      string
	interrupted bool
	failed      string
}

// openCall is a call without a result.
type openCall struct {
	callID string
	tool   string
	at     int64
	timed  bool
	iter   int
	turn   int
	prompt string
	// in is the message of the call while it is not yet written.
	in *message
}

// when gives the time of something of the run: what has none has that of the
// thing before it.
func (r *run) when(at int64) int64 {
	if at == 0 {
		return r.last
	}
	return at
}

// see is when, and notes the time as the last of the run so far.
func (r *run) see(at int64) int64 {
	r.last = r.when(at)
	if r.first == 0 {
		r.first = r.last
	}
	return r.last
}

// emit writes an event of the run, at a time and in an iteration.
func (r *run) emit(ev trace.Event, at int64, iter int) error {
	return r.emitCall(ev, at, iter, r.turn, "")
}

// emitCall writes an event about a call.
func (r *run) emitCall(ev trace.Event, at int64, iter, turn int, callID string) error {
	base := r.base
	base.Timestamp, base.Iter, base.Turn, base.CallID = at, iter, turn, callID
	*ev.Common() = base
	return r.out.emit(ev)
}

// start writes run-started.
func (r *run) start(ev *trace.RunStarted, at int64, callID string) error {
	return r.emitCall(ev, r.see(at), trace.NoIter, 0, callID)
}

// beginTurn ends the turn before and begins one with what the user said.
func (r *run) beginTurn(input string, at int64) error {
	if err := r.endTurn(); err != nil {
		return err
	}
	r.turn++
	r.groups = 0
	r.out.account.Turns++
	return r.emit(&trace.TurnStarted{Input: input}, r.see(at), trace.NoIter)
}

// endTurn ends the turn under way, if there is one.
func (r *run) endTurn() error {
	defer func() { r.answer, r.interrupted, r.failed = "", false, "" }()
	if r.turn == 0 {
		return nil
	}
	ev := &trace.TurnCompleted{State: turnDone, Response: r.answer}
	switch {
	case r.interrupted:
		ev.State = turnInterrupted
	case r.failed != "":
		ev.State, ev.Error = turnFailed, r.failed
	}
	return r.emit(ev, r.last, trace.NoIter)
}

// finish ends the run.
func (r *run) finish() error {
	ev := &trace.RunCompleted{Status: statusUnknown, Error: r.failed, Output: r.answer}
	switch {
	case r.interrupted:
		ev.Status, ev.Error = statusCancelled, ""
	case r.failed != "":
		ev.Status = statusFailure
	case r.answer != "" && r.opened == 0:
		ev.Status = statusCompleted
	}
	if r.answer != "" || r.failed != "" || r.interrupted {
		// A file that stops in the middle of a turn does not say how it ended.
		if err := r.endTurn(); err != nil {
			return err
		}
	}
	if r.first != 0 && r.last >= r.first {
		ms := float64(r.last - r.first)
		ev.DurationMs = &ms
	}
	if r.counted {
		tokens := r.tokens
		total := value(tokens.Input) + value(tokens.Output) + value(tokens.CacheRead) + value(tokens.CacheWrite)
		ev.Tokens, ev.TotalTokens = &tokens, &total
	}
	if r.main {
		r.out.account.UnpairedCalls += r.opened
		r.out.account.Tokens = Tokens{
			Input: value(r.tokens.Input), Output: value(r.tokens.Output),
			CacheRead: value(r.tokens.CacheRead), CacheWrite: value(r.tokens.CacheWrite),
		}
	}
	return r.emitCall(ev, r.last, trace.NoIter, 0, "")
}

// nextIter numbers a message of the model, from 1.
func (r *run) nextIter() int {
	r.iters++
	return r.iters
}

// begin notes a call of a message under way: results may come before the message
// is whole.
func (r *run) begin(m *message, c *callPart) {
	r.calls++
	c.open = &openCall{
		callID: "c" + strconv.Itoa(r.calls), tool: c.tool,
		at: c.at, timed: c.timed, iter: m.iter, turn: r.turn, prompt: c.prompt, in: m,
	}
	r.open[c.providerID] = append(r.open[c.providerID], c.open)
	r.opened++
	if c.prompt != "" && r.prompts[c.prompt] == nil {
		if r.prompts == nil {
			r.prompts = make(map[string]*openCall)
		}
		r.prompts[c.prompt] = c.open
	}
	m.addCall(c)
	if r.main {
		r.out.account.Calls++
	} else {
		r.out.account.SubCalls++
	}
}

// end takes a result: it ends the oldest open call of its id. A result without a
// call is only counted.
func (r *run) end(res *resultPart) error {
	acc := r.out.account
	if r.main {
		acc.Results++
		if res.failed != nil && *res.failed {
			acc.Errors++
		}
		if res.rejected {
			acc.Rejected++
		}
	} else {
		acc.SubResults++
	}
	calls := r.open[res.providerID]
	if len(calls) == 0 {
		if r.main {
			acc.UnpairedResults++
		}
		return nil
	}
	res.call = calls[0]
	if r.opened--; len(calls) == 1 {
		delete(r.open, res.providerID)
	} else {
		r.open[res.providerID] = calls[1:]
	}
	if r.prompts[res.call.prompt] == res.call {
		delete(r.prompts, res.call.prompt)
	}
	if m := res.call.in; m != nil {
		m.addResult(res)
		return nil
	}
	return r.writeEnd(res)
}

// writeEnd writes the end of a call.
func (r *run) writeEnd(res *resultPart) error {
	call := res.call
	if res.rejected {
		ev := &trace.ApprovalResolved{ToolName: call.tool, Decision: "denied", By: "user"}
		if err := r.emitCall(ev, res.at, call.iter, call.turn, call.callID); err != nil {
			return err
		}
	}
	ev := &trace.ToolCallEnd{ToolName: call.tool, Rejected: res.rejected, Result: res.content}
	if res.failed != nil {
		ok := !*res.failed
		ev.OK = &ok
		if !ok {
			ev.Error = res.text
		}
	}
	if call.timed && res.timed && res.at >= call.at {
		ms := float64(res.at - call.at)
		ev.DurationMs = &ms
	}
	return r.emitCall(ev, res.at, call.iter, call.turn, call.callID)
}

// starter finds the open call that started a sub-agent: by the provider's id, or
// by the very text that the sub-agent was told.
func (r *run) starter(providerID, prompt string) (callID string) {
	if calls := r.open[providerID]; len(calls) > 0 && providerID != "" {
		return calls[0].callID
	}
	if call := r.prompts[prompt]; call != nil {
		return call.callID
	}
	return ""
}

// close writes a message that is whole. group says how many calls the message
// has in all, and gives the number of its parallel group, once it has one.
func (r *run) close(m *message, total int, group **int) error {
	for _, it := range m.items {
		if it.call != nil {
			it.call.open.in = nil
		}
	}
	r.answer, r.interrupted, r.failed = m.answer(), false, ""
	if err := r.writeExchange(m); err != nil {
		return err
	}
	if total > 1 && *group == nil && m.calls() > 0 {
		n := r.groups
		r.groups++
		*group = &n
		if r.main {
			r.out.account.ParallelGroups++
		}
	}
	w := newMessageWriter(r, m, *group)
	for _, it := range m.items {
		var err error
		switch {
		case it.text != nil:
			err = w.text(it.text)
		case it.call != nil:
			err = w.call(it.call)
		case it.result != nil:
			err = r.writeEnd(it.result)
		}
		if err != nil {
			return err
		}
	}
	return w.unmatched()
}

func (r *run) writeExchange(m *message) error {
	if m.again {
		return nil
	}
	if m.tokens != nil {
		r.counted = true
		add(&r.tokens.Input, m.tokens.Input)
		add(&r.tokens.Output, m.tokens.Output)
		add(&r.tokens.Reasoning, m.tokens.Reasoning)
		add(&r.tokens.CacheRead, m.tokens.CacheRead)
		add(&r.tokens.CacheWrite, m.tokens.CacheWrite)
		r.tokens.LowerBound = r.tokens.LowerBound || m.tokens.LowerBound
	}
	return r.emit(&trace.LLMExchange{
		Provider: r.provider, Model: m.model, MessageID: m.id, StopReason: m.stop, Tokens: m.tokens,
	}, m.at, m.iter)
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// add adds a count that may be absent; a sum of nothing stays absent.
func add(sum **int64, n *int64) {
	if n == nil {
		return
	}
	total := value(*sum) + *n
	*sum = &total
}
