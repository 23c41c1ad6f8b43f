package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rax-project/rax/rationale"
)

// privateKey is what a rationale must never hold. The key is random letters.
func privateKey() string {
	line := strings.Repeat("Mq7ZtP2xWk9LdRv4", 4) + "\n"
	return "-----BEGIN RSA PRIVATE" + " KEY-----\n" + strings.Repeat(line, 4) + "-----END RSA PRIVATE" + " KEY-----"
}

// stored writes one event and gives it as stored, with what was noted about it.
func stored(t *testing.T, ev Event) (Event, []*SafetyApplied) {
	t.Helper()
	data, records := written(t, ev)
	if bytes.Contains(data, []byte("Mq7ZtP2xWk9LdRv4")) || bytes.Contains(data, []byte(secret)) {
		t.Errorf("the material is in the file: %s", data)
	}
	got, _, err := Decode(records[0])
	if err != nil {
		t.Fatal(err)
	}
	var notes []*SafetyApplied
	for _, rec := range recordsOf(t, data)[1:] {
		note, _, err := Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		applied, ok := note.(*SafetyApplied)
		if !ok {
			t.Fatalf("%s follows the event", note.EventKind())
		}
		notes = append(notes, applied)
	}
	return got, notes
}

func TestBlockedRationale(t *testing.T) {
	confidence := 0.5
	rationales := map[string]*rationale.Rationale{
		"why":                          {Why: "it is " + privateKey(), Confidence: &confidence},
		"refs":                         {Why: "a reason", Refs: []string{"obs:1", privateKey()}},
		"alternatives.option":          {Why: "a reason", Alternatives: []rationale.Alternative{{Option: privateKey(), RejectedBecause: "b"}}},
		"alternatives.rejectedBecause": {Why: "a reason", Alternatives: []rationale.Alternative{{Option: "o", RejectedBecause: privateKey()}}},
	}
	for name, stated := range rationales {
		t.Run(name, func(t *testing.T) {
			ev := &ToolCallStart{
				Base:     Base{RunID: "r", CallID: "c1", Iter: 3, RootRunID: "root", SessionID: "s", Turn: 2},
				ToolName: "web_search", RationaleStatus: rationale.Present, RationaleSource: rationale.SourceBlock,
				Rationale: stated, Args: []byte(`{"q":"x"}`),
			}
			got, notes := stored(t, ev)
			call := got.(*ToolCallStart)
			if call.RationaleStatus != rationale.Blocked || call.Rationale != nil {
				t.Errorf("stored with status %q and rationale %+v", call.RationaleStatus, call.Rationale)
			}
			if call.RationaleReason != "refused by safety rule private-key" || string(call.Args) != `{"q":"x"}` {
				t.Errorf("stored with reason %q and args %s", call.RationaleReason, call.Args)
			}
			if len(notes) != 1 {
				t.Fatalf("%d notes", len(notes))
			}
			n := notes[0]
			if n.Rule != "private-key" || n.Action != "block" || n.Field != "rationale."+name || n.Count != 1 || n.Target == nil || *n.Target != 0 {
				t.Errorf("the note is %+v", n)
			}
			if n.Seq != 1 || n.CallID != "c1" || n.Iter != 3 || n.RootRunID != "root" || n.SessionID != "s" || n.Turn != 2 {
				t.Errorf("the base of the note is %+v", n.Base)
			}
		})
	}
}

// TestBlockedElsewhere: a reason that may not be stored is absent, never empty.
func TestBlockedElsewhere(t *testing.T) {
	bad := func() *rationale.Rationale { return &rationale.Rationale{Why: privateKey(), Refs: []string{"obs:1"}} }
	base := Base{RunID: "r"}
	events := []Event{
		&AssumptionRecorded{Base: base, Assumption: "a", Rationale: bad()},
		&StrategySwitched{Base: base, From: "a", To: "b", Rationale: bad()},
		&DecisionEvaluated{Base: base, DecisionType: "branch", Rationale: bad()},
		&CuratorDecision{Base: base, Action: "kept", TargetRef: "obs:1", Rationale: bad()},
		&KernelStateSnapshot{Base: base, Status: "done", TerminatedBy: "x", TerminationRationale: bad()},
		&ReasoningRecorded{Base: base, Format: "parsed", Text: privateKey()},
		&ToolCallStart{Base: base, ToolName: "t", RationaleStatus: rationale.Missing, Narrative: privateKey()},
	}
	for _, ev := range events {
		got, notes := stored(t, ev)
		line, _ := written(t, got)
		for _, member := range []string{`ationale":{`, `"text"`, `"narrative"`} {
			if bytes.Contains(line, []byte(member)) {
				t.Errorf("%s: %s is there: %s", ev.EventKind(), member, line)
			}
		}
		if len(notes) != 1 || notes[0].Rule != "private-key" || notes[0].Action != "block" {
			t.Errorf("%s: notes %+v", ev.EventKind(), notes)
		}
	}
	got, _ := stored(t, &AlternativesConsidered{Base: base, Chosen: "c", Alternatives: []rationale.Alternative{
		{Option: "o", RejectedBecause: privateKey()}, {Option: "p", RejectedBecause: "slow"},
	}})
	if kept := got.(*AlternativesConsidered).Alternatives; len(kept) != 1 || kept[0].Option != "p" {
		t.Errorf("the alternatives are %+v", kept)
	}
}

// TestNotesCountFindings: one note per rule and field, with the number of
// findings; a secret in a payload is redacted and the payload kept.
func TestNotesCountFindings(t *testing.T) {
	other := secret[:12] + "RB4NV7JL"
	got, notes := stored(t, &ToolCallEnd{
		Base: Base{RunID: "r"}, ToolName: "t", Outcome: "saw " + secret,
		Result: fmt.Appendf(nil, `{"log":"%s then %s"}`, secret, other),
	})
	if end := got.(*ToolCallEnd); !strings.Contains(end.Outcome, mark) || bytes.Count(end.Result, []byte(mark)) != 2 {
		t.Errorf("stored %+v", end)
	}
	counts := make(map[string]int)
	for _, n := range notes {
		counts[n.Field] += n.Count
	}
	if len(notes) != 2 || counts["outcome"] != 1 || counts["result.log"] != 2 {
		t.Errorf("notes %v", counts)
	}
}
