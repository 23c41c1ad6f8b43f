package rationale

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// applied leaves the cuts out of a text.
func applied(t *testing.T, text string, cuts []Cut) string {
	t.Helper()
	var out strings.Builder
	at := 0
	for _, c := range cuts {
		if c.Start < at || c.End <= c.Start || c.End > len(text) {
			t.Fatalf("cut %v after %d in %d bytes", c, at, len(text))
		}
		out.WriteString(text[at:c.Start])
		out.WriteString(c.With)
		at = c.End
	}
	return out.String() + text[at:]
}

// cutter is what both cutters have.
type cutter interface {
	Write(string) ([]Cut, int)
	Close() ([]Cut, int)
}

// checkCuts checks that cuts made of pieces of a text leave want, and that
// nothing is decided before it has come.
func checkCuts(t *testing.T, c cutter, text, want string, size func() int) {
	t.Helper()
	var all []Cut
	fed := 0
	for fed < len(text) {
		n := min(size(), len(text)-fed)
		cuts, decided := c.Write(text[fed : fed+n])
		fed += n
		if decided > fed {
			t.Fatalf("%d bytes decided of %d", decided, fed)
		}
		for _, cut := range cuts {
			if cut.End > decided {
				t.Fatalf("cut %v beyond what is decided, %d", cut, decided)
			}
		}
		all = append(all, cuts...)
	}
	cuts, decided := c.Close()
	if decided != len(text) {
		t.Fatalf("%d bytes decided of %d at the end of %q", decided, len(text), text)
	}
	if got := applied(t, text, append(all, cuts...)); got != want {
		t.Errorf("cuts of %q\ngot  %q\nwant %q", text, got, want)
	}
}

func TestCuts(t *testing.T) {
	for _, row := range stripRows {
		checkBothCuts(t, row.in, 1)
	}
	for _, row := range argumentRows {
		checkBothCuts(t, row.in, 1)
	}
	for _, unit := range hostileUnits {
		checkBothCuts(t, repeat(unit, 200<<10), 1)
	}
}

func checkBothCuts(t *testing.T, text string, random uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(random, 2))
	sizes := map[string]func() int{
		"whole": func() int { return len(text) }, "bytes": func() int { return 1 },
		"chunks": func() int { return 1 + r.IntN(40) },
	}
	rest, _, _ := ExtractArgument([]byte(text))
	for _, size := range sizes {
		checkCuts(t, &Cutter{}, text, Strip(text), size)
		checkCuts(t, &ArgumentCutter{}, text, string(rest), size)
	}
	if got := applied(t, text, Cuts(text)); got != Strip(text) {
		t.Errorf("Cuts of %q leave %q", text, got)
	}
	if got := applied(t, text, ArgumentCuts(text)); got != string(rest) {
		t.Errorf("ArgumentCuts of %q leave %q", text, got)
	}
}

func FuzzCuts(f *testing.F) {
	var rows []string
	for _, row := range stripRows {
		rows = append(rows, row.in)
	}
	for _, row := range argumentRows {
		rows = append(rows, row.in)
	}
	seed(f, "blocks", func(text string) { f.Add(text, uint64(1)) }, rows)
	f.Fuzz(checkBothCuts)
}
