package trace

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// headOrder is the order in which rax writes the small members, right after
// kind. It is documented as a fast path for readers and never relied on.
var headOrder = []string{
	"runId", "timestamp", "iter", "seq", "callId", "toolName", "ok",
	"durationMs", "error", "rootRunId", "parentRunId", "depth", "sessionId",
	"threadId", "turn",
}

// plan is how a struct type is written and read: its members by JSON name.
type plan struct {
	fields []planField
	byName map[string]int
}

type planField struct {
	name string
	// key is the name as it is written: a JSON string and its colon. It comes
	// from the source of this package, so it needs no scrubbing.
	key       string
	index     []int
	omitEmpty bool
}

// plans caches a plan per struct type.
var plans sync.Map // reflect.Type -> *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: make(map[string]int)}
	p.collect(t, nil)
	slices.SortStableFunc(p.fields, func(a, b planField) int { return rank(a.name) - rank(b.name) })
	for i, f := range p.fields {
		p.byName[f.name] = i
	}
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*plan)
}

func rank(name string) int {
	if i := slices.Index(headOrder, name); i >= 0 {
		return i
	}
	return len(headOrder)
}

// collect lists the fields of t in the order of their declaration; those of an
// embedded struct count as t's own.
func (p *plan) collect(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(prefix), i)
		if f.Anonymous {
			p.collect(f.Type, index)
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		p.fields = append(p.fields, planField{name: name, key: `"` + name + `":`, index: index, omitEmpty: opts == "omitempty"})
	}
}
