package text

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
	"github.com/tidwall/gjson"
)

// The member names that make an object a call.
var (
	nameKeys     = [...]string{"tool", "tool_name", "name", "function"}
	argumentKeys = [...]string{"arguments", "parameters", "input", "args"}
	// watched adds what tells a call from other data.
	watched = []string{
		"tool", "tool_name", "name", "function",
		"arguments", "parameters", "input", "args",
		"rationale", "id", "type",
		"description", "properties",
		"result", "output", "observation", "error",
	}
)

// untagged reads tiers 2 and 3.
func (p *parser) untagged() {
	p.text = blank(p.text, p.result.Examples, ' ')
	p.objects = lenient.Scan(p.text, watched)
	var last lead // of the root in which the last call was found
	after := 0    // what begins before this offset is inside a call
	blocks := p.blocks
	for i := range p.objects {
		o := &p.objects[i]
		for len(blocks) > 0 && (blocks[0].End <= o.Span.Start || blocks[0].Start < after) {
			blocks = blocks[1:]
		}
		inBlock := len(blocks) > 0 && blocks[0].Start <= o.Span.Start
		if o.Span.Start < after || inBlock {
			continue
		}
		d, ok := p.call(i)
		if !ok {
			continue
		}
		after = o.Span.End
		d.Tier = TierObject
		if o.InArray {
			d.Tier = TierArray
		}
		if o.Root != last.root {
			last = p.leadIn(o.Root, last)
		}
		d.removed = last.around
		if last.example {
			p.example(d.Span)
			continue
		}
		p.drafts = append(p.drafts, d)
	}
}

// call reads object i as a call. ok is false when it is other data.
func (p *parser) call(i int) (d draft, ok bool) {
	outer := &p.objects[i]
	o := outer
	if f, has := outer.Member("function"); has && f.Kind == lenient.ObjectKind {
		if inner := p.objectAt(f.Span); inner != nil {
			o = inner
		}
	}
	d = draft{Call: Call{Span: outer.Span}, removed: outer.Span}
	nameKey := p.name(o, &d.Call)
	if nameKey == "" {
		return d, false
	}
	arguments, hasArguments := firstMember(o, argumentKeys[:])
	switch {
	case hasArguments:
		if p.isDefinition(o, arguments) {
			return d, false
		}
		d.rejected = p.arguments(arguments, &d.Call)
	case p.tools == nil:
		return d, false
	case p.bare(o):
		d.Arguments = json.RawMessage("{}")
	case nameKey == "tool":
		if _, other := firstMember(o, []string{"type", "result", "output", "observation", "error"}); other || o.Cut {
			return d, false
		}
		d.rejected = p.flat(o, nameKey, &d.Call)
	default:
		return d, false
	}
	d.Repaired = d.Repaired || outer.Repaired
	reason, has := outer.Member("rationale")
	if !has {
		reason, has = o.Member("rationale")
	}
	if has {
		d.sibling = p.sibling(reason)
	}
	return d, true
}

// name sets the name of the call and returns the member that holds it.
func (p *parser) name(o *lenient.Object, c *Call) string {
	for _, key := range nameKeys {
		m, ok := o.Member(key)
		if !ok || m.Kind != lenient.String {
			continue
		}
		if name := p.decodeString(m.Span); p.callable(name) {
			c.Name = name
			return key
		}
	}
	return ""
}

// arguments sets the arguments of the call from the member that holds them,
// or says why they cannot be read.
func (p *parser) arguments(m lenient.Member, c *Call) (rejected string) {
	switch {
	case m.Cut:
		return "the arguments are cut off"
	case m.Kind == lenient.Null:
		c.Arguments = json.RawMessage("{}")
	case m.Kind == lenient.ObjectKind:
		n, ok := lenient.Normalize(p.text, m.Span)
		if !ok {
			return "the arguments cannot be read"
		}
		c.Arguments = n.JSON
	case m.Kind == lenient.String:
		inner := strings.TrimSpace(p.decodeString(m.Span))
		if inner == "" {
			c.Arguments = json.RawMessage("{}")
			return ""
		}
		raw, repaired, ok := wholeObject(inner)
		if !ok {
			return "the arguments are a string that holds no JSON object"
		}
		c.Arguments, c.Repaired = raw, c.Repaired || repaired
	default:
		return "the arguments are no JSON object"
	}
	return ""
}

// flat takes every member but the name and the rationale as an argument:
// {"tool":"read_file","path":"a.go"}.
func (p *parser) flat(o *lenient.Object, nameKey string, c *Call) (rejected string) {
	n, ok := lenient.Normalize(p.text, o.Span)
	if !ok {
		return "the arguments cannot be read"
	}
	out := []byte{'{'}
	gjson.ParseBytes(n.JSON).ForEach(func(key, value gjson.Result) bool {
		if name := key.String(); name == nameKey || name == "rationale" {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key.Raw...), ':'), value.Raw...)
		return true
	})
	out = append(out, '}')
	c.Arguments = out
	return ""
}

// bare reports whether an object without arguments says nothing but which tool
// to call.
func (p *parser) bare(o *lenient.Object) bool {
	for _, m := range o.Members {
		switch m.Name {
		case "tool", "tool_name", "name", "function", "rationale", "id":
		case "type":
			switch p.decodeString(m.Span) {
			case "function", "function_call", "tool", "tool_call", "tool_use":
			default:
				return false
			}
		default:
			return false
		}
	}
	return o.Others == 0
}

// isDefinition reports whether the object describes a tool instead of calling
// it, as when a model repeats its instructions.
func (p *parser) isDefinition(o *lenient.Object, arguments lenient.Member) bool {
	if _, described := o.Member("description"); described && arguments.Name == "parameters" {
		return true
	}
	if arguments.Kind != lenient.ObjectKind {
		return false
	}
	schema := p.objectAt(arguments.Span)
	if schema == nil {
		return false
	}
	kind, hasType := schema.Member("type")
	properties, hasProperties := schema.Member("properties")
	return hasType && kind.Kind == lenient.String && hasProperties && properties.Kind == lenient.ObjectKind
}

// objectAt returns the object that was found at exactly this place.
func (p *parser) objectAt(span rationale.Span) *lenient.Object {
	i := sort.Search(len(p.objects), func(i int) bool { return p.objects[i].Span.Start >= span.Start })
	if i < len(p.objects) && p.objects[i].Span == span {
		return &p.objects[i]
	}
	return nil
}

func (p *parser) decodeString(span rationale.Span) string {
	n, ok := lenient.Normalize(p.text, span)
	if !ok {
		return ""
	}
	return gjson.ParseBytes(n.JSON).String()
}

func firstMember(o *lenient.Object, names []string) (lenient.Member, bool) {
	for _, name := range names {
		if m, ok := o.Member(name); ok {
			return m, true
		}
	}
	return lenient.Member{}, false
}

// wholeObject reads a text that is one JSON object and nothing else.
func wholeObject(text string) (raw json.RawMessage, repaired, ok bool) {
	if strings.HasPrefix(text, "{") && gjson.Valid(text) {
		return json.RawMessage(text), false, true
	}
	if !strings.HasPrefix(text, "{") {
		return nil, false, false
	}
	_, end, ok := lenient.At(text, 0, nil)
	if !ok || end != len(text) {
		return nil, false, false
	}
	n, ok := lenient.Normalize(text, rationale.Span{End: end})
	return n.JSON, true, ok && text[end-1] == '}'
}
