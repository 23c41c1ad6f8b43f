//go:build !noreasoning

package strategy

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
)

// parseSubproblems reads the sub-problems in an answer: the one object with an
// array of them, alone, in prose or in a fence. An element is an object with a
// problem, or its text. The error is always an [*OutputError].
func parseSubproblems(answer string, most int) ([]string, Reading, error) {
	bad := func(reason string) ([]string, Reading, error) {
		return nil, "", &OutputError{Technique: "decompose", Reason: reason, Raw: answer}
	}
	visible := text.WithoutThinking(answer)
	var list rationale.Span
	how, end, found := ReadJSON, 0, 0
	marks := fences(visible)
	for _, o := range lenient.Scan(visible, []string{"subproblems"}) {
		m, ok := o.Member("subproblems")
		if !ok || o.Span.Start < end || m.Kind != lenient.Array {
			continue
		}
		if o.Cut {
			return bad("the JSON is cut off")
		}
		list, end = m.Span, o.Span.End
		if found++; within(marks, o.Span.Start) {
			how = ReadMarkdown
		}
	}
	switch {
	case strings.TrimSpace(visible) == "":
		return bad("it is empty")
	case found == 0:
		return bad("it holds no JSON object with an array of subproblems")
	case found > 1:
		return bad("it holds several lists of subproblems")
	}
	n, ok := lenient.Normalize(visible, list)
	var elements []json.RawMessage
	if !ok || json.Unmarshal(n.JSON, &elements) != nil {
		return bad("the subproblems cannot be read")
	}
	if len(elements) > most {
		return bad(fmt.Sprintf("it holds %d subproblems, more than %d", len(elements), most))
	}
	parts := make([]string, 0, len(elements))
	for i, e := range elements {
		problem := problemOf(string(e))
		if problem == "" {
			return bad(fmt.Sprintf("subproblem %d states no problem", i+1))
		}
		parts = append(parts, problem)
	}
	return parts, how, nil
}

func problemOf(element string) string {
	var s string
	if json.Unmarshal([]byte(element), &s) == nil {
		return strings.TrimSpace(s)
	}
	objects, _, ok := lenient.At(element, 0, []string{"problem"})
	if !ok || len(objects) == 0 || objects[0].Span.Start != 0 {
		return ""
	}
	m, _ := objects[0].Member("problem")
	s, _ = stringAt(element, m)
	return strings.TrimSpace(s)
}
