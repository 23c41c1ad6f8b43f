//go:build !noreasoning

package flow

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/tool"
)

// maxNodes bounds the nodes of a flow, and maxErrors the errors that are told at
// once.
const (
	maxNodes  = 1000
	maxErrors = 20
)

// Flow is a flow that was read. It may be checked and run several times, also
// at once.
type Flow struct {
	// Name is the flow's own, or that of its file without the ending.
	Name        string
	Description string

	file  string
	model string // of the nodes that name none
	state []pair // the defaults; null means that a value must be given
	nodes []node
}

// Env is what a flow runs with.
type Env struct {
	// Config is what the runs of the flow share: rationale mode, channel, policy,
	// limits, ids, clock, watcher. Its Model, Tools, Strategy and Fallback are
	// not used.
	Config kernel.Config
	// Tools are those that nodes can name; nil for none.
	Tools *tool.Registry
	// Model opens a model named as "provider:model".
	Model func(spec string) (kernel.Model, error)
	// DefaultModel is the model of nodes for which neither they nor the flow name
	// one; empty for none.
	DefaultModel string
	// State is what the flow begins with, over its defaults: plain JSON values.
	State map[string]any
}

// Result is what a flow gave: the result of its root run, and the state at its
// end. The Detail of the root run is an [Output].
type Result struct {
	kernel.Result
	// State holds what each node that ran gave, under its name, beside what the
	// flow began with. It is what tools gave and models wrote, not what the trace
	// holds: it is for the program, and for no screen or file.
	State map[string]any `json:"-"`
}

// Output says what became of the nodes of a flow, in their order.
type Output struct {
	Nodes []NodeOutput `json:"nodes"`
}

// NodeOutput is what became of one node.
type NodeOutput struct {
	Name   string `json:"name"`
	Action string `json:"action"`
	// Skipped says that its condition was false.
	Skipped bool `json:"skipped,omitempty"`
	// RunID is the sub-run of a technique.
	RunID string `json:"runId,omitempty"`
	// Failed says that the flow ended with this node.
	Failed bool `json:"failed,omitempty"`
}

// node is one node of a flow.
type node struct {
	name   string
	action string
	place  place
	when   *condition
	// technique is set for reason.*, and tool for tool.*.
	technique technique
	tool      string
	with      value
	templates map[*value]*template
}

// Load reads a flow from a file. What is wrong with it is an [*Error] or
// [Errors].
func Load(path string) (*Flow, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, &Error{File: path, Message: fmt.Sprintf("the flow is longer than %d bytes", maxFile)}
	}
	return Parse(path, data)
}

// Parse reads a flow; file names it in errors.
func Parse(file string, data []byte) (*Flow, error) {
	doc, err := document(file, data)
	if err != nil {
		return nil, err
	}
	base := filepath.Base(file)
	f := &Flow{file: file, Name: strings.TrimSuffix(base, filepath.Ext(base))}
	r := reader{flow: f}
	r.flowOf(doc)
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// reader turns values into a flow and collects what is wrong.
type reader struct {
	flow   *Flow
	errors Errors
}

func (r *reader) fail(at place, format string, args ...any) {
	r.add(&Error{r.flow.file, at.line, at.column, fmt.Sprintf(format, args...)})
}

func (r *reader) add(err error) {
	var one *Error
	switch {
	case err == nil:
	case errors.As(err, &one):
		r.errors = append(r.errors, one)
	default:
		r.errors = append(r.errors, &Error{File: r.flow.file, Message: err.Error()})
	}
}

// err gives what was wrong, in the order of the file.
func (r *reader) err() error {
	if len(r.errors) == 0 {
		return nil
	}
	slices.SortStableFunc(r.errors, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(r.errors) > maxErrors {
		more := len(r.errors) - maxErrors
		return append(r.errors[:maxErrors:maxErrors], &Error{File: r.flow.file, Message: fmt.Sprintf("%d more errors", more)})
	}
	return r.errors
}

// members checks that an object has no other members than the ones named.
func (r *reader) members(what string, v value, known ...string) bool {
	if v.kind != objectKind {
		r.fail(v.place, "%s must be an object", what)
		return false
	}
	for _, p := range v.pairs {
		if !slices.Contains(known, p.name) {
			r.fail(p.place, "%s has no key %q; its keys are %s", what, p.name, strings.Join(known, ", "))
		}
	}
	return true
}

// text gives a member that is text; "" when it is absent.
func (r *reader) text(v value, name string) string {
	m, ok := v.get(name)
	if ok && m.kind != textKind {
		r.fail(m.place, "%s must be text", name)
	}
	return m.text
}

func (r *reader) flowOf(doc value) {
	if !r.members("a flow", doc, "name", "description", "model", "state", "nodes") {
		return
	}
	f := r.flow
	if name := r.text(doc, "name"); name != "" {
		f.Name = name
	}
	f.Description, f.model = r.text(doc, "description"), r.text(doc, "model")
	if state, ok := doc.get("state"); ok {
		if state.kind != objectKind {
			r.fail(state.place, "state must be an object of names and defaults")
		}
		for _, p := range state.pairs {
			if !identifier(p.name) {
				r.fail(p.place, "%q is no name for a state: letters, digits and _ are", p.name)
			}
		}
		f.state = state.pairs
	}
	list, ok := doc.get("nodes")
	switch {
	case !ok:
		r.fail(doc.place, "a flow needs nodes")
	case list.kind != listKind || len(list.items) == 0:
		r.fail(list.place, "nodes must be a list of one node or more")
	case len(list.items) > maxNodes:
		r.fail(list.place, "%d nodes; at most %d are read", len(list.items), maxNodes)
	default:
		for i := range list.items {
			r.nodeOf(list.items[i])
		}
	}
}

func (r *reader) nodeOf(v value) {
	if !r.members("a node", v, "name", "action", "with", "when") {
		return
	}
	n := node{name: r.text(v, "name"), action: r.text(v, "action"), place: v.place, templates: map[*value]*template{}}
	at := v.place
	if m, ok := v.get("name"); ok {
		at = m.place
	}
	switch {
	case n.name == "":
		r.fail(at, "a node needs a name")
	case !identifier(n.name):
		r.fail(at, "%q is no name for a node: letters, digits and _ are", n.name)
	case slices.ContainsFunc(r.flow.nodes, func(o node) bool { return o.name == n.name }):
		r.fail(at, "two nodes are named %q", n.name)
	case slices.ContainsFunc(r.flow.state, func(p pair) bool { return p.name == n.name }):
		r.fail(at, "%q is the name of a state, too", n.name)
	}
	n.with, _ = v.get("with")
	if n.with.kind == nullKind {
		n.with = value{kind: objectKind, place: n.place}
	}
	r.actionOf(&n, v)
	if m, ok := v.get("when"); ok {
		r.whenOf(&n, m)
	}
	r.templatesOf(&n, &n.with)
	r.flow.nodes = append(r.flow.nodes, n)
}

func (r *reader) actionOf(n *node, v value) {
	at := n.place
	if m, ok := v.get("action"); ok {
		at = m.place
	}
	if n.with.kind != objectKind {
		r.fail(n.with.place, "with must be an object")
		return
	}
	if name, ok := strings.CutPrefix(n.action, "tool."); ok {
		if n.tool = name; name == "" || pathLike(name) {
			r.fail(at, "%q names no tool: a name has no .., no \\ and does not begin with /", name)
		}
		return
	}
	var ok bool
	if n.technique, ok = techniqueOf(n.action); !ok {
		var known []string
		for _, t := range techniques() {
			known = append(known, t.action)
		}
		r.fail(at, "there is no action %q; the actions are %s and tool.NAME", n.action, strings.Join(known, ", "))
		return
	}
	names, err := n.technique.names()
	if err != nil {
		r.add(err)
		return
	}
	r.members(n.action, n.with, names...)
	input, ok := n.with.get(n.technique.input)
	switch {
	case !ok:
		r.fail(n.with.place, "%s needs %s", n.action, n.technique.input)
	case input.kind != textKind || strings.TrimSpace(input.text) == "":
		r.fail(input.place, "%s must be text and not empty", n.technique.input)
	}
}

func (r *reader) whenOf(n *node, m value) {
	if m.kind == scalarKind {
		if b, ok := m.scalar.(bool); ok {
			m = value{kind: textKind, place: m.place, inner: m.place, text: fmt.Sprint(b)}
		}
	}
	if m.kind != textKind {
		r.fail(m.place, "when must be a condition, such as state.x == \"y\"")
		return
	}
	c, err := newCondition(r.flow.file, m)
	r.add(err)
	if err == nil {
		n.when = &c
	}
}

// templatesOf reads the templates in a value.
func (r *reader) templatesOf(n *node, v *value) {
	switch v.kind {
	case textKind:
		t, err := parseTemplate(r.flow.file, *v)
		r.add(err)
		if err == nil {
			n.templates[v] = t
		}
	case listKind:
		for i := range v.items {
			r.templatesOf(n, &v.items[i])
		}
	case objectKind:
		for i := range v.pairs {
			r.templatesOf(n, &v.pairs[i].value)
		}
	}
}

// identifier reports whether a name can stand behind "state.".
func identifier(s string) bool {
	if s == "" || len(s) > 64 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// pathLike reports whether a name could be taken for a path (specification 003,
// SEC-001). A / between a declared namespace and a name is for the registry to
// judge.
func pathLike(name string) bool {
	return strings.Contains(name, "..") || strings.ContainsAny(name, "\\\x00") || strings.HasPrefix(name, "/")
}
