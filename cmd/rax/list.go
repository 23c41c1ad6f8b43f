package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/parsers/source"
	"github.com/rax-project/rax/trace/dir"
)

func newList(sys system) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The traces of the trace directory, newest first",
		Example: `  rax diagnose list
  rax diagnose list --limit 0 --json | jq '.[].id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			term, err := terminalOf(cmd, sys)
			if err != nil {
				return err
			}
			search, err := searchOf(cmd, sys)
			if err != nil {
				return err
			}
			env, err := sourceEnv(cmd, sys)
			if err != nil {
				return err
			}
			entries, err := search.List()
			if err != nil {
				return err
			}
			total := len(entries)
			if limit > 0 && total > limit {
				entries = entries[:limit]
			}
			if err := dir.MarkLive(entries); err != nil {
				say(cmd.ErrOrStderr(), "warning: ", err.Error())
			}
			listed := make([]render.Listed, 0, len(entries))
			for _, e := range entries {
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				listed = append(listed, summarize(cmd.Context(), env, e))
			}
			if asJSON {
				return render.JSON(cmd.OutOrStdout(), listed)
			}
			if total == 0 {
				say(cmd.ErrOrStderr(), "no traces in ", search.Dir.Path)
				return nil
			}
			if err := render.List(cmd.OutOrStdout(), listed, render.TreeOptions{Width: term.width}); err != nil {
				return err
			}
			if total > len(listed) {
				say(cmd.ErrOrStderr(), "", fmt.Sprintf("showing %d of %d traces (--limit 0 for all)", len(listed), total))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().IntVar(&limit, "limit", 20, "show at most this many; 0 means all")
	return cmd
}

// summarize folds one trace for the list.
func summarize(ctx context.Context, env source.Env, e dir.Entry) render.Listed {
	l := render.Listed{ID: e.ID, Path: e.Path, Size: e.Size, Written: e.ModTime.UTC(), Live: e.Live, Compressed: e.Compressed}
	in := &input{name: e.Path, ctx: ctx, env: env, src: source.Source{Ref: e.ID, Path: e.Path}}
	defer in.close()
	runs, err := in.runs()
	if err != nil {
		l.Error = err.Error()
		return l
	}
	d := runs[debrief.Latest(runs)]
	l.Run = &render.Summary{Goal: d.Goal, Model: d.Model, Metrics: d.Metrics, Children: len(d.Children)}
	if d.Verdict != nil {
		l.Run.Status = d.Verdict.Status
	}
	return l
}
