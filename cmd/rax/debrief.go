package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
)

type debriefOptions struct {
	json, jsonl, markdown bool
	run                   string
	all, expand, strict   bool
}

func newDebrief(sys system) *cobra.Command {
	var opt debriefOptions
	cmd := &cobra.Command{
		Use:   "debrief ID",
		Short: "The decisions of a run, each with the reason stated for it",
		Long: `Debrief folds a trace into the decisions of its run: what the agent did, the
reason that the model stated for it, what it assumed, and how the run ended. A
call without a stated reason stands in its place as such.

ID is a run id or the beginning of one, "latest", a path, "-" for standard
input, or "claude:latest". A Claude Code session file is read as it is.`,
		Example: `  rax diagnose debrief latest
  rax diagnose debrief 01JX --json | jq .metrics
  rax diagnose debrief ~/.claude/projects/x/session.jsonl
  cat trace.jsonl | rax diagnose debrief -`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs(sys),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDebrief(cmd, sys, args[0], opt)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.json, "json", false, "print the debrief as JSON (see: rax schema debrief)")
	f.BoolVar(&opt.jsonl, "jsonl", false, "print one line of JSON a run")
	f.BoolVar(&opt.markdown, "markdown", false, "print a Markdown document")
	f.StringVar(&opt.run, "run", "", "of a file with several runs, the one with this id")
	f.BoolVar(&opt.all, "all", false, "every run of the file")
	f.BoolVar(&opt.expand, "expand", false, "list every call, also those of which nothing was said")
	f.BoolVar(&opt.strict, "strict", false, "fail when a line cannot be read")
	cmd.MarkFlagsMutuallyExclusive("json", "jsonl", "markdown")
	cmd.MarkFlagsMutuallyExclusive("run", "all")
	return cmd
}

func runDebrief(cmd *cobra.Command, sys system, ref string, opt debriefOptions) error {
	term, err := terminalOf(cmd, sys)
	if err != nil {
		return err
	}
	in, err := open(cmd, sys, ref)
	if err != nil {
		return err
	}
	defer in.close()
	runs, err := in.runs()
	if err != nil {
		return err
	}
	chosen, err := choose(runs, opt, in.name)
	if err != nil {
		return err
	}
	in.warn(cmd.ErrOrStderr(), chosen)
	if err := view(cmd.OutOrStdout(), chosen, opt, term); err != nil {
		return err
	}
	return strictly(opt.strict, in.name, chosen)
}

// choose picks the runs to show: one, unless all are asked for.
func choose(runs []debrief.Debrief, opt debriefOptions, name string) ([]debrief.Debrief, error) {
	if opt.all {
		return runs, nil
	}
	if opt.run != "" {
		d, ok := debrief.Find(runs, opt.run)
		if !ok {
			return nil, unreadable{fmt.Errorf("%s: no run %q", name, opt.run), "see them all with --all"}
		}
		d.SchemaVersion = debrief.SchemaVersion
		return []debrief.Debrief{d}, nil
	}
	d := runs[debrief.Latest(runs)]
	if n := len(runs); n > 1 {
		d.Warnings = append(d.Warnings, debrief.Warning{
			Code:    debrief.WarnSeveralRuns,
			Message: fmt.Sprintf("the file holds %d runs; this is the latest (--run ID for another, --all for all)", n),
		})
	}
	return []debrief.Debrief{d}, nil
}

func view(w io.Writer, runs []debrief.Debrief, opt debriefOptions, term terminal) error {
	if opt.json {
		if opt.all {
			return render.JSON(w, runs)
		}
		return render.JSON(w, runs[0])
	}
	for i, d := range runs {
		var err error
		switch {
		case opt.jsonl:
			err = render.JSONLine(w, d)
		case opt.markdown:
			err = render.Markdown(w, d)
		default:
			err = render.Tree(w, d, render.TreeOptions{Width: term.width, Expand: opt.expand, Color: term.color})
		}
		if err == nil && !opt.jsonl && i < len(runs)-1 {
			_, err = io.WriteString(w, "\n")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// warn prints the warnings of runs and their sub-runs, each once.
func (in *input) warn(w io.Writer, runs []debrief.Debrief) {
	seen := make(map[debrief.Warning]bool)
	var walk func(d debrief.Debrief)
	walk = func(d debrief.Debrief) {
		for _, warning := range d.Warnings {
			if !seen[warning] {
				seen[warning] = true
				say(w, "warning: ", in.placeOf(warning)+": "+warning.Message)
			}
		}
		for _, c := range d.Children {
			walk(c)
		}
	}
	for _, d := range runs {
		walk(d)
	}
}

// placeOf names where a warning points. The events of a transcript are made
// while it is read: they have a number and no line.
func (in *input) placeOf(w debrief.Warning) string {
	if w.Seq > 0 && in.imported() {
		return fmt.Sprintf("%s, event %d", in.name, w.Seq)
	}
	return place(in.name, w.Line)
}

func place(name string, line int) string {
	if line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// strictly turns damage into an error, where that was asked for.
func strictly(strict bool, name string, runs []debrief.Debrief) error {
	if !strict {
		return nil
	}
	for _, d := range runs {
		for _, w := range d.Warnings {
			switch w.Code {
			case debrief.WarnUnreadable, debrief.WarnJoined, debrief.WarnNoKind:
				return unreadable{errors.New(place(name, w.Line) + ": " + w.Message), "leave out --strict to read what is there"}
			}
		}
	}
	return nil
}
