package trace

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// docRow is a row of a table of members: name, type, present.
var docRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\| ")

// TestDocument compares docs/trace-format.md with the registry: each kind, each
// member in its order, its type and whether it is always there.
func TestDocument(t *testing.T) {
	sections := documented(t)
	objects := make(map[string]reflect.Type)
	base := append([]string{"kind string always"}, rows(reflect.TypeFor[Base](), objects)...)
	equal(t, "every event", sections["Every event"], base)
	common := planOf(reflect.TypeFor[Base]()).byName
	for _, r := range registry {
		var want []string
		for _, row := range rows(reflect.TypeOf(r.make()).Elem(), objects) {
			name, _, _ := strings.Cut(row, " ")
			if _, everywhere := common[name]; !everywhere {
				want = append(want, row)
			}
		}
		got, ok := sections[string(r.kind)]
		if !ok {
			t.Errorf("%s has no section", r.kind)
		}
		equal(t, string(r.kind), got, want)
		delete(sections, string(r.kind))
	}
	for name, typ := range objects {
		got, ok := sections[name]
		if !ok {
			t.Errorf("%s has no section", name)
		}
		equal(t, name, got, rows(typ, make(map[string]reflect.Type)))
		delete(sections, name)
	}
	delete(sections, "Every event")
	for name, left := range sections {
		if len(left) > 0 {
			t.Errorf("the section %q describes nothing that exists", name)
		}
	}
}

// documented gives the rows of each section of the document.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	sections := make(map[string][]string)
	text := string(readFile(t, "../docs/trace-format.md"))
	for _, section := range regexp.MustCompile(`(?m)^##+ `).Split(text, -1)[1:] {
		title, body, _ := strings.Cut(section, "\n")
		list := []string{}
		for _, m := range docRow.FindAllStringSubmatch(body, -1) {
			present := "optional"
			if m[3] == "always" {
				present = "always"
			}
			list = append(list, fmt.Sprintf("%s %s %s", m[1], m[2], present))
		}
		sections[title] = list
	}
	return sections
}

// rows says of each member of a type what the document has to say, and collects
// the struct types that it refers to.
func rows(typ reflect.Type, objects map[string]reflect.Type) []string {
	list := []string{}
	for _, f := range planOf(typ).fields {
		present := "always"
		if f.omitEmpty {
			present = "optional"
		}
		list = append(list, fmt.Sprintf("%s %s %s", f.name, docType(typ.FieldByIndex(f.index).Type, objects), present))
	}
	return list
}

func docType(typ reflect.Type, objects map[string]reflect.Type) string {
	if typ == rawType {
		return "any"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return docType(typ.Elem(), objects)
	case reflect.Slice:
		return "array of " + docType(typ.Elem(), objects)
	case reflect.Map:
		return "object of " + docType(typ.Elem(), objects)
	case reflect.Struct:
		if objects[typ.Name()] == nil {
			objects[typ.Name()] = typ
			rows(typ, objects) // for the objects inside of it
		}
		return typ.Name()
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int64:
		return "integer"
	default:
		return "string"
	}
}

// TestDocumentNamesTheRules: the rules of Check and the kinds of damage are
// named where readers look for them.
func TestDocumentNamesTheRules(t *testing.T) {
	text := string(readFile(t, "../docs/trace-format.md"))
	names := []string{
		"no-kind", "no-run", "seq-order", "no-start", "second-start", "after-end",
		"unknown-parent", "end-without-start", "open-call", "no-end",
		string(Torn), string(Corrupt), string(TooLong), string(Joined),
		string(DurabilityNone), string(DurabilityClose), string(DurabilityEvent),
		string(FullStop), string(FullContinue), string(aliasToolCallStarted),
		MetricRationaleMissing, MetricPlanRationaleMissing, MetricAssumptionUnjustified,
		Format, "run-started",
	}
	for _, name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s is not named", name)
		}
	}
	for _, name := range headOrder[:9] {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s is not named", name)
		}
	}
}

// TestDocumentExamples: the lines that the document shows are events that the
// Writer would write.
func TestDocumentExamples(t *testing.T) {
	text := string(readFile(t, "../docs/trace-format.md"))
	examples := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindAllStringSubmatch(text, -1)
	if len(examples) == 0 {
		t.Fatal("the document shows no event")
	}
	for _, m := range examples {
		for _, rec := range recordsOf(t, []byte(m[1])) {
			ev, warnings, err := Decode(rec)
			if err != nil || len(warnings) > 0 || len(ev.Common().Extra) > 0 {
				t.Errorf("%s: %v, %v", rec.Bytes(), warnings, err)
			}
			if got := encoded(t, ev); string(got) != string(rec.Bytes()) {
				t.Errorf("the document shows %s\n     rax writes %s", rec.Bytes(), got)
			}
		}
	}
}
