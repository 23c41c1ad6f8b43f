package safety

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Report says what the rules find in a file, and never what the texts were.
type Report struct {
	// Lines counts the lines, the unread among them.
	Lines int `json:"lines"`
	// Unread counts the lines longer than 64 MiB, which were passed over.
	Unread int `json:"unread"`
	// Counts are the findings of each rule.
	Counts map[string]int `json:"counts"`
	// Findings stand in the order of the file, those of one rule in one field of
	// a line together. Omitted counts those beyond the first 10,000.
	Findings []Located `json:"findings"`
	Omitted  int       `json:"omitted"`
}

// Located is a finding with the line that it begins on, counted from 1.
type Located struct {
	Line     int      `json:"line"`
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Action   Action   `json:"action"`
	Field    string   `json:"field,omitempty"`
	Count    int      `json:"count"`
}

// Worst is the worst severity of the findings, 0 without any.
func (r *Report) Worst() Severity {
	var worst Severity
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

const (
	maxLine     = 64 << 20
	maxText     = 16 << 20
	maxFindings = 10_000
)

// Scan reports what the rules find in a file. A line that is JSON is looked at as
// JSON. Lines that are none are one text with those that follow them, so that a
// key over several lines is found; if they are together one JSON value, as that
// value, and all its findings have the line it begins on.
func (s *Session) Scan(r io.Reader) (Report, error) {
	rep := &reporter{s: s, Report: Report{Counts: map[string]int{}, Findings: []Located{}}}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, long, err := readLine(in)
		if len(line) > 0 || long {
			rep.Lines++
			rep.line(line, long)
		}
		if err != nil {
			rep.flush()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rep.Report, err
		}
	}
}

// readLine reads a line with its end. One that is too long is passed over.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			line, long = nil, true
		}
		if !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// reporter collects a Report.
type reporter struct {
	Report
	s *Session
	// text are the lines before this one that are no JSON, from line first on.
	text  []byte
	first int
}

func (r *reporter) line(line []byte, long bool) {
	switch {
	case long:
		r.flush()
		r.Unread++
	case json.Valid(line):
		r.flush()
		r.json(line, r.Lines)
	default:
		if len(r.text)+len(line) > maxText {
			r.flush()
		}
		if len(r.text) == 0 {
			r.first = r.Lines
		}
		r.text = append(r.text, line...)
	}
}

func (r *reporter) json(doc []byte, line int) {
	_, findings := r.s.JSON(nil, "", doc)
	for _, f := range findings {
		r.add(f, line)
	}
}

// flush looks at the lines that are no JSON.
func (r *reporter) flush() {
	text := r.text
	r.text = r.text[:0]
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if json.Valid(text) {
		r.json(text, r.first)
		return
	}
	line, last := r.first, 0
	for _, f := range r.s.Stored("", string(text)).Findings {
		at := last
		if f.Span != nil {
			at = max(last, min(f.Span[0], len(text)))
		}
		line += bytes.Count(text[last:at], []byte{'\n'})
		last = at
		r.add(f, line)
	}
}

func (r *reporter) add(f Finding, line int) {
	r.Counts[f.Rule]++
	for i := len(r.Findings) - 1; i >= 0 && r.Findings[i].Line == line; i-- {
		if l := &r.Findings[i]; l.Rule == f.Rule && l.Field == f.Field {
			l.Count++
			return
		}
	}
	if len(r.Findings) == maxFindings {
		r.Omitted++
		return
	}
	r.Findings = append(r.Findings, Located{line, f.Rule, f.Severity, f.Action, f.Field, 1})
}
