package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelp: every command says in one sentence what it does, and shows two ways
// to use it that begin with a program's name.
func TestHelp(t *testing.T) {
	seen := 0
	everyCommand(newRoot(system{}), func(cmd *cobra.Command) {
		seen++
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the sentence %q", cmd.CommandPath(), cmd.Short)
		}
		examples := 0
		for _, line := range strings.Split(cmd.Example, "\n") {
			if strings.Contains(line, "rax ") {
				examples++
			}
		}
		if examples < 2 {
			t.Errorf("%s: %d examples, want 2", cmd.CommandPath(), examples)
		}
	})
	if seen < 12 {
		t.Errorf("only %d commands", seen)
	}
}

// TestHelpIsData: help that was asked for goes to standard output.
func TestHelpIsData(t *testing.T) {
	w := newWorld(t)
	everyCommand(newRoot(system{}), func(cmd *cobra.Command) {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		code, out, talk := w.rax(t, args...)
		if code != exitDone || talk != "" || !strings.Contains(out, cmd.Short) && !strings.Contains(out, firstWords(cmd.Long)) {
			t.Errorf("%v: exit %d, %q: %s", args, code, talk, out)
		}
	})
}

func firstWords(s string) string { return s[:min(len(s), 20)] }
