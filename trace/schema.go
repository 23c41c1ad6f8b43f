package trace

import (
	"encoding/json"
	"reflect"
)

// Schema gives the JSON Schema (2020-12) of one line of a trace, made of the Go
// types of the registry: what this version reads without a warning. Members and
// kinds that it does not know are allowed, and null stands for an absent member.
// The same version gives the same bytes.
//
// It walks the plan by which events are written and read, so that the three
// cannot disagree, and needs no library for it.
func Schema() ([]byte, error) {
	s := schema{defs: make(object)}
	var kinds, known []any
	for _, r := range registry {
		names := []any{r.kind}
		if r.kind == aliasToolCallStarted.canonical() {
			names = append(names, aliasToolCallStarted)
		}
		known = append(known, names...)
		event := s.members(reflect.TypeOf(r.make()).Elem())
		event.require("kind", oneOf(names))
		s.defs[string(r.kind)] = event
		kinds = append(kinds, ref(string(r.kind)))
	}
	unknown := s.members(reflect.TypeFor[Unknown]())
	unknown.require("kind", object{"type": "string", "minLength": 1, "not": object{"enum": known}})
	s.defs["unknown"] = unknown

	text, err := json.MarshalIndent(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "urn:rax:" + Format,
		"title":   Format + " event",
		"$defs":   s.defs,
		"oneOf":   append(kinds, ref("unknown")),
	}, "", "  ")
	return append(text, '\n'), err
}

// object is a JSON object; encoding/json sorts its members.
type object map[string]any

// schema collects the definitions that types refer to.
type schema struct{ defs object }

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func oneOf(names []any) object {
	if len(names) == 1 {
		return object{"const": names[0]}
	}
	return object{"enum": names}
}

// require adds a member that an event cannot be without.
func (o object) require(name string, value object) {
	o["properties"].(object)[name] = value
	o["required"] = append([]string{name}, o["required"].([]string)...)
}

// members describes a struct type. What is written even when it is empty is
// required; anything else may be null.
func (s schema) members(t reflect.Type) object {
	properties, required := make(object), []string{}
	for _, f := range planOf(t).fields {
		field := t.FieldByIndex(f.index).Type
		if f.omitEmpty {
			properties[f.name] = s.nullable(field)
			continue
		}
		properties[f.name] = s.of(field)
		required = append(required, f.name)
	}
	return object{"type": "object", "properties": properties, "required": required}
}

func (s schema) nullable(t reflect.Type) object {
	o := s.of(t)
	switch {
	case o["type"] != nil:
		o["type"] = []any{o["type"], "null"}
	case o["$ref"] != nil:
		return object{"anyOf": []any{o, object{"type": "null"}}}
	}
	return o
}

// of describes a type. A struct becomes a definition of its own, so that a
// program generated from the schema has one type for it.
func (s schema) of(t reflect.Type) object {
	if t == rawType {
		return object{}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		if s.defs[t.Name()] == nil {
			s.defs[t.Name()] = s.members(t)
		}
		return ref(t.Name())
	default: // what remains are the integers; the decoder knows no other kind
		return object{"type": "integer"}
	}
}
