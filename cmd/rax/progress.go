package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

// progress tells on standard error what a run does: which tool, why, how long.
type progress struct {
	w   io.Writer
	now func() time.Time
}

func newProgress(w io.Writer, now func() time.Time) *progress { return &progress{w, now} }

// Recorded implements kernel.Watcher.
func (p *progress) Recorded(rec trace.Record) {
	row, err := trace.RowOf(rec)
	if err != nil {
		return
	}
	indent := strings.Repeat("  ", int(min(row.Int(trace.FieldDepth), 8)))
	tool := render.Clean(row.Str(trace.FieldToolName))
	switch row.Kind() {
	case trace.KindToolCallStart:
		line := "○ " + tool
		if why := row.Rationale(trace.FieldRationale); why != nil {
			line += ": " + render.Quote(why.Why)
		} else {
			line += " (no rationale: " + render.Clean(row.Str(trace.FieldRationaleStatus)) + ")"
		}
		p.say(indent + line)
	case trace.KindToolCallEnd:
		line := "● " + tool
		if ms := row.OptFloat(trace.FieldDurationMs); ms != nil {
			line += fmt.Sprintf(" %.0fms", *ms)
		}
		if s := row.Str(trace.FieldOutcome); s != "" {
			line += " " + render.Clean(s)
		}
		if s := row.Str(trace.FieldError); s != "" {
			first, _, _ := strings.Cut(s, "\n")
			line += " ✗ " + render.Clean(first)
		}
		p.say(indent + line)
	case trace.KindErrorRaised:
		p.say(indent + "✗ " + render.Clean(row.Str(trace.FieldMessage)))
	case trace.KindStrategySwitched:
		p.say(indent + "→ " + render.Clean(row.Str(trace.FieldFrom)+" gives way to "+row.Str(trace.FieldTo)))
	}
}

func (p *progress) say(line string) { _, _ = fmt.Fprintln(p.w, line) }

// askUser asks on the terminal. Without one nobody can be asked, which is a
// denial. The call comes as the model wrote it and is scrubbed here.
func askUser(sys system, s *safety.Session) control.Approver {
	if !sys.person {
		return nil
	}
	lines := bufio.NewReader(sys.in)
	return func(_ context.Context, r control.Request) (bool, string, error) {
		why := "no reason was stated"
		if r.Why != "" {
			why = render.Quote(s.Stored("why", r.Why).Text)
		}
		args, _ := s.JSON(nil, "args", r.Args)
		_, _ = fmt.Fprintf(sys.err, "allow %s %s? %s [y/N] ", render.Clean(s.Stored("toolName", r.Tool).Text), render.Clean(string(args)), why)
		answer, err := lines.ReadString('\n')
		if err != nil {
			return false, "", err
		}
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", "user", nil
	}
}
