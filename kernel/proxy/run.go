package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/exchange"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// run writes one run into its trace.
type run struct {
	p    *Proxy
	name string
	base trace.Base

	// Of the book, under its lock.
	busy  int // exchanges under way
	last  time.Time
	turns []*turn

	mu sync.Mutex
	w  *trace.Writer // nil when the trace cannot be written
	// at and iter are those of the events that are being written.
	at     time.Time
	iter   int
	first  time.Time
	latest time.Time
	rounds int // answers so far
	calls  int // calls so far, for their ids
	groups int // parallel groups of the turn
	open   []openCall
	counts exchange.Counts
	system string // the system prompt that the newest exchange holds
	ended  bool
	// output and failed are what the turn under way came to.
	output, failed string
}

// openCall is a call without a result.
type openCall struct {
	id, providerID, name string
	iter, turn           int
}

// The values of trace.RunCompleted.Status. What passes does not say whether the
// run did what was asked, so nothing here is called a success.
const (
	statusCompleted = "completed" // it ended with an answer and without open calls
	statusFailure   = "failure"   // it ended with an error of the provider
	statusUnknown   = "unknown"
)

var errUntraced = errors.New("the trace of the run cannot be written")

// newRun makes the run that begins with a request; nil when it can have no id.
// Where no trace can be made the run goes on without.
func newRun(p *Proxy, x *roundTrip) *run {
	id, err := p.cfg.NewID()
	if err != nil {
		p.cfg.Note("a run gets no id and is not recorded: " + err.Error())
		return nil
	}
	r := &run{p: p, name: x.target.run, base: trace.Base{RunID: id}, first: x.start, latest: x.start, last: x.start}
	if r.w, err = p.cfg.Trace(id); err != nil {
		r.w = nil
		p.cfg.Note(errUntraced.Error() + ": " + err.Error())
	}
	return r
}

// emit stores an event. After a failure nothing more is stored.
func (r *run) emit(ev trace.Event) (trace.Record, error) {
	if r.w == nil || r.ended {
		return trace.Record{}, errUntraced
	}
	b := ev.Common()
	callID := b.CallID
	*b = r.base
	b.CallID, b.Iter, b.Timestamp = callID, r.iter, r.at.UnixMilli()
	rec, err := r.w.Write(ev)
	if err != nil {
		r.p.cfg.Note(errUntraced.Error() + ": " + err.Error())
		err = errors.Join(err, r.w.Close())
		r.w = nil
	}
	return rec, err
}

// note stores events of which nothing more is needed. What goes wrong is noted
// once, by emit.
func (r *run) note(events ...trace.Event) { _ = exchange.Log(r.emit).Note(events...) }

// begin records a request: what the tools gave, and what the user said.
func (r *run) begin(x *roundTrip, at place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.iter, r.latest = x.start, trace.NoIter, x.start
	x.from = at.from
	messages := x.parsed.Messages
	if at.fresh {
		r.note(&trace.RunStarted{
			Task: task(messages), Model: x.parsed.Model, Provider: x.target.upstream.Name, Config: r.settings(x),
		})
	}
	// What is new: behind what earlier exchanges hold, else behind the last answer.
	fresh := messages[at.from:]
	if at.from == 0 {
		last := lastAnswer(messages)
		for last < len(messages) && messages[last].Role == provider.RoleAssistant {
			last++
		}
		if fresh = messages[last:]; last == len(messages) && lastAnswer(messages) == last {
			fresh = messages // nobody has answered yet
		}
	}
	var input []string
	for _, m := range fresh {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == provider.BlockResult:
				r.result(x, b)
			case m.Role == provider.RoleUser && b.Kind == provider.BlockText && strings.TrimSpace(b.Text) != "":
				input = append(input, b.Text)
			}
		}
	}
	if len(input) > 0 {
		r.beginTurn(strings.Join(input, "\n"))
	}
}

// settings are the parts of the configuration that a trace keeps.
func (r *run) settings(x *roundTrip) json.RawMessage {
	doc, err := json.Marshal(struct {
		Proxy  string `json:"proxy"`
		Format string `json:"format"`
		Name   string `json:"name,omitempty"`
	}{string(r.p.cfg.Mode), string(x.target.format), r.name})
	if err != nil {
		return nil
	}
	return doc
}

// task is the first thing that the user said.
func task(messages []provider.Message) string {
	for _, m := range messages {
		var said []string
		for _, b := range m.Blocks {
			if m.Role == provider.RoleUser && b.Kind == provider.BlockText && strings.TrimSpace(b.Text) != "" {
				said = append(said, b.Text)
			}
		}
		if len(said) > 0 {
			return strings.Join(said, "\n")
		}
	}
	return ""
}

// beginTurn ends the turn before and begins one with what the user said.
func (r *run) beginTurn(input string) {
	r.endTurn()
	r.base.Turn++
	r.groups = 0
	r.note(&trace.TurnStarted{Input: input})
}

// endTurn ends the turn under way, if it came to anything.
func (r *run) endTurn() {
	if r.base.Turn > 0 && (r.output != "" || r.failed != "") {
		ev := &trace.TurnCompleted{State: "completed", Response: r.output}
		if r.failed != "" {
			ev.State, ev.Error = "failed", r.failed
		}
		r.iter = trace.NoIter
		r.note(ev)
	}
	r.output, r.failed = "", ""
}

// result ends the call that a result is for: the oldest open one of its id, or
// of its name where the format has no ids.
func (r *run) result(x *roundTrip, b provider.Block) {
	found := -1
	for i, c := range r.open {
		if b.ID != "" && c.providerID == b.ID || b.ID == "" && (b.Name == "" || c.name == b.Name) {
			found = i
			break
		}
	}
	if found < 0 {
		return
	}
	c := r.open[found]
	r.open = append(r.open[:found], r.open[found+1:]...)
	ev := &trace.ToolCallEnd{Base: trace.Base{CallID: c.id}, ToolName: c.name}
	// Only Anthropic says of every result whether the call failed. How long it
	// took nobody says: between its two ends stands all that the client did.
	if x.target.format == provider.AnthropicMessages || b.Failed {
		ev.OK = new(!b.Failed)
	}
	if b.Failed {
		ev.Error = b.Text
	} else {
		ev.Result, _ = json.Marshal(b.Text) // a string always encodes
	}
	now, turn := r.iter, r.base.Turn
	r.iter, r.base.Turn = c.iter, c.turn
	r.note(ev)
	r.iter, r.base.Turn = now, turn
}

// finish records an answer, and reports whether there was none or not all of it.
func (r *run) finish(x *roundTrip) (a parsers.Answer, failed bool) {
	body, problem := x.body()
	if x.status == 0 {
		problem = "the upstream did not answer"
	}
	var err error
	if problem == "" {
		a, err = provider.Parse(x.target.format, body, provider.ParseOptions{Status: x.status})
	}
	a.Cut = a.Cut || x.cut
	if x.refusedOnce { // what was sent in the end is the client's own
		if own, err := provider.ParseRequest(x.target.format, x.conversation(x.original)); err == nil {
			x.parsed.System = own.System
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.latest = x.end, x.end
	r.rounds++
	r.iter = r.rounds
	r.counts.Add(a.Usage)
	r.answer(x, a)
	for _, what := range x.notes {
		r.note(&trace.ErrorRaised{Where: "proxy", Message: what})
	}
	if err != nil {
		ev := &trace.ErrorRaised{Where: "model", Message: err.Error()}
		var api *provider.APIError
		if errors.As(err, &api) {
			ev.Code = api.Code
		}
		r.note(ev)
		problem = err.Error()
	} else if problem != "" {
		r.note(&trace.ErrorRaised{Where: "proxy", Message: problem})
	}
	if problem != "" {
		r.failed = problem
	}
	total, _ := r.counts.Total()
	r.note(&trace.KernelStateSnapshot{
		Status: "thinking", Tokens: total, LLMCalls: new(int64(r.rounds)),
		MessagesCount: new(int64(len(x.parsed.Messages))), StepsCount: new(int64(r.calls)),
	})
	return a, problem != "" || a.Cut
}

// answer writes the round trip and the decisions in it.
func (r *run) answer(x *roundTrip, a parsers.Answer) {
	r.output, r.failed = "", ""
	req := x.parsed
	ev := &trace.LLMExchange{
		Provider: x.target.upstream.Name, Model: req.Model, RequestKind: "complete", MessageID: a.ID,
		StopReason: a.Finish, Cut: a.Cut, DurationMs: new(float64(x.end.Sub(x.start).Milliseconds())),
		Tokens: exchange.Tokens(a.Usage), Temperature: req.Temperature, MessagesFrom: x.from,
	}
	if a.Model != "" && req.Model == "" {
		ev.Model = a.Model
	}
	if req.Stream || x.stream() {
		ev.RequestKind = "stream"
	}
	if req.MaxTokens > 0 {
		ev.MaxTokens = new(int64(req.MaxTokens))
	}
	for _, t := range req.Tools {
		ev.ToolSchemaNames = append(ev.ToolSchemaNames, t.Name)
	}
	if req.System != r.system {
		ev.SystemPrompt, r.system = req.System, req.System
	}
	var err error
	if ev.Messages, err = exchange.Messages(req.Messages[x.from:]); err != nil {
		return
	}
	if ev.Response, err = exchange.Response(a); err != nil {
		return
	}
	rec, err := r.emit(ev)
	if err != nil {
		return
	}
	stored := exchange.Read(rec, ev.Seq, len(a.Calls))
	log := exchange.Log(r.emit)
	if log.Reasoning(stored, a) != nil || log.Unmatched(stored) != nil || log.Assumptions(stored) != nil {
		return
	}
	if a.Cut {
		r.failed = "the answer stopped before its end"
		return // no call of it is to be executed
	}
	calls := stored.Calls(a, x.req.Asked(), x.req.Injected)
	if len(calls) == 0 {
		r.output = strings.TrimSpace(rationale.Strip(stored.Content))
	}
	var group *int
	if len(calls) > 1 {
		group = new(r.groups)
		r.groups++
	}
	for _, c := range calls {
		r.calls++
		id := fmt.Sprintf("c%d", r.calls)
		if log.Started(id, group, c, "native") != nil {
			return
		}
		r.open = append(r.open, openCall{id: id, providerID: c.ProviderID, name: c.Name, iter: r.iter, turn: r.base.Turn})
	}
	r.learn(x, a, calls)
}

// learn switches a model that made calls and stated nothing to the argument
// channel. One whose calls are signed stays with blocks: its arguments are to
// stay as they are.
func (r *run) learn(x *roundTrip, a parsers.Answer, calls []exchange.Call) {
	if r.p.cfg.Mode != ModeAuto || !x.req.Added || len(x.req.Injected) > 0 || len(calls) == 0 {
		return
	}
	for _, c := range calls {
		if c.Capture.Status != rationale.Missing {
			return
		}
	}
	for _, part := range a.Parts {
		if part.Kind == parsers.PartCall && part.Signed != nil {
			return
		}
	}
	r.p.learned.change(x.key, func(h *habit) { h.argument = true })
}

// end writes the end of the run and closes its trace.
func (r *run) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil || r.ended {
		return nil
	}
	r.at = r.p.cfg.Now()
	done := &trace.RunCompleted{
		Status: statusUnknown, Error: r.failed, Output: r.output,
		DurationMs: new(float64(r.latest.Sub(r.first).Milliseconds())),
	}
	switch {
	case r.failed != "":
		done.Status = statusFailure
	case r.output != "" && len(r.open) == 0:
		done.Status = statusCompleted
	}
	r.endTurn()
	done.TotalTokens, done.Tokens = r.counts.Total()
	r.iter, r.base.Turn = trace.NoIter, 0
	r.note(done)
	r.ended = true
	if r.w == nil { // the last events could not be written, and that was told
		return nil
	}
	return r.w.Close()
}
