package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// SubAgent is a tool that runs another agent on a part of the task, as a
// sub-run: its events stand in the same trace, below the call that opened it.
type SubAgent struct {
	name, description string
	cfg               Config
}

// NewSubAgent returns the tool. The configuration is that of the agent that it
// runs; its model, strategy and tools may differ from the caller's.
func NewSubAgent(name, description string, cfg Config) (*SubAgent, error) {
	checked, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &SubAgent{name, description, checked.cfg}, nil
}

// Spec implements [Tool].
func (s *SubAgent) Spec() ToolSpec {
	return ToolSpec{
		Name: s.name, Description: s.description, Effects: EffectNone,
		Schema: json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":"The part of the task, complete in itself."}},"required":["task"],"additionalProperties":false}`),
	}
}

// Run implements [Tool]. It must be called by a run of the kernel.
func (s *SubAgent) Run(ctx context.Context, args json.RawMessage) (ToolResult, error) {
	site, ok := ctx.Value(callSiteKey{}).(callSite)
	if !ok {
		return ToolResult{}, errors.New("a sub-agent needs a run to be part of")
	}
	if site.run.base.Depth+1 >= site.run.cfg.Limits.Depth {
		return ToolResult{}, fmt.Errorf("sub-agents nest no deeper than %d", site.run.cfg.Limits.Depth)
	}
	var in struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return ToolResult{}, err
	}
	sub, err := newRun(s.cfg, nil, lineage{parent: site.run, callID: site.callID})
	if err != nil {
		return ToolResult{}, err
	}
	res, err := sub.do(ctx, in.Task)
	if err != nil {
		return ToolResult{}, err
	}
	if res.Failed {
		return ToolResult{}, fmt.Errorf("the sub-agent ended by %s: %s", res.Reason, res.Output)
	}
	return ToolResult{Content: res.Output, Summary: fmt.Sprintf("sub-run %s, %d calls", res.RunID, sub.calls)}, nil
}
