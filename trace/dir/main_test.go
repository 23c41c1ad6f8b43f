package dir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childEnv turns the test binary into a second process: "mode\x1fdir\x1farg".
const childEnv = "TRACE_DIR_TEST_CHILD"

const (
	exitCrash  = 3
	exitLocked = 10
	exitOther  = 11
)

// now is the time of every test.
var now = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		part := strings.SplitN(job, "|", 3)
		os.Exit(runChild(part[0], part[2], part[1]))
	}
	os.Exit(m.Run())
}

func runChild(mode, path, arg string) int {
	d := Dir{path}
	switch mode {
	case "hold": // until standard input ends, or until killed
		f, err := d.OpenAppend(arg)
		if err != nil {
			return exitOther
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		if f.Close() != nil {
			return exitOther
		}
		return 0
	case "append":
		f, err := d.OpenAppend(arg)
		var locked *LockedError
		if errors.As(err, &locked) {
			return exitLocked
		}
		if err != nil {
			return exitOther
		}
		fmt.Fprintln(f, `{"kind":"child"}`)
		return 0 // no Close: the end of the process must give the lock back
	case "crash": // while pruning, at the step named arg
		_, err := d.prune(pruneAll(), func(s step, _ string) error {
			if string(s) == arg {
				os.Exit(exitCrash)
			}
			return nil
		})
		if err != nil {
			return exitOther
		}
		return 0
	}
	return exitOther
}

// pruneAll removes what is older than 30 days and compresses the rest after one.
func pruneAll() PruneOptions {
	return PruneOptions{OlderThan: 30 * day, CompressAfter: day, Now: now}
}

const day = 24 * time.Hour

func child(t *testing.T, mode, path, arg string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+mode+"|"+arg+"|"+path)
	return cmd
}

// runExit runs a child to its end and returns its exit code.
func runExit(t *testing.T, mode, path, arg string) int {
	t.Helper()
	cmd := child(t, mode, path, arg)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// hold starts a process that holds the lock of a trace; it is killed, as in a
// crash, or let go.
func hold(t *testing.T, d Dir, id string) (kill, letGo func()) {
	t.Helper()
	cmd := child(t, "hold", d.Path, id)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	done := false
	end := func(how func() error) func() {
		return func() {
			if !done {
				done = true
				how()
				cmd.Wait()
			}
		}
	}
	kill, letGo = end(cmd.Process.Kill), end(in.Close)
	t.Cleanup(kill)
	return kill, letGo
}

// newID returns the nth id of a fixed row of ids.
func newID(n int) string { return ImportID(now.Add(time.Duration(n)*time.Second), "test") }

// put writes a file of the directory, with its time of writing.
func put(t *testing.T, d Dir, name, content string, mtime time.Time) string {
	t.Helper()
	path := filepath.Join(d.Path, name)
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, mtime, mtime); err != nil {
		t.Fatal(err)
	}
	return path
}

// names returns what the directory holds, sorted.
func names(t *testing.T, d Dir) []string {
	t.Helper()
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func ids(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}
