package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/parsers/source"
	"github.com/rax-project/rax/parsers/transcript"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
	"github.com/rax-project/rax/trace/safety"
)

func newImport(sys system) *cobra.Command {
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Write another agent's transcript into the trace directory",
		Long: `Import reads the transcript of another agent (Claude Code), scrubs it, and writes
it as a trace. Which format a file has is decided by its content. A session that
is imported again replaces its trace. The account says what was read, what was
passed over, and what could not be read.`,
		Example: `  rax import ~/.claude/projects/x/session.jsonl
  rax import claude:latest --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			env, err := sourceEnv(cmd, sys)
			if err != nil {
				return err
			}
			src, err := source.Resolve(args[0], env)
			if err != nil {
				return err
			}
			search, err := searchOf(cmd, sys)
			if err != nil {
				return err
			}
			account, err := importFile(cmd.Context(), search.Dir, src, sys, env.Safety)
			if err != nil {
				return err
			}
			return reportImport(cmd, src.Name(), account, asJSON, strict)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the account as JSON")
	cmd.Flags().BoolVar(&strict, "strict", false, "fail when something could not be read or is of an unknown type")
	return cmd
}

// importFile writes a transcript into the trace directory. On an error nothing
// is changed there.
func importFile(ctx context.Context, d dir.Dir, src source.Source, sys system, p *safety.Pipeline) (transcript.Account, error) {
	in := sys.in
	if src.Path != "-" {
		f, err := os.Open(src.Path)
		if err != nil {
			return transcript.Account{}, err
		}
		defer f.Close()
		in = f
	}
	target := &lateTrace{dir: d, now: sys.now, session: p.Session()}
	account, err := transcript.Import(ctx, in, src.Name(), target.write, transcript.Options{
		Session: target.session,
		RunID:   func(startMs int64, parts ...string) string { return dir.ImportID(time.UnixMilli(startMs), parts...) },
	})
	return account, target.close(err)
}

// lateTrace is a trace of which the id is known with its first event.
type lateTrace struct {
	dir     dir.Dir
	now     func() time.Time
	session *safety.Session
	file    *dir.Replacement
	writer  *trace.Writer
}

func (t *lateTrace) write(ev trace.Event) error {
	if t.writer == nil {
		id := ev.Common().RunID
		file, err := t.dir.Replace(id)
		if err != nil {
			return err
		}
		t.file = file
		t.writer, err = trace.NewWriter(file, trace.WriterOptions{Name: id, Producer: producer(), Now: t.now, Session: t.session})
		if err != nil {
			return err
		}
	}
	rec, err := t.writer.Write(ev)
	trace.Adopt(ev, rec)
	return err
}

// close puts the trace in its place, or leaves everything as it was after an
// error.
func (t *lateTrace) close(err error) error {
	if t.file == nil {
		return err
	}
	if t.writer != nil {
		err = errors.Join(err, t.writer.Close())
	}
	if err != nil {
		return errors.Join(err, t.file.Abort())
	}
	return t.file.Commit()
}

func producer() string { return "rax " + version().Version }

func reportImport(cmd *cobra.Command, name string, a transcript.Account, asJSON, strict bool) error {
	for _, bad := range a.Bad {
		say(cmd.ErrOrStderr(), "warning: ", fmt.Sprintf("%s: %s line: %s", place(name, bad.Line), bad.Damage, bad.Reason))
	}
	var err error
	if asJSON {
		err = render.JSON(cmd.OutOrStdout(), a)
	} else {
		err = printAccount(cmd.OutOrStdout(), a)
	}
	if err != nil || !strict {
		return err
	}
	if unknown := sum(a.UnknownTypes); a.BadLines > 0 || unknown > 0 {
		return unreadable{
			fmt.Errorf("%s: %d bad lines, %d objects of unknown types", name, a.BadLines, unknown),
			"the trace was written all the same; leave out --strict to accept it",
		}
	}
	return nil
}

func printAccount(w io.Writer, a transcript.Account) error {
	_, err := fmt.Fprintf(w, `imported %s as run %s
  %d lines: %d bad, %d objects passed over, %d of unknown types
  %d model messages, %d tool calls (%d results, %d errors, %d parallel groups), %d compactions
see: rax diagnose debrief %s
`, a.Format, a.RunID, a.Lines, a.BadLines, sum(a.PassedOver), sum(a.UnknownTypes),
		a.Messages, a.Calls, a.Results, a.Errors, a.ParallelGroups, a.Compactions, a.RunID)
	return err
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
