package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel"
)

// toolView is a tool as "rax tools list --json" shows it.
type toolView struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Effects     kernel.Effects  `json:"effects"`
	Schema      json.RawMessage `json:"schema"`
}

func newTools() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "The tools that rax run can offer",
		Example: `  rax tools list
  rax tools list --json | jq '.[].effects'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "Name, effects and description of every tool",
		Example: `  rax tools list
  rax tools list --json | jq '.[].name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			registry, done, err := openTools(runOptions{root: ".", allowShell: true})
			if err != nil {
				return err
			}
			defer done()
			views := []toolView{}
			for _, s := range registry.Specs() {
				views = append(views, toolView{s.Name, s.Description, s.Effects, s.Schema})
			}
			if asJSON {
				return render.JSON(cmd.OutOrStdout(), views)
			}
			return printTools(cmd.OutOrStdout(), views)
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print as JSON, with the schemas of the arguments")
	cmd.AddCommand(list)
	return cmd
}

func printTools(w io.Writer, views []toolView) error {
	var b strings.Builder
	for _, v := range views {
		first, _, _ := strings.Cut(v.Description, "\n")
		fmt.Fprintf(&b, "%-15s %-8s %s\n", v.Name, v.Effects, first)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
