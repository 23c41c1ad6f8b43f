package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/trace"
)

type replayOptions struct {
	only              []string
	raw, json, strict bool
}

func newReplay(sys system) *cobra.Command {
	var opt replayOptions
	cmd := &cobra.Command{
		Use:   "replay ID",
		Short: "Every event of a trace, in order",
		Example: `  rax diagnose replay latest
  rax diagnose replay latest --only tool-call-start,tool-call-end
  rax diagnose replay trace.jsonl --raw --only llm-exchange | jq .model`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs(sys),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplay(cmd, sys, args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&opt.only, "only", nil, "only events of these kinds")
	f.BoolVar(&opt.raw, "raw", false, "print the lines of the trace as they are, secrets removed")
	f.BoolVar(&opt.json, "json", false, "print each event with its place, one JSON object a line")
	f.BoolVar(&opt.strict, "strict", false, "check the trace against the format, and fail when it is damaged")
	cmd.MarkFlagsMutuallyExclusive("raw", "json")
	_ = cmd.RegisterFlagCompletionFunc("only", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return kindNames(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func kindNames() []string {
	var names []string
	for _, k := range trace.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func runReplay(cmd *cobra.Command, sys system, ref string, opt replayOptions) error {
	term, err := terminalOf(cmd, sys)
	if err != nil {
		return err
	}
	in, err := open(cmd, sys, ref)
	if err != nil {
		return err
	}
	defer in.close()
	records, err := in.records()
	if err != nil {
		return err
	}
	show := render.NewReplay(cmd.OutOrStdout(), render.ReplayOptions{
		Raw: opt.raw, JSON: opt.json, Width: term.width, Color: term.color,
	})
	wanted := func(k trace.Kind) bool { return len(opt.only) == 0 || slices.Contains(opt.only, string(k)) }
	events, shown, damaged, last := 0, 0, 0, error(nil)
	for rec, err := range records {
		if err != nil {
			var bad *trace.SyntaxError
			if !errors.As(err, &bad) {
				last = err
				break
			}
			damaged++
			say(cmd.ErrOrStderr(), "warning: ", err.Error())
			continue
		}
		events++
		took, err := show.Record(rec, wanted)
		if err != nil {
			return err
		}
		if took {
			shown++
		}
	}
	if shown == 0 && events > 0 {
		say(cmd.ErrOrStderr(), "", fmt.Sprintf("showing 0 of %d events: none is of the kind %s", events, strings.Join(opt.only, " or ")))
	}
	switch {
	case last != nil:
		return last
	case events == 0:
		return unreadable{fmt.Errorf("%s: no event in it", in.name), ""}
	case opt.strict && damaged > 0:
		return unreadable{fmt.Errorf("%s: %d damaged lines", in.name, damaged), "leave out --strict to read what is there"}
	case opt.strict:
		return checkFormat(cmd, in)
	}
	return nil
}

// checkFormat holds a trace against the invariants of the format.
func checkFormat(cmd *cobra.Command, in *input) error {
	records, err := in.records()
	if err != nil {
		return err
	}
	found, err := trace.Check(records)
	if err != nil {
		return err
	}
	for _, v := range found {
		say(cmd.ErrOrStderr(), "warning: ", v.String())
	}
	if len(found) == 0 {
		return nil
	}
	var rules []string
	for _, v := range found {
		if !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	return unreadable{
		fmt.Errorf("%s: the trace breaks the format %d times (%s)", in.name, len(found), strings.Join(rules, ", ")),
		"leave out --strict to read what is there",
	}
}
