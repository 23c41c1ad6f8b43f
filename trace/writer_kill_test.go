package trace

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// killedWriter names the file that this test binary, started again, writes to
// until it is killed.
const killedWriter = "RAX_TEST_KILLED_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(killedWriter); path != "" {
		fmt.Fprintln(os.Stderr, writeForever(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForever writes events and tells on stdout which Write returned.
func writeForever(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	w, err := NewWriter(file, WriterOptions{Durability: DurabilityNone})
	if err != nil {
		return err
	}
	pad := strings.Repeat("x", 20_000)
	for i := 0; ; i++ {
		ev := step("r", i)
		if i%3 == 0 {
			ev.Labels = map[string]string{"pad": pad}
		}
		if _, err := w.Write(ev); err != nil {
			return err
		}
		if _, err := fmt.Println(i); err != nil {
			return err
		}
	}
}

// TestKilledProcess kills a writing process at random moments: the file can be
// read, and holds every event whose Write returned.
func TestKilledProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		path := filepath.Join(t.TempDir(), "killed.jsonl")
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), killedWriter+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last, killAt := -1, random.IntN(300)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n, err := strconv.Atoi(lines.Text()); err == nil { // the last line may be half
				last = max(last, n)
			}
			if last == killAt {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the writer ended by itself")
		}
		got, damage := steps(t, readFile(t, path))
		if len(got) <= last || last < killAt {
			t.Errorf("round %d: the file holds %d events, %d were acknowledged", round, len(got), last+1)
		}
		for i, n := range got {
			if i != n {
				t.Fatalf("round %d: event %d is step %d", round, i, n)
			}
		}
		if len(damage) > 1 || len(damage) == 1 && damage[0] != Torn {
			t.Errorf("round %d: damage %v", round, damage)
		}
	}
}
