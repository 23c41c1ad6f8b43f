//go:build !noreasoning

package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/kernel/tool"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// ReasonNodeFailed ends a flow of which a node failed.
const ReasonNodeFailed = "node_failed"

// Run checks the flow, opens its models, and runs it to its end; its trace goes
// to rec. Before the first model is asked everything is checked that can be
// known by then. A failed node ends the flow. The Result is good, as far as the
// flow went, beside an error too.
func (f *Flow) Run(ctx context.Context, env Env, rec kernel.Recorder) (Result, error) {
	if err := errors.Join(f.Check(env), f.missing(env)); err != nil {
		return Result{}, err
	}
	r := &runner{flow: f, env: env, models: map[string]kernel.Model{}}
	var err error
	if r.state, err = f.given(env); err != nil {
		return Result{}, err
	}
	if err := r.openModels(); err != nil {
		return Result{}, err
	}
	cfg := env.Config
	cfg.Model, cfg.Strategy, cfg.Fallback, cfg.Tools = nobody{}, r, nil, nil
	if env.Tools != nil {
		cfg.Tools = env.Tools
	}
	cfg.Limits.Iterations = max(cfg.Limits.Iterations, len(f.nodes))
	agent, err := kernel.New(cfg)
	if err != nil {
		return Result{}, err
	}
	task := f.Description
	if strings.TrimSpace(task) == "" {
		task = "flow " + f.Name
	}
	res, err := agent.Run(ctx, task, rec)
	return Result{Result: res, State: r.state}, err
}

// nobody is the model of a flow's own run, which asks none.
type nobody struct{}

func (nobody) Info() kernel.ModelInfo { return kernel.ModelInfo{} }

func (nobody) Complete(context.Context, provider.Request, func(provider.Delta)) (kernel.Reply, error) {
	return kernel.Reply{}, errors.New("a flow has no model of its own")
}

// runner is the strategy of a flow's own run.
type runner struct {
	flow   *Flow
	env    Env
	models map[string]kernel.Model
	state  map[string]any
	output any
	done   []NodeOutput
}

// Name implements [kernel.Strategy].
func (*runner) Name() string { return "flow" }

// openModels opens every model that is named outside of templates.
func (r *runner) openModels() error {
	for i := range r.flow.nodes {
		n := &r.flow.nodes[i]
		if n.technique.action == "" {
			continue
		}
		for _, key := range modelKeys(n.technique) {
			v, spec := r.flow.modelOf(n, key, r.env)
			if v != nil && !fixed(*v) {
				continue
			}
			if _, err := r.open(spec); err != nil {
				at := n.with.place
				if v != nil {
					at = v.place
				}
				return fmt.Errorf("%s:%d:%d: %w", r.flow.file, at.line, at.column, err)
			}
		}
	}
	return nil
}

func (r *runner) open(spec string) (kernel.Model, error) {
	if m, ok := r.models[spec]; ok {
		return m, nil
	}
	if r.env.Model == nil {
		return nil, errors.New("there is nothing to open models with")
	}
	m, err := r.env.Model(spec)
	if err == nil {
		r.models[spec] = m
	}
	return m, err
}

// Run implements [kernel.Strategy].
func (r *runner) Run(ctx context.Context, loop *kernel.Loop) (kernel.Outcome, error) {
	for i := range r.flow.nodes {
		n := &r.flow.nodes[i]
		outcome, ok, err := loop.Begin(ctx)
		if err != nil || !ok {
			outcome.Detail = r.detail()
			return outcome, err
		}
		r.done = append(r.done, NodeOutput{Name: n.name, Action: n.action})
		if err := loop.Record(&trace.PhaseEnter{Phase: n.name}); err != nil {
			return kernel.Outcome{}, err
		}
		failure, err := r.node(ctx, loop, n)
		if err != nil {
			return kernel.Outcome{Detail: r.detail()}, err
		}
		if err := loop.Record(&trace.PhaseExit{Phase: n.name}); err != nil {
			return kernel.Outcome{}, err
		}
		if failure != nil {
			r.last().Failed = true
			return kernel.Outcome{
				Output: r.text(), Reason: ReasonNodeFailed, Why: why(n.name + " failed: " + failure.Error()),
				Failed: true, Err: fmt.Errorf("%s: %w", n.name, failure), Detail: r.detail(),
			}, nil
		}
		if err := loop.Done(ctx); err != nil {
			return kernel.Outcome{Detail: r.detail()}, err
		}
	}
	return kernel.Outcome{Output: r.text(), Reason: kernel.ReasonFinalAnswer, Detail: r.detail()}, nil
}

func (r *runner) last() *NodeOutput { return &r.done[len(r.done)-1] }

func (r *runner) detail() Output { return Output{Nodes: slices.Clone(r.done)} }

// text is the newest output, for people.
func (r *runner) text() string {
	switch v := r.output.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		s, _ := asJSON(v)
		return s
	}
}

// why keeps a reason to one line of what a rationale may hold.
func why(s string) string {
	runes := []rune(firstLine(s))
	return string(runes[:min(len(runes), rationale.MaxWhy)])
}

// node decides whether a node runs, says why, and runs it. The failure is that
// of the node; the error ends the run.
func (r *runner) node(ctx context.Context, loop *kernel.Loop, n *node) (failure, err error) {
	run, reason := true, "it is next in the flow"
	if n == &r.flow.nodes[0] {
		reason = "it is first in the flow"
	}
	if n.when != nil {
		if run, failure = n.when.holds(r.flow.file, r.state, r.output); failure != nil {
			return failure, nil
		}
		reason = fmt.Sprintf("its condition is %v: %s", run, strings.TrimSpace(n.when.text))
	}
	decision := "run " + n.name + " (" + n.action + ")"
	if !run {
		decision = "skip " + n.name + " (" + n.action + ")"
	}
	err = loop.Record(&trace.DecisionEvaluated{
		DecisionType: "branch", Reason: decision, Rationale: &rationale.Rationale{Why: why(decision + ": " + reason)},
	})
	switch {
	case err != nil:
		return nil, err
	case !run:
		r.last().Skipped = true
		r.state[n.name] = nil
		return nil, nil
	case n.technique.action != "":
		return r.technique(ctx, loop, n)
	}
	return r.tool(ctx, loop, n)
}

// vars are what templates see.
func (r *runner) vars(tools kernel.Toolbox) map[string]any {
	list := []any{}
	if tools != nil {
		for _, s := range tools.Specs() {
			var schema any
			_ = json.Unmarshal(s.Schema, &schema) // the registry took it: it is JSON
			list = append(list, map[string]any{"name": s.Name, "description": s.Description, "schema": schema})
		}
	}
	vars := map[string]any{"state": r.state, "tools": list}
	if len(r.done) > 1 {
		vars["output"] = r.output
	}
	return vars
}

// rendered fills in what stands in with, but for the prompt of a critic, which
// sees an output that there is not yet.
func (r *runner) rendered(n *node, vars map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for i := range n.with.pairs {
		p := &n.with.pairs[i]
		if p.name == "critic_prompt" && n.technique.action != "" {
			continue
		}
		v, err := fillAt(&p.value, func(v *value) (any, error) { return n.templates[v].render(r.flow.file, vars) })
		if err != nil {
			return nil, err
		}
		out[p.name] = v
	}
	return out, nil
}

// toolbox are the tools of a node, as the registry that holds no others.
func (r *runner) toolbox(n *node, vars map[string]any) (*tool.Registry, error) {
	list := n.field("tools")
	if list == nil || r.env.Tools == nil {
		return r.env.Tools, nil
	}
	v, err := fillAt(list, func(v *value) (any, error) { return n.templates[v].render(r.flow.file, vars) })
	if err != nil {
		return nil, err
	}
	var names []string
	items, _ := v.([]any)
	for _, item := range items {
		name, ok := item.(string)
		if !ok {
			return nil, &Error{r.flow.file, list.place.line, list.place.column, "tools must be a list of names"}
		}
		names = append(names, name)
	}
	return r.env.Tools.Select(names...)
}

// technique runs a sub-run.
func (r *runner) technique(ctx context.Context, loop *kernel.Loop, n *node) (failure, err error) {
	p, failure := r.prepare(n)
	if failure != nil {
		return failure, nil
	}
	sub, err := loop.Open(p.task, func(c *kernel.Config) {
		c.Model, c.Strategy, c.Tools, c.Limits = p.model, p.strategy, nil, r.env.Config.Limits
		if p.tools != nil && n.technique.strategy == "react" {
			c.Tools = p.tools
		}
		c.Limits.Iterations = max(c.Limits.Iterations, p.iterations)
		c.Limits.Depth = max(c.Limits.Depth, kernel.DefaultDepth, loop.Depth()+2+p.depth)
	})
	if err != nil {
		return nil, err
	}
	r.last().RunID = sub.ID()
	res, err := sub.Run(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return err, nil
	}
	if res.Failed {
		return fmt.Errorf("it ended by %s", res.Reason), nil
	}
	return nil, r.keep(n, res.Output, res.Detail)
}

// prepared is a technique that is ready to run.
type prepared struct {
	task       string
	model      kernel.Model
	tools      *tool.Registry
	strategy   kernel.Strategy
	iterations int
	depth      int
}

func (r *runner) prepare(n *node) (prepared, error) {
	var p prepared
	var err error
	if p.tools, err = r.toolbox(n, r.vars(nil)); err != nil {
		return p, err
	}
	vars := r.vars(nil)
	if p.tools != nil {
		vars = r.vars(p.tools)
	}
	with, err := r.rendered(n, vars)
	if err != nil {
		return p, err
	}
	for i := range n.with.pairs { // one by one, for the place of what does not fit
		m := &n.with.pairs[i]
		if _, err := n.technique.read(map[string]any{m.name: with[m.name]}); err != nil {
			at := m.value.place
			return p, &Error{r.flow.file, at.line, at.column, m.name + ": " + mismatch(err)}
		}
	}
	read, err := n.technique.read(with)
	if err != nil {
		return p, err
	}
	var ok bool
	if p.task, ok = with[n.technique.input].(string); !ok || strings.TrimSpace(p.task) == "" {
		at := n.field(n.technique.input).place
		return p, &Error{r.flow.file, at.line, at.column, n.technique.input + " is empty or no text"}
	}
	keys := modelKeys(n.technique)
	if p.model, err = r.modelFor(n, keys[0], with); err != nil {
		return p, err
	}
	opt := read.options()
	if n.technique.strategy == "self-correct" {
		if opt.Critic, err = r.modelFor(n, keys[1], with); err != nil {
			return p, err
		}
		if v := n.field("critic_prompt"); v != nil {
			opt.CriticPrompt = r.critic(n.templates[v], vars)
		}
	}
	if opt.MaxSteps != nil {
		p.iterations = *opt.MaxSteps
	}
	if opt.Rounds != nil {
		p.iterations = *opt.Rounds + 1
	}
	p.depth = read.depth()
	p.strategy, err = strategy.New(n.technique.strategy, opt)
	return p, err
}

// critic fills in the prompt of a critic with the output that it reviews.
func (r *runner) critic(t *template, vars map[string]any) func(string) (string, error) {
	return func(output string) (string, error) {
		seen := map[string]any{"state": vars["state"], "tools": vars["tools"], "output": output}
		v, err := t.render(r.flow.file, seen)
		if err != nil {
			return "", err
		}
		s, ok := v.(string)
		if !ok {
			return asJSON(v)
		}
		return s, nil
	}
}

func (r *runner) modelFor(n *node, key string, with map[string]any) (kernel.Model, error) {
	_, spec := r.flow.modelOf(n, key, r.env)
	for _, k := range []string{key, "model"} {
		if s, ok := with[k].(string); ok {
			spec = s
			break
		}
	}
	return r.open(spec)
}

// keep puts what a node gave into the state.
func (r *runner) keep(n *node, output string, detail any) error {
	r.output = output
	t, ok := detail.(strategy.ReasoningTrace)
	if !ok || t.Result == nil {
		r.state[n.name] = output
		return nil
	}
	raw, err := json.Marshal(t.Result)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	r.state[n.name] = v
	return nil
}

// tool calls a tool. No model was asked for a reason, and none is given: why the
// flow came here stands in the decision before.
func (r *runner) tool(ctx context.Context, loop *kernel.Loop, n *node) (failure, err error) {
	var tools kernel.Toolbox
	if r.env.Tools != nil {
		tools = r.env.Tools
	}
	args, failure := r.rendered(n, r.vars(tools))
	if failure != nil {
		return failure, nil
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	seen, err := loop.Act(ctx, []kernel.Call{{
		Name: n.tool, Args: raw, Capture: rationale.Capture{Status: rationale.Unasked, Part: -1},
	}})
	if err != nil {
		return nil, err
	}
	if seen[0].Err != nil {
		return seen[0].Err, nil
	}
	content := seen[0].Result.Content
	r.output, r.state[n.name] = content, content
	// A result that is an object or a list can be reached into.
	var v any
	if t := strings.TrimSpace(content); t != "" && (t[0] == '{' || t[0] == '[') && json.Unmarshal([]byte(t), &v) == nil {
		r.state[n.name] = v
	}
	return nil, nil
}
