package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Bounds on arguments and schemas, which other people write.
const (
	maxArguments = 8 << 20 // bytes
	maxDepth     = 64      // nested objects and lists
	maxProblems  = 8       // told at once
)

// ArgumentsError says what is wrong with the arguments of a call, in words that
// a model can act on. It names properties and types, never values.
type ArgumentsError struct {
	Tool     string
	Problems []Problem
}

// Problem is one thing wrong with arguments.
type Problem struct {
	// Property is the path to the property, such as "filter.paths[2]"; empty for
	// the arguments as a whole.
	Property string
	// Expected is what the schema wants, such as "an integer from 1 to 10".
	Expected string
	// Got is what came instead, as a JSON type or the like; empty for nothing.
	Got string
	// Advice is what to send instead; it may be empty.
	Advice string
}

func (p Problem) String() string {
	name := "the arguments"
	if p.Property != "" {
		name = quote(p.Property)
	}
	text := name + " must be " + p.Expected
	if p.Got != "" {
		text += ", not " + p.Got
	}
	if p.Advice != "" {
		text += ": " + p.Advice
	}
	return text
}

func (e *ArgumentsError) Error() string {
	shown := e.Problems[:min(len(e.Problems), maxProblems)]
	parts := make([]string, 0, len(shown)+1)
	for _, p := range shown {
		parts = append(parts, p.String())
	}
	if more := len(e.Problems) - len(shown); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return "arguments of " + e.Tool + ": " + strings.Join(parts, "; ")
}

// validate checks arguments against the tool's schema and returns them as the
// tool gets them. No arguments at all are an empty object: models that call a
// tool without any send nothing, or null.
func (e entry) validate(args json.RawMessage) (json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		args = json.RawMessage(`{}`)
	}
	value, problem := decode(args)
	if problem != nil {
		return nil, &ArgumentsError{Tool: e.spec.Name, Problems: []Problem{*problem}}
	}
	if err := e.arguments.Validate(value); err != nil {
		// The library's message echoes values and stops at the first: it only
		// judges, the explanation is rax's.
		problems := explain(e.arguments.Schema(), value)
		return nil, &ArgumentsError{Tool: e.spec.Name, Problems: problems}
	}
	return args, nil
}

// decode reads a JSON object. A property that occurs twice is refused: readers
// differ in which of the two they take, and what was approved must be what is
// run.
func decode(raw []byte) (map[string]any, *Problem) {
	if len(raw) > maxArguments {
		return nil, &Problem{Expected: fmt.Sprintf("at most %d bytes", maxArguments), Advice: "send less at once"}
	}
	d := decoder{json.NewDecoder(bytes.NewReader(raw))}
	value, err := d.value("", 0)
	if err == nil {
		if _, extra := d.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	var problem *Problem
	switch object, ok := value.(map[string]any); {
	case errors.As(err, &problem):
		return nil, problem
	case err != nil:
		return nil, &Problem{
			Expected: "one valid JSON object",
			Got:      fmt.Sprintf("what stands at byte %d", d.InputOffset()),
			Advice:   "send the whole object again and check its quotes and brackets",
		}
	case !ok:
		return nil, &Problem{Expected: "a JSON object", Got: "a value of type " + typeOf(value), Advice: `send {"name": value}`}
	default:
		return object, nil
	}
}

// Error makes a problem travel as an error inside of the decoder.
func (p *Problem) Error() string { return p.String() }

type decoder struct{ *json.Decoder }

func (d decoder) value(path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, &Problem{Expected: fmt.Sprintf("nested at most %d deep", maxDepth)}
	}
	token, err := d.Token()
	if err != nil {
		var number *json.UnmarshalTypeError // one beyond float64
		if errors.As(err, &number) {
			return nil, &Problem{Property: path, Expected: "a number within 1e308"}
		}
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return d.object(path, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			element, err := d.value(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

func (d decoder) object(path string, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // the decoder takes nothing else here
		at := join(path, name)
		if _, twice := object[name]; twice {
			return nil, &Problem{Property: at, Expected: "given once", Advice: "it stands there twice"}
		}
		if object[name], err = d.value(at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, err
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// typeOf names the JSON type of a decoded value.
func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
