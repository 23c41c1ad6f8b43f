package kernel

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
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
}

// Thought is an answer of the model as the loop sees it.
type Thought struct {
	// Text is what the model wrote for the user, without rationale blocks and
	// calls.
	Text string
	// Raw is the text as the trace holds it.
	Raw   string
	Calls []Call
	// Refused says that the model or its provider refused to answer.
	Refused bool
	// exchange is where the trace holds the answer.
	exchange exchange
	// written is the text as it came.
	written string
}

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
	if t.Text != "" && !ask.Quiet {
		r.plain = t.Text
	}
	return t, nil
}

// think sends one request and reads its answer, without keeping it in the
// conversation.
func (r *run) think(ctx context.Context, ask Ask) (Thought, parsers.Answer, error) {
	var o offer
	if !ask.NoTools {
		var err error
		if o, err = r.offers(); err != nil {
			return Thought{}, parsers.Answer{}, err
		}
	}
	info := r.cfg.Model.Info()
	req := provider.Request{
		Model:    info.Name,
		System:   joinSystem(r.cfg.System, ask.System, o.system),
		Messages: append(r.log.Compile(false), ask.Extra...),
		Tools:    o.tools,
		Thinking: provider.Thinking(r.cfg.Thinking),
	}
	if info.Structured {
		req.Schema = ask.Schema
	}
	reply, err := r.cfg.Model.Complete(ctx, req, nil)
	r.spent.add(reply.Answer.Usage, reply.CostUsd)
	r.pulse.prompt = 0
	if n := reply.Answer.Usage.Input; n != nil {
		r.pulse.prompt = *n
	}
	stored, serr := r.exchange(req, reply, len(ask.Extra))
	if serr != nil {
		return Thought{}, reply.Answer, serr
	}
	if err != nil {
		return Thought{}, reply.Answer, r.modelFailed(ctx, err, reply)
	}
	t := r.read(o, stored, reply.Answer)
	if err := r.recordThinking(stored, reply.Answer); err != nil {
		return t, reply.Answer, err
	}
	return t, reply.Answer, r.recordUnmatched(t.exchange)
}

// modelFailed notes why the model could not be asked. When the run itself was
// stopped that is the reason.
func (r *run) modelFailed(ctx context.Context, err error, reply Reply) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failed := &ModelError{Model: r.cfg.Model.Info().Name, Err: err}
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
	if err := r.recordAssumptions(t); err != nil || ask.Quiet {
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
	if r.cfg.Channel != ChannelAuto || r.byArgument || ask.NoTools || !r.native() || len(t.Calls) == 0 {
		return
	}
	for _, c := range t.Calls {
		if c.Capture.Status != rationale.Missing {
			return
		}
	}
	r.byArgument = true
}
