package kernel_test

import (
	"bytes"
	"encoding/json"
	"iter"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/trace"
)

// TestReplayDecidesTheSame runs every golden run again from its own trace, with
// the recorded answers and the recorded results of its tools.
func TestReplayDecidesTheSame(t *testing.T) {
	for name, cfg := range captured() {
		t.Run(name, func(t *testing.T) {
			if cfg.Strategy == nil {
				cfg.Strategy = strategy.Reactive{}
			}
			if cfg.Tools == nil {
				cfg.Tools = tools
			}
			first := play(t, cfg)
			records := func() iter.Seq2[trace.Record, error] {
				return trace.NewReader(bytes.NewReader(first.file.Bytes()), "trace", trace.ReaderOptions{}).All()
			}
			recorded, err := kernel.ReadRecorded(records())
			if err != nil {
				t.Fatal(err)
			}
			player, err := model.FromTrace(records(), -1)
			if err != nil {
				t.Fatal(err)
			}
			replayed, err := model.ReplayTools(records())
			if err != nil {
				t.Fatal(err)
			}
			again := kernel.Config{Model: player, Tools: recorded.Toolbox(replayed), Approve: recorded.Approver(), Untrusted: cfg.Untrusted}
			recorded.Settings.Apply(&again)
			if again.Strategy, err = strategy.New(recorded.Settings.Strategy); err != nil {
				t.Fatal(err)
			}
			if recorded.Settings.Fallback != "" {
				if again.Fallback, err = strategy.New(recorded.Settings.Fallback); err != nil {
					t.Fatal(err)
				}
			}
			second := play(t, again)
			if recorded.Task != "the task" {
				t.Errorf("task %q", recorded.Task)
			}
			if a, b := decisions(t, first), decisions(t, second); a != b {
				t.Errorf("first:\n%s\nagain:\n%s", a, b)
			}
		})
	}
}

// decisions are what a run decided and why, without times and places.
func decisions(t *testing.T, r ran) string {
	t.Helper()
	d := r.Debrief
	for i := range d.Path {
		d.Path[i].Seq, d.Path[i].Line, d.Path[i].EndSeq = 0, 0, nil
		d.Path[i].DurationMs, d.Path[i].Origin = nil, nil
	}
	out, err := json.MarshalIndent(map[string]any{
		"path": d.Path, "assumptions": d.Assumptions, "alternatives": d.Alternatives, "reactive": d.Reactive,
		"curator": d.CuratorActions, "termination": d.Termination, "rationale": d.Rationale, "metrics": d.Metrics,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
