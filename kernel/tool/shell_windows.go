package tool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

const shellName = "cmd /C"

// shellCommand runs cmd /C with the command as it is: cmd has its own rules of
// quoting, which os/exec must not apply its own to. Stopping it stops the tree
// of its processes through taskkill, as far as they still hang together.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, system("cmd.exe"))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CmdLine:       `cmd /D /S /C "` + command + `"`,
		CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP,
	}
	cmd.Cancel = func() error {
		pid := strconv.Itoa(cmd.Process.Pid)
		if err := exec.Command(system("taskkill.exe"), "/T", "/F", "/PID", pid).Run(); err == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
	return cmd
}

// killGroup does nothing: Windows knows no group that outlives its leader.
func killGroup(*exec.Cmd) {}

// system is the path of a program of Windows itself; a program of that name in
// the working directory must not be run in its place.
func system(name string) string {
	return filepath.Join(os.Getenv("SystemRoot"), "System32", name)
}
