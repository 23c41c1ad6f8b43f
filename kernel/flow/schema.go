//go:build !noreasoning

package flow

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the JSON Schema (2020-12) of a flow, for editors. The same version
// gives the same bytes.
func Schema() ([]byte, error) {
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	names := `^[A-Za-z_][A-Za-z0-9_]{0,63}$`
	node := &jsonschema.Schema{
		Type: "object", Required: []string{"name", "action"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"name":   {Type: "string", Pattern: names, Description: "the node, and what it gave in the state"},
			"action": {Type: "string", Description: "what is done", AnyOf: []*jsonschema.Schema{{Pattern: `^tool\..+$`}}},
			"with":   {Type: "object", Description: "what the action needs; texts are templates that see state, output and tools"},
			"when":   {Types: []string{"string", "boolean"}, Description: `run the node only if this holds, such as state.x == "y"`},
		},
	}
	defs := map[string]*jsonschema.Schema{}
	var actions []any
	for _, t := range techniques() {
		with, err := t.schema()
		if err != nil {
			return nil, err
		}
		defs[t.action] = with
		actions = append(actions, t.action)
		node.AllOf = append(node.AllOf, &jsonschema.Schema{
			If: &jsonschema.Schema{
				Properties: map[string]*jsonschema.Schema{"action": {Const: jsonschema.Ptr[any](t.action)}},
				Required:   []string{"action"},
			},
			Then: &jsonschema.Schema{
				Properties: map[string]*jsonschema.Schema{"with": {Ref: "#/$defs/" + t.action}},
				Required:   []string{"with"},
			},
		})
	}
	action := node.Properties["action"]
	action.AnyOf = append([]*jsonschema.Schema{{Enum: actions}}, action.AnyOf...)
	doc, err := json.MarshalIndent(&jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "A flow of rax",
		Type: "object", Required: []string{"nodes"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"name": text("the flow; without it, the name of its file"), "description": text("what the flow is for: the goal of its run"),
			"model": text("the model of the nodes that name none, as provider:model"),
			"state": {
				Type: "object", Description: "names and defaults of what the flow begins with; null must be given",
				PropertyNames: &jsonschema.Schema{Pattern: names},
			},
			"nodes": {Type: "array", MinItems: jsonschema.Ptr(1), MaxItems: jsonschema.Ptr(maxNodes), Items: node},
		},
		Defs: defs,
	}, "", "  ")
	return append(doc, '\n'), err
}
