package debrief

import (
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rax-project/rax/rationale"
)

// Schema gives the JSON Schema (2020-12) of a [Debrief], made from its Go type.
// Later versions may add members; they take none away.
func Schema() ([]byte, error) {
	// The root is the same struct under another name, so that the debriefs of
	// sub-runs can refer to it.
	type root Debrief
	schema, err := jsonschema.For[root](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Debrief]():          {Ref: "#"},
		reflect.TypeFor[rationale.Status](): oneOf(rationale.Statuses[:]...),
		reflect.TypeFor[Outcome]():          oneOf(OutcomeSuccess, OutcomeError, OutcomeRejected, OutcomeUnknown, OutcomeOpen),
	}})
	if err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	schema.ID = SchemaVersion
	schema.Title = "The debrief of an agent's run"
	neverNull(schema)
	doc, err := json.MarshalIndent(schema, "", "  ")
	return append(doc, '\n'), err
}

func oneOf[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// neverNull takes null out of every type: arrays are never null and what is
// absent is absent.
func neverNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for _, t := range s.Types {
		if t != "null" {
			s.Type = t
		}
	}
	s.Types = nil
	// A struct is closed by default, which would forbid every later version.
	if s.Type == "object" && s.Properties != nil {
		s.AdditionalProperties = nil
	}
	neverNull(s.Items)
	for _, p := range s.Properties {
		neverNull(p)
	}
}
