package plan

import "strings"

// schema is the shape of a plan. A tool_call step and any other are two shapes,
// because only the first must state a reason and the strict mode of OpenAI has
// no conditions. For the same reason every property is required and what may
// be absent may be null. Lengths and ranges stay in words: some providers
// refuse the keywords, and the parser holds them anyway.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "plan",
  "type": "object",
  "properties": {
    "steps": {
      "type": "array",
      "description": "The steps in the order in which they are carried out.",
      "items": {
        "anyOf": [
          {
            "type": "object",
            "properties": {
              "title": {"type": "string", "description": "What the step does."},
              "type": {"type": "string", "enum": ["tool_call"]},
              "toolName": {"type": "string", "description": "The tool to call."},
              "toolArgs": @ARGS@,
              "rationale": {
                "type": "object",
                "description": "Why this step is needed.",
                "properties": {
                  "why": {"type": "string", "description": "Your actual reason in one sentence of at most 280 characters."},
                  "confidence": {"type": @CONFIDENCE@, "description": "How sure you are of this step, 0 to 1."}
                },
                "required": @RATIONALE@,
                "additionalProperties": false
              }
            },
            "required": ["title", "type", "toolName", "toolArgs", "rationale"],
            "additionalProperties": false
          },
          {
            "type": "object",
            "properties": {
              "title": {"type": "string", "description": "What the step does."},
              "type": {"type": "string", "enum": ["analysis", "composite"]}
            },
            "required": ["title", "type"],
            "additionalProperties": false
          }
        ]
      }
    }
  },
  "required": ["steps"],
  "additionalProperties": false
}
`

// Schema returns the JSON Schema (2020-12) of a plan within the limits of
// OpenAI's strict mode: toolArgs is a string that holds a JSON object, and a
// confidence that is not stated is null.
func Schema() []byte {
	return fill(
		`{"type": "string", "description": "The arguments of the tool: a JSON object, written as a string."}`,
		`["number", "null"]`,
		`["why", "confidence"]`)
}

// OpenSchema returns the same schema for providers without such limits:
// toolArgs is an object and confidence may be absent, as in seed 004.
func OpenSchema() []byte {
	return fill(
		`{"type": "object", "description": "The arguments of the tool."}`,
		`"number"`,
		`["why"]`)
}

func fill(args, confidence, required string) []byte {
	return []byte(strings.NewReplacer("@ARGS@", args, "@CONFIDENCE@", confidence, "@RATIONALE@", required).Replace(schema))
}
