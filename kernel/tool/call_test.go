package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rax-project/rax/kernel"
)

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := registry(t, Limits{Timeout: time.Minute, Grace: time.Second},
			fake("obeys", func(ctx context.Context) (kernel.ToolResult, error) {
				<-ctx.Done()
				return kernel.ToolResult{Content: "so far"}, ctx.Err()
			}),
			fake("ignores", func(context.Context) (kernel.ToolResult, error) {
				<-release
				return kernel.ToolResult{Content: "nobody sees this"}, nil
			}),
			WithTimeout(fake("slow", func(ctx context.Context) (kernel.ToolResult, error) {
				select {
				case <-ctx.Done():
					return kernel.ToolResult{}, ctx.Err()
				case <-time.After(2 * time.Minute):
					return kernel.ToolResult{Content: "done"}, nil
				}
			}), 3*time.Minute))
		took := func(name string) (time.Duration, kernel.ToolResult, error) {
			start := time.Now()
			result, err := r.Call(t.Context(), name, nil)
			return time.Since(start), result, err
		}

		d, result, err := took("obeys")
		if e := asError[*TimeoutError](t, err); e.After != time.Minute || e.Tool != "obeys" || d != time.Minute {
			t.Errorf("obeys: %v after %v", err, d)
		}
		if result.Content != "so far" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("obeys: %+v, %v", result, err)
		}
		d, result, err = took("ignores")
		asError[*TimeoutError](t, err)
		if d != time.Minute+time.Second || result.Content != "" {
			t.Errorf("ignores: %+v after %v", result, d)
		}
		close(release) // else the bubble would report the goroutine
		if d, result, err = took("slow"); err != nil || result.Content != "done" || d != 2*time.Minute {
			t.Errorf("slow: %+v, %v after %v", result, err, d)
		}
	})
}

func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := registry(t, Limits{}, fake("waits", func(ctx context.Context) (kernel.ToolResult, error) {
			<-ctx.Done()
			return kernel.ToolResult{}, ctx.Err()
		}))
		go func() {
			time.Sleep(time.Second) // of the bubble's clock
			cancel()
		}()
		_, err := r.Call(ctx, "waits", nil)
		var timeout *TimeoutError
		if !errors.Is(err, context.Canceled) || errors.As(err, &timeout) {
			t.Errorf("error %v, want canceled", err)
		}
		if _, err := r.Call(ctx, "waits", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("after that: %v", err)
		}
	})
}

func TestPanic(t *testing.T) {
	secret := "tok" + "en-1"
	r := registry(t, Limits{},
		fake("panics", func(context.Context) (kernel.ToolResult, error) { panic(secret) }),
		fake("leaves", func(context.Context) (kernel.ToolResult, error) { runtime.Goexit(); return kernel.ToolResult{}, nil }),
		fake("nil", func(context.Context) (kernel.ToolResult, error) {
			var none []string
			return kernel.ToolResult{Content: none[len(none)]}, nil
		}))
	for _, name := range []string{"panics", "leaves", "nil"} {
		_, err := r.Call(t.Context(), name, nil)
		e := asError[*PanicError](t, err)
		if e.Tool != name || e.Value == nil {
			t.Errorf("%s: %+v", name, e)
		}
		if text := err.Error(); strings.Contains(text, secret) || strings.Contains(text, ".go") || strings.Contains(text, "goroutine") {
			t.Errorf("%s: the model would see %q", name, text)
		}
	}
	_, err := r.Call(t.Context(), "panics", nil)
	if stack := string(asError[*PanicError](t, err).Stack); !strings.Contains(stack, "call_test.go") {
		t.Errorf("the stack for the log is %q", stack)
	}
}

func TestToolError(t *testing.T) {
	own := errors.New("the disk is full")
	r := registry(t, Limits{}, fake("fails", func(context.Context) (kernel.ToolResult, error) {
		return kernel.ToolResult{Content: "half of it", Summary: "half\nsecond line"}, own
	}))
	result, err := r.Call(t.Context(), "fails", nil)
	if !errors.Is(err, own) || err.Error() != "fails: the disk is full" {
		t.Errorf("error %v", err)
	}
	if result.Content != "half of it" || result.Summary != "half" {
		t.Errorf("result %+v", result)
	}
	// A deadline of the tool's own is not the call's.
	r = registry(t, Limits{}, fake("dials", func(context.Context) (kernel.ToolResult, error) {
		return kernel.ToolResult{}, fmt.Errorf("dial: %w", context.DeadlineExceeded)
	}))
	_, err = r.Call(t.Context(), "dials", nil)
	var timeout *TimeoutError
	if errors.As(err, &timeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestResultLimit(t *testing.T) {
	for _, c := range []struct {
		name, content string
		cut           bool
	}{
		{"short", "ok", false},
		{"fits", strings.Repeat("x", 2000), false},
		{"long", strings.Repeat("x", 2001), true},
		{"runes", strings.Repeat("é€😀", 1000), true},
		{"shifted runes", "x" + strings.Repeat("😀", 1000), true},
		{"not UTF-8", strings.Repeat("a\xff", 3000), true},
		{"huge", strings.Repeat("line\n", 1<<20), true},
	} {
		r := registry(t, Limits{Result: 2000}, fake("gives", says(c.content)))
		got, err := r.Call(t.Context(), "gives", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Truncated != c.cut || len(got.Content) > 2000 || !utf8.ValidString(got.Content) {
			t.Errorf("%s: truncated %v, %d bytes, valid %v", c.name, got.Truncated, len(got.Content), utf8.ValidString(got.Content))
		}
		if c.cut != strings.Contains(got.Content, "\n[cut: the first ") {
			t.Errorf("%s: ends in %q", c.name, got.Content[max(0, len(got.Content)-60):])
		}
		if kept, _, cut := strings.Cut(got.Content, "\n[cut"); cut && utf8.ValidString(c.content) && !strings.HasPrefix(c.content, kept) {
			t.Errorf("%s: the content is no beginning of what the tool gave", c.name)
		}
	}
	r := registry(t, Limits{}, fake("gives", says(strings.Repeat("x", 300<<10))))
	if got, _ := r.Call(t.Context(), "gives", nil); len(got.Content) > 256<<10 || len(got.Content) < 255<<10 {
		t.Errorf("by default %d bytes are kept", len(got.Content))
	}
}

// TestParallelBuiltin is for the race detector: eight tools share a registry, a
// root and a memory.
func TestParallelBuiltin(t *testing.T) {
	r, _ := inRoot(t, map[string]string{"a.txt": "one\ntwo\n"})
	before := runtime.NumGoroutine()
	type call struct {
		name string
		args json.RawMessage
	}
	var calls []call
	for i := range 8 {
		calls = append(calls, []call{
			{"file_read", json.RawMessage(`{"path":"a.txt"}`)},
			{"file_write", json.RawMessage(fmt.Sprintf(`{"path":"d/%d.txt","content":"x"}`, i))},
			{"file_write", json.RawMessage(`{"path":"log","content":"line\n","mode":"append"}`)},
			{"grep", json.RawMessage(`{"pattern":"two","path":"a.txt"}`)},
			{"memory_store", json.RawMessage(fmt.Sprintf(`{"key":"k%d","text":"t"}`, i))},
			{"memory_search", json.RawMessage(`{"query":"t"}`)},
			{"calculator", json.RawMessage(`{"expression":"1+1"}`)},
			{"tools.list", nil},
		}...)
	}
	var all sync.WaitGroup
	for _, c := range calls {
		all.Go(func() {
			if _, err := r.Call(t.Context(), c.name, c.args); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
	all.Wait()
	if got := good(t, r, "file_read", "path", "log").Content; got != strings.Repeat("line\n", 8) {
		t.Errorf("appended at the same time: %q", got)
	}
	noneLeft(t, before)
}
