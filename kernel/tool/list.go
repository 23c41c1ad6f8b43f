package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/rax-project/rax/kernel"
)

// lister is tools.list. The registry ties it to itself, so that it lists what
// can be called there and nothing else.
type lister struct {
	kernel.Tool
	toolbox kernel.Toolbox
}

type listArgs struct {
	Name string `json:"name,omitempty" jsonschema:"only this tool; leave it out to list all"`
}

// listed is a tool as the model sees it.
type listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Effects     kernel.Effects  `json:"effects"`
	Schema      json.RawMessage `json:"schema"`
}

// List is tools.list: the name, description, effects and JSON Schema of each
// tool of the registry that it is registered with (seed 003, AC7).
func List() kernel.Tool {
	spec := Func("tools.list", "List the available tools with the JSON Schema of their arguments.",
		kernel.EffectNone, func(context.Context, listArgs) (kernel.ToolResult, error) {
			return kernel.ToolResult{}, fmt.Errorf("it belongs to no registry")
		})
	return lister{Tool: spec}
}

func (l lister) Run(ctx context.Context, raw json.RawMessage) (kernel.ToolResult, error) {
	if l.toolbox == nil {
		return l.Tool.Run(ctx, raw)
	}
	var args listArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return kernel.ToolResult{}, err
	}
	tools := []listed{}
	for _, s := range l.toolbox.Specs() {
		if args.Name == "" || args.Name == s.Name {
			tools = append(tools, listed{s.Name, s.Description, s.Effects, s.Schema})
		}
	}
	if len(tools) == 0 {
		return kernel.ToolResult{}, fmt.Errorf("there is no such tool; leave name out to list all")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // descriptions are for a model
	if err := encoder.Encode(tools); err != nil {
		return kernel.ToolResult{}, err
	}
	return kernel.ToolResult{
		Content: text.String(),
		Summary: count(len(tools), "tool"),
	}, nil
}

// count is "1 tool" or "2 tools".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
