// Package tool has the toolbox of a run: a registry that calls tools safely,
// and the tools that rax brings along (seed 003, AC7).
//
// A tool is a [kernel.Tool]; [Func] makes one from a Go function and derives
// the JSON Schema of its arguments from the function's argument type. A
// [Registry] refuses names that could be mistaken for paths, validates
// arguments before a call, and bounds each call in time and size. [Builtin]
// gives the tools of rax, [Parallel] runs several calls of one model message.
package tool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rax-project/rax/kernel"
)

// Limits bound each call of a registry's tools. The zero Limits are the
// defaults.
type Limits struct {
	// Timeout holds for the tools whose spec names none; 0 means 60 s.
	Timeout time.Duration
	// Grace is how long a call waits, after its time is up, for what the tool
	// has got until then; 0 means 500 ms.
	Grace time.Duration
	// Result is the size of a result's content in bytes; 0 means 256 KiB. It is
	// at least 1 KiB.
	Result int
}

func (l Limits) withDefaults() Limits {
	if l.Timeout <= 0 {
		l.Timeout = time.Minute
	}
	if l.Grace <= 0 {
		l.Grace = 500 * time.Millisecond
	}
	if l.Result <= 0 {
		l.Result = 256 << 10
	}
	l.Result = max(l.Result, 1<<10)
	return l
}

// Registry is a [kernel.Toolbox]. It may be used by several goroutines.
type Registry struct {
	limits Limits

	mu         sync.RWMutex
	tools      map[string]entry
	namespaces map[string]bool
}

// entry is a registered tool with what was worked out of it once.
type entry struct {
	tool      kernel.Tool
	spec      kernel.ToolSpec
	arguments *jsonschema.Resolved
}

var _ kernel.Toolbox = (*Registry)(nil)

// NewRegistry returns an empty registry.
func NewRegistry(limits Limits) *Registry {
	return &Registry{
		limits:     limits.withDefaults(),
		tools:      map[string]entry{},
		namespaces: map[string]bool{},
	}
}

// Namespace declares a namespace, so that tools named "namespace/tool" can be
// registered. It may be declared more than once. A bad name is a *NameError.
func (r *Registry) Namespace(name string) error {
	if reason := badName(name); reason != "" {
		return &NameError{Name: name, Reason: reason}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.namespaces[name] = true
	return nil
}

// Register adds a tool. A name that is taken, that could be mistaken for a
// path, or whose namespace was not declared is a *NameError; the other errors
// say what is wrong with the spec. The tool's spec is read here, once.
func (r *Registry) Register(t kernel.Tool) error {
	if t == nil {
		return fmt.Errorf("register: there is no tool")
	}
	if l, ok := t.(lister); ok {
		t = lister{l.Tool, r}
	}
	spec := t.Spec()
	namespace, name, found := strings.Cut(spec.Name, "/")
	if !found {
		namespace, name = "", spec.Name
	}
	if reason := badName(name); reason != "" {
		return &NameError{Name: spec.Name, Reason: reason}
	}
	if err := checkSpec(spec); err != nil {
		return fmt.Errorf("register %s: %w", spec.Name, err)
	}
	arguments, err := resolve(spec.Schema)
	if err != nil {
		return fmt.Errorf("register %s: schema: %w", spec.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if found && !r.namespaces[namespace] {
		return &NameError{Name: spec.Name, Reason: "its namespace is not declared"}
	}
	if _, taken := r.tools[spec.Name]; taken {
		return &NameError{Name: spec.Name, Reason: "a tool of this name is registered"}
	}
	r.tools[spec.Name] = entry{t, spec, arguments}
	return nil
}

func checkSpec(spec kernel.ToolSpec) error {
	switch spec.Effects {
	case kernel.EffectNone, kernel.EffectRead, kernel.EffectWrite, kernel.EffectExecute:
	default:
		return fmt.Errorf("effects are none of none, read, write, execute")
	}
	if strings.TrimSpace(spec.Description) == "" {
		return fmt.Errorf("there is no description")
	}
	return nil
}

// Select returns a registry of the named tools only, with the same limits and
// namespaces. A name that is not registered is a *UnknownToolError; naming a
// tool twice does no harm.
func (r *Registry) Select(names ...string) (*Registry, error) {
	s := NewRegistry(r.limits)
	r.mu.RLock()
	s.namespaces = maps.Clone(r.namespaces)
	r.mu.RUnlock()
	for _, name := range names {
		e, err := r.find(name)
		if err != nil {
			return nil, err
		}
		if l, ok := e.tool.(lister); ok {
			e.tool = lister{l.Tool, s}
		}
		s.tools[name] = e
	}
	return s, nil
}

// Specs lists the tools by name. The schemas must not be written to.
func (r *Registry) Specs() []kernel.ToolSpec {
	r.mu.RLock()
	defer r.mu.RUnlock()
	specs := make([]kernel.ToolSpec, 0, len(r.tools))
	for _, name := range slices.Sorted(maps.Keys(r.tools)) {
		specs = append(specs, r.tools[name].spec)
	}
	return specs
}

// Lookup finds a tool's spec by its exact name.
func (r *Registry) Lookup(name string) (kernel.ToolSpec, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.tools[name]
	return e.spec, ok
}

// find returns the named tool, or a *UnknownToolError.
func (r *Registry) find(name string) (entry, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.tools[name]; ok {
		return e, nil
	}
	return entry{}, &UnknownToolError{
		Name:  name,
		Close: closest(name, slices.Sorted(maps.Keys(r.tools))),
	}
}
