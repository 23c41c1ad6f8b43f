package kernel

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rax-project/rax/parsers/plan"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Asked reports whether the run asks for reasons.
func (l *Loop) Asked() bool { return l.run.cfg.Rationale != RationaleOff }

// Signal notes something that the harness says to the model in one request.
func (l *Loop) Signal(kind, text string) error {
	return l.run.note(&trace.HarnessSignalInjected{
		SignalKind: kind, Origin: "kernel", ContentPreview: text, ContentLen: new(int64(len(text))),
	})
}

// ToolList describes the tools for a planner, one JSON object a line.
func (l *Loop) ToolList() string {
	var b strings.Builder
	for _, s := range l.run.specs() {
		line, err := json.Marshal(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
		}{s.Name, s.Description, s.Schema})
		if err == nil {
			b.Write(append(line, '\n'))
		}
	}
	return b.String()
}

// PlannedCall is the call of a planner's step, with the reason that the step
// states and the place where it stands in the stored answer.
func (l *Loop) PlannedCall(t Thought, s plan.Step) Call {
	c := Call{Name: s.ToolName, Args: s.ToolArgs, Invalid: s.Problem, Capture: s.Capture, Path: pathPlan}
	if s.WhySpan.Len() > 0 {
		c.Origin = t.exchange.at(0, s.WhySpan)
	}
	if !l.Asked() && c.Capture.Status == rationale.Missing {
		c.Capture.Status = rationale.Unasked
	}
	return c
}

// ReadPlan reads the plan in an answer. What is to be done is read from what
// came, why it is to be done from what was stored, so that every reason has its
// place in the trace.
func (l *Loop) ReadPlan(t Thought) (plan.Plan, error) {
	made, err := plan.Parse(t.written)
	if err != nil || t.written == t.Raw {
		return made, err
	}
	stored, serr := plan.Parse(t.Raw)
	same := serr == nil && len(stored.Steps) == len(made.Steps)
	made.Missing = 0
	for i := range made.Steps {
		step := &made.Steps[i]
		if same {
			step.Capture, step.WhySpan = stored.Steps[i].Capture, stored.Steps[i].WhySpan
		} else {
			step.WhySpan = rationale.Span{}
			step.Capture = rationale.Capture{Status: rationale.Malformed, Reason: reasonStoredDiffers, Part: -1}
		}
		if step.Lacks() {
			made.Missing++
		}
	}
	return made, nil
}

// KeepCall puts a planned call into the conversation, so that its result has
// something to answer. It is text: the model did not make the call by its own
// means.
func (l *Loop) KeepCall(c Call) {
	text := fmt.Sprintf("Next step of the plan: %s %s", c.Name, c.Args)
	l.run.log.Assistant(text, provider.Message{Role: provider.RoleAssistant, Blocks: []provider.Block{
		{Kind: provider.BlockText, Text: text},
	}}, nil)
}

// PlanRationaleMissing counts the calls of a plan that have no reason after it
// was asked for once more (specification 004).
func (l *Loop) PlanRationaleMissing(n int) error {
	return l.run.note(&trace.Metric{
		Name: trace.MetricPlanRationaleMissing, Value: float64(n), Labels: map[string]string{"path": pathPlan},
	})
}
