package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/rationale"
)

// payloadWidth is how much of a payload a view for people shows, in columns.
const payloadWidth = 400

// Decision shows one tool call in full.
func Decision(w io.Writer, d debrief.Decision, opt TreeOptions) error {
	t := tree{opt: opt, style: style{opt.Color}}
	var b strings.Builder
	fmt.Fprintf(&b, "%schose %s (call %s of run %s)\n", iter(d.Iter), Clean(d.Action), name(d), Clean(d.RunID))
	row := func(label, text string) {
		if label != "" {
			label += ":"
		}
		if text != "" {
			fmt.Fprintf(&b, "  %-12s%s\n", label, text)
		}
	}
	row("reason", t.reason(d))
	row("status", status(d))
	row("read from", readFrom(d))
	switch {
	case d.Cited != "":
		row("", Quote(d.Cited))
	case d.Origin != nil:
		row("", "(not at hand: give the file itself to see its characters)")
	}
	if r := d.Rationale; r != nil {
		if r.Confidence != nil {
			row("confidence", fmt.Sprintf("%.2f", *r.Confidence))
		}
		row("refs", Clean(strings.Join(r.Refs, ", ")))
		for _, a := range r.Alternatives {
			row("rejected", Clean(a.Option)+" — "+Clean(a.RejectedBecause))
		}
	}
	if d.Narrative != "" {
		scope := ""
		if d.NarrativeScope == "group" {
			scope = " (beside several calls)"
		}
		row("beside it", t.style.dim(Quote(d.Narrative))+scope)
		if d.NarrativeOrigin != nil {
			row("", "at "+originPlace(d, d.NarrativeOrigin))
		}
	}
	if d.Withheld {
		row("thinking", "withheld by the provider")
	}
	row("arguments", payload(d.Args))
	row("outcome", t.outcome(d))
	row("result", payload(d.Result))
	if d.Place.Line > 0 {
		row("in trace", Clean(d.Place.String()))
	}
	_, err := io.WriteString(w, t.style.finish(b.String()))
	return err
}

func name(d debrief.Decision) string {
	if d.CallID != "" {
		return Clean(d.CallID) + fmt.Sprintf(", number %d,", d.Number)
	}
	return fmt.Sprintf("number %d", d.Number)
}

func (t tree) reason(d debrief.Decision) string {
	if d.Rationale == nil {
		return t.style.warn("none stated")
	}
	why := Quote(d.Rationale.Why)
	if d.Rationale.Truncated {
		why += fmt.Sprintf(" (cut at %d characters)", rationale.MaxWhy)
	}
	return why
}

func status(d debrief.Decision) string {
	s := string(d.Status)
	if d.Source != "" {
		s += " (" + Clean(string(d.Source)) + ")"
	}
	if d.Reason != "" {
		s += " — " + Clean(d.Reason)
	}
	return s
}

func readFrom(d debrief.Decision) string {
	if d.Origin == nil {
		return ""
	}
	return originPlace(d, d.Origin)
}

// originPlace names file, line and span of an origin.
func originPlace(d debrief.Decision, o *rationale.Origin) string {
	at := fmt.Sprintf("%s:%d", cmp.Or(Clean(o.Source), "-"), o.Line)
	if o.Event != nil {
		at = fmt.Sprintf("%s, event %d", Clean(d.Place.Name), *o.Event)
	}
	return fmt.Sprintf("%s %s [%d:%d]", at, Clean(o.Field), o.Start, o.End)
}

func (t tree) outcome(d debrief.Decision) string {
	out := string(d.Outcome)
	if d.Outcome == debrief.OutcomeOpen {
		return t.style.warn("no end in the trace")
	}
	if d.DurationMs != nil {
		out += fmt.Sprintf(" in %.0fms", *d.DurationMs)
	}
	if d.ResultSummary != "" {
		out += " — " + Clean(d.ResultSummary)
	}
	if d.Error != "" {
		out += " " + t.style.fail("✗ "+Clean(d.Error))
	}
	return out
}

// payload shows the beginning of a JSON value, and says when that is not all.
func payload(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	text := Clean(string(raw))
	if cut := clip(text, payloadWidth); cut != text {
		return cut + fmt.Sprintf(" (%d bytes, all with --json)", len(raw))
	}
	return text
}
