package render

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/rax-project/rax/debrief"
)

// Listed is one trace of a list. Run is nil when nothing in it could be read.
type Listed struct {
	ID         string    `json:"id"`
	Path       string    `json:"path"`
	Size       int64     `json:"size"`
	Written    time.Time `json:"written"`
	Live       bool      `json:"live"`
	Compressed bool      `json:"compressed"`
	Run        *Summary  `json:"run,omitempty"`
	// Error says why Run is absent.
	Error string `json:"error,omitempty"`
}

// Summary is what a list shows of a run.
type Summary struct {
	Goal     string          `json:"goal"`
	Model    string          `json:"model,omitempty"`
	Status   string          `json:"status,omitempty"`
	Metrics  debrief.Metrics `json:"metrics"`
	Children int             `json:"children"`
}

// List draws traces as a table, newest first.
func List(w io.Writer, traces []Listed, opt TreeOptions) error {
	// The library writes line by line and loses the writer's errors.
	var buf bytes.Buffer
	table := tablewriter.NewTable(&buf,
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithRendition(tw.Rendition{Borders: tw.BorderNone, Settings: tw.Settings{
			Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
			Lines:      tw.LinesNone,
		}}),
		tablewriter.WithAlignment(tw.MakeAlign(7, tw.AlignLeft)),
	)
	table.Header("RUN", "WRITTEN", "SIZE", "CALLS", "COVERAGE", "STATUS", "GOAL")
	for _, l := range traces {
		if err := table.Append(l.cells(opt.Width)); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	_, err := w.Write(buf.Bytes())
	return err
}

func (l Listed) cells(width int) []string {
	written := l.Written.UTC().Format(time.RFC3339)
	if l.Run == nil {
		return []string{Clean(l.ID), written, size(l.Size), "", "", "unreadable", Clean(l.Error)}
	}
	status := Clean(l.Run.Status)
	switch {
	case l.Live:
		status = "running"
	case status == "":
		status = "no end"
	}
	goal := Clean(l.Run.Goal)
	if width > 0 {
		goal = clip(goal, max(width-100, 20))
	}
	return []string{
		Clean(l.ID), written, size(l.Size), fmt.Sprint(l.Run.Metrics.ToolCalls),
		coverage(l.Run.Metrics), status, goal,
	}
}

// percent rounds down, so that only what is whole shows as 100.
func percent(share float64) int { return int(math.Floor(share * 100)) }

func coverage(m debrief.Metrics) string {
	switch {
	case m.Coverage != nil:
		return fmt.Sprintf("%d%%", percent(*m.Coverage))
	case m.ToolCalls > 0:
		return "not asked"
	default:
		return ""
	}
}

// size shows a number of bytes with a binary unit.
func size(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), -1
	for f >= 1024 && unit < len(units)-1 {
		f /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[unit])
}
