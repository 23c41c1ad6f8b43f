package kernel_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety/safetytest"
)

// TestBlockedReasonGoesOn: a reason that safety refuses to store is blocked,
// noted and counted, whatever way it was stated, and the run goes on.
func TestBlockedReasonGoesOn(t *testing.T) {
	key := safetytest.Sample{Rule: "private-key", Secret: safetytest.KeyBlock(safetytest.NewRand(91), "RSA PRIVATE"+" KEY", 6)}
	quoted, err := json.Marshal("the key is " + key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	stated := `{"why":` + string(quoted) + `,"alternatives":[{"option":"o","rejectedBecause":"r"}]}`
	block := `<rationale call="1">` + stated + `</rationale>`
	for _, tt := range []struct {
		name   string
		path   string
		cfg    kernel.Config
		answer parsers.Answer
	}{
		{"block", "native", kernel.Config{}, answer("I look.\n"+block, `search {"q":"x"}`)},
		{"block in thinking", "native", kernel.Config{}, thinking(answer("I look.", `search {"q":"x"}`), block)},
		{"argument", "native", kernel.Config{Channel: kernel.ChannelArgument}, answer("I look.", `search {"q":"x","rationale":`+stated+`}`)},
		{"beside a call in text", "text", kernel.Config{ToolMode: kernel.ToolsText},
			answer("I look.\n<tool_call>{\"name\":\"search\",\"arguments\":{\"q\":\"x\"},\"rationale\":" + stated + "}</tool_call>")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Model, tt.cfg.Tools, tt.cfg.Strategy = native(tt.answer, answer("All done.")), tools, strategy.Reactive{}
			r := play(t, tt.cfg)
			if r.err != nil || r.Output != "All done." || r.Failed {
				t.Errorf("the run ended with %q, %v", r.Output, r.err)
			}
			if key.Leaked(r.file.String()) {
				t.Error("the key is in the trace")
			}
			calls := find[*trace.ToolCallStart](r)
			if len(calls) != 1 {
				t.Fatalf("%d calls", len(calls))
			}
			c := calls[0]
			if c.RationaleStatus != rationale.Blocked || c.Rationale != nil || c.Origin != nil || c.RationaleReason != "refused by safety rule private-key" {
				t.Errorf("status %q, rationale %+v, reason %q", c.RationaleStatus, c.Rationale, c.RationaleReason)
			}
			noted := false
			for _, s := range find[*trace.SafetyApplied](r) {
				noted = noted || s.Rule == "private-key" && s.Action == "block" && s.Field == "rationale.why" && s.CallID == c.CallID && *s.Target == c.Seq
			}
			if !noted {
				t.Error("no safety-applied event for the reason")
			}
			counted := 0
			for _, m := range find[*trace.Metric](r) {
				if m.Name == trace.MetricRationaleMissing && m.CallID == c.CallID && m.Labels["status"] == "blocked" && m.Labels["tool"] == "search" && m.Labels["path"] == tt.path {
					counted++
				}
			}
			if counted != 1 {
				t.Errorf("%d metrics", counted)
			}
			if n := len(find[*trace.AlternativesConsidered](r)); n != 0 {
				t.Errorf("%d alternatives of a refused reason", n)
			}
			if m := r.Debrief.Metrics; m.Blocked != 1 || m.Present != 0 || m.Coverage == nil || *m.Coverage != 0 {
				t.Errorf("metrics %+v", m)
			}
			if ends := find[*trace.ToolCallEnd](r); len(ends) != 1 || ends[0].OK == nil || !*ends[0].OK {
				t.Error("the call was not made")
			}
		})
	}
}

// TestBlockedNarrativeIsAbsent: with all that says where it stood.
func TestBlockedNarrativeIsAbsent(t *testing.T) {
	key := safetytest.Sample{Secret: safetytest.KeyBlock(safetytest.NewRand(92), "OPENSSH PRIVATE"+" KEY", 6)}
	model := native(answer("I use this:\n"+key.Secret+"\n"+`<rationale call="1">{"why":"it has to be looked up"}</rationale>`, `search {"q":"x"}`), answer("Done."))
	r := play(t, kernel.Config{Model: model, Tools: tools, Strategy: strategy.Reactive{}})
	c := find[*trace.ToolCallStart](r)[0]
	if c.Narrative != "" || c.NarrativeOrigin != nil || c.NarrativeScope != "" || c.NarrativeCut {
		t.Errorf("narrative %q, %+v, %q", c.Narrative, c.NarrativeOrigin, c.NarrativeScope)
	}
	if c.RationaleStatus != rationale.Present || c.Rationale.Why != "it has to be looked up" {
		t.Errorf("the reason went too: %+v", c)
	}
	noted := false
	for _, s := range find[*trace.SafetyApplied](r) {
		noted = noted || s.Field == "narrative" && s.Action == "block"
	}
	if !noted || key.Leaked(r.file.String()) || r.Output != "Done." {
		t.Errorf("noted %v, output %q", noted, r.Output)
	}
	line, _, _ := bytes.Cut(r.file.Bytes()[bytes.Index(r.file.Bytes(), []byte(`"kind":"tool-call-start"`)):], []byte("\n"))
	if strings.Contains(string(line), "narrative") {
		t.Errorf("%s", line)
	}
}

// TestDividedSecretInOutput: what a block divides in the stored answer comes
// together in what is printed.
func TestDividedSecretInOutput(t *testing.T) {
	for _, s := range safetytest.Samples(safetytest.NewRand(93)) {
		half := len(s.Secret) / 2
		text := "It is " + s.Before + s.Secret[:half] + `<rationale call="1">{"why":"no call"}</rationale>` + s.Secret[half:] + s.After
		r := play(t, kernel.Config{Model: native(answer(text)), Tools: tools, Strategy: strategy.Reactive{}})
		if s.Leaked(r.file.String()) || s.Leaked(r.Output) {
			t.Errorf("%s: %q", s.Rule, r.Output)
		}
	}
}
