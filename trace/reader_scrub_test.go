package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rax-project/rax/trace/safety"
)

// secret is no key of anybody; it is put together here so that no scanner takes
// the source for a leak.
var secret = "AKIA" + "Z5QK3XW2" + "LJ7VN4RB"

const mark = "[redacted:"

func TestReaderScrubsUnstampedRuns(t *testing.T) {
	start := func(run, stamp string) string {
		return fmt.Sprintf(`{"kind":"run-started","runId":%q,"seq":0%s}`, run, stamp)
	}
	say := func(run string) string {
		return fmt.Sprintf(`{"kind":"turn-started","runId":%q,"seq":1,"input":"use %s"}`, run, secret)
	}
	stamp := fmt.Sprintf(`,"safety":%q`, safety.Version)
	tests := []struct {
		name  string
		lines []string
		kept  bool // the last line is as it was
	}{
		{"stamped", []string{start("r", stamp), say("r")}, true},
		{"without a stamp", []string{start("r", ""), say("r")}, false},
		{"stamped by other rules", []string{start("r", `,"safety":"other/1"`), say("r")}, false},
		{"stamp of another type", []string{start("r", `,"safety":true`), say("r")}, false},
		{"without a start", []string{say("r")}, false},
		{"stamp after the event", []string{say("r")}, false},
		{"stamp of another run", []string{start("q", stamp), say("r")}, false},
		{"stamp taken back", []string{start("r", stamp), start("r", ""), say("r")}, false},
		{"stamp on another kind", []string{`{"kind":"metric","runId":"r"` + stamp + `}`, say("r")}, false},
		{"stamp that stands second", []string{start("r", `,"safety":"other/1"`+stamp), say("r")}, false},
		{"events without a run", []string{start("", stamp), strings.Replace(say("r"), `"runId":"r",`, "", 1)}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			records := recordsOf(t, []byte(strings.Join(tt.lines, "\n")+"\n"))
			last := records[len(records)-1].Bytes()
			if tt.kept {
				if string(last) != tt.lines[len(tt.lines)-1] {
					t.Errorf("a stamped line was changed: %s", last)
				}
				return
			}
			if bytes.Contains(last, []byte(secret)) || !bytes.Contains(last, []byte(mark)) {
				t.Errorf("not scrubbed: %s", last)
			}
		})
	}
}

// TestReaderMarksAreStable: within a trace the same secret has the same mark.
func TestReaderMarksAreStable(t *testing.T) {
	line := fmt.Sprintf(`{"kind":"turn-started","runId":"r","input":"%s and %s"}`, secret, secret[:12]+"RB4NV7JL")
	records := recordsOf(t, []byte(line+"\n"+line+"\n"))
	first, second := records[0].Bytes(), records[1].Bytes()
	if !bytes.Equal(first, second) || bytes.Count(first, []byte("#1]")) != 1 || bytes.Count(first, []byte("#2]")) != 1 {
		t.Errorf("marks differ:\n%s\n%s", first, second)
	}
}

// TestScrubbedOnce: what the Writer stored is read as it is, marks and all.
func TestScrubbedOnce(t *testing.T) {
	data, records := written(t,
		&RunStarted{Base: Base{RunID: "r"}, Task: "use " + secret},
		&TurnStarted{Base: Base{RunID: "r"}, Input: "again " + secret},
	)
	if bytes.Contains(data, []byte(secret)) || bytes.Count(data, []byte(mark)) < 2 {
		t.Fatalf("not scrubbed: %s", data)
	}
	for _, rec := range recordsOf(t, data) {
		for _, stored := range records {
			if rec.Place() == stored.Place() && !bytes.Equal(rec.Bytes(), stored.Bytes()) {
				t.Errorf("stored %s\n  read %s", stored.Bytes(), rec.Bytes())
			}
		}
	}
}
