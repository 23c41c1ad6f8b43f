package rationale

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Dialect is the kind of JSON Schema that a provider takes.
type Dialect int

const (
	// DialectDefault is JSON Schema as most providers take it.
	DialectDefault Dialect = iota
	// DialectStrict is OpenAI's strict mode: every property is required,
	// additionalProperties is false, optional values are nullable.
	DialectStrict
	// DialectGemini is Gemini's subset of OpenAPI schemas: no
	// additionalProperties, nullable as a member of its own.
	DialectGemini
)

var errSchema = errors.New("the schema's properties are not an object")

// InjectArgument adds the rationale argument to a tool's JSON Schema, as its
// first property and as required, so that the model states its reason before
// it writes the other arguments. Apart from these insertions every byte of the
// schema stays. An empty schema and null become one with this single property.
//
// The result is false, with the schema unchanged, when the tool has a property
// of that name itself or does not take an object. For a schema that has rax's
// own argument already the result is true and the schema unchanged. The error
// says that schema is no JSON object or cannot be extended.
func InjectArgument(schema []byte, dialect Dialect) ([]byte, bool, error) {
	if trimmed := bytes.TrimSpace(schema); len(trimmed) == 0 || string(trimmed) == "null" {
		schema = []byte(`{}`)
	}
	top, err := parseObject(schema)
	if err != nil {
		return schema, false, fmt.Errorf("schema: %w", err)
	}
	fields := firstFields(top, "type", "properties", "required", "propertyOrdering", "$ref", "anyOf", "oneOf", "allOf")
	upper, takesObject := typeOf(fields["type"])
	if !takesObject {
		return schema, false, nil
	}
	properties := fields["properties"]
	if properties.Exists() {
		if !properties.IsObject() {
			return schema, false, errSchema
		}
		if own, found := firstFields(properties, ArgumentName)[ArgumentName]; found {
			return schema, own.Get("description").Str == argumentDescription, nil
		}
	}
	var edits splice
	member := strconv.Quote(ArgumentName) + ":" + argumentSchema(dialect, upper)
	newRequired := ""
	if required := fields["required"]; required.IsArray() {
		edits.element(schema, required)
	} else if !required.Exists() {
		newRequired = `"required":[` + strconv.Quote(ArgumentName) + `]`
	}
	if properties.Exists() {
		edits.member(schema, properties, member)
		if newRequired != "" {
			edits.insert(properties.Index+len(properties.Raw), ","+newRequired)
		}
	} else {
		text := `"properties":{` + member + `}`
		if newRequired != "" {
			text += "," + newRequired
		}
		plain := !fields["$ref"].Exists() && !fields["anyOf"].Exists() && !fields["oneOf"].Exists() && !fields["allOf"].Exists()
		if !fields["type"].Exists() && plain {
			text = `"type":"object",` + text
		}
		if dialect == DialectStrict && !hasMember(top, "additionalProperties") {
			text += `,"additionalProperties":false`
		}
		edits.member(schema, top, text)
	}
	if ordering := fields["propertyOrdering"]; ordering.IsArray() {
		edits.element(schema, ordering)
	}
	return edits.apply(schema), true, nil
}

func hasMember(object gjson.Result, name string) bool {
	_, found := firstFields(object, name)[name]
	return found
}

// typeOf reports whether a schema's type allows an object, and whether types
// are written in upper case. A missing type allows one.
func typeOf(value gjson.Result) (upper, object bool) {
	if !stated(value) {
		return false, true
	}
	types := []gjson.Result{value}
	if value.IsArray() {
		types = value.Array()
	}
	for _, t := range types {
		if t.Type == gjson.String && strings.EqualFold(t.Str, "object") {
			return t.Str == "OBJECT", true
		}
	}
	return false, false
}

// argumentSchema is the schema of the argument. It asks for the why and the
// confidence only: it is paid for once per tool in every request.
func argumentSchema(dialect Dialect, upper bool) string {
	text, number, nullable, closed, required := quoteType("string", upper), quoteType("number", upper), "", "", `"why"`
	switch dialect {
	case DialectStrict:
		number = `["number","null"]`
		closed, required = `,"additionalProperties":false`, `"why","confidence"`
	case DialectGemini:
		nullable = `,"nullable":true`
	}
	return `{"type":` + quoteType("object", upper) + `,"description":` + strconv.Quote(argumentDescription) +
		`,"properties":{"why":{"type":` + text + `,"description":` + strconv.Quote(whyDescription) +
		`},"confidence":{"type":` + number + nullable + `,"description":` + strconv.Quote(confidenceMeaning) +
		`}},"required":[` + required + `]` + closed + `}`
}

func quoteType(name string, upper bool) string {
	if upper {
		name = strings.ToUpper(name)
	}
	return strconv.Quote(name)
}

// splice is a set of insertions into a text.
type splice []insertion

type insertion struct {
	at   int
	text string
}

func (s *splice) insert(at int, text string) { *s = append(*s, insertion{at, text}) }

// member inserts a member in front of the others of an object.
func (s *splice) member(text []byte, object gjson.Result, member string) {
	s.first(text, object, '}', member)
}

// element puts the argument's name in front of the others of a list, unless it
// is there.
func (s *splice) element(text []byte, list gjson.Result) {
	for _, entry := range list.Array() {
		if entry.Str == ArgumentName {
			return
		}
	}
	s.first(text, list, ']', strconv.Quote(ArgumentName))
}

// first inserts text in front of what the value at hand holds.
func (s *splice) first(text []byte, value gjson.Result, closing byte, insert string) {
	i := value.Index + 1
	for isSpace(text[i]) {
		i++
	}
	if text[i] != closing {
		insert += ","
	}
	s.insert(i, insert)
}

func (s splice) apply(text []byte) []byte {
	var out bytes.Buffer
	// Few and from different places: the smallest remaining one comes next.
	for from := 0; ; {
		next := -1
		for i, e := range s {
			if e.at >= from && e.text != "" && (next < 0 || e.at < s[next].at) {
				next = i
			}
		}
		if next < 0 {
			out.Write(text[from:])
			return out.Bytes()
		}
		out.Write(text[from:s[next].at])
		out.WriteString(s[next].text)
		from = s[next].at
		s[next].text = ""
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
