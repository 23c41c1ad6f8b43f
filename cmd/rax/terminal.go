package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// terminal says what the standard output can show.
type terminal struct {
	// width is the number of columns; 0 when the output is no terminal.
	width int
	color bool
}

// terminalOf looks at the stream that a command writes its data to. A flag wins
// over NO_COLOR, NO_COLOR over TERM=dumb, and that over what the stream is.
func terminalOf(cmd *cobra.Command, sys system) (terminal, error) {
	mode, _ := cmd.Flags().GetString("color")
	tty, width := isTerminal(cmd.OutOrStdout())
	t := terminal{width: width}
	if tty {
		if n, err := strconv.Atoi(sys.getenv("COLUMNS")); err == nil && n > 0 {
			t.width = n
		}
	}
	switch mode {
	case "always":
		t.color = true
	case "never":
	case "auto":
		t.color = tty && sys.getenv("NO_COLOR") == "" && sys.getenv("TERM") != "dumb"
	default:
		return t, usageError{fmt.Errorf("unknown value %q of --color", mode), "want auto, always or never"}
	}
	return t, nil
}

func isTerminal(w io.Writer) (bool, int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return true, 0
	}
	return true, width
}
