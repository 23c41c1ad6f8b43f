//go:build unix

package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestShell(t *testing.T) {
	name := "RAX_TEST_" + "KEY"
	t.Setenv(name, "leaked")
	r, dir := inRoot(t, map[string]string{"a.txt": "x"})
	before := runtime.NumGoroutine()
	for command, want := range map[string]struct{ content, summary string }{
		"echo hi":                          {"hi\n[exit 0]\n", "exit 0"},
		"printf hi":                        {"hi\n[exit 0]\n", "exit 0"},
		"echo out; echo err >&2; exit 3":   {"out\nerr\n[exit 3]\n", "exit 3"},
		"cat a.txt":                        {"x\n[exit 0]\n", "exit 0"},
		"true":                             {"[exit 0]\n", "exit 0"},
		"no-such-program-at-all 2>&-":      {"[exit 127]\n", "exit 127"},
		"kill -TERM $$":                    {"[signal: terminated]\n", "signal: terminated"},
		"echo \"[${" + name + "-unset}]\"": {"[unset]\n[exit 0]\n", "exit 0"},
		"cat":                              {"[exit 0]\n", "exit 0"},
	} {
		got := good(t, r, "shell", "command", command)
		if got.Content != want.content || got.Summary != want.summary {
			t.Errorf("%s gives %q, %q", command, got.Content, got.Summary)
		}
	}
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := good(t, r, "shell", "command", "pwd -P").Content; !strings.HasPrefix(got, here+"\n") {
		t.Errorf("working directory is %q", got)
	}
	env := good(t, r, "shell", "command", "env | cut -d= -f1 | sort | tr '\\n' ' '").Content
	for _, name := range strings.Fields(strings.TrimSuffix(env, "[exit 0]\n")) {
		switch name {
		case "PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_": // the last four are the shell's own
		default:
			t.Errorf("%s is in the environment", name)
		}
	}
	got := good(t, r, "shell", "command", "echo first; head -c 1000000 /dev/zero | tr '\\0' 'x'; echo; echo last")
	if !got.Truncated || !strings.HasPrefix(got.Content, "first\n") || !strings.HasSuffix(got.Content, "\nlast\n[exit 0]\n") ||
		!strings.Contains(got.Content, "bytes left out]") || len(got.Content) > maxOutput+100 {
		t.Errorf("long output: truncated %v, %d bytes", got.Truncated, len(got.Content))
	}
	bad(t, r, "1 to 32768 characters", "shell", "command", "")
	bad(t, r, "from 1 to 600", "shell", "command", "true", "timeout_seconds", 0)
	noneLeft(t, before)
}

// pids reads the process ids that a command wrote into a file of the root.
func pids(t *testing.T, file string) []int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	return found
}

// gone waits until a process has ended; one that nobody has collected yet has.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for syscall.Kill(pid, 0) == nil {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
			if _, state, found := bytes.Cut(stat, []byte(") ")); found && bytes.HasPrefix(state, []byte("Z")) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("process %d is still there", pid)
			return
		}
		runtime.Gosched()
	}
}

func TestShellKillsChildren(t *testing.T) {
	r, dir := inRoot(t, nil)
	before := runtime.NumGoroutine()
	ids := filepath.Join(dir, "ids")

	start := time.Now()
	result, err := call(t, r, "shell", "timeout_seconds", 1,
		"command", `echo begun; sleep 300 & echo $! >ids; (trap "" TERM HUP INT; sleep 300) & echo $! >>ids; wait`)
	if e := asError[*TimeoutError](t, err); e.After != time.Second || e.Tool != "shell" {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if result.Content != "begun\n" {
		t.Errorf("what was got until then: %q", result.Content)
	}
	found := pids(t, ids)
	if len(found) != 2 {
		t.Fatalf("%d children", len(found))
	}
	for _, pid := range found {
		gone(t, pid)
	}

	// A command that ends leaves nothing running, whether its children hold the
	// output open or not.
	for _, command := range []string{
		`sleep 300 & echo $! >ids`, `sleep 300 >/dev/null 2>&1 & echo $! >ids`,
	} {
		if got := good(t, r, "shell", "command", command); got.Summary != "exit 0" {
			t.Errorf("%s: %q", command, got.Summary)
		}
		gone(t, pids(t, ids)[0])
	}

	// The same when the run is cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if text, err := os.ReadFile(filepath.Join(dir, "ready")); err == nil && len(text) > 0 {
				cancel()
			}
			runtime.Gosched()
		}
	}()
	_, err = r.Call(ctx, "shell", json.RawMessage(`{"command":"sleep 300 & echo $! >ids; echo yes >ready; wait"}`))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	gone(t, pids(t, ids)[0])
	noneLeft(t, before)
}

func TestPipesAreRefused(t *testing.T) {
	r, dir := inRoot(t, nil)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	bad(t, r, "not a regular file", "file_read", "path", "pipe")
	bad(t, r, "not a regular file", "file_write", "path", "pipe", "content", "x", "mode", "append")
	bad(t, r, "not a regular file", "file_write", "path", "pipe", "content", "x", "mode", "overwrite")
	if got := good(t, r, "grep", "pattern", "x").Content; !strings.Contains(got, "no match") {
		t.Errorf("grep over a pipe: %q", got)
	}
	if got := good(t, r, "grep", "pattern", "x", "path", "pipe").Content; !strings.Contains(got, "1 could not be read") {
		t.Errorf("grep in a pipe: %q", got)
	}
}

func TestTail(t *testing.T) {
	var whole bytes.Buffer
	var w tail
	for i := range 100_000 {
		line := strconv.Itoa(i) + "\n"
		whole.WriteString(line)
		if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		if i == 1000 {
			if text, cut := w.text(); cut || text != whole.String() {
				t.Fatal("short output is not kept as it is")
			}
		}
		if len(w.head)+len(w.ring) > 2*maxOutput {
			t.Fatalf("holds %d bytes", len(w.head)+len(w.ring))
		}
	}
	text, cut := w.text()
	head, rest, _ := strings.Cut(text, "\n[")
	left, end, _ := strings.Cut(rest, " bytes left out]\n")
	n, err := strconv.Atoi(left)
	if !cut || err != nil || len(head)+len(end)+n != whole.Len() ||
		!strings.HasPrefix(whole.String(), head) || !strings.HasSuffix(whole.String(), end) {
		t.Errorf("cut %v, %s bytes left out of %d: %v", cut, left, whole.Len(), err)
	}
}
