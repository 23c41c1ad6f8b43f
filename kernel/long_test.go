package kernel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// endless answers with another call each time, up to a number of answers.
type endless struct {
	calls, limit int
}

func (e *endless) Info() kernel.ModelInfo {
	return kernel.ModelInfo{Provider: "scripted", Name: "endless", Format: provider.AnthropicMessages, NativeTools: true}
}

func (e *endless) Complete(context.Context, provider.Request, func(provider.Delta)) (kernel.Reply, error) {
	if e.calls++; e.calls > e.limit {
		return kernel.Reply{Answer: answer("done")}, nil
	}
	return kernel.Reply{Answer: answer(block1, fmt.Sprintf(`search {"q":"%d"}`, e.calls))}, nil
}

// discard is a trace file that keeps nothing.
type discard struct{ bytes int64 }

func (d *discard) Write(p []byte) (int, error) { d.bytes += int64(len(p)); return len(p), nil }
func (d *discard) Sync() error                 { return nil }
func (d *discard) Close() error                { return nil }
func (d *discard) Truncate(int64) error        { return nil }

func long(t testing.TB, iterations int) (kernel.Result, *discard) {
	t.Helper()
	file := &discard{}
	w, err := trace.NewWriter(file, trace.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := kernel.New(kernel.Config{
		Model: &endless{limit: iterations - 1}, Tools: tools, Strategy: strategy.Reactive{},
		Limits: kernel.Limits{Iterations: iterations},
		NewID:  func() (string, error) { return "01KDVSG000RVN0000000000001", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(context.Background(), "task", w)
	if err != nil {
		t.Fatal(err)
	}
	return res, file
}

// TestThousandIterations runs for long: what a run holds grows with the
// conversation and the debrief, and each iteration writes the same amount.
func TestThousandIterations(t *testing.T) {
	_, short := long(t, 100)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res, file := long(t, 1000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if res.Reason != kernel.ReasonFinalAnswer || res.Debrief.Metrics.Present != 999 {
		t.Fatalf("%s, %d reasons", res.Reason, res.Debrief.Metrics.Present)
	}
	if perIteration := file.bytes / 1000; perIteration > 2*short.bytes/100 {
		t.Errorf("an iteration of a long run writes %d bytes, of a short one %d", perIteration, short.bytes/100)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	runtime.KeepAlive(res)
}

// BenchmarkIteration is what the kernel itself costs for one iteration with one
// call, its trace included.
func BenchmarkIteration(b *testing.B) {
	const iterations = 100
	for b.Loop() {
		long(b, iterations)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*iterations), "ns/iteration")
}

// full is a trace file on a disk that fills up.
type full struct {
	discard
	left int
}

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return f.discard.Write(p)
}

func TestFullDisk(t *testing.T) {
	for _, policy := range []trace.FullPolicy{trace.FullStop, trace.FullContinue} {
		t.Run(string(policy), func(t *testing.T) {
			w, err := trace.NewWriter(&full{left: 3000}, trace.WriterOptions{Full: policy})
			if err != nil {
				t.Fatal(err)
			}
			agent, err := kernel.New(kernel.Config{
				Model: &endless{limit: 5}, Tools: tools, Strategy: strategy.Reactive{},
				NewID: func() (string, error) { return "01KDVSG000RVN0000000000001", nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			res, err := agent.Run(context.Background(), "task", w)
			lost, why := w.Untraced()
			switch policy {
			case trace.FullStop:
				if !errors.Is(err, errFull) || res.Reason != kernel.ReasonTraceError {
					t.Errorf("%v %+v", err, res)
				}
			case trace.FullContinue:
				if err != nil || res.Reason != kernel.ReasonFinalAnswer || res.Debrief.Metrics.Present != 5 {
					t.Errorf("%v %+v", err, res)
				}
				if lost == 0 || !errors.Is(why, errFull) {
					t.Errorf("nothing says that the run is untraced: %d %v", lost, why)
				}
			}
			if err := w.Close(); !errors.Is(err, errFull) {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// TestParallel makes eight calls with a limit of three: they take three rounds
// of a clock of their own, keep their order, and leave no goroutine.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := box{"search": func(json.RawMessage) (string, error) {
			time.Sleep(time.Second) // of the bubble's clock
			return "x", nil
		}}
		var calls []string
		for i := range 8 {
			calls = append(calls, fmt.Sprintf(`search {"q":"%d"}`, i))
		}
		start := time.Now()
		r := play(t, kernel.Config{
			Model: native(answer("", calls...), answer("done")), Tools: slow, Strategy: strategy.Reactive{},
			Limits: kernel.Limits{Parallel: 3},
		})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		if r.Debrief.Metrics.ToolCalls != 8 || r.Debrief.Metrics.Missing != 8 {
			t.Errorf("%+v", r.Debrief.Metrics)
		}
		for i, s := range r.Debrief.Path {
			if s.Outcome != debrief.OutcomeSuccess || s.CallID != fmt.Sprintf("c%d", i+1) {
				t.Errorf("step %d: %+v", i, s)
			}
		}
		synctest.Wait()
	})
}
