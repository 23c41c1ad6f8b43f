// Package plan reads the plan that a planner writes as JSON, with the reason
// that it states for each step (seed 004, path 3).
package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
	"github.com/tidwall/gjson"
)

// The types of steps that [Schema] names.
const (
	ToolCall  = "tool_call" // calls ToolName with ToolArgs
	Analysis  = "analysis"  // the model thinks about what earlier steps gave
	Composite = "composite" // is worked out in steps of its own
)

// Plan is what a planner wrote.
type Plan struct {
	Steps []Step
	// Missing is the number of tool_call steps without a readable rationale.
	Missing int
	// Repaired says that the plan, or a string of arguments, was not strict JSON.
	Repaired bool
	// Span is the plan in the text.
	Span rationale.Span
	// Warnings name what was odd, in words for a person.
	Warnings []string
}

// Step is one step of a plan.
type Step struct {
	Title string
	// Type is as written, but that a tool_call is always spelled like the
	// constant, and is the type of a step that names a tool and no type.
	Type     string
	ToolName string
	// ToolArgs is a JSON object; {} when the step states none.
	ToolArgs json.RawMessage
	// Problem says why the step cannot be run; empty when it can.
	Problem string
	// Span is the step in the text.
	Span rationale.Span
	// WhySpan is the stated reason in the text, between its quotation marks;
	// the zero Span unless the rationale is present.
	WhySpan rationale.Span
	// Capture is what became of its rationale. Only tool_call steps are asked
	// for one. Its Span is one of the text, its Part is 0.
	Capture rationale.Capture
}

// Lacks reports whether the step is a tool_call without a readable rationale.
func (s *Step) Lacks() bool {
	return s.Type == ToolCall && s.Capture.Status != rationale.Present
}

// Error says that an output holds no plan that can be read.
type Error struct {
	// Raw is the whole output. It may hold secrets and is not in the message.
	Raw string
	// Reason says what is wrong.
	Reason string
}

func (e *Error) Error() string { return "unreadable plan: " + e.Reason }

// Parse reads the plan in the output of a planner: an object with an array
// "steps", or that array alone, in whatever prose and fences. Thinking is
// passed over. When the output holds several plans, the last is read: it is the
// one after all corrections. JSON is read as package lenient does. The error is
// always an [*Error].
func Parse(output string) (Plan, error) {
	visible := text.WithoutThinking(output)
	value, isCut, several := find(visible)
	switch {
	case value.Len() == 0:
		return Plan{}, &Error{Raw: output, Reason: "no JSON object with an array of steps"}
	case isCut:
		return Plan{}, &Error{Raw: output, Reason: "the plan is cut off"}
	}
	n, ok := lenient.Normalize(visible, value)
	if !ok || !gjson.ValidBytes(n.JSON) {
		return Plan{}, &Error{Raw: output, Reason: "the plan is no JSON"}
	}
	p := Plan{Steps: []Step{}, Span: value, Repaired: !gjson.Valid(value.In(visible))}
	if several > 1 {
		p.warn("the output holds %d plans; the last was read", several)
	}
	steps := gjson.ParseBytes(n.JSON)
	if steps.IsObject() {
		steps = members(steps)["steps"]
	} else {
		p.warn("the plan is a bare array of steps")
	}
	i := 0
	steps.ForEach(func(_, element gjson.Result) bool {
		if i++; !element.IsObject() {
			p.warn("step %d is no object and was left out", i)
			return true
		}
		step := p.step(i, element, &n)
		if step.Lacks() {
			p.Missing++
		}
		p.Steps = append(p.Steps, step)
		return true
	})
	if i > 0 && len(p.Steps) == 0 {
		return Plan{}, &Error{Raw: output, Reason: "no step is an object"}
	}
	return p, nil
}

// find returns the plan in the text, whether the text ends inside its steps,
// and how many plans there are. An object with steps inside a plan is a part
// of it.
func find(visible string) (value rationale.Span, isCut bool, several int) {
	objects := lenient.Scan(visible, []string{"steps", "title", "toolName"})
	end := 0
	for i := range objects {
		o := &objects[i]
		if m, ok := o.Member("steps"); ok && m.Kind == lenient.Array && o.Span.Start >= end {
			value, isCut, end = o.Span, m.Cut, o.Span.End
			several++
		}
	}
	if several > 0 {
		return value, isCut, several
	}
	for i := range objects {
		o := &objects[i]
		if o.InArray && o.Root.Start >= end && visible[o.Root.Start] == '[' {
			value, end = o.Root, o.Root.End
			isCut = visible[end-1] != ']'
			several++
		}
	}
	return value, isCut, several
}

// step reads element number i of the steps; n leads back to the text.
func (p *Plan) step(i int, element gjson.Result, n *lenient.Normal) Step {
	fields := members(element)
	s := Step{
		Title:    stringOf(fields["title"]),
		Type:     stringOf(fields["type"]),
		ToolName: strings.TrimSpace(stringOf(fields["toolName"])),
		Span:     n.Whole(rangeOf(element)),
	}
	switch {
	case strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s.Type)) == "toolcall":
		s.Type = ToolCall
	case s.Type == "" && s.ToolName != "":
		s.Type = ToolCall
		p.warn("step %d names a tool and no type; it was read as a tool_call", i)
	}
	var repaired bool
	s.ToolArgs, repaired, s.Problem = arguments(fields["toolArgs"])
	p.Repaired = p.Repaired || repaired
	if s.Type == ToolCall && s.ToolName == "" {
		s.Problem = "it is a tool_call and names no tool"
	}
	s.Capture = capture(fields["rationale"], n)
	switch {
	case s.Capture.Status == rationale.Present:
		s.WhySpan = s.Capture.Span
	case s.Capture.Status == rationale.Missing && s.Type != ToolCall:
		s.Capture.Status = rationale.Unasked
	}
	return s
}

// arguments reads toolArgs: an object, or a string that holds one, which is
// how strict schemas pass what they cannot describe.
func arguments(value gjson.Result) (raw json.RawMessage, repaired bool, problem string) {
	switch {
	case !value.Exists() || value.Type == gjson.Null:
		return json.RawMessage("{}"), false, ""
	case value.IsObject():
		return json.RawMessage(value.Raw), false, ""
	case value.Type != gjson.String:
		return nil, false, "toolArgs is no JSON object"
	}
	inner := strings.TrimSpace(value.Str)
	if inner == "" {
		return json.RawMessage("{}"), false, ""
	}
	if _, end, ok := lenient.At(inner, 0, nil); ok && end == len(inner) && inner[0] == '{' && inner[end-1] == '}' {
		if n, ok := lenient.Normalize(inner, rationale.Span{End: end}); ok {
			return n.JSON, !gjson.Valid(inner), ""
		}
	}
	return nil, false, "toolArgs is a string that holds no JSON object"
}

// capture reads the rationale of a step.
func capture(value gjson.Result, n *lenient.Normal) rationale.Capture {
	if !value.Exists() || value.Type == gjson.Null {
		return rationale.Capture{Status: rationale.Missing, Part: -1}
	}
	return n.Capture(rangeOf(value), rationale.SourcePlan)
}

// members returns the members of an object; of two with one name the first.
func members(object gjson.Result) map[string]gjson.Result {
	found := map[string]gjson.Result{}
	object.ForEach(func(key, value gjson.Result) bool {
		if _, twice := found[key.Str]; !twice {
			found[key.Str] = value
		}
		return true
	})
	return found
}

func stringOf(value gjson.Result) string {
	if value.Type != gjson.String {
		return ""
	}
	return value.Str
}

func rangeOf(value gjson.Result) rationale.Span {
	return rationale.Span{Start: value.Index, End: value.Index + len(value.Raw)}
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}
