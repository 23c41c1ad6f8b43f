package main

import (
	"context"
	"io"
	"iter"
	"sync"

	"github.com/rax-project/rax/trace"
)

// interruptible is standard input that stops waiting when the context ends: a
// read from a terminal or a pipe cannot be cancelled otherwise. Nothing is read
// before the first Read.
type interruptible struct {
	ctx  context.Context
	in   io.Reader
	once sync.Once
	pipe *io.PipeReader
}

func (r *interruptible) Read(p []byte) (int, error) {
	r.once.Do(func() {
		out, in := io.Pipe()
		r.pipe = out
		context.AfterFunc(r.ctx, func() { in.CloseWithError(r.ctx.Err()) })
		go func() {
			_, err := io.Copy(in, r.in)
			in.CloseWithError(err)
		}()
	})
	return r.pipe.Read(p)
}

// until ends a sequence of records with the context.
func until(ctx context.Context, records iter.Seq2[trace.Record, error]) iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		for rec, err := range records {
			if ended := ctx.Err(); ended != nil {
				yield(trace.Record{}, ended)
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}
