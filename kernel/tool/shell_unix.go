//go:build unix

package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

const shellName = "sh -c"

// shellCommand puts the command into a process group of its own, so that its
// children can be stopped with it. One that leaves the group (setsid) escapes.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	return cmd
}

// killGroup stops what the command left behind in its group. The group keeps
// its number from being used again as long as it has a member; without one, the
// system hands the number out again much later.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually nobody is left
	}
}
