package main

import (
	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
)

func newWhy(sys system) *cobra.Command {
	var asJSON bool
	var run string
	cmd := &cobra.Command{
		Use:   "why ID CALL",
		Short: "One decision: the reason, where it was stated, what the call did",
		Long: `Why shows one tool call: the reason that was stated for it, how and in which
very characters, the text that stood beside it, its arguments, and what it did.

CALL is the call's id, or its number in the run, counted from 1.`,
		Example: `  rax diagnose why latest 3
  rax diagnose why 01JX c12 --json`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeIDs(sys),
		RunE: func(cmd *cobra.Command, args []string) error {
			term, err := terminalOf(cmd, sys)
			if err != nil {
				return err
			}
			in, err := open(cmd, sys, args[0])
			if err != nil {
				return err
			}
			defer in.close()
			runs, err := in.runs()
			if err != nil {
				return err
			}
			chosen, err := choose(runs, debriefOptions{run: run}, in.name)
			if err != nil {
				return err
			}
			in.warn(cmd.ErrOrStderr(), chosen)
			records, err := in.records()
			if err != nil {
				return err
			}
			decision, err := debrief.Explain(chosen[0], args[1], records)
			if err != nil {
				return err
			}
			in.cite(&decision)
			if asJSON {
				return render.JSON(cmd.OutOrStdout(), decision)
			}
			return render.Decision(cmd.OutOrStdout(), decision, render.TreeOptions{Width: term.width, Color: term.color})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the decision as JSON")
	cmd.Flags().StringVar(&run, "run", "", "of a file with several runs or sub-runs, the one with this id")
	return cmd
}
