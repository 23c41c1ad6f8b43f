package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rax-project/rax/kernel"
)

// TimeoutError says that a call was given up because its time was over.
type TimeoutError struct {
	Tool  string
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s was stopped after %v; ask for less at once", e.Tool, e.After)
}

// Unwrap makes the error one of [context.DeadlineExceeded].
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// PanicError says that a tool panicked, which is a fault of the tool. Its text,
// which the model sees, has neither the value nor the stack: both may show what
// the tool was working on.
type PanicError struct {
	Tool  string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return e.Tool + " failed inside; this is a fault of the tool, try other arguments or another tool"
}

// Call runs a tool (see [kernel.Toolbox]). The errors are *UnknownToolError,
// *ArgumentsError, *TimeoutError, *PanicError, the context's own, or the tool's
// wrapped with its name. Beside an error the result holds what the tool had got
// until then.
//
// When the time is over or ctx is done, the tool has the registry's grace to
// return; then Call returns without it. A tool that ignores its context keeps
// its goroutine until it ends by itself, and nobody sees its result.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (kernel.ToolResult, error) {
	e, err := r.find(name)
	if err != nil {
		return kernel.ToolResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return kernel.ToolResult{}, fmt.Errorf("%s: %w", name, err)
	}
	timeout := r.limits.Timeout
	if e.spec.Timeout > 0 {
		timeout = e.spec.Timeout
	}
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	done := make(chan outcome, 1) // buffered: a late tool must be able to leave
	go func() {
		o := outcome{err: &PanicError{Tool: name, Value: "the goroutine was ended"}}
		defer func() {
			if v := recover(); v != nil {
				o = outcome{err: &PanicError{Tool: name, Value: v, Stack: debug.Stack()}}
			}
			done <- o
		}()
		o.result, o.err = e.run(inner, args)
	}()

	var o outcome
	select {
	case o = <-done:
	case <-inner.Done():
		o = wait(done, r.limits.Grace, inner.Err())
	}
	return r.bounded(o.result), callError(ctx, inner, name, timeout, o.err)
}

type outcome struct {
	result kernel.ToolResult
	err    error
}

// wait gives the tool a last moment.
func wait(done <-chan outcome, grace time.Duration, otherwise error) outcome {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case o := <-done:
		return o
	case <-timer.C:
		return outcome{err: otherwise}
	}
}

// run validates inside of the call's time, too: the schema may be somebody
// else's.
func (e entry) run(ctx context.Context, args json.RawMessage) (kernel.ToolResult, error) {
	args, err := e.validate(args)
	if err != nil {
		return kernel.ToolResult{}, err
	}
	return e.tool.Run(ctx, args)
}

// callError tells apart whose end it was: the caller's, the call's time, or the
// tool's own error.
func callError(ctx, inner context.Context, name string, timeout time.Duration, err error) error {
	var bad *ArgumentsError
	var broken *PanicError
	var own *TimeoutError // of a tool with a shorter time inside
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad) || errors.As(err, &broken):
		return err
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return fmt.Errorf("%s: %w", name, ctx.Err())
	case errors.As(err, &own):
		return err
	case inner.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return &TimeoutError{Tool: name, After: timeout}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// bounded makes a result fit to be shown: valid UTF-8, no larger than the
// limit, the summary one short line.
func (r *Registry) bounded(result kernel.ToolResult) kernel.ToolResult {
	result.Content = strings.ToValidUTF8(result.Content, "\uFFFD")
	if whole := len(result.Content); whole > r.limits.Result {
		const room = 100 // for the line below
		result.Content = cutRunes(result.Content, r.limits.Result-room)
		result.Content += fmt.Sprintf("\n[cut: the first %d of %d bytes]", len(result.Content), whole)
		result.Truncated = true
	}
	summary, _, _ := strings.Cut(strings.ToValidUTF8(result.Summary, "\uFFFD"), "\n")
	const most = 200
	if len(summary) > most {
		summary = cutRunes(summary, most) + "…"
	}
	result.Summary = summary
	return result
}
