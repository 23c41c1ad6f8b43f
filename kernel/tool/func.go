package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rax-project/rax/kernel"
)

// Func makes a tool of a function. T is a struct; its exported fields are the
// arguments, named by their json tags, described by their jsonschema tags, and
// required unless marked omitempty or omitzero. What the tags cannot say, such
// as a range, refine adds to the schema.
//
// Func panics if T has no JSON Schema, as do maps of other keys than strings:
// that is a mistake in the program, not in its input.
func Func[T any](name, description string, effects kernel.Effects, run func(context.Context, T) (kernel.ToolResult, error), refine ...func(*jsonschema.Schema)) kernel.Tool {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	for _, p := range schema.Properties {
		// A nil slice may be null in JSON; as an argument it is left out.
		p.Types = slices.DeleteFunc(p.Types, func(t string) bool { return t == "null" })
		if len(p.Types) == 1 {
			p.Type, p.Types = p.Types[0], nil
		}
	}
	for _, f := range refine {
		f(schema)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", name, err))
	}
	if len(schema.Properties) == 0 {
		// Providers refuse an object without properties.
		raw = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return funcTool{
		spec: kernel.ToolSpec{Name: name, Description: description, Schema: raw, Effects: effects},
		run: func(ctx context.Context, raw json.RawMessage) (kernel.ToolResult, error) {
			var args T
			if err := json.Unmarshal(raw, &args); err != nil {
				return kernel.ToolResult{}, badValue(name, err)
			}
			return run(ctx, args)
		},
	}
}

type funcTool struct {
	spec kernel.ToolSpec
	run  func(context.Context, json.RawMessage) (kernel.ToolResult, error)
}

func (t funcTool) Spec() kernel.ToolSpec { return t.spec }

func (t funcTool) Run(ctx context.Context, args json.RawMessage) (kernel.ToolResult, error) {
	return t.run(ctx, args)
}

// WithTimeout returns the tool with another timeout in its spec.
func WithTimeout(t kernel.Tool, timeout time.Duration) kernel.Tool {
	if l, ok := t.(lister); ok {
		return lister{WithTimeout(l.Tool, timeout), l.toolbox}
	}
	spec := t.Spec()
	spec.Timeout = timeout
	return funcTool{spec, t.Run}
}

// badValue is for what fits the schema and not the Go type: 1.0 is an integer
// to JSON Schema. The error of encoding/json holds the value, so it is replaced.
func badValue(name string, err error) error {
	problem := Problem{Expected: "a JSON object that fits the schema"}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		problem.Property, problem.Expected = mismatch.Field, "a value of another type"
		if strings.HasPrefix(mismatch.Value, "number") {
			problem.Expected = "a whole number"
			problem.Advice = "write it without fraction and exponent, and not larger than needed"
		}
	}
	return &ArgumentsError{Tool: name, Problems: []Problem{problem}}
}

// oneOf limits a property to some texts.
func oneOf(property string, values ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		for _, v := range values {
			s.Properties[property].Enum = append(s.Properties[property].Enum, v)
		}
	}
}

// between limits a number.
func between(property string, low, high float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.Properties[property].Minimum, s.Properties[property].Maximum = &low, &high
	}
}

// length limits a text, in characters.
func length(property string, low, high int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.Properties[property].MinLength, s.Properties[property].MaxLength = &low, &high
	}
}
