package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSchema = 256 << 10 // bytes
	maxSteps  = 10_000    // subschemas that may apply to one value
)

// resolve reads the JSON Schema of a tool's arguments and prepares it for
// validation. Schemas also come from other people's servers, so the size is
// limited, and so is what validating one value can cost.
func resolve(raw json.RawMessage) (*jsonschema.Resolved, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("it is larger than %d bytes", maxSchema)
	}
	object, problem := decode(raw)
	if problem != nil {
		return nil, fmt.Errorf("%s must be %s", cmp.Or(problem.Property, "it"), problem.Expected)
	}
	if t, ok := object["type"]; ok && t != "object" {
		return nil, errors.New("it does not take an object")
	}
	if err := checkReferences(object); err != nil {
		return nil, err
	}
	schema := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, schema); err != nil {
		return nil, err
	}
	if !strings.Contains(schema.Schema, "draft-07") {
		// The library refuses to validate other drafts than its two; the
		// keywords that tools use mean the same in all.
		schema.Schema = ""
	}
	return schema.Resolve(nil)
}

// references follows the subschemas that apply to the very value that their
// parent applies to. A cycle among these would never end: the validator
// overflows its stack on {"allOf":[{"$ref":"#"}]}, which cannot be recovered.
type references struct {
	root any
	// steps is what validating one value costs from a pointer on; -1 while it
	// is worked out.
	steps map[string]int
}

func checkReferences(root map[string]any) error {
	r := references{root, map[string]int{}}
	return r.visit("", root)
}

// visit works out every object under a JSON pointer, wherever it stands: what
// is no schema (an enum's value, say) can only make the answer stricter.
func (r references) visit(pointer string, value any) error {
	switch v := value.(type) {
	case map[string]any:
		if _, err := r.cost(pointer, v); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := r.visit(child(pointer, name), v[name]); err != nil {
				return err
			}
		}
	case []any:
		for i, element := range v {
			if err := r.visit(child(pointer, strconv.Itoa(i)), element); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r references) cost(pointer string, value any) (int, error) {
	schema, ok := value.(map[string]any)
	if !ok {
		return 1, nil
	}
	switch known := r.steps[pointer]; {
	case known < 0:
		return 0, errors.New("a $ref leads back to itself")
	case known > 0:
		return known, nil
	}
	r.steps[pointer] = -1
	total := 1
	add := func(pointer string, value any) error {
		n, err := r.cost(pointer, value)
		if total += n; err == nil && total > maxSteps {
			err = fmt.Errorf("more than %d subschemas apply to one value", maxSteps)
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		var err error
		sub, at := schema[name], child(pointer, name)
		switch name {
		case "$dynamicRef", "$recursiveRef":
			if _, isText := sub.(string); isText {
				err = fmt.Errorf("%s is not supported", name)
			}
		case "$ref":
			if text, isText := sub.(string); isText {
				var target any
				if at, target, err = r.follow(text); err == nil {
					err = add(at, target)
				}
			}
		case "$id":
			// Below the root it changes what "#" means.
			if _, isText := sub.(string); isText && pointer != "" {
				err = errors.New("$id is supported at the top only")
			}
		case "not", "if", "then", "else":
			err = add(at, sub)
		case "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies":
			switch subs := sub.(type) {
			case []any:
				for i := 0; i < len(subs) && err == nil; i++ {
					err = add(child(at, strconv.Itoa(i)), subs[i])
				}
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(subs)) {
					if err == nil {
						err = add(child(at, name), subs[name])
					}
				}
			}
		}
		if err != nil {
			return 0, err
		}
	}
	r.steps[pointer] = total
	return total, nil
}

// follow finds what a reference inside of the schema points at.
func (r references) follow(ref string) (string, any, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || pointer != "" && pointer[0] != '/' {
		return "", nil, errors.New(`only a $ref like "#/$defs/name" is supported`)
	}
	value := r.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return "", nil, errors.New("a $ref points at nothing")
			}
			value = v[i]
		default:
			return "", nil, errors.New("a $ref points at nothing")
		}
	}
	return pointer, value, nil
}

func child(pointer, name string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
