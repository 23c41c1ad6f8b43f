package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel/flow"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

func newPrompt() *cobra.Command {
	return &cobra.Command{
		Use:   "prompt",
		Short: "The text that asks a model for its reasons",
		Long: `Prompt prints the text that rax puts at the end of a system prompt to ask a model
for the reason of every tool call. Paste it into the instructions of any agent.`,
		Example: `  rax prompt >> CLAUDE.md
  rax prompt | wc -w`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), rationale.Prompt())
			return err
		},
	}
}

func newSchema() *cobra.Command {
	schemas := map[string]func() ([]byte, error){
		"event":   trace.Schema,
		"debrief": debrief.Schema,
		"config":  configSchema,
		"flow":    flow.Schema,
	}
	return &cobra.Command{
		Use:   "schema event|debrief|config|flow",
		Short: "JSON Schemas of what rax writes, its configuration and its flows",
		Example: `  rax schema debrief > debrief.schema.json
  rax schema event | jq .title`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"event", "debrief", "config", "flow"},
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := schemas[args[0]]()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(doc)
			return err
		},
	}
}

// buildInfo is what the program knows about itself.
type buildInfo struct {
	Version       string `json:"version"`
	Revision      string `json:"revision,omitempty"`
	Go            string `json:"go"`
	TraceFormat   string `json:"traceFormat"`
	DebriefSchema string `json:"debriefSchema"`
	Safety        string `json:"safety"`
}

func version() buildInfo {
	v := buildInfo{Version: "(devel)", TraceFormat: trace.Format, DebriefSchema: debrief.SchemaVersion, Safety: safety.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "The version of rax and of the formats it writes",
		Example: `  rax version
  rax version --json | jq -r .traceFormat`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := version()
			if asJSON {
				return render.JSON(cmd.OutOrStdout(), v)
			}
			return v.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (v buildInfo) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "rax %s %s\nformats %s %s %s\n", v.Version, v.Go, v.TraceFormat, v.DebriefSchema, v.Safety)
	return err
}
