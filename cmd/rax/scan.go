package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

func newScan(sys system) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "scan FILE...",
		Short: "What the safety rules find in files, and never what it was",
		Long: `Scan looks through files for what the safety rules find: secrets, hidden
characters, injected instructions. It names rule, line and field, and never shows
the text. It is for traces that another tool wrote or that an older version of rax
did, for transcripts, and for any other text; compressed files are unpacked. FILE
is "-" for standard input. Nothing is changed.

The exit code is 1 when something of severity high or critical is found.`,
		Example: `  rax diagnose scan ~/.rax/traces/*.jsonl
  rax diagnose scan session.jsonl --json | jq '.[].counts'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runScan(cmd, sys, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// scanned is what was found in one file.
type scanned struct {
	File string `json:"file"`
	safety.Report
}

func runScan(cmd *cobra.Command, sys system, paths []string, asJSON bool) error {
	term, err := terminalOf(cmd, sys)
	if err != nil {
		return err
	}
	pipeline, err := pipelineOf(sys)
	if err != nil {
		return err
	}
	list, worst, severe := []scanned{}, safety.Severity(0), 0
	var failed error
	for _, path := range paths {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		report, err := scanFile(path, sys.in, pipeline)
		if err != nil {
			failed = errors.Join(failed, err)
			say(cmd.ErrOrStderr(), "warning: ", err.Error())
			continue
		}
		// A name can hold a secret as well.
		list = append(list, scanned{pipeline.Session().Stored("file", path).Text, report})
		worst = max(worst, report.Worst())
		for _, f := range report.Findings {
			if f.Severity >= safety.High {
				severe += f.Count
			}
		}
		if report.Unread > 0 {
			say(cmd.ErrOrStderr(), "warning: ", fmt.Sprintf("%s: %d lines are too long and were not looked at", path, report.Unread))
		}
	}
	if asJSON {
		err = render.JSON(cmd.OutOrStdout(), list)
	} else {
		err = printScan(cmd.OutOrStdout(), list, term)
	}
	switch {
	case err != nil:
		return err
	case failed != nil:
		return unreadable{fmt.Errorf("%d of %d files could not be read", len(paths)-len(list), len(paths)), ""}
	case worst >= safety.High:
		return fmt.Errorf("%d findings of severity high or critical", severe)
	}
	return nil
}

func scanFile(path string, in io.Reader, p *safety.Pipeline) (safety.Report, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return safety.Report{}, err
		}
		defer f.Close()
		in = f
	}
	plain, err := trace.Plain(in)
	if err != nil {
		return safety.Report{}, fmt.Errorf("%s: %w", path, err)
	}
	report, err := p.Session().Scan(plain)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return report, err
}

func printScan(w io.Writer, list []scanned, term terminal) error {
	var b strings.Builder
	for _, s := range list {
		for _, f := range s.Findings {
			fmt.Fprintf(&b, "%s:%d: %s (%s, %s)", render.Clean(s.File), f.Line, f.Rule, f.Severity, f.Action)
			if f.Field != "" {
				fmt.Fprintf(&b, " in %s", render.Clean(f.Field))
			}
			if f.Count > 1 {
				fmt.Fprintf(&b, " ×%d", f.Count)
			}
			b.WriteByte('\n')
		}
		if s.Omitted > 0 {
			fmt.Fprintf(&b, "%s: %d more\n", render.Clean(s.File), s.Omitted)
		}
	}
	lines, total, counts := 0, 0, map[string]int{}
	for _, s := range list {
		lines += s.Lines
		for rule, n := range s.Counts {
			counts[rule] += n
			total += n
		}
	}
	fmt.Fprintf(&b, "%d findings in %d lines of %d files", total, lines, len(list))
	sep := ": "
	for _, rule := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s%s %d", sep, rule, counts[rule])
		sep = ", "
	}
	b.WriteByte('\n')
	return render.Lines(w, b.String(), term.width)
}
