package rationale

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const (
	plainArgument  = `"rationale":{"type":"object","description":"Why you make this call. Recorded for review and removed before the tool runs.","properties":{"why":{"type":"string","description":"Your actual reason in one clause, at most 280 characters."},"confidence":{"type":"number","description":"How sure you are of this call, 0 to 1."}},"required":["why"]}`
	strictArgument = `"rationale":{"type":"object","description":"Why you make this call. Recorded for review and removed before the tool runs.","properties":{"why":{"type":"string","description":"Your actual reason in one clause, at most 280 characters."},"confidence":{"type":["number","null"],"description":"How sure you are of this call, 0 to 1."}},"required":["why","confidence"],"additionalProperties":false}`
	geminiArgument = `"rationale":{"type":"OBJECT","description":"Why you make this call. Recorded for review and removed before the tool runs.","properties":{"why":{"type":"STRING","description":"Your actual reason in one clause, at most 280 characters."},"confidence":{"type":"NUMBER","nullable":true,"description":"How sure you are of this call, 0 to 1."}},"required":["why"]}`
)

func TestInjectArgument(t *testing.T) {
	for _, row := range []struct {
		name    string
		dialect Dialect
		in      string
		want    string // ARG stands for the argument
		arg     string
	}{
		{"full", DialectDefault, `{"type":"object","properties":{"b":{"type":"string"},"a":{}},"required":["b"]}`,
			`{"type":"object","properties":{ARG,"b":{"type":"string"},"a":{}},"required":["rationale","b"]}`, plainArgument},
		{"required first, odd spaces", DialectDefault, "{ \"required\" : [ \"b\" ] ,\n \"properties\" : {\n  \"b\" : {} } , \"type\":\"object\"}",
			"{ \"required\" : [ \"rationale\",\"b\" ] ,\n \"properties\" : {\n  ARG,\"b\" : {} } , \"type\":\"object\"}", plainArgument},
		{"no required", DialectDefault, `{"properties":{"b":{}},"type":"object","x":1.0}`,
			`{"properties":{ARG,"b":{}},"required":["rationale"],"type":"object","x":1.0}`, plainArgument},
		{"no properties", DialectDefault, `{"type":"object"}`, `{"properties":{ARG},"required":["rationale"],"type":"object"}`, plainArgument},
		{"empty properties", DialectDefault, `{"type":"object","properties":{ },"required":[]}`, `{"type":"object","properties":{ ARG},"required":["rationale"]}`, plainArgument},
		{"empty object", DialectDefault, `{}`, `{"type":"object","properties":{ARG},"required":["rationale"]}`, plainArgument},
		{"empty", DialectDefault, ``, `{"type":"object","properties":{ARG},"required":["rationale"]}`, plainArgument},
		{"null", DialectDefault, ` null `, `{"type":"object","properties":{ARG},"required":["rationale"]}`, plainArgument},
		{"no type", DialectDefault, `{"properties":{"b":{}}}`, `{"properties":{ARG,"b":{}},"required":["rationale"]}`, plainArgument},
		{"reference", DialectDefault, `{"$ref":"#/$defs/x","$defs":{"x":{}}}`, `{"properties":{ARG},"required":["rationale"],"$ref":"#/$defs/x","$defs":{"x":{}}}`, plainArgument},
		{"two types", DialectDefault, `{"type":["null","object"],"properties":{}}`, `{"type":["null","object"],"properties":{ARG},"required":["rationale"]}`, plainArgument},
		{"nested ones stay", DialectDefault, `{"properties":{"a":{"properties":{"rationale":{}}}}}`, `{"properties":{ARG,"a":{"properties":{"rationale":{}}}},"required":["rationale"]}`, plainArgument},
		{"strict", DialectStrict, `{"type":"object","properties":{"b":{}},"required":["b"],"additionalProperties":false}`,
			`{"type":"object","properties":{ARG,"b":{}},"required":["rationale","b"],"additionalProperties":false}`, strictArgument},
		{"strict, empty", DialectStrict, ``, `{"type":"object","properties":{ARG},"required":["rationale"],"additionalProperties":false}`, strictArgument},
		{"gemini", DialectGemini, `{"type":"OBJECT","properties":{"b":{"type":"STRING"}},"propertyOrdering":["b"]}`,
			`{"type":"OBJECT","properties":{ARG,"b":{"type":"STRING"}},"required":["rationale"],"propertyOrdering":["rationale","b"]}`, geminiArgument},
		{"gemini in lower case", DialectGemini, `{"type":"object","properties":{}}`, `{"type":"object","properties":{ARG},"required":["rationale"]}`,
			strings.NewReplacer("OBJECT", "object", "STRING", "string", "NUMBER", "number").Replace(geminiArgument)},
		{"first key wins", DialectDefault, `{"properties":{"a":{}},"properties":{"rationale":{}}}`, `{"properties":{ARG,"a":{}},"required":["rationale"],"properties":{"rationale":{}}}`, plainArgument},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := row.in
			out, injected, err := InjectArgument([]byte(row.in), row.dialect)
			if err != nil || !injected {
				t.Fatalf("injected %v, %v", injected, err)
			}
			if want := strings.Replace(row.want, "ARG", row.arg, 1); string(out) != want {
				t.Errorf("got  %s\nwant %s", out, want)
			}
			if !json.Valid(out) {
				t.Errorf("not valid JSON: %s", out)
			}
			again, injected, err := InjectArgument(out, row.dialect)
			if err != nil || !injected || string(again) != string(out) {
				t.Errorf("not idempotent: %v, %v\n%s", injected, err, again)
			}
			if row.in != before {
				t.Error("the input was changed")
			}
		})
	}
}

func TestInjectArgumentLeavesAlone(t *testing.T) {
	for _, in := range []string{
		`{"type":"object","properties":{"rationale":{"type":"string"}}}`,
		`{"properties":{"a":{},"rational\u0065":{"description":"mine"}}}`,
		`{"type":"string"}`,
		`{"type":["array","null"]}`,
	} {
		out, injected, err := InjectArgument([]byte(in), DialectDefault)
		if err != nil || injected || string(out) != in {
			t.Errorf("%s: injected %v, %v: %s", in, injected, err, out)
		}
	}
	for _, in := range []string{`[]`, `true`, `{`, `{"properties":[]}`, `{"properties":null}`, strings.Repeat("[", 1000)} {
		out, injected, err := InjectArgument([]byte(in), DialectDefault)
		if err == nil || injected || string(out) != in {
			t.Errorf("%s: injected %v, %v", in, injected, err)
		}
	}
}

// TestInjectArgumentKeepsTheRest reads the schema with another decoder.
func TestInjectArgumentKeepsTheRest(t *testing.T) {
	in := `{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}},"required":["a"],"description":"é \u00e9"}`
	out, _, err := InjectArgument([]byte(in), DialectStrict)
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]any
	if err := json.Unmarshal([]byte(in), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &after); err != nil {
		t.Fatal(err)
	}
	delete(after["properties"].(map[string]any), ArgumentName)
	after["required"] = after["required"].([]any)[1:]
	if !reflect.DeepEqual(before, after) {
		t.Errorf("got %v, want %v", after, before)
	}
}
