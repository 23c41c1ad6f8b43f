package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/rax-project/rax/kernel"
)

type shellArgs struct {
	Command string `json:"command" jsonschema:"the command line"`
	Timeout int    `json:"timeout_seconds,omitempty" jsonschema:"stop it after this time; default 60"`
}

const (
	shellTimeout    = time.Minute
	maxShellTimeout = 10 * time.Minute
	// maxOutput bounds what is kept of a command's output, in bytes.
	maxOutput = 128 << 10
)

// shell runs commands in dir. It is no sandbox: a command can do what the user
// can. That is why it has to be allowed.
func shell(dir string, env []string) kernel.Tool {
	t := Func("shell",
		"Run a command with "+shellName+" in the root directory and get its output, standard error included, and its exit code. It has no input. What it starts is stopped when it ends.",
		kernel.EffectExecute,
		func(ctx context.Context, a shellArgs) (kernel.ToolResult, error) {
			return runShell(ctx, dir, env, a)
		},
		length("command", 1, 32<<10), between("timeout_seconds", 1, maxShellTimeout.Seconds()))
	return WithTimeout(t, maxShellTimeout+5*time.Second) // its own comes first
}

func runShell(ctx context.Context, dir string, env []string, a shellArgs) (kernel.ToolResult, error) {
	timeout := shellTimeout
	if a.Timeout > 0 {
		timeout = time.Duration(a.Timeout) * time.Second
	}
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out tail
	cmd := shellCommand(inner, a.Command)
	cmd.Dir = dir
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = &out, &out
	// What a child left behind may hold the output open for ever.
	cmd.WaitDelay = 200 * time.Millisecond
	err := cmd.Run()
	killGroup(cmd)

	text, cut := out.text()
	result := kernel.ToolResult{Content: text, Truncated: cut}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case inner.Err() != nil:
		result.Summary = "stopped"
		return result, &TimeoutError{Tool: "shell", After: timeout}
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		result.Summary = fmt.Sprintf("exit %d", exit.ExitCode())
	case errors.As(err, &exit):
		result.Summary = exit.String() // "signal: killed"
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return result, fmt.Errorf("the shell did not start: %w", plainError(err))
	default:
		result.Summary = "exit 0"
	}
	result.Content = note(result.Content, result.Summary)
	return result, nil
}

// shellEnv is the environment of commands: enough to find programs, without the
// keys that environments are full of.
func shellEnv() []string {
	env := []string{} // nil would mean all of it
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// tail is a writer that keeps the beginning and the end of what is written.
type tail struct {
	head  []byte
	ring  []byte
	total int
}

const half = maxOutput / 2

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.total += n
	if room := half - len(t.head); room > 0 {
		t.head = append(t.head, p[:min(room, n)]...)
		p = p[min(room, n):]
	}
	t.ring = append(t.ring, p...)
	if len(t.ring) > 2*half { // moved rarely, so that the cost stays linear
		t.ring = append(t.ring[:0], t.ring[len(t.ring)-half:]...)
	}
	return n, nil
}

func (t *tail) text() (string, bool) {
	end := t.ring[max(0, len(t.ring)-half):]
	left := t.total - len(t.head) - len(end)
	if left == 0 {
		return string(t.head) + string(end), false
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", t.head, left, end), true
}
