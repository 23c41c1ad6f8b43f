package rewrite

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
)

// anthropic reads a request of Anthropic Messages.
func (r *request) anthropic() error {
	m := membersOf(r.root, "messages", "system", "tools", "tool_choice", "output_config", "output_format")
	if m.twice {
		return errDuplicate
	}
	if !m.get("messages").IsArray() {
		return errJSON
	}
	r.never = str(m.get("tool_choice").Get("type")) == "none"
	r.structured = m.get("output_config").Get("format").IsObject() || m.get("output_format").IsObject()
	each(m.get("tools"), func(t gjson.Result) {
		kind := str(t.Get("type"))
		if serverTool(kind) {
			return
		}
		schema := t.Get("input_schema")
		dialect := rationale.DialectDefault
		if t.Get("strict").Bool() {
			dialect = rationale.DialectStrict
		}
		r.tools = append(r.tools, tool{
			name: str(t.Get("name")), schema: schema, dialect: dialect, free: !schema.IsObject(),
		})
	})
	system := m.get("system")
	r.system = textOf(system)
	r.ask = func(text string) string {
		block := `{"type":"text","text":` + quote(text) + `}`
		switch {
		case system.IsArray():
			// After the blocks that carry cache_control, so that they stay cached.
			r.edits.element(system, block)
		case str(system) != "":
			r.edits.insert(system.Index, `[{"type":"text","text":`)
			r.edits.insert(system.Index+len(system.Raw), `},`+block+`]`)
		case system.Exists() && (system.Type == gjson.String || system.Type == gjson.Null):
			r.edits.replace(system, quote(text))
		case system.Exists():
			return "the system prompt is no text"
		default:
			r.edits.member(r.root, `"system":`+quote(text))
		}
		return ""
	}
	return nil
}

// serverTool reports whether Anthropic runs tools of a type itself.
func serverTool(kind string) bool {
	for _, prefix := range [...]string{"web_search_", "web_fetch_", "code_execution_", "tool_search_", "mcp_toolset"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// gemini reads a request of Gemini. Names are in camel or in snake case.
func (r *request) gemini() error {
	m := membersOf(r.root, "contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config",
		"generationConfig", "generation_config", "cachedContent", "cached_content")
	if m.twice {
		return errDuplicate
	}
	if !m.get("contents").Exists() {
		return errJSON
	}
	config := m.get("toolConfig", "tool_config")
	calling := first(config, "functionCallingConfig", "function_calling_config")
	r.never = strings.EqualFold(str(calling.Get("mode")), "none")
	r.noArgument = first(calling, "streamFunctionCallArguments", "stream_function_call_arguments").Bool()
	generation := m.get("generationConfig", "generation_config")
	r.structured = str(first(generation, "responseMimeType", "response_mime_type")) == "application/json"
	each(m.get("tools"), func(t gjson.Result) {
		each(first(t, "functionDeclarations", "function_declarations"), func(f gjson.Result) {
			d := tool{name: str(f.Get("name")), holder: f, key: "parameters", dialect: rationale.DialectGemini}
			if d.schema = f.Get("parameters"); !d.schema.Exists() {
				if full := first(f, "parametersJsonSchema", "parameters_json_schema"); full.Exists() {
					d.schema, d.dialect = full, rationale.DialectDefault
				}
			}
			r.tools = append(r.tools, d)
		})
	})
	system := m.get("systemInstruction", "system_instruction")
	parts := system.Get("parts")
	r.system = textOf(parts) + str(parts.Get("text"))
	r.ask = func(text string) string {
		part := `{"text":` + quote(text) + `}`
		switch {
		case m.get("cachedContent", "cached_content").Exists():
			return "the system prompt is in the provider's cache"
		case parts.IsArray():
			r.edits.element(parts, part)
		case parts.IsObject(): // taken for a list of one
			r.edits.insert(parts.Index, "[")
			r.edits.insert(parts.Index+len(parts.Raw), ","+part+"]")
		case system.IsObject() && !parts.Exists():
			r.edits.member(system, `"parts":[`+part+`]`)
		case system.Exists() && system.Type != gjson.Null:
			return "the system instruction has no parts"
		case system.Exists():
			r.edits.replace(system, `{"parts":[`+part+`]}`)
		default:
			r.edits.member(r.root, `"systemInstruction":{"parts":[`+part+`]}`)
		}
		return ""
	}
	return nil
}

func first(v gjson.Result, names ...string) gjson.Result {
	for _, name := range names {
		if r := v.Get(name); r.Exists() {
			return r
		}
	}
	return gjson.Result{}
}
