package kernel

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Ask says what is asked of the model beside the conversation.
type Ask struct {
	// System stands in the system prompt before the mandate.
	System string
	// Extra are messages of this one request, which the conversation does not
	// keep.
	Extra []provider.Message
	// NoTools offers no tools, so that nothing is asked to be called.
	NoTools bool
	// Schema asks for an answer in JSON of this shape; one that the provider
	// cannot enforce is only asked for.
	Schema *provider.Schema
	// Quiet keeps the answer out of the conversation.
	Quiet bool
	// Fresh leaves the conversation out of the request, and the answer out of the
	// conversation: the model sees the system prompt and Extra alone.
	Fresh bool
	// Model is asked instead of the run's; nil for the run's.
	Model Model
	// Read reads the calls of an answer that writes them in a form of the
	// strategy's own. It is given the answer as it came and as it was stored.
	// Such a request offers no tools; the strategy describes them itself.
	Read func(answer string) text.Result
}

// Thought is an answer of the model as the loop sees it.
type Thought struct {
	// Text is what the model wrote for the user, without rationale blocks and
	// calls.
	Text string
	// Raw is the text as the trace holds it.
	Raw   string
	Calls []Call
	// Tagged is the thinking that the model wrote in <think> or <thinking> tags
	// of its text, as the trace holds it; a decoder took it out of Text and Raw.
	Tagged string
	// Refused says that the model or its provider refused to answer.
	Refused bool
	// exchange is where the trace holds the answer.
	exchange exchange
	// written is the text as it came.
	written string
}

// Written is the answer's text as it came. What is to be done is read from it;
// what is shown, kept or said about it is read from Raw.
func (t Thought) Written() string { return t.written }

// Origin is the place of a span of Raw in the trace.
func (t Thought) Origin(span rationale.Span) *rationale.Origin { return t.exchange.at(0, span) }

// Call is a tool call that the model decided on.
type Call struct {
	Name string
	Args json.RawMessage
	// Invalid says why the call cannot be made; empty when it can.
	Invalid    string
	ProviderID string
	Capture    rationale.Capture
	Origin     *rationale.Origin
	// Narrative is text beside the call, and NarrativeScope whether it stands
	// beside this one or beside several.
	Narrative       string
	NarrativeOrigin *rationale.Origin
	NarrativeScope  string
	NarrativeCut    bool
	Withheld        bool
	// Path is how the call was written: native, text or plan.
	Path string
}

// Think asks the model, stores the answer, and reads from what was stored which
// calls it decided on and why.
func (l *Loop) Think(ctx context.Context, ask Ask) (Thought, error) {
	r := l.run
	t, answer, err := r.think(ctx, ask)
	if err != nil {
		return t, err
	}
	if again, ok, err := r.insist(ctx, ask, t); err != nil {
		return t, err
	} else if ok {
		t, answer = again.thought, again.answer
	}
	if err := r.remember(ask, t, answer); err != nil {
		return t, err
	}
	r.learnChannel(ask, t)
	if t.Text != "" && !ask.Quiet && !ask.Fresh {
		r.plain = t.Text
	}
	return t, nil
}

// think sends one request and reads its answer, without keeping it in the
// conversation.
func (r *run) think(ctx context.Context, ask Ask) (Thought, parsers.Answer, error) {
	o := offer{asked: ask.Read != nil && r.cfg.Rationale != RationaleOff}
	if !ask.NoTools && ask.Read == nil {
		var err error
		if o, err = r.offers(); err != nil {
			return Thought{}, parsers.Answer{}, err
		}
	}
	model := r.cfg.Model
	if ask.Model != nil {
		model = ask.Model
	}
	info := model.Info()
	var kept []provider.Message
	if !ask.Fresh {
		kept = r.log.Compile(false)
	}
	req := provider.Request{
		Model:    info.Name,
		System:   joinSystem(r.cfg.System, ask.System, o.system),
		Messages: append(kept, ask.Extra...),
		Tools:    o.tools,
		Thinking: provider.Thinking(r.cfg.Thinking),
	}
	if info.Structured {
		req.Schema = ask.Schema
	}
	reply, err := model.Complete(ctx, req, nil)
	before := r.spent.spent()
	r.spent.add(reply.Answer.Usage, reply.CostUsd)
	r.tokens.Add(r.spent.spent() - before)
	if !ask.Fresh { // the window that the control watches is the conversation's
		r.pulse.prompt = 0
		if n := reply.Answer.Usage.Input; n != nil {
			r.pulse.prompt = *n
		}
	}
	stored, serr := r.exchange(info, req, reply, ask)
	if serr != nil {
		return Thought{}, reply.Answer, serr
	}
	if err != nil {
		return Thought{}, reply.Answer, r.modelFailed(ctx, info, err, reply)
	}
	t := r.read(ask, o, stored, reply.Answer)
	if err := r.recordThinking(stored, reply.Answer); err != nil {
		return t, reply.Answer, err
	}
	return t, reply.Answer, r.recordUnmatched(t.exchange)
}

// modelFailed notes why the model could not be asked. When the run itself was
// stopped that is the reason.
func (r *run) modelFailed(ctx context.Context, info ModelInfo, err error, reply Reply) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failed := &ModelError{Model: info.Name, Err: err}
	raised := &trace.ErrorRaised{Where: "model", Message: failed.Short(), Attempt: reply.Attempts}
	var api *provider.APIError
	if errors.As(err, &api) {
		raised.Code = api.Code
	}
	if err := r.note(raised); err != nil {
		return err
	}
	return failed
}

// remember puts the answer into the conversation, the reasoning before what it
// led to.
func (r *run) remember(ask Ask, t Thought, answer parsers.Answer) error {
	if err := r.recordAssumptions(t); err != nil || ask.Quiet || ask.Fresh {
		return err
	}
	for _, p := range answer.Parts {
		if p.Kind == parsers.PartThinking {
			r.log.Reasoning(p.Text, p.Format, p.Text == "", answer.Usage.Reasoning)
		}
	}
	message := provider.AssistantMessage(answer)
	for i := range message.Blocks {
		if b := &message.Blocks[i]; b.Kind == provider.BlockText && b.Signed == nil {
			b.Text = rationale.Strip(b.Text)
		}
	}
	r.log.Assistant(t.Text, message, answer.Usage.Output)
	return nil
}

// learnChannel switches a model that made calls and stated nothing to the
// argument channel, for the rest of the run.
func (r *run) learnChannel(ask Ask, t Thought) {
	if r.cfg.Channel != ChannelAuto || r.byArgument || ask.NoTools || ask.Read != nil || !r.native() || len(t.Calls) == 0 {
		return
	}
	for _, c := range t.Calls {
		if c.Capture.Status != rationale.Missing {
			return
		}
	}
	r.byArgument = true
}
