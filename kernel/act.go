package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Observed is what became of one call.
type Observed struct {
	Call
	// Ref is the stable name of the observation, such as "obs:1".
	Ref    string
	Result ToolResult
	// Err is the error that the model sees; nil when the call succeeded.
	Err error
	// Rejected says that a policy or a person refused the call.
	Rejected bool
	duration time.Duration
}

// Content is what the call gave, or its error, as text.
func (o Observed) Content() string {
	if o.Err != nil {
		return "error: " + o.Err.Error()
	}
	return o.Result.Content
}

// errRejected is what the model sees of a call that was refused.
var errRejected = errors.New("the call was refused")

// pending is a call on its way.
type pending struct {
	Observed
	id    string
	group *int
}

// Act makes the calls of one answer: it asks for leave where the policy says
// so, writes each decision into the trace before it is acted on, runs the calls
// at once as far as the limit goes, and puts what they gave into the
// conversation. The observations are in the order of the calls.
func (l *Loop) Act(ctx context.Context, calls []Call) ([]Observed, error) {
	r := l.run
	batch := make([]*pending, len(calls))
	runnable := 0
	for i, c := range calls {
		r.calls++
		r.pulse.called(c.Name, c.Args)
		p := &pending{Observed: Observed{Call: c}, id: fmt.Sprintf("c%d", r.calls)}
		batch[i] = p
		if err := r.preflight(ctx, p); err != nil {
			return nil, err
		}
		if p.Err == nil {
			runnable++
		}
	}
	if runnable > 1 {
		group := r.groups
		r.groups++
		for _, p := range batch {
			if p.Err == nil {
				p.group = &group
			}
		}
	}
	for _, p := range batch {
		if err := r.started(p); err != nil {
			return nil, err
		}
	}
	if err := r.dispatch(ctx, batch); err != nil {
		return nil, err
	}
	return r.observe(batch)
}

// preflight finds out whether a call can and may be made. What stands against it
// is its Err.
func (r *run) preflight(ctx context.Context, p *pending) error {
	if p.Invalid != "" {
		p.Err = errors.New(p.Invalid)
		return nil
	}
	if r.cfg.Tools == nil {
		p.Err = errors.New("there are no tools")
		return nil
	}
	spec, ok := r.cfg.Tools.Lookup(p.Name)
	if !ok {
		p.Err = fmt.Errorf("there is no tool %q; the tools are %s", p.Name, r.toolNames())
		return nil
	}
	rule := r.cfg.Policy.Decide(p.Name, string(spec.Effects), p.Args)
	if rule.Verdict == control.Allow && rule.Code == "" {
		return nil
	}
	err := r.note(&trace.PolicyDecision{
		Base: trace.Base{CallID: p.id}, ToolName: p.Name, DecisionID: "pol-" + p.id,
		Decision: string(rule.Verdict), ReasonCode: rule.Code, Message: rule.Message,
	})
	if err != nil || rule.Verdict == control.Allow {
		return err
	}
	if rule.Verdict == control.Ask {
		approved, err := r.approve(ctx, p, rule)
		if err != nil || approved {
			return err
		}
	}
	p.Rejected, p.Err = true, errRejected
	if rule.Message != "" {
		p.Err = fmt.Errorf("%w: %s", errRejected, rule.Message)
	}
	return nil
}

// approve asks a person. Without one to ask, or when asking fails, the answer
// is no.
func (r *run) approve(ctx context.Context, p *pending, rule control.Rule) (bool, error) {
	request := control.Request{ID: "apr-" + p.id, Tool: p.Name, Args: p.Args, Message: rule.Message}
	if p.Capture.Rationale != nil {
		request.Why = p.Capture.Rationale.Why
	}
	err := r.note(&trace.ApprovalRequested{
		Base: trace.Base{CallID: p.id}, ToolName: p.Name, RequestID: request.ID, Message: rule.Message,
	})
	if err != nil {
		return false, err
	}
	approved, by := false, "nobody to ask"
	if r.cfg.Approve != nil {
		if approved, by, err = r.cfg.Approve(ctx, request); err != nil {
			approved, by = false, "asking failed"
		}
	}
	decision := "denied"
	if approved {
		decision = "approved"
	}
	return approved, r.note(&trace.ApprovalResolved{
		Base: trace.Base{CallID: p.id}, ToolName: p.Name, RequestID: request.ID, Decision: decision, By: by,
	})
}

func (r *run) toolNames() string {
	var names []string
	for _, s := range r.specs() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// started writes the decision to make a call. What follows uses the status that
// was stored: safety may have refused the reason.
func (r *run) started(p *pending) error {
	c := p.Capture
	ev := &trace.ToolCallStart{
		Base: trace.Base{CallID: p.id}, ToolName: p.Name, ProviderCallID: p.ProviderID, ParallelGroup: p.group,
		RationaleStatus: c.Status, RationaleReason: c.Reason, Rationale: c.Rationale, Origin: p.Origin,
		Narrative: p.Narrative, NarrativeOrigin: p.NarrativeOrigin, NarrativeScope: p.NarrativeScope, NarrativeCut: p.NarrativeCut,
		Withheld: p.Withheld, Args: p.Args,
	}
	if c.Status == rationale.Present || c.Status == rationale.Malformed {
		ev.RationaleSource = c.Source
	}
	rec, err := r.emit(ev)
	if err != nil {
		return err
	}
	row, err := trace.RowOf(rec)
	if err != nil {
		return err
	}
	status := rationale.Status(row.Str(trace.FieldRationaleStatus))
	if status.Asked() && status != rationale.Present {
		return r.metricAt(p.id, trace.MetricRationaleMissing, map[string]string{
			"tool": p.Name, "status": string(status), "path": p.Path,
		})
	}
	if status != rationale.Present {
		return nil
	}
	return r.alsoStated(p)
}

// alsoStated writes what a reason holds beside itself.
func (r *run) alsoStated(p *pending) error {
	if alts := p.Capture.Rationale.Alternatives; len(alts) > 0 {
		err := r.note(&trace.AlternativesConsidered{
			Base: trace.Base{CallID: p.id}, Chosen: "tool:" + p.Name, Alternatives: alts,
		})
		if err != nil {
			return err
		}
	}
	for _, a := range p.Capture.Assumptions {
		if err := r.assume(a, nil); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) metricAt(callID, name string, labels map[string]string) error {
	return r.note(&trace.Metric{Base: trace.Base{CallID: callID}, Name: name, Value: 1, Labels: labels})
}

// callSite is how a tool that opens a sub-run finds its parent.
type callSite struct {
	run    *run
	callID string
}

type callSiteKey struct{}

// dispatch runs the calls and writes the end of each, in the order of the
// calls, as soon as those before it have ended.
func (r *run) dispatch(ctx context.Context, batch []*pending) error {
	limit := make(chan struct{}, r.cfg.Limits.Parallel)
	done := make([]chan struct{}, len(batch))
	var all sync.WaitGroup
	defer all.Wait()
	for i, p := range batch {
		done[i] = make(chan struct{})
		if p.Err != nil {
			close(done[i])
			continue
		}
		all.Go(func() {
			defer close(done[i])
			limit <- struct{}{}
			defer func() { <-limit }()
			if p.Err = ctx.Err(); p.Err != nil {
				return // no further call begins once the run is stopped
			}
			start := r.cfg.Now()
			at := context.WithValue(ctx, callSiteKey{}, callSite{r, p.id})
			p.Result, p.Err = r.cfg.Tools.Call(at, p.Name, p.Args)
			p.duration = r.cfg.Now().Sub(start)
		})
	}
	for i, p := range batch {
		<-done[i]
		if err := r.ended(p); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) ended(p *pending) error {
	ev := &trace.ToolCallEnd{
		Base: trace.Base{CallID: p.id}, ToolName: p.Name, OK: new(p.Err == nil), Rejected: p.Rejected,
		DurationMs: new(float64(p.duration.Milliseconds())), Outcome: p.Result.Summary,
		ResultTruncated: p.Result.Truncated,
	}
	if p.Err != nil {
		ev.Error = p.Err.Error()
	} else {
		result, err := json.Marshal(p.Result.Content)
		if err != nil {
			return err
		}
		ev.Result = result
	}
	return r.note(ev)
}

// observe lets the curator decide what of each result enters the conversation.
func (r *run) observe(batch []*pending) ([]Observed, error) {
	out := make([]Observed, len(batch))
	for i, p := range batch {
		r.obs++
		p.Ref = fmt.Sprintf("obs:%d", r.obs)
		r.pulse.observed(p.Name, p.Content(), p.Err != nil)
		curated := r.curate.Curate(control.Observation{Ref: p.Ref, Tool: p.Name, Content: p.Content(), Failed: p.Err != nil})
		err := r.note(&trace.CuratorDecision{
			Base: trace.Base{CallID: p.id}, Action: string(curated.Action), TargetRef: curated.Ref,
			Rationale: &rationale.Rationale{Why: curated.Why},
		})
		if err != nil {
			return nil, err
		}
		if p.Path == pathNative {
			r.log.Tool(p.Ref, p.ProviderID, p.Name, curated.Content, p.Err != nil)
		} else {
			r.log.Observation(p.Ref, p.Name, curated.Content)
		}
		out[i] = p.Observed
	}
	return out, nil
}
