package plan

import (
	"strconv"
	"strings"
)

// The limits of what a retry repeats of the plan.
const (
	maxNamed = 20 // steps named
	maxTitle = 80 // code points of a title
)

// StrictRetry returns the reminder to send when tool_call steps lack a
// rationale (seed 004): which steps do, and what is asked for. It is empty when
// none does. It suggests no reason, so that what comes back is the model's own.
func StrictRetry(p Plan) string {
	var named []string
	more := 0
	for i := range p.Steps {
		s := &p.Steps[i]
		switch {
		case !s.Lacks():
		case len(named) == maxNamed:
			more++
		default:
			named = append(named, "- step "+strconv.Itoa(i+1)+": "+strconv.Quote(short(s.Title)))
		}
	}
	if len(named) == 0 {
		return ""
	}
	if more > 0 {
		named = append(named, "- and "+strconv.Itoa(more)+" more")
	}
	return `[STRICT RETRY] Your plan was not accepted: these steps of type "tool_call" have no readable rationale.
` + strings.Join(named, "\n") + `
Return the whole plan again, as JSON only. Every step of type "tool_call" MUST have a "rationale" object: "why", your actual reason for the step in one sentence of at most 280 characters, and "confidence", a number from 0 to 1.
`
}

func short(title string) string {
	n := 0
	for i := range title {
		if n == maxTitle {
			return title[:i] + "…"
		}
		n++
	}
	return title
}
