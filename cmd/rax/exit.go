package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/trace/dir"
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
  COLUMNS                    the width of the tree, where it is not a terminal's`,
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
	fmt.Fprintln(w, "error: "+oneLine(err.Error()))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(w, "hint: "+oneLine(hint))
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	var none unreadable
	var noCall *debrief.NoCallError
	var notFound *dir.NotFoundError
	var ambiguous *dir.AmbiguousError
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &ambiguous), strings.HasPrefix(err.Error(), "unknown command"):
		return exitUsage
	case errors.As(err, &none), errors.As(err, &notFound), errors.As(err, &noCall), errors.Is(err, fs.ErrNotExist):
		return exitUnreadable
	default:
		return exitFindings
	}
}

func hintOf(err error) string {
	var usage usageError
	var none unreadable
	var noCall *debrief.NoCallError
	var notFound *dir.NotFoundError
	var ambiguous *dir.AmbiguousError
	switch {
	case errors.As(err, &usage):
		return usage.hint
	case errors.As(err, &none):
		return none.hint
	case errors.As(err, &noCall):
		return fmt.Sprintf("give a callId, or a number from 1 to %d", noCall.Calls)
	case errors.As(err, &notFound) && len(notFound.Suggestions) > 0:
		return "did you mean " + strings.Join(notFound.Suggestions, ", ") + "?"
	case errors.As(err, &notFound):
		return "see: rax diagnose list"
	case errors.As(err, &ambiguous):
		return "more letters, or one of: " + strings.Join(ambiguous.Matches[:min(5, len(ambiguous.Matches))], ", ")
	case strings.HasPrefix(err.Error(), "unknown command"):
		return "see: rax --help"
	}
	return ""
}

// oneLine keeps an error on its line: names and parts of it may come from
// outside.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r <= 0x9f {
			return ' '
		}
		return r
	}, s)
}
