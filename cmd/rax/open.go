package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/parsers/source"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
)

// input is what an ID means: records that can be read more than once.
type input struct {
	// name stands in messages.
	name string

	ctx    context.Context
	env    source.Env
	src    source.Source
	stream *source.Stream
	// spooled is the copy of standard input, which cannot be read twice.
	spooled string
}

// searchOf gives the trace directories of a command line.
func searchOf(cmd *cobra.Command, sys system) (dir.Search, error) {
	search, err := dir.DefaultSearch(sys.getenv, sys.home)
	if err != nil {
		return dir.Search{}, err
	}
	if path, _ := cmd.Flags().GetString("trace-dir"); path != "" {
		search.Dir.Path = path
	}
	return search, nil
}

// sourceEnv is the world as the package source needs it.
func sourceEnv(cmd *cobra.Command, sys system) (source.Env, error) {
	search, err := searchOf(cmd, sys)
	if err != nil {
		return source.Env{}, err
	}
	pipeline, err := pipelineOf(sys)
	return source.Env{Traces: search, Getenv: sys.getenv, Home: sys.home, Stdin: sys.in, Safety: pipeline}, err
}

// open resolves an ID.
func open(cmd *cobra.Command, sys system, ref string) (*input, error) {
	env, err := sourceEnv(cmd, sys)
	if err != nil {
		return nil, err
	}
	src, err := source.Resolve(ref, env)
	if err != nil {
		return nil, err
	}
	in := &input{name: src.Name(), ctx: cmd.Context(), env: env, src: src}
	if src.Path == "-" {
		if err := in.spool(sys.in); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// spool copies standard input to a file that only the user can read.
func (in *input) spool(r io.Reader) error {
	f, err := os.CreateTemp("", "rax-stdin-")
	if err != nil {
		return err
	}
	in.spooled = f.Name()
	_, err = io.Copy(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		in.close()
		return fmt.Errorf("standard input: %w", err)
	}
	in.src.Path = in.spooled
	in.src.Label = "-"
	return nil
}

// records reads from the beginning.
func (in *input) records() (iter.Seq2[trace.Record, error], error) {
	if in.stream != nil {
		_ = in.stream.Close()
	}
	stream, err := source.Open(in.ctx, in.src, in.env)
	if err != nil {
		return nil, err
	}
	in.stream = stream
	return until(in.ctx, stream.All()), nil
}

// runs folds the input.
func (in *input) runs() ([]debrief.Debrief, error) {
	records, err := in.records()
	if err != nil {
		return nil, err
	}
	runs, err := debrief.Build(records)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, unreadable{fmt.Errorf("%s: no event of a run in it", in.name), ""}
	}
	return runs, nil
}

// cite fills in the characters that a decision's reason was read from, where
// they stand in the transcript that is at hand. Such a decision has no place in
// a trace.
func (in *input) cite(d *debrief.Decision) {
	if !in.imported() {
		return
	}
	d.Place = trace.Place{}
	if d.Origin == nil || d.Cited != "" {
		return
	}
	if cited, err := in.stream.Cite(*d.Origin); err == nil {
		d.Cited = cited
	}
}

// imported says that the input is a transcript: its records stand in no file.
func (in *input) imported() bool { return in.stream != nil && in.stream.Imported }

func (in *input) close() {
	if in.stream != nil {
		_ = in.stream.Close()
	}
	if in.spooled != "" {
		_ = os.Remove(in.spooled)
	}
}

// completeIDs completes run ids, newest first.
func completeIDs(sys system) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids := []string{"latest", "claude:latest"}
		if search, err := searchOf(cmd, sys); err == nil {
			entries, _ := search.List()
			for _, e := range entries[:min(len(entries), 50)] {
				ids = append(ids, e.ID)
			}
		}
		return ids, cobra.ShellCompDirectiveDefault
	}
}
