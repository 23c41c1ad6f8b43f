package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/parsers/source"
	"github.com/rax-project/rax/parsers/transcript"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
	"github.com/rax-project/rax/trace/safety"
)

// The exit codes of rax. They are documented in "rax help exit-codes".
const (
	exitDone        = 0
	exitFindings    = 1
	exitUsage       = 2
	exitUnreadable  = 3
	exitInterrupted = 130
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `  0    done; a debrief of a failed run is done
  1    a check has findings, or something went wrong while working
  2    usage: an unknown command or flag, a bad value
  3    nothing readable: no such trace, no event in it, or damage under --strict
  130  interrupted`,
		Example: `  rax diagnose debrief run.jsonl --strict || echo "exit $?"
  rax help exit-codes`,
	}
}

func environmentTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "Environment variables that rax reads",
		Long: `  RAX_TRACE_DIR              the directory of traces (default ~/.rax/traces)
  REACTIVE_AGENTS_TRACE_DIR  a further directory that is searched, never written
  CLAUDE_CONFIG_DIR          where claude:latest looks (default ~/.claude)
  NO_COLOR                   no colour, whatever its value
  COLUMNS                    the width of the tree, in place of the terminal's`,
		Example: `  RAX_TRACE_DIR=./traces rax diagnose list
  COLUMNS=120 NO_COLOR=1 rax diagnose debrief latest`,
	}
}

// usageError is a mistake on the command line.
type usageError struct {
	error
	hint string
}

// unreadable says that there was nothing to work on.
type unreadable struct {
	error
	hint string
}

func (e unreadable) Unwrap() error { return e.error }
func (e usageError) Unwrap() error { return e.error }

var errInterrupted = errors.New("interrupted")

// report prints an error with its hint and gives the exit code. It is the only
// place that does either.
func report(w io.Writer, err error) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return exitDone
	}
	var notFound *dir.NotFoundError
	if errors.As(err, &notFound) {
		// Before its message cuts it: of half a secret nobody can tell.
		notFound.Ref = safety.Default().Session().Stored("ref", notFound.Ref).Text
	}
	code, hint := classify(err)
	say(w, "error: ", err.Error())
	if hint != "" {
		say(w, "hint: ", hint)
	}
	return code
}

// classify gives the exit code of an error, and what to type instead.
func classify(err error) (code int, hint string) {
	var (
		hinted    interface{ Hint() string }
		usage     usageError
		none      unreadable
		noCall    *debrief.NoCallError
		notFound  *dir.NotFoundError
		ambiguous *dir.AmbiguousError
		noAgent   *source.UnknownAgentError
		unknown   *source.UnknownFormatError
		newer     *trace.VersionError
	)
	if errors.As(err, &hinted) {
		hint = hinted.Hint()
	}
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted, hint
	case errors.As(err, &usage):
		return exitUsage, cmp.Or(hint, usage.hint)
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "if any flags in the group"):
		// The library has no types for these two.
		return exitUsage, "see: rax --help"
	case errors.As(err, &ambiguous):
		return exitUsage, "more letters, or one of: " + strings.Join(ambiguous.Matches[:min(5, len(ambiguous.Matches))], ", ")
	case errors.As(err, &noAgent):
		return exitUsage, "known: " + strings.Join(noAgent.Known, ", ")
	case errors.As(err, &none):
		return exitUnreadable, cmp.Or(hint, none.hint)
	case errors.As(err, &noCall):
		return exitUnreadable, fmt.Sprintf("give a callId, or a number from 1 to %d", noCall.Calls)
	case errors.As(err, &notFound):
		return exitUnreadable, hintNotFound(notFound)
	case errors.As(err, &unknown):
		return exitUnreadable, "rax reads traces and sessions of Claude Code"
	case errors.As(err, &newer):
		return exitUnreadable, "a newer version of rax reads it"
	case errors.Is(err, transcript.ErrNoConversation), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return exitUnreadable, hint
	default:
		return exitFindings, hint
	}
}

func hintNotFound(err *dir.NotFoundError) string {
	switch {
	case len(err.Suggestions) > 0:
		return "did you mean " + strings.Join(err.Suggestions, ", ") + "?"
	case strings.ContainsAny(err.Ref, `/\`):
		return "there is no such file"
	case strings.HasPrefix(err.Ref, "claude:"):
		return "sessions are looked for in $CLAUDE_CONFIG_DIR/projects, else in ~/.claude/projects"
	default:
		return "see: rax diagnose list"
	}
}

// say tells the person something on one line of the standard error, scrubbed:
// errors repeat names and words from outside. Where that fails there is nobody
// to tell.
func say(w io.Writer, label, text string) {
	_, _ = fmt.Fprintln(w, label+render.Clean(safety.Default().Session().Stored("message", text).Text))
}
