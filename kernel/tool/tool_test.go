package tool

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel"
)

var update = flag.Bool("update", false, "write the golden files")

// at is the clock of the tests.
func at() time.Time { return time.Date(2026, 1, 31, 23, 30, 0, 0, time.UTC) }

// inRoot returns all built-in tools over a directory with the given files.
func inRoot(t *testing.T, content map[string]string) (*Registry, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	r, err := NewBuiltin(Limits{}, Options{Root: root, AllowShell: true, AllowPrivateNet: true, Now: at})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// call calls a tool with arguments that are written as name, value, name, ...
func call(t *testing.T, r kernel.Toolbox, name string, args ...any) (kernel.ToolResult, error) {
	t.Helper()
	object := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		object[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return r.Call(t.Context(), name, raw)
}

// good is call for a call that must not fail.
func good(t *testing.T, r kernel.Toolbox, name string, args ...any) kernel.ToolResult {
	t.Helper()
	result, err := call(t, r, name, args...)
	if err != nil {
		t.Fatalf("%s(%.200s): %v", name, fmt.Sprint(args...), err)
	}
	return result
}

// bad is call for one that must fail with want in its error.
func bad(t *testing.T, r kernel.Toolbox, want, name string, args ...any) {
	t.Helper()
	result, err := call(t, r, name, args...)
	if err == nil {
		t.Fatalf("%s(%.200s) gave %.200q, want an error", name, fmt.Sprint(args...), result.Content)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%s(%.200s): error %q has no %q", name, fmt.Sprint(args...), err, want)
	}
}

// noneLeft fails if there are still more goroutines than before; one that has
// sent its result may need a moment to end.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}

type none struct{}

// fake is a tool without arguments.
func fake(name string, run func(context.Context) (kernel.ToolResult, error)) kernel.Tool {
	return Func(name, "a tool of the tests", kernel.EffectNone,
		func(ctx context.Context, _ none) (kernel.ToolResult, error) { return run(ctx) })
}

func says(text string) func(context.Context) (kernel.ToolResult, error) {
	return func(context.Context) (kernel.ToolResult, error) { return kernel.ToolResult{Content: text}, nil }
}

func registry(t *testing.T, limits Limits, tools ...kernel.Tool) *Registry {
	t.Helper()
	r := NewRegistry(limits)
	for _, tool := range tools {
		if err := r.Register(tool); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func asError[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), want %T", err, err, e)
	}
	return e
}
