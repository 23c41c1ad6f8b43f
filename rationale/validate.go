package rationale

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/go-playground/validator/v10"
)

// ValidationError lists every field of a [Rationale] that breaks its limits.
type ValidationError struct {
	Fields []FieldError
}

// FieldError is one field outside its limits.
type FieldError struct {
	// Field is the path in JSON names, such as "alternatives[0].option".
	Field string
	// Problem says which limit is broken, such as "longer than 280 characters".
	// It never repeats the value.
	Problem string
}

// Error names every field with its problem: "why: longer than 280 characters".
func (e *ValidationError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Field + ": " + f.Problem
	}
	return strings.Join(parts, "; ")
}

// shared builds the one validator of the process. Building one costs some two
// hundred times what a check does, and it caches what it learns of the types.
var shared = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	v.RegisterStructValidation(func(level validator.StructLevel) {
		r := level.Current().Interface().(Rationale)
		if r.Why != "" && blank(r.Why) {
			level.ReportError(r.Why, "why", "Why", "required", "")
		}
	}, Rationale{})
	return v
})

// Validate returns a *[ValidationError] when r breaks a limit of its fields,
// and nil otherwise. Lengths count Unicode code points. Whether refs exist and
// whether the reason is a good one is not its business (seed 004).
func Validate(r Rationale) error {
	err := shared().Struct(r)
	if err == nil {
		return nil
	}
	var found validator.ValidationErrors
	if !errors.As(err, &found) {
		return err
	}
	out := &ValidationError{Fields: make([]FieldError, 0, len(found))}
	for _, f := range found {
		_, path, _ := strings.Cut(f.Namespace(), ".")
		out.Fields = append(out.Fields, FieldError{Field: path, Problem: problem(f)})
	}
	return out
}

// IsValid reports whether [Validate] finds nothing.
func IsValid(r Rationale) bool { return Validate(r) == nil }

func problem(f validator.FieldError) string {
	switch f.Tag() {
	case "required":
		return "empty"
	case "max":
		return fmt.Sprintf("longer than %s characters", f.Param())
	case "gte", "lte":
		return "not between 0 and 1"
	default:
		return "breaks the rule " + f.Tag()
	}
}

// blank reports whether s shows nothing: it is empty or holds only spaces and
// characters without a glyph.
func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r)
	}) < 0
}
