package text

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Tool is a tool as [Prompt] shows it.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments; nil when there is none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

const promptHead = `## Tools
You call tools by writing text. These are the tools, one JSON object a line:
<tools>
`

const promptHow = `</tools>

## How to call a tool
Write one block per call, in the order in which the calls are to run:
<tool_call>
`

const promptAsked = `{"name":"…","arguments":{…},"rationale":{"why":"…","confidence":0.9}}
</tool_call>
- name: a tool of the list. arguments: a JSON object that fits its parameters.
- rationale (MANDATORY in every call): why is your actual reason for this call in one sentence of at most 280 characters; confidence is a number from 0 to 1 and can be left out.
`

const promptPlain = `{"name":"…","arguments":{…}}
</tool_call>
- name: a tool of the list. arguments: a JSON object that fits its parameters.
`

const promptTail = `- Plain JSON with double quotes, no comments, no code fence. Write a block only to make the call, never as an example.
- After the last block, stop and wait for the results. When no tool is needed, answer without a block.
`

// Prompt returns the instruction for a model that writes its calls as text.
// Its shape is constant: the same tools in the same order give the same bytes,
// and only the lines of the tools differ, so that a provider's prompt cache
// holds. It is empty without tools. It shows no finished call, because small
// models repeat one with the reason in it. Without asked it teaches the calls
// alone.
func Prompt(tools []Tool, asked bool) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(promptHead)
	for _, tool := range tools {
		b.WriteString(toolLine(tool))
	}
	b.WriteString(promptHow)
	if asked {
		b.WriteString(promptAsked)
	} else {
		b.WriteString(promptPlain)
	}
	b.WriteString(promptTail)
	return b.String()
}

// toolLine returns one line of JSON. A schema that is no JSON is left out: it
// would break the line for all.
func toolLine(tool Tool) string {
	if !json.Valid(tool.Parameters) {
		tool.Parameters = nil
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if enc.Encode(tool) != nil { // names and valid JSON always encode
		return ""
	}
	return line.String()
}
