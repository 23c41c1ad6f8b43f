package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/trace"
)

// Settings are the parts of a configuration that a trace keeps, so that the same
// agent can run again from it.
type Settings struct {
	Strategy  string         `json:"strategy"`
	Fallback  string         `json:"fallback,omitempty"`
	Rationale RationaleMode  `json:"rationale"`
	Channel   Channel        `json:"channel"`
	ToolMode  ToolMode       `json:"toolMode,omitempty"`
	System    string         `json:"system,omitempty"`
	Tools     []ToolSetting  `json:"tools"`
	Limits    Limits         `json:"limits"`
	Policy    control.Policy `json:"policy"`
}

// ToolSetting is a tool that a run could call.
type ToolSetting struct {
	Name    string  `json:"name"`
	Effects Effects `json:"effects,omitempty"`
}

// settingsOf gives the settings as run-started holds them.
func settingsOf(cfg Config) json.RawMessage {
	s := Settings{
		Strategy: cfg.Strategy.Name(), Rationale: cfg.Rationale, Channel: cfg.Channel, ToolMode: cfg.ToolMode,
		System: cfg.System, Tools: []ToolSetting{}, Limits: cfg.Limits, Policy: cfg.Policy,
	}
	if cfg.Fallback != nil {
		s.Fallback = cfg.Fallback.Name()
	}
	if cfg.Tools != nil {
		for _, t := range cfg.Tools.Specs() {
			s.Tools = append(s.Tools, ToolSetting{t.Name, t.Effects})
		}
	}
	doc, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return doc
}

// Apply sets what a trace keeps of a configuration. Strategies, model and tools
// are for the caller to find by their names.
func (s Settings) Apply(cfg *Config) {
	cfg.Rationale, cfg.Channel, cfg.ToolMode = s.Rationale, s.Channel, s.ToolMode
	cfg.System, cfg.Limits, cfg.Policy = s.System, s.Limits, s.Policy
}

// Recorded is what a trace says about its root run before any answer.
type Recorded struct {
	Task     string
	Settings Settings
	// approvals are the decisions of people, in order.
	approvals []*trace.ApprovalResolved
}

// errNotRecorded says that a trace was not written by the kernel.
var errNotRecorded = errors.New("the trace does not hold the settings of a run of rax")

// ReadRecorded reads the task, the settings and the approvals of a trace.
func ReadRecorded(records iter.Seq2[trace.Record, error]) (Recorded, error) {
	var rec Recorded
	root := ""
	for r, err := range records {
		if err != nil {
			continue // a torn end changes nothing about what stands before it
		}
		ev, _, err := trace.Decode(r)
		if err != nil {
			continue
		}
		switch ev := ev.(type) {
		case *trace.RunStarted:
			if root != "" || ev.ParentRunID != "" {
				continue
			}
			root, rec.Task = ev.RunID, ev.Task
			if json.Unmarshal(ev.Config, &rec.Settings) != nil || rec.Settings.Strategy == "" {
				return rec, errNotRecorded
			}
		case *trace.ApprovalResolved:
			if ev.RunID == root {
				rec.approvals = append(rec.approvals, ev)
			}
		}
	}
	if root == "" {
		return rec, errNotRecorded
	}
	return rec, nil
}

// Approver answers as people did in the recorded run, in the same order. What
// the recording does not hold is denied.
func (r Recorded) Approver() control.Approver {
	next := 0
	return func(context.Context, control.Request) (bool, string, error) {
		if next >= len(r.approvals) {
			return false, "nobody in the recording", nil
		}
		a := r.approvals[next]
		next++
		return a.Decision == "approved", a.By, nil
	}
}

// Toolbox gives replayed tools the effects that they had in the recorded run,
// on which the policy decides.
func (r Recorded) Toolbox(replayed Toolbox) Toolbox {
	effects := make(map[string]Effects)
	for _, t := range r.Settings.Tools {
		effects[t.Name] = t.Effects
	}
	return effectsBox{replayed, effects}
}

type effectsBox struct {
	Toolbox
	effects map[string]Effects
}

func (b effectsBox) Specs() []ToolSpec {
	specs := b.Toolbox.Specs()
	for i := range specs {
		specs[i].Effects = b.effects[specs[i].Name]
	}
	return specs
}

func (b effectsBox) Lookup(name string) (ToolSpec, bool) {
	spec, ok := b.Toolbox.Lookup(name)
	spec.Effects = b.effects[name]
	return spec, ok
}
