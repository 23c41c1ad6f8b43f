package tool

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// explain says what is wrong with arguments that do not fit their schema. It
// knows the keywords that tools use; where it finds nothing it says so.
func explain(root *jsonschema.Schema, args map[string]any) []Problem {
	x := explainer{root: root}
	x.value("", root, args, false, 0)
	if len(x.problems) == 0 {
		return []Problem{{Expected: "as the schema of the tool says", Advice: "compare them with the schema"}}
	}
	return x.problems
}

type explainer struct {
	root     *jsonschema.Schema
	problems []Problem
}

func (x *explainer) add(p Problem) { x.problems = append(x.problems, p) }

// value explains what is wrong with v at path. A property that is optional may
// be left out.
func (x *explainer) value(path string, s *jsonschema.Schema, v any, optional bool, depth int) {
	if s = x.deref(s); s == nil || depth > maxDepth || len(x.problems) > 10*maxProblems {
		return
	}
	if got := typeOf(v); !hasType(s, got) {
		x.add(Problem{path, describe(s), withArticle(got), instead(s, got, optional)})
		return
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return jsonschema.Equal(e, v) }) {
		p := Problem{Property: path, Expected: describe(s)}
		if text, ok := v.(string); ok {
			if near := closest(text, strs(s.Enum)); len(near) > 0 {
				p.Advice = "did you mean " + quote(near[0]) + "?"
			}
		}
		x.add(p)
		return
	}
	if s.Const != nil && !jsonschema.Equal(*s.Const, v) {
		x.add(Problem{Property: path, Expected: describe(s)})
		return
	}
	switch v := v.(type) {
	case float64:
		if outside(s, v) {
			x.add(Problem{Property: path, Expected: describe(s)})
		}
	case string:
		x.text(path, s, v)
	case []any:
		if n := len(v); s.MinItems != nil && n < *s.MinItems || s.MaxItems != nil && n > *s.MaxItems {
			x.add(Problem{path, describe(s), count(n, "element"), ""})
		}
		for i, element := range v {
			x.value(fmt.Sprintf("%s[%d]", path, i), s.Items, element, false, depth+1)
		}
	case map[string]any:
		x.object(path, s, v, depth)
	}
	for _, sub := range s.AllOf {
		x.value(path, sub, v, optional, depth+1)
	}
}

func (x *explainer) text(path string, s *jsonschema.Schema, v string) {
	n := utf8.RuneCountInString(v)
	if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		x.add(Problem{path, describe(s), fmt.Sprintf("of %d", n), ""})
	}
	if s.Pattern != "" {
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(v) {
			x.add(Problem{Property: path, Expected: "text that matches " + s.Pattern})
		}
	}
}

func (x *explainer) object(path string, s *jsonschema.Schema, v map[string]any, depth int) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			p := Problem{join(path, name), "given", "", ""}
			if sub := x.deref(s.Properties[name]); sub != nil {
				p.Advice = "send " + describe(sub)
			}
			x.add(p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if sub, ok := s.Properties[name]; ok {
			x.value(join(path, name), sub, v[name], !slices.Contains(s.Required, name), depth+1)
			continue
		}
		if s.AdditionalProperties == nil || len(s.PatternProperties) > 0 {
			continue
		}
		if s.AdditionalProperties.Not == nil {
			x.value(join(path, name), s.AdditionalProperties, v[name], true, depth+1)
			continue
		}
		p := Problem{Property: join(path, name), Expected: "left out", Advice: "there is no such property"}
		known := slices.Sorted(maps.Keys(s.Properties))
		switch near := closest(name, known); {
		case len(near) > 0:
			p.Advice += ", did you mean " + quote(near[0]) + "?"
		case len(known) > 0 && len(known) <= 12:
			p.Advice += "; there are " + strings.Join(known, ", ")
		}
		x.add(p)
	}
}

// deref follows references to definitions at the top, a few steps at most.
func (x *explainer) deref(s *jsonschema.Schema) *jsonschema.Schema {
	for range 8 {
		if s == nil || s.Ref == "" {
			return s
		}
		name, found := strings.CutPrefix(s.Ref, "#/$defs/")
		from := x.root.Defs
		if !found {
			name, found = strings.CutPrefix(s.Ref, "#/definitions/")
			from = x.root.Definitions
		}
		if !found {
			return nil
		}
		s = from[name]
	}
	return nil
}

func types(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

func hasType(s *jsonschema.Schema, got string) bool {
	want := types(s)
	return len(want) == 0 || slices.Contains(want, got) || got == "integer" && slices.Contains(want, "number")
}

func outside(s *jsonschema.Schema, v float64) bool {
	return s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum ||
		s.ExclusiveMinimum != nil && v <= *s.ExclusiveMinimum || s.ExclusiveMaximum != nil && v >= *s.ExclusiveMaximum ||
		s.MultipleOf != nil && math.Mod(v, *s.MultipleOf) != 0
}

// describe says in words what a schema takes.
func describe(s *jsonschema.Schema) string {
	if s.Const != nil {
		return texts([]any{*s.Const})[0]
	}
	if len(s.Enum) > 0 {
		const most = 20
		values := texts(s.Enum[:min(len(s.Enum), most)])
		if len(s.Enum) > most {
			values = append(values, "…")
		}
		return "one of " + strings.Join(values, ", ")
	}
	names := make([]string, 0, 2)
	for _, t := range types(s) {
		names = append(names, withArticle(t))
	}
	text := strings.Join(names, " or ")
	if text == "" {
		text = "a value"
	}
	text += interval("from", s.Minimum, s.Maximum, "")
	if s.ExclusiveMinimum != nil {
		text += " above " + plain(*s.ExclusiveMinimum)
	}
	if s.ExclusiveMaximum != nil {
		text += " below " + plain(*s.ExclusiveMaximum)
	}
	return text + interval("of", s.MinLength, s.MaxLength, " characters") +
		interval("with", s.MinItems, s.MaxItems, " elements")
}

// interval is " from 1 to 10" or " of at least 1 characters".
func interval[N int | float64](word string, low, high *N, unit string) string {
	switch {
	case low != nil && high != nil:
		return " " + word + " " + plain(*low) + " to " + plain(*high) + unit
	case low != nil:
		return " " + word + " at least " + plain(*low) + unit
	case high != nil:
		return " " + word + " at most " + plain(*high) + unit
	}
	return ""
}

// plain writes a number without an exponent.
func plain[N int | float64](n N) string { return strconv.FormatFloat(float64(n), 'f', -1, 64) }

func texts(values []any) []string {
	all := make([]string, 0, len(values))
	for _, v := range values {
		if text, ok := v.(string); ok {
			all = append(all, strconv.Quote(text))
		} else {
			all = append(all, fmt.Sprint(v))
		}
	}
	return all
}

// strs are the values that are texts.
func strs(values []any) []string {
	var all []string
	for _, v := range values {
		if text, ok := v.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func withArticle(name string) string {
	switch name {
	case "null":
		return name
	case "integer", "object", "array":
		return "an " + name
	}
	return "a " + name
}

// instead is the correction of the mistakes in types that models make.
func instead(s *jsonschema.Schema, got string, optional bool) string {
	want := types(s)
	has := func(t string) bool { return slices.Contains(want, t) }
	switch {
	case got == "null" && optional:
		return "leave it out instead"
	case got == "string" && (has("integer") || has("number")):
		return "send the number without quotes"
	case got == "string" && has("boolean"):
		return "send true or false without quotes"
	case got == "string" && (has("object") || has("array")):
		return "send JSON itself, not text that holds JSON"
	case has("string") && (got == "integer" || got == "number" || got == "boolean"):
		return "put it into quotes"
	case has("string") && (got == "object" || got == "array"):
		return "send it as one text"
	case has("array"):
		return "send a list, even of one element"
	case got == "number" && has("integer"):
		return "send it without a fraction"
	}
	return ""
}
