package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/trace/dir"
)

type pruneOptions struct {
	olderThan, compressAfter string
	keep                     int
	dryRun, json             bool
}

func newPrune(sys system) *cobra.Command {
	var opt pruneOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove or compress old traces, and write down which",
		Long: `Prune removes traces by age and by number, and compresses closed ones. A trace
that is being written and files that rax did not name are never touched. What
was removed is written down in prune.log.jsonl in the trace directory.`,
		Example: `  rax diagnose prune --older-than 30d --dry-run
  rax diagnose prune --keep 1000 --compress-after 7d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPrune(cmd, sys, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.olderThan, "older-than", "", "remove traces last written longer ago than this (30d, 12h)")
	f.IntVar(&opt.keep, "keep", 0, "keep this many newest traces; with --older-than only what is beyond both goes")
	f.StringVar(&opt.compressAfter, "compress-after", "", "compress traces last written longer ago than this")
	f.BoolVar(&opt.dryRun, "dry-run", false, "say what would be done and do nothing")
	f.BoolVar(&opt.json, "json", false, "print the report as JSON")
	return cmd
}

func runPrune(cmd *cobra.Command, sys system, opt pruneOptions) error {
	search, err := searchOf(cmd, sys)
	if err != nil {
		return err
	}
	options := dir.PruneOptions{KeepLast: opt.keep, DryRun: opt.dryRun, Now: sys.now()}
	if options.OlderThan, err = age("older-than", opt.olderThan); err != nil {
		return err
	}
	if options.CompressAfter, err = age("compress-after", opt.compressAfter); err != nil {
		return err
	}
	if opt.keep < 0 {
		return usageError{errors.New("--keep must not be negative"), ""}
	}
	if options.OlderThan == 0 && options.CompressAfter == 0 && opt.keep == 0 {
		return usageError{errors.New("nothing to do: no rule is given"), "give --older-than, --keep or --compress-after"}
	}
	report, err := search.Dir.Prune(options)
	if opt.json {
		return errors.Join(render.JSON(cmd.OutOrStdout(), report), err)
	}
	return errors.Join(printPrune(cmd.OutOrStdout(), report, opt.dryRun), err)
}

func printPrune(w io.Writer, report dir.PruneReport, dryRun bool) error {
	var b strings.Builder
	for _, r := range report.Removed {
		fmt.Fprintf(&b, "%s %s (%s)\n", r.Action, render.Clean(r.File), r.Reason)
	}
	for _, r := range report.Compressed {
		fmt.Fprintf(&b, "%s %s (%s)\n", r.Action, render.Clean(r.File), r.Reason)
	}
	for _, s := range report.Skipped {
		fmt.Fprintf(&b, "skipped %s (%s)\n", render.Clean(s.File), render.Clean(s.Reason))
	}
	verb := "removed"
	if dryRun {
		verb = "would remove"
	}
	fmt.Fprintf(&b, "%s %d, compressed %d, kept %d, skipped %d; %d bytes freed\n",
		verb, len(report.Removed), len(report.Compressed), report.Kept, len(report.Skipped), report.BytesFreed)
	_, err := io.WriteString(w, b.String())
	return err
}

// age reads a duration, with days (30d) and weeks (2w) beside Go's units.
func age(flag, s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	bad := usageError{fmt.Errorf("--%s %q is no age", flag, s), "for example 30d, 2w or 12h"}
	day := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]]
	if day == 0 {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return 0, bad
		}
		return d, nil
	}
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || n <= 0 || n > 36500 {
		return 0, bad
	}
	return time.Duration(n) * day, nil
}
