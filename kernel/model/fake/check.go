package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// str, list and dict give a value of a type, and nothing for any other.
func str(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func dict(v any) object {
	m, _ := v.(object)
	return m
}

// unknown gives the first member that is not one of the known.
func unknown(m object, known ...string) string {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// legalName reports whether a tool may be called so by every provider: letters,
// digits, "_" and "-", at most 64.
func legalName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// legalSchema says what is wrong with a JSON Schema of a tool's arguments; empty
// when nothing is.
func legalSchema(v any) string {
	schema := dict(v)
	if schema == nil {
		return "the schema is no object"
	}
	if schema["type"] != "object" {
		return `the schema is not of type "object"`
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return err.Error()
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("tool.json", doc); err != nil {
		return err.Error()
	}
	if _, err := c.Compile("tool.json"); err != nil {
		return err.Error()
	}
	return ""
}

// strictSchema says what OpenAI's strict mode refuses of a schema; empty when it
// takes it.
func strictSchema(v any, at string) string {
	schema := dict(v)
	if props := dict(schema["properties"]); schema["type"] == "object" || props != nil {
		if schema["additionalProperties"] != false {
			return fmt.Sprintf("In context=(%s), 'additionalProperties' is required to be supplied and to be false.", at)
		}
		for _, name := range slices.Sorted(maps.Keys(props)) {
			if !slices.Contains(list(schema["required"]), any(name)) {
				return fmt.Sprintf("In context=(%s), 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", at, name)
			}
			if p := strictSchema(props[name], at+"."+name); p != "" {
				return p
			}
		}
	}
	if items := dict(schema["items"]); items != nil {
		return strictSchema(items, at+"[]")
	}
	return ""
}

// bearer checks the key of OpenAI.
func (s *Server) bearer(r *http.Request) problem {
	switch r.Header.Get("Authorization") {
	case "Bearer " + s.Key:
		return problem{}
	case "":
		return problem{http.StatusUnauthorized, "You didn't provide an API key."}
	}
	return problem{http.StatusUnauthorized, "Incorrect API key provided."}
}

// given finds the answer that made a call.
func (s *Server) given(match func(n int, a Answer) bool) (issued, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range slices.Backward(s.issued) {
		if match(i.number, i.Answer) {
			return i, true
		}
	}
	return issued{}, false
}

// withCall finds the answer that made the call of an id.
func (s *Server) withCall(prefix, id string) (issued, bool) {
	return s.given(func(n int, a Answer) bool {
		for i, c := range a.Calls {
			if callID(prefix, n, i, c) == id {
				return true
			}
		}
		return false
	})
}
