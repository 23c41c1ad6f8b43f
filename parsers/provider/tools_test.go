package provider

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rax-project/rax/rationale"
)

func TestParseTools(t *testing.T) {
	asked, _, err := rationale.InjectArgument([]byte(`{"type":"object","properties":{"q":{}}}`), rationale.DialectStrict)
	if err != nil {
		t.Fatal(err)
	}
	const own = `{"type":"object","properties":{"rationale":{"type":"string"}}}`
	for name, c := range map[string]struct{ doc, want string }{
		"names":     {`["a","b/c"]`, "a b/c"},
		"chat":      {fmt.Sprintf(`[{"type":"function","function":{"name":"a","parameters":%s}}]`, asked), "a!"},
		"responses": {fmt.Sprintf(`[{"type":"function","name":"a","parameters":%s},{"type":"web_search"}]`, asked), "a!"},
		"anthropic": {fmt.Sprintf(`[{"name":"a","input_schema":%s},{"name":"b","input_schema":%s}]`, asked, own), "a! b"},
		"gemini":    {fmt.Sprintf(`{"contents":[],"tools":[{"functionDeclarations":[{"name":"a","parameters":%s},{"name":"b"}]},{"googleSearch":{}}]}`, asked), "a! b"},
		"bedrock":   {fmt.Sprintf(`{"toolConfig":{"tools":[{"toolSpec":{"name":"a","inputSchema":{"json":%s}}}]}}`, asked), "a!"},
		"mcp":       {fmt.Sprintf(`{"tools":[{"name":"a","inputSchema":%s}]}`, asked), "a!"},
		"custom":    {`[{"type":"custom","custom":{"name":"a"}}]`, "a"},
		"empty":     {`[]`, ""},
		"no list":   {`{"a":1}`, "no known wire format"},
		"broken":    {`["a"`, "tools: offset 4: unexpected end of JSON"},
	} {
		tools, err := ParseTools([]byte(c.doc))
		got := ""
		for i, tool := range tools {
			if i > 0 {
				got += " "
			}
			if got += tool.Name; tool.HasArgument() {
				got += "!"
			}
		}
		if err != nil {
			got = err.Error()
			var syntax *SyntaxError
			if !errors.Is(err, ErrUnknown) && !errors.As(err, &syntax) {
				t.Errorf("%s: %T", name, err)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
