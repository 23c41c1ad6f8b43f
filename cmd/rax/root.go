package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// system is the world outside of the program, handed in so that tests can hand
// in another.
type system struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	home     func() (string, error)
	now      func() time.Time
	// person says that somebody can be asked on in.
	person bool
}

// run executes one command line and returns the exit code.
func run(args []string, sys system) int {
	if sys.now == nil {
		sys.now = time.Now
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	if f, ok := sys.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		sys.person = true
	}
	sys.in = &interruptible{ctx: ctx, in: sys.in}
	root := newRoot(sys)
	root.SetArgs(arguments(args))
	root.SetIn(sys.in)
	root.SetOut(sys.out)
	root.SetErr(sys.err)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	return report(sys.err, err)
}

// arguments gives the words after the program's name. The legacy program
// rax-diagnose is rax with its first word given (specification 004).
func arguments(args []string) []string {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if name == "rax-diagnose" {
		return append([]string{"diagnose"}, args[1:]...)
	}
	return args[1:]
}

func newRoot(sys system) *cobra.Command {
	root := &cobra.Command{
		Use:   "rax",
		Short: "Why did the agent do that?",
		Long: `rax answers one question about an AI agent's run: why did it do that?

It shows the reason that the model itself stated for every decision. A reason
that was not stated is counted and shown as missing; it is never made up.`,
		Example: `  rax diagnose debrief latest            the decisions of the newest run
  rax diagnose debrief session.jsonl     of a trace or a Claude Code session
  rax diagnose why latest 3              the third call of it, in full`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{err, "see: " + cmd.CommandPath() + " --help"}
	})
	root.PersistentFlags().String("trace-dir", "", "the trace directory (default $RAX_TRACE_DIR, else ~/.rax/traces)")
	root.PersistentFlags().String("color", "auto", "colour: auto, always or never")
	root.AddCommand(
		newRun(sys), newDiagnose(sys), newImport(sys), newTools(), newProxy(sys), newPrompt(), newSchema(), newVersion(),
		exitCodesTopic(), environmentTopic(),
	)
	addCompletion(root)
	wrapArgs(root)
	return root
}

// addCompletion adds the library's command with examples like the others'.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Example = `  source <(rax completion bash)
  rax completion zsh > "${fpath[1]}/_rax"`
	for _, shell := range completion.Commands() {
		name := shell.Name()
		shell.Example = "  rax completion " + name + " > rax." + name + "\n  rax completion " + name + " --no-descriptions"
	}
}

// wrapArgs makes every complaint about arguments a usage error.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{err, "see: " + cmd.CommandPath() + " --help"}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		wrapArgs(c)
	}
}

func newDiagnose(sys system) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diagnose",
		Short: "Read traces: why, what and how it went",
		Example: `  rax diagnose debrief latest
  rax diagnose why latest 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDebrief(sys), newWhy(sys), newList(sys), newReplay(sys), newParse(sys), newScan(sys), newPrune(sys))
	return cmd
}
