package rationale

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// MaxAssumptionText limits an assumption and its reason, in Unicode code
// points. What is longer is cut there.
const MaxAssumptionText = 280

// maxDepth bounds how deeply JSON may nest before it is refused: the validity
// check recurses once a level.
const maxDepth = 256

// maxDropped bounds how many warnings one object gives rise to.
const maxDropped = 16

// The reasons for which an object holds no rationale.
var (
	errNotObject  = errors.New("not a JSON object")
	errNotJSON    = errors.New("not valid JSON")
	errTooDeep    = fmt.Errorf("nested deeper than %d levels", maxDepth)
	errNoWhy      = errors.New("why is missing")
	errWhyType    = errors.New("why is not a string")
	errWhyEmpty   = errors.New("why is empty")
	errWhyNoWord  = errors.New("why holds no word")
	errConfidence = errors.New("not a number between 0 and 1")
)

// Stated is what one rationale object states.
type Stated struct {
	Rationale Rationale
	// Assumptions are those stated in the object; their spans are ranges of the
	// raw JSON, between the quotes.
	Assumptions []Assumption
	// WhySpan is the range of raw that holds the characters of the why as they
	// are written, between its quotes, also when Rationale.Why is cut.
	WhySpan Span
	// Warnings name what was dropped or cut, in words for a person.
	Warnings []string
}

// Decode reads one rationale object: the content of a block, the field beside
// a call, the argument of a call or the field of a planner's step.
//
// It is strict about what it takes and forgiving about the rest. A why over
// [MaxWhy] is cut and marked. A confidence that is no JSON number in [0,1], a
// ref that is no string and an alternative without its two texts are dropped
// with a warning; null counts as absent. Unknown keys are passed over, names
// are case-sensitive, and of a repeated key the first counts.
//
// The error says why there is no rationale and holds none of the payload. Only
// JSON that is no object, or a why that is missing, without a word or no string,
// leads to one.
func Decode(raw []byte) (Stated, error) {
	top, err := parseObject(raw)
	if err != nil {
		return Stated{}, err
	}
	var d decoder
	fields := firstFields(top, "why", "refs", "alternatives", "confidence", "assumptions")
	if err := d.why(fields["why"]); err != nil {
		return Stated{}, err
	}
	d.confidence(fields["confidence"])
	d.refs(fields["refs"])
	d.alternatives(fields["alternatives"])
	d.assumptions(fields["assumptions"])
	if more := d.dropped - maxDropped; more > 0 {
		d.out.Warnings = append(d.out.Warnings, fmt.Sprintf("%d more entries dropped", more))
	}
	return d.out, nil
}

// parseObject checks raw and returns it as an object whose Index values are
// offsets in raw.
func parseObject(raw []byte) (gjson.Result, error) {
	if deeper(raw, maxDepth) {
		return gjson.Result{}, errTooDeep
	}
	if !gjson.ValidBytes(raw) {
		return gjson.Result{}, errNotJSON
	}
	top := gjson.ParseBytes(raw)
	if !top.IsObject() {
		return gjson.Result{}, errNotObject
	}
	return top, nil
}

// deeper reports whether brackets outside strings nest deeper than limit.
func deeper(raw []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

// firstFields returns the first value of each of the named members.
func firstFields(object gjson.Result, names ...string) map[string]gjson.Result {
	found := make(map[string]gjson.Result, len(names))
	object.ForEach(func(key, value gjson.Result) bool {
		for _, name := range names {
			if _, seen := found[name]; key.Str == name && !seen {
				found[name] = value
			}
		}
		return true
	})
	return found
}

type decoder struct {
	out     Stated
	dropped int
}

// drop warns of an entry that is left out; after maxDropped it only counts.
func (d *decoder) drop(format string, args ...any) {
	if d.dropped++; d.dropped <= maxDropped {
		d.out.Warnings = append(d.out.Warnings, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) why(value gjson.Result) error {
	switch {
	case !value.Exists():
		return errNoWhy
	case value.Type != gjson.String:
		return errWhyType
	}
	text, truncated := cut(textOf(value), MaxWhy)
	if blank(text) {
		return errWhyEmpty
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return errWhyNoWord // the "…" of a copied example
	}
	d.out.Rationale.Why = text
	d.out.Rationale.Truncated = truncated
	d.out.WhySpan = inner(value)
	if truncated {
		d.out.Warnings = append(d.out.Warnings, fmt.Sprintf("why cut at %d characters", MaxWhy))
	}
	return nil
}

func (d *decoder) confidence(value gjson.Result) {
	if !stated(value) {
		return
	}
	number, err := confidence(value)
	if err != nil {
		d.drop("confidence dropped: %v", err)
		return
	}
	d.out.Rationale.Confidence = &number
}

func (d *decoder) refs(value gjson.Result) {
	each(d, "refs", value, func(i int, entry gjson.Result) {
		text := textOf(entry)
		if entry.Type != gjson.String || blank(text) {
			d.drop("refs[%d] dropped: not a text", i)
			return
		}
		d.out.Rationale.Refs = append(d.out.Rationale.Refs, text)
	})
}

func (d *decoder) alternatives(value gjson.Result) {
	each(d, "alternatives", value, func(i int, entry gjson.Result) {
		if !entry.IsObject() {
			d.drop("alternatives[%d] dropped: not an object", i)
			return
		}
		fields := firstFields(entry, "option", "rejectedBecause")
		option, because := fields["option"], fields["rejectedBecause"]
		switch {
		case option.Type != gjson.String || blank(option.Str):
			d.drop("alternatives[%d] dropped: no option", i)
		case because.Type != gjson.String || blank(because.Str):
			d.drop("alternatives[%d] dropped: no rejectedBecause", i)
		case utf8.RuneCountInString(textOf(because)) > MaxRejectedBecause:
			d.drop("alternatives[%d] dropped: rejectedBecause longer than %d characters", i, MaxRejectedBecause)
		default:
			d.out.Rationale.Alternatives = append(d.out.Rationale.Alternatives,
				Alternative{Option: textOf(option), RejectedBecause: textOf(because)})
		}
	})
}

func (d *decoder) assumptions(value gjson.Result) {
	each(d, "assumptions", value, func(i int, entry gjson.Result) {
		text, why, conf := entry, gjson.Result{}, gjson.Result{}
		if entry.IsObject() {
			fields := firstFields(entry, "assumption", "why", "because", "confidence")
			text, why, conf = fields["assumption"], fields["why"], fields["confidence"]
			if !stated(why) {
				why = fields["because"]
			}
		}
		if text.Type != gjson.String || blank(text.Str) {
			d.drop("assumptions[%d] dropped: no assumption", i)
			return
		}
		a := Assumption{Span: inner(text)}
		var truncated, whyTruncated bool
		a.Text, truncated = cut(textOf(text), MaxAssumptionText)
		if why.Type == gjson.String && !blank(why.Str) {
			a.Why, whyTruncated = cut(textOf(why), MaxAssumptionText)
			a.WhySpan = inner(why)
		} else if stated(why) {
			d.drop("assumptions[%d]: reason dropped: not a text", i)
		}
		if truncated || whyTruncated {
			d.drop("assumptions[%d] cut at %d characters", i, MaxAssumptionText)
		}
		if stated(conf) {
			if number, err := confidence(conf); err == nil {
				a.Confidence = &number
			} else {
				d.drop("assumptions[%d]: confidence dropped: %v", i, err)
			}
		}
		d.out.Assumptions = append(d.out.Assumptions, a)
	})
}

// each calls f for the entries of an array. Anything else but null or nothing
// is dropped: a single string is no list, and reading one would be a guess.
func each(d *decoder, name string, value gjson.Result, f func(i int, entry gjson.Result)) {
	if !stated(value) {
		return
	}
	if !value.IsArray() {
		d.drop("%s dropped: not an array", name)
		return
	}
	i := 0
	value.ForEach(func(_, entry gjson.Result) bool {
		f(i, entry)
		i++
		return true
	})
}

func confidence(value gjson.Result) (float64, error) {
	// The negated comparison also refuses what is no number at all.
	if value.Type != gjson.Number || !(value.Num >= 0 && value.Num <= 1) {
		return 0, errConfidence
	}
	return value.Num + 0, nil // -0 becomes 0
}

// stated reports whether a member is there and not null.
func stated(value gjson.Result) bool { return value.Exists() && value.Type != gjson.Null }

// inner is the range of a JSON string between its quotes.
func inner(value gjson.Result) Span {
	return Span{Start: value.Index + 1, End: value.Index + len(value.Raw) - 1}
}

// cut returns the first limit code points of s and whether there are more.
func cut(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i], true
		}
		n++
	}
	return s, false
}

// textOf is the text of a JSON string. gjson drops the escape behind half a
// surrogate pair; such strings are left to encoding/json.
func textOf(value gjson.Result) string {
	if strings.Contains(value.Raw, `\ud`) || strings.Contains(value.Raw, `\uD`) {
		var text string
		if json.Unmarshal([]byte(value.Raw), &text) == nil {
			return text
		}
	}
	return value.Str
}

// unquote decodes a JSON string; "" when it is none.
func unquote(raw []byte) string {
	if !gjson.ValidBytes(raw) {
		return ""
	}
	return gjson.ParseBytes(raw).Str
}
