package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rax-project/rax/kernel"
)

type sample struct {
	Path   string            `json:"path"`
	Mode   string            `json:"mode,omitempty"`
	Lines  int               `json:"lines,omitempty"`
	Ratio  float64           `json:"ratio,omitempty"`
	Deep   bool              `json:"deep,omitempty"`
	Tags   []string          `json:"tags,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Near   *struct {
		X int `json:"x"`
	} `json:"near,omitempty"`
}

func sampleTool() kernel.Tool {
	return Func("sample", "a tool of the tests", kernel.EffectNone,
		func(_ context.Context, a sample) (kernel.ToolResult, error) {
			text, err := json.Marshal(a)
			return kernel.ToolResult{Content: string(text)}, err
		},
		length("path", 1, 10), oneOf("mode", "create", "overwrite"), between("lines", 1, 100),
		func(s *jsonschema.Schema) { s.Properties["path"].Pattern = "^[a-z./]+$" })
}

func TestArguments(t *testing.T) {
	r := registry(t, Limits{}, sampleTool(), fake("bare", says("ok")))
	for _, c := range []struct{ args, want string }{
		{`{"path":"a"}`, `{"path":"a"}`},
		{` {"path":"a","lines":3,"ratio":1,"deep":true,"tags":["x"],"labels":{"k":"v"},"near":{"x":1}} `,
			`{"path":"a","lines":3,"ratio":1,"deep":true,"tags":["x"],"labels":{"k":"v"},"near":{"x":1}}`},
	} {
		got, err := r.Call(t.Context(), "sample", json.RawMessage(c.args))
		if err != nil || got.Content != c.want {
			t.Errorf("%s gives %q, %v", c.args, got.Content, err)
		}
	}
	for _, none := range []string{"", "null", " ", "{}"} {
		if got, err := r.Call(t.Context(), "bare", json.RawMessage(none)); err != nil || got.Content != "ok" {
			t.Errorf("arguments %q: %v", none, err)
		}
	}
}

func TestArgumentsError(t *testing.T) {
	r := registry(t, Limits{}, sampleTool())
	secret := "pass" + "word1"
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	for _, c := range []struct{ args, want string }{
		{`{}`, `"path" must be given: send a string of 1 to 10 characters`},
		{`{"path":5}`, `"path" must be a string of 1 to 10 characters, not an integer: put it into quotes`},
		{`{"path":null}`, `"path" must be a string`},
		{`{"path":"a","lines":"5"}`, `"lines" must be an integer from 1 to 100, not a string: send the number without quotes`},
		{`{"path":"a","lines":null}`, `"lines" must be an integer from 1 to 100, not null: leave it out instead`},
		{`{"path":"a","lines":0}`, `"lines" must be an integer from 1 to 100`},
		{`{"path":"a","lines":1.5}`, `"lines" must be an integer from 1 to 100, not a number: send it without a fraction`},
		{`{"path":"a","lines":5.0}`, `"lines" must be a whole number: write it without fraction and exponent`},
		{`{"path":"a","lines":1e999}`, `"lines" must be a number within 1e308`},
		{`{"path":"a","mode":"overwrit"}`, `"mode" must be one of "create", "overwrite": did you mean "overwrite"?`},
		{`{"path":"a","deep":"true"}`, `"deep" must be a boolean, not a string: send true or false without quotes`},
		{`{"path":"a","tags":"x"}`, `"tags" must be an array, not a string: send JSON itself`},
		{`{"path":"a","tags":["x",7]}`, `"tags[1]" must be a string, not an integer`},
		{`{"path":"a","labels":{"k":1}}`, `"labels.k" must be a string`},
		{`{"path":"a","near":{}}`, `"near.x" must be given: send an integer`},
		{`{"path":"a","near":{"x":1,"y":2}}`, `"near.y" must be left out`},
		{`{"pth":"a"}`, `"pth" must be left out: there is no such property, did you mean "path"?`},
		{`{"path":"a","zzz":1}`, `there are deep, labels, lines, mode, near, path, ratio, tags`},
		{`{"path":"` + secret + `"}`, `"path" must be text that matches ^[a-z./]+$`},
		{`{"path":"` + secret + strings.Repeat("x", 20) + `"}`, `"path" must be a string of 1 to 10 characters, not of 29`},
		{`{"path":"a","path":"` + secret + `"}`, `"path" must be given once`},
		{`{"path":"a","near":{"x":1,"x":2}}`, `"near.x" must be given once`},
		{`{"Path":"` + secret + `"}`, `"path" must be given`},
		{`["` + secret + `"]`, `the arguments must be a JSON object, not a value of type array`},
		{`"` + secret + `"`, `the arguments must be a JSON object`},
		{`{"path":"` + secret, `must be one valid JSON object, not what stands at byte`},
		{`{"path":"a"} x` + secret, `one valid JSON object`},
		{`{"path":"a"}{}`, `one valid JSON object`},
		{`{path:"` + secret + `"}`, `one valid JSON object`},
		{deep, `the arguments must be nested at most 64 deep`},
		{strings.Repeat("[", 1<<20), `nested at most 64 deep`},
		{`{"path":"` + strings.Repeat("x", 9<<20) + `"}`, `at most 8388608 bytes`},
	} {
		short := c.args[:min(len(c.args), 60)]
		_, err := r.Call(t.Context(), "sample", json.RawMessage(c.args))
		if err == nil {
			t.Errorf("%s was accepted", short)
			continue
		}
		e := asError[*ArgumentsError](t, err)
		if e.Tool != "sample" || len(e.Problems) == 0 {
			t.Errorf("%s: %+v", short, e)
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error\n\t%s\nwant\n\t%s", short, err, c.want)
		}
		if strings.Contains(err.Error(), secret) || len(err.Error()) > 2000 {
			t.Errorf("%s: the error of %d bytes echoes the arguments: %.300s", short, len(err.Error()), err)
		}
	}

	many := `{"path":"a"`
	for i := range 50 {
		many += `,"x` + strings.Repeat("y", i) + `":1`
	}
	_, err := r.Call(t.Context(), "sample", json.RawMessage(many+"}"))
	if e := asError[*ArgumentsError](t, err); len(e.Problems) != 50 || !strings.Contains(err.Error(), "and 42 more") {
		t.Errorf("%d problems: %v", len(e.Problems), err)
	}
}

// TestForeignSchemas has schemas as other people's servers send them.
func TestForeignSchemas(t *testing.T) {
	foreign := func(schema string) kernel.Tool {
		return funcTool{
			spec: kernel.ToolSpec{Name: "foreign", Description: "d", Effects: kernel.EffectRead, Schema: json.RawMessage(schema)},
			run: func(context.Context, json.RawMessage) (kernel.ToolResult, error) {
				return kernel.ToolResult{Content: "ok"}, nil
			},
		}
	}
	for _, c := range []struct{ schema, args, want string }{
		{`{}`, `{"anything":1}`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, `{}`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}}}`, `{"a":1}`, `"a" must be a string`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"a":"x"}`, `"a" must be an integer`},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, "as the schema of the tool says"},
		{`{"type":"object","allOf":[{"required":["q"]}]}`, `{}`, `"q" must be given`},
		// A tree: the reference leads back, but one level further in.
		{`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`, `{"kids":[{"kids":[]}]}`, ""},
		{`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`, `{"kids":[{"x":1}]}`, "must be"},
	} {
		r := registry(t, Limits{}, foreign(c.schema))
		_, err := r.Call(t.Context(), "foreign", json.RawMessage(c.args))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.schema, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.schema, err, c.want)
		}
	}

	// Each definition applies the one before twice: 2^40 steps for one value.
	bomb := `{"$defs":{"d0":{"type":"string"}`
	for i := range 40 {
		bomb += fmt.Sprintf(`,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	bomb += `},"properties":{"x":{"$ref":"#/$defs/d40"}}}`
	for _, c := range []struct{ schema, want string }{
		{``, "valid JSON"},
		{`{`, "valid JSON"},
		{`[]`, "JSON object"},
		{`{"type":"string"}`, "does not take an object"},
		{`{"type":["object","null"]}`, "does not take an object"},
		{`{"type":"object","type":"string"}`, "once"},
		{`{"properties":{"a":{"type":7}}}`, ""},
		{`{"properties":{"a":{"pattern":"("}}}`, "pattern"},
		{`{"$ref":"#"}`, "back to itself"},
		{`{"allOf":[{"$ref":"#"}]}`, "back to itself"},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "back to itself"},
		{`{"$defs":{"a/b":{"if":{"$ref":"#/$defs/a~1b"}}}}`, "back to itself"},
		{`{"dependentSchemas":{"x":{"$ref":"#"}}}`, "back to itself"},
		{`{"$ref":"https://example.com/schema.json"}`, "is supported"},
		{`{"$ref":"file:///etc/passwd"}`, "is supported"},
		{`{"$ref":"#anchor"}`, "is supported"},
		{`{"$ref":"#/$defs/nothing"}`, ""},
		{`{"$dynamicRef":"#x"}`, "not supported"},
		{`{"properties":{"a":{"$id":"other"}}}`, "top only"},
		{bomb, "more than 10000 subschemas"},
		{strings.Repeat(`{"not":`, 100) + "{}" + strings.Repeat("}", 100), "nested"},
		{`{"description":"` + strings.Repeat("x", 300<<10) + `"}`, "larger"},
	} {
		err := NewRegistry(Limits{}).Register(foreign(c.schema))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: error %v, want %q", c.schema, err, c.want)
		}
	}
}

func TestFunc(t *testing.T) {
	spec := fake("bare", says("")).Spec()
	if want := `{"type":"object","properties":{},"additionalProperties":false}`; string(spec.Schema) != want {
		t.Errorf("schema without arguments is %s", spec.Schema)
	}
	defer func() {
		if recover() == nil {
			t.Error("a type without a schema was taken")
		}
	}()
	Func("x", "d", kernel.EffectNone, func(context.Context, struct{ F func() }) (kernel.ToolResult, error) {
		return kernel.ToolResult{}, nil
	})
}

func FuzzArguments(f *testing.F) {
	for _, args := range []string{
		`{"path":"a","lines":3}`, `{}`, `[]`, `{"path":1,"tags":[1,2]}`, `{"path":"a","path":"b"}`,
		`{"near":{"x":"y"}}`, `{"lines":1e400}`, `{"a":{"b":[{"c":null}]}}`, "{\"path\":\"\xff\"}", `{"path":"a"`,
	} {
		f.Add([]byte(args))
	}
	r := NewRegistry(Limits{})
	if err := r.Register(sampleTool()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		_, err := r.Call(t.Context(), "sample", args)
		if err == nil {
			return
		}
		e := asError[*ArgumentsError](t, err)
		if len(e.Problems) == 0 || len(err.Error()) > 4000 {
			t.Fatalf("%d problems, %d bytes", len(e.Problems), len(err.Error()))
		}
	})
}
