// Package steps splits the free text of a turn into phases (seed 001,
// parseThinking).
//
// Every line, or part of a line behind a bracket marker, gets one phase:
//
//  1. A marker such as [計画] or [plan] begins its phase, which lasts to the
//     next marker: what its author said of the text is not second-guessed.
//  2. A line numbered "1." is plan, and so is a bullet below a line that names
//     a plan (plan, steps, 手順); indented lines below either belong to it.
//  3. A line that contains error, failed, エラー or 失敗 is error, as the seed
//     says: also one that says "no errors". A plan item stays plan.
//  4. Everything else is thinking.
//
// Lines of one phase that follow each other are one step. Nothing is lost and
// nothing is said twice: each character that is not white space stands in
// exactly one step's Span.
package steps

import (
	"strings"
	"unicode"

	"github.com/rax-project/rax/rationale"
)

// Phase is the kind of a reasoning step.
type Phase string

// The phases of seed 001, in its order.
const (
	Thinking        Phase = "thinking"
	Plan            Phase = "plan"
	WaitingApproval Phase = "waiting_approval"
	Execute         Phase = "execute"
	Error           Phase = "error"
)

// Label is how a phase is written out, without brackets.
type Label struct{ Japanese, English string }

// Labels are the labels of every phase; the Markdown export writes the
// Japanese ones (seed 001). The map is the caller's.
func Labels() map[Phase]Label {
	return map[Phase]Label{
		Thinking:        {"思考", "thinking"},
		Plan:            {"計画", "plan"},
		WaitingApproval: {"承認待ち", "waiting approval"},
		Execute:         {"実行", "execute"},
		Error:           {"エラー", "error"},
	}
}

// Step is one stretch of text of one phase.
type Step struct {
	Phase Phase
	// Content is the text without its marker and without white space around
	// it. It is empty when a marker stands alone.
	Content string
	// Span is the step in the raw text, marker included, white space around it
	// not.
	Span rationale.Span
}

// Parse splits raw into steps in the order of the text. Text without anything
// but white space has none. It takes time linear in the text.
func Parse(raw string) []Step {
	var p parser
	for at := 0; at < len(raw); {
		end := len(raw)
		if i := strings.IndexByte(raw[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		p.line(raw, at, end)
		at = end
	}
	return p.steps
}

// parser holds what earlier lines mean for the next.
type parser struct {
	steps []Step
	// marked is the phase that a marker began; empty outside one.
	marked Phase
	// listing says that a line named a plan and bullets belong to it.
	listing bool
	// inPlan says that indented lines belong to the plan item above.
	inPlan bool
}

func (p *parser) line(raw string, at, end int) {
	if strings.TrimSpace(raw[at:end]) == "" {
		p.inPlan = false
		return
	}
	for from := at; from < end; {
		start, after, phase := nextMarker(raw, from, end)
		if start > from {
			p.unmarked(raw, from, start)
		}
		if start == end {
			return
		}
		next, _, _ := nextMarker(raw, after, end)
		p.marked = phase
		span := trim(raw, start, next)
		p.steps = append(p.steps, Step{Phase: phase, Span: span, Content: strings.TrimSpace(raw[after:next])})
		from = next
	}
}

// unmarked handles a line, or what stands before the first marker on it.
func (p *parser) unmarked(raw string, from, to int) {
	span := trim(raw, from, to)
	if span.Len() == 0 {
		return
	}
	phase := p.marked
	if phase == "" {
		phase = p.guess(raw[from:to])
	}
	if last := len(p.steps) - 1; last >= 0 && p.steps[last].Phase == phase {
		s := &p.steps[last]
		if s.Content == "" {
			s.Content = span.In(raw)
		} else {
			s.Content = raw[s.Span.End-len(s.Content) : span.End]
		}
		s.Span.End = span.End
		return
	}
	p.steps = append(p.steps, Step{Phase: phase, Span: span, Content: span.In(raw)})
}

// guess finds the phase of a line by its form and its words.
func (p *parser) guess(line string) Phase {
	text := strings.TrimSpace(line)
	indented := line[0] == ' ' || line[0] == '\t'
	switch {
	case numbered(text), p.listing && bullet(text):
		p.listing, p.inPlan = true, true
		return Plan
	case p.inPlan && indented:
		return Plan
	}
	lower := strings.ToLower(text)
	p.inPlan = false
	p.listing = hasWord(lower, "plan", "plans", "planned", "planning", "step", "steps") || strings.Contains(lower, "手順")
	for _, word := range [...]string{"error", "failed", "エラー", "失敗"} {
		if strings.Contains(lower, word) {
			return Error
		}
	}
	return Thinking
}

// trim returns the range without white space at its ends.
func trim(raw string, from, to int) rationale.Span {
	s := strings.TrimRightFunc(raw[from:to], unicode.IsSpace)
	start := from + len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
	return rationale.Span{Start: start, End: from + len(s)}
}
