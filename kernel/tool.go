package kernel

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is something that the model can call.
type Tool interface {
	// Spec describes the tool. It is constant.
	Spec() ToolSpec
	// Run calls the tool with arguments that have been validated against the
	// schema. An error is shown to the model as the result of the call; it
	// should say what the model can do about it. Run must respect ctx.
	Run(ctx context.Context, args json.RawMessage) (ToolResult, error)
}

// ToolSpec describes a tool to the model and to the registry.
type ToolSpec struct {
	// Name is what the model calls it by; it may hold a declared namespace, as
	// in "github/list_commits".
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, an object.
	Schema json.RawMessage
	// Timeout bounds one call; 0 means the registry's default.
	Timeout time.Duration
	// Effects says what a call can change, for the approval policy.
	Effects Effects
}

// Effects says what a tool can change outside of the run.
type Effects string

// The effects, mildest first.
const (
	// EffectNone: the tool only computes or reads what the run itself keeps.
	EffectNone Effects = "none"
	// EffectRead: it reads files or the network.
	EffectRead Effects = "read"
	// EffectWrite: it writes files or anything else outside.
	EffectWrite Effects = "write"
	// EffectExecute: it runs programs.
	EffectExecute Effects = "execute"
)

// ToolResult is what a call gave.
type ToolResult struct {
	// Content is what the model sees.
	Content string
	// Summary is one line for people, such as "3 documents" or "exit 0".
	Summary string
	// Truncated says that Content was cut to the limit.
	Truncated bool
}

// Toolbox is the set of tools of a run: it knows their specs and calls them
// safely. kernel/tool has the one that rax uses.
type Toolbox interface {
	// Specs lists the tools in a fixed order.
	Specs() []ToolSpec
	// Lookup finds a tool's spec by name.
	Lookup(name string) (ToolSpec, bool)
	// Call validates the arguments, then runs the tool with its timeout and
	// limits. A panic of the tool is an error of the call. A *ArgumentsError
	// says what is wrong with the arguments in words that a model can act on.
	// Beside an error the result holds what the tool had got until then, which
	// may be nothing: the output of a command that was stopped, for example.
	Call(ctx context.Context, name string, args json.RawMessage) (ToolResult, error)
}
