//go:build !noreasoning

package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rax-project/rax/kernel/strategy"
)

// Check validates the flow without running it: that every name, model, tool and
// option that it uses exists, and that every variable is defined where it is
// used, by the defaults of the flow, by env.State or by a node before. No model
// is opened or asked. What is wrong is an [Errors] of *[Error], with places.
func (f *Flow) Check(env Env) error {
	r := reader{flow: f}
	known := f.stateNames(env)
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.technique.action != "" {
			r.technique(n, env)
		} else {
			r.tool(n, env)
		}
		r.names(n, known, i > 0)
		if n.when != nil {
			_, err := n.when.compile(f.file, known, i > 0)
			r.add(err)
		}
		if _, given := env.State[n.name]; given {
			r.fail(n.place, "%q is the name of a given state, too", n.name)
		}
		known = append(known, n.name)
	}
	return r.err()
}

// stateNames are the names that the state has before the first node.
func (f *Flow) stateNames(env Env) []string {
	names := slices.Collect(maps.Keys(env.State))
	for _, p := range f.state {
		names = append(names, p.name)
	}
	return names
}

// Inputs are the names of the state for which the flow has no default, in the
// order of the file.
func (f *Flow) Inputs() []string {
	names := []string{}
	for _, p := range f.state {
		if p.value.kind == nullKind {
			names = append(names, p.name)
		}
	}
	return names
}

// missing says which inputs were not given.
func (f *Flow) missing(env Env) error {
	r := reader{flow: f}
	for _, p := range f.state {
		if _, given := env.State[p.name]; p.value.kind == nullKind && !given {
			r.fail(p.place, "state.%s has no default and was not given", p.name)
		}
	}
	return r.err()
}

// field finds a member of with.
func (n *node) field(name string) *value {
	for i := range n.with.pairs {
		if n.with.pairs[i].name == name {
			return &n.with.pairs[i].value
		}
	}
	return nil
}

// fixed reports whether nothing is to be filled in in a value.
func fixed(v value) bool {
	switch v.kind {
	case textKind:
		return !isTemplate(v.text)
	case listKind:
		return !slices.ContainsFunc(v.items, func(i value) bool { return !fixed(i) })
	case objectKind:
		return !slices.ContainsFunc(v.pairs, func(p pair) bool { return !fixed(p.value) })
	}
	return true
}

// names checks the variables of a node's templates.
func (r *reader) names(n *node, state []string, output bool) {
	for v, t := range n.templates { // the errors are put in order at the end
		critic := v == n.field("critic_prompt")
		for _, ref := range t.refs {
			switch {
			case ref.path[0] == "tools":
			case ref.path[0] == "output" && (output || critic):
			case ref.path[0] == "output":
				r.fail(ref.place, "output is not defined: no node comes before")
			case ref.path[0] == "state" && len(ref.path) == 1:
			case ref.path[0] == "state" && slices.Contains(state, ref.path[1]):
			case ref.path[0] == "state":
				r.fail(ref.place, "state.%s is not defined: declare it under state, give it, or let a node before be named so", ref.path[1])
			default:
				r.fail(ref.place, "%s is not defined; a template sees state, output and tools", ref.path[0])
			}
		}
		if critic && !slices.ContainsFunc(t.refs, func(x ref) bool { return x.path[0] == "output" }) {
			r.fail(v.place, "critic_prompt does not show the critic {{ output }}")
		}
	}
}

// technique checks what stands in with.
func (r *reader) technique(n *node, env Env) {
	known := map[string]any{}
	for _, p := range n.with.pairs {
		if !fixed(p.value) || p.name == "critic_prompt" {
			continue
		}
		member := map[string]any{p.name: plain(p.value)}
		if _, err := n.technique.read(member); err != nil {
			r.fail(p.value.place, "%s: %s", p.name, mismatch(err))
			continue
		}
		known[p.name] = member[p.name]
	}
	if with, err := n.technique.read(known); err == nil {
		_, err := strategy.New(n.technique.strategy, with.options())
		r.option(n, err)
	}
	for _, name := range modelKeys(n.technique) {
		r.model(n, name, env)
	}
	if list := n.field("tools"); list != nil && list.kind == listKind {
		for _, item := range list.items {
			if item.kind == textKind && fixed(item) {
				r.known(item, item.text, env)
			}
		}
	}
}

// mismatch says what is wrong with a value without showing it.
func mismatch(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return "it is a JSON " + t.Value + ", which does not fit"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// option places an error of a strategy at the option that it is about.
func (r *reader) option(n *node, err error) {
	var bad *strategy.OptionError
	switch {
	case err == nil:
	case errors.As(err, &bad):
		at := n.with.place
		name, _, _ := strings.Cut(bad.Option, " ")
		if v := n.field(name); v != nil {
			at = v.place
		}
		r.fail(at, "%s %s", bad.Option, bad.Reason)
	default:
		r.fail(n.place, "%s", err)
	}
}

// modelKeys are the members that name models; the first that is given of those
// for one purpose counts.
func modelKeys(t technique) []string {
	if t.strategy == "self-correct" {
		return []string{"generator_model", "critic_model"}
	}
	return []string{"model"}
}

// modelOf finds where the model of a node is named: in the member, in model, in
// the flow, in the environment. The value is nil for the last two.
func (f *Flow) modelOf(n *node, name string, env Env) (*value, string) {
	for _, key := range []string{name, "model"} {
		if v := n.field(key); v != nil && v.kind == textKind {
			return v, v.text
		}
	}
	if f.model != "" {
		return nil, f.model
	}
	return nil, env.DefaultModel
}

func (r *reader) model(n *node, name string, env Env) {
	v, spec := r.flow.modelOf(n, name, env)
	at := n.with.place
	if v != nil {
		at = v.place
		if !fixed(*v) {
			return
		}
	}
	provider, model, _ := strings.Cut(spec, ":")
	switch {
	case spec == "":
		r.fail(at, "%s has no %s: name it here, at the top of the flow or as the default", n.name, name)
	case provider == "" || model == "":
		r.fail(at, "%q names no model: want provider:model", spec)
	}
}

// known checks that a tool can be called.
func (r *reader) known(v value, name string, env Env) bool {
	switch {
	case pathLike(name):
		r.fail(v.place, "%q names no tool: a name has no .., no \\ and does not begin with /", name)
	case env.Tools == nil:
		r.fail(v.place, "there is no tool %q: the flow runs without tools", name)
	default:
		if _, err := env.Tools.Select(name); err != nil {
			r.fail(v.place, "%s", err)
			return false
		}
		return true
	}
	return false
}

// tool checks a tool's node: that there is the tool, and the arguments as far as
// their names go. Their values are checked by the call.
func (r *reader) tool(n *node, env Env) {
	if !r.known(value{place: n.place}, n.tool, env) {
		return
	}
	spec, _ := env.Tools.Lookup(n.tool)
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(spec.Schema, &schema) != nil {
		return
	}
	for _, name := range schema.Required {
		if n.field(name) == nil {
			r.fail(n.with.place, "%s needs %s", n.tool, name)
		}
	}
	if string(schema.Additional) != "false" {
		return
	}
	for _, p := range n.with.pairs {
		if _, ok := schema.Properties[p.name]; !ok {
			names := slices.Sorted(maps.Keys(schema.Properties))
			r.fail(p.place, "%s has no argument %q; its arguments are %s", n.tool, p.name, strings.Join(names, ", "))
		}
	}
}

// plain is a value as JSON has it, templates as they stand.
func plain(v value) any {
	out, _ := fill(v, func(v *value) (any, error) { return v.text, nil })
	return out
}

// fill makes a JSON value of a value; text is what each text in it becomes.
func fill(v value, text func(*value) (any, error)) (any, error) { return fillAt(&v, text) }

func fillAt(v *value, text func(*value) (any, error)) (any, error) {
	switch v.kind {
	case nullKind:
		return nil, nil
	case scalarKind:
		return v.scalar, nil
	case textKind:
		return text(v)
	case listKind:
		out := make([]any, 0, len(v.items))
		for i := range v.items {
			item, err := fillAt(&v.items[i], text)
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		return out, nil
	}
	out := make(map[string]any, len(v.pairs))
	for i := range v.pairs {
		member, err := fillAt(&v.pairs[i].value, text)
		if err != nil {
			return nil, err
		}
		out[v.pairs[i].name] = member
	}
	return out, nil
}

// given is what the state begins with.
func (f *Flow) given(env Env) (map[string]any, error) {
	state := map[string]any{}
	for _, p := range f.state {
		state[p.name] = plain(p.value)
	}
	for name, v := range env.State {
		if !identifier(name) {
			return nil, fmt.Errorf("%q is no name for a state: letters, digits and _ are", name)
		}
		state[name] = v
	}
	return state, nil
}
