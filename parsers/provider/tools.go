package provider

import (
	"bytes"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// ParseTools reads the tools that are offered to a model: a JSON list of names,
// a list of definitions as any provider takes them, or a whole request with
// such a list in it. Tools that have no name, which a provider runs itself, are
// left out. The error is [ErrUnknown] or a *[SyntaxError].
func ParseTools(doc []byte) ([]Tool, error) {
	if at, err := validate(doc); err != nil {
		return nil, &SyntaxError{Format: "tools", Offset: at, Err: err}
	}
	root := gjson.ParseBytes(doc)
	if root.IsObject() {
		root = firstOf(root, "tools", "toolConfig.tools")
	}
	if !root.IsArray() {
		return nil, ErrUnknown
	}
	var r Request
	each(root, func(t gjson.Result) bool {
		if t.Type == gjson.String {
			r.addTool(t, gjson.Result{}, gjson.Result{}, gjson.Result{})
			return true
		}
		declared := firstOf(t, "functionDeclarations", "function_declarations") // Gemini
		each(declared, func(f gjson.Result) bool { r.addDefinition(f); return true })
		if !declared.Exists() {
			r.addDefinition(t)
		}
		return true
	})
	return r.Tools, nil
}

// addDefinition appends a tool from its definition in any format.
func (r *Request) addDefinition(t gjson.Result) {
	if inner := firstOf(t, "function", "custom", "toolSpec"); inner.IsObject() {
		t = inner
	}
	schema := firstOf(t, "inputSchema.json", "parameters", "input_schema", "parametersJsonSchema", "inputSchema")
	r.addTool(t.Get("name"), t.Get("description"), schema, gjson.Result{})
}

// HasArgument reports whether the schema of the tool has the rationale argument
// that rax puts there, and not one of the tool's own.
func (t Tool) HasArgument() bool {
	out, injected, err := rationale.InjectArgument(t.Schema, rationale.DialectDefault)
	return err == nil && injected && len(t.Schema) > 0 && bytes.Equal(out, t.Schema)
}
