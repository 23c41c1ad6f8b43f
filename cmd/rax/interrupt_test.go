package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rax-project/rax/trace"
)

// TestInterruptedInput: who waits for standard input is not stuck in it.
func TestInterruptedInput(t *testing.T) {
	waiting, _ := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	in := &interruptible{ctx: ctx, in: waiting}
	done := make(chan error)
	go func() {
		_, err := io.ReadAll(in)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	whole := &interruptible{ctx: context.Background(), in: strings.NewReader(strings.Repeat("x", 1<<20))}
	if data, err := io.ReadAll(whole); err != nil || len(data) != 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestInterruptedRecords(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	text := strings.Repeat(`{"kind":"metric","runId":"r","name":"n","value":1}`+"\n", 100)
	read := 0
	var last error
	for _, err := range until(ctx, trace.NewReader(strings.NewReader(text), "t", trace.ReaderOptions{}).All()) {
		if last = err; err != nil {
			break
		}
		if read++; read == 10 {
			cancel()
		}
	}
	if read != 10 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d records, then %v", read, last)
	}
}
