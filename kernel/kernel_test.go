package kernel_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

const block1 = `<rationale call="1">{"why":"fresh data is needed","confidence":0.9}</rationale>`
const block2 = `<rationale call="2">{"why":"the second source confirms","refs":["obs:1"]}</rationale>`

func TestNativeBlocks(t *testing.T) {
	model := native(
		thinking(answer("I look it up.\n"+block1+"\n"+block2, `search {"q":"a"}`, `fail {"q":"b"}`), "I assume the user means USD because no currency was given."),
		answer("It is 42."),
	)
	r := play(t, kernel.Config{Model: model, Tools: tools, Strategy: strategy.Reactive{}, System: "Be brief."})
	if r.err != nil || r.Output != "It is 42." || r.Reason != kernel.ReasonFinalAnswer {
		t.Fatalf("%+v %v", r.Result, r.err)
	}
	calls := find[*trace.ToolCallStart](r)
	if len(calls) != 2 || calls[0].Rationale.Why != "fresh data is needed" || calls[1].Rationale.Why != "the second source confirms" {
		t.Fatalf("calls: %+v", calls)
	}
	if calls[0].ParallelGroup == nil || *calls[0].ParallelGroup != 0 || *calls[1].ParallelGroup != 0 {
		t.Error("parallel calls are in no group")
	}
	if calls[0].Narrative != "I look it up." || calls[0].NarrativeScope != "group" {
		t.Errorf("narrative %q scope %q", calls[0].Narrative, calls[0].NarrativeScope)
	}
	checkOrigins(t, r)
	// The mandate stands last in the system prompt; blocks and nothing else
	// are taken out of what goes back; signed thinking goes back unchanged.
	first, second := model.requests[0], model.requests[1]
	if !strings.HasPrefix(first.System, "Be brief.") || !strings.HasSuffix(strings.TrimSpace(first.System), strings.TrimSpace(rationale.Prompt())) {
		t.Errorf("system prompt: %q", first.System)
	}
	back, _ := json.Marshal(second.Messages)
	if strings.Contains(string(back), "rationale") || !strings.Contains(string(back), "I look it up.") || !strings.Contains(string(back), "c2lnbmVk") {
		t.Errorf("sent back: %s", back)
	}
	if got := find[*trace.AssumptionRecorded](r); len(got) != 1 || got[0].Assumption != "the user means USD" {
		t.Errorf("assumptions: %+v", got)
	}
	ends := find[*trace.ToolCallEnd](r)
	if len(ends) != 2 || !*ends[0].OK || *ends[1].OK || ends[0].Outcome == "" {
		t.Errorf("ends: %+v", ends)
	}
	if last := r.events[len(r.events)-1].(*trace.RunCompleted); *last.TotalTokens != 240 || last.Status != "success" {
		t.Errorf("run-completed: %+v", last)
	}
}

// checkOrigins holds every origin of a trace against the characters that it
// points at.
func checkOrigins(t *testing.T, r ran) {
	t.Helper()
	records := map[int64]trace.Record{}
	for rec, err := range trace.NewReader(strings.NewReader(r.file.String()), "t", trace.ReaderOptions{}).All() {
		if err != nil {
			t.Fatal(err)
		}
		row, _ := trace.RowOf(rec)
		records[row.Int(trace.FieldSeq)] = rec.Clone()
	}
	check := func(what, want string, o *rationale.Origin) {
		if o == nil || o.Event == nil {
			t.Errorf("%s %q has no origin", what, want)
			return
		}
		text, ok := trace.Pointer(records[*o.Event], o.Field)
		if got := (rationale.Span{Start: o.Start, End: o.End}).In(text); !ok || got != want {
			t.Errorf("%s: origin %+v holds %q, want %q", what, *o, got, want)
		}
	}
	for _, c := range find[*trace.ToolCallStart](r) {
		if c.Rationale != nil {
			check("rationale", c.Rationale.Why, c.Origin)
		}
		if c.Narrative != "" {
			check("narrative", c.Narrative, c.NarrativeOrigin)
		}
	}
	for _, a := range find[*trace.AssumptionRecorded](r) {
		check("assumption", a.Assumption, a.Origin)
	}
	for _, a := range find[*trace.ReasoningRecorded](r) {
		if a.Text != "" {
			check("reasoning", a.Text, a.Origin)
		}
	}
}

func TestMissingIsAMetricAndNothingElse(t *testing.T) {
	r := play(t, kernel.Config{
		Model: native(answer("I look it up.", `search {"q":"a"}`), answer("done")), Tools: tools, Strategy: strategy.Reactive{},
	})
	call := find[*trace.ToolCallStart](r)[0]
	if call.RationaleStatus != rationale.Missing || call.Rationale != nil || call.Narrative != "I look it up." {
		t.Errorf("%+v", call)
	}
	metrics := find[*trace.Metric](r)
	if len(metrics) != 1 || metrics[0].Name != trace.MetricRationaleMissing || metrics[0].CallID != call.CallID ||
		metrics[0].Labels["tool"] != "search" || metrics[0].Labels["status"] != "missing" || metrics[0].Labels["path"] != "native" {
		t.Errorf("metrics: %+v", metrics)
	}
}

func TestRationaleModes(t *testing.T) {
	call := `search {"q":"a"}`
	tests := []struct {
		name    string
		mode    kernel.RationaleMode
		answers []parsers.Answer
		want    rationale.Status
		asked   int // requests
	}{
		{"off asks for nothing", kernel.RationaleOff, []parsers.Answer{answer("", call), answer("done")}, rationale.Unasked, 2},
		{"warn takes what comes", kernel.RationaleWarn, []parsers.Answer{answer("", call), answer("done")}, rationale.Missing, 2},
		{"strict asks once more", kernel.RationaleStrict, []parsers.Answer{answer("", call), answer(block1, call), answer("done")}, rationale.Present, 3},
		{"strict keeps the first answer when the second is silent", kernel.RationaleStrict, []parsers.Answer{answer("", call), answer("", call), answer("done")}, rationale.Missing, 3},
		{"strict does not take other calls", kernel.RationaleStrict, []parsers.Answer{answer("", call), answer(block1, `search {"q":"other"}`), answer("done")}, rationale.Missing, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := native(tt.answers...)
			r := play(t, kernel.Config{Model: model, Tools: tools, Strategy: strategy.Reactive{}, Rationale: tt.mode})
			calls := find[*trace.ToolCallStart](r)
			if len(calls) != 1 || calls[0].RationaleStatus != tt.want || string(calls[0].Args) != `{"q":"a"}` {
				t.Errorf("calls: %+v", calls)
			}
			if len(model.requests) != tt.asked {
				t.Errorf("%d requests, want %d", len(model.requests), tt.asked)
			}
			if asked := strings.Contains(model.requests[0].System, "MANDATORY"); asked != (tt.mode != kernel.RationaleOff) {
				t.Errorf("the prompt asks: %v", asked)
			}
			checkOrigins(t, r)
		})
	}
}

func TestArgumentChannel(t *testing.T) {
	with := `search {"rationale":{"why":"fresh data is needed"},"q":"a"}`
	got := ""
	seen := box{"search": func(args json.RawMessage) (string, error) { got = string(args); return "x", nil }}
	for _, channel := range []kernel.Channel{kernel.ChannelArgument, kernel.ChannelAuto} {
		t.Run(string(channel), func(t *testing.T) {
			answers := []parsers.Answer{answer("", with), answer("done")}
			if channel == kernel.ChannelAuto {
				answers = append([]parsers.Answer{answer("", `search {"q":"first"}`)}, answers...)
			}
			model := native(answers...)
			r := play(t, kernel.Config{Model: model, Tools: seen, Strategy: strategy.Reactive{}, Channel: channel})
			calls := find[*trace.ToolCallStart](r)
			last := calls[len(calls)-1]
			if last.RationaleSource != rationale.SourceArgument || last.Rationale.Why != "fresh data is needed" {
				t.Errorf("%+v", last)
			}
			if got != `{"q":"a"}` {
				t.Errorf("the tool saw %s", got)
			}
			request := model.requests[len(model.requests)-1]
			if !strings.Contains(string(request.Tools[0].Schema), `"rationale"`) || !strings.Contains(request.System, "argument") {
				t.Errorf("not asked for by argument: %s", request.Tools[0].Schema)
			}
			checkOrigins(t, r)
		})
	}
}

func TestTextCalls(t *testing.T) {
	model := native(
		answer("Let me search.\n<tool_call>\n"+`{"name":"search","arguments":{"q":"a"},"rationale":{"why":"fresh data is needed"}}`+"\n</tool_call>"),
		answer("done"),
	)
	model.info.NativeTools = false
	r := play(t, kernel.Config{Model: model, Tools: tools, Strategy: strategy.Reactive{}})
	calls := find[*trace.ToolCallStart](r)
	if len(calls) != 1 || calls[0].RationaleSource != rationale.SourceSibling || string(calls[0].Args) != `{"q":"a"}` {
		t.Fatalf("%+v", calls)
	}
	checkOrigins(t, r)
	if model.requests[0].Tools != nil || !strings.Contains(model.requests[0].System, "<tool_call>") {
		t.Error("the format of calls is not taught")
	}
	if last := model.requests[1].Messages[len(model.requests[1].Messages)-1]; last.Role != provider.RoleUser || !strings.Contains(last.Blocks[0].Text, "[obs:1] found") {
		t.Errorf("the observation: %+v", last)
	}
}

func TestPolicyAndApproval(t *testing.T) {
	call := `write_file {"q":"a"}`
	tests := []struct {
		name     string
		approve  control.Approver
		rejected bool
	}{
		{"nobody to ask", nil, true},
		{"denied", func(context.Context, control.Request) (bool, string, error) { return false, "user", nil }, true},
		{"asking fails", func(context.Context, control.Request) (bool, string, error) {
			return true, "", errors.New("no terminal")
		}, true},
		{"approved", func(_ context.Context, r control.Request) (bool, string, error) {
			return r.Why == "fresh data is needed", "user", nil
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := play(t, kernel.Config{
				Model: native(answer(block1, call), answer("done")), Tools: tools, Strategy: strategy.Reactive{},
				Policy: control.DefaultPolicy(), Approve: tt.approve,
			})
			end := find[*trace.ToolCallEnd](r)[0]
			if end.Rejected != tt.rejected || *end.OK == tt.rejected {
				t.Errorf("%+v", end)
			}
			if len(find[*trace.ApprovalRequested](r)) != 1 || len(find[*trace.ApprovalResolved](r)) != 1 || len(find[*trace.PolicyDecision](r)) != 1 {
				t.Error("the decision is not in the trace")
			}
		})
	}
}

func TestEnds(t *testing.T) {
	call := answer(block1, `search {"q":"a"}`)
	tests := []struct {
		name   string
		cfg    kernel.Config
		reason string
		status string
	}{
		{"iteration limit", kernel.Config{Model: native(call, call, call), Limits: kernel.Limits{Iterations: 2}}, kernel.ReasonMaxIterations, "failure"},
		{"token budget", kernel.Config{Model: native(call, call, call), Limits: kernel.Limits{Tokens: 100}}, kernel.ReasonEarlyStop, "failure"},
		{"model error", kernel.Config{Model: native(call)}, kernel.ReasonModelError, "failure"},
		{"the same call again and again", kernel.Config{Model: native(call, call, call, call, call, call, call)}, kernel.ReasonEarlyStop, "failure"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Tools, tt.cfg.Strategy = tools, strategy.Reactive{}
			r := play(t, tt.cfg)
			if r.Reason != tt.reason || !r.Failed {
				t.Errorf("%+v %v", r.Result, r.err)
			}
			if r.Debrief.Termination.By != tt.reason || r.Debrief.Verdict.Status != tt.status || r.Debrief.Termination.Rationale == nil {
				t.Errorf("termination %+v verdict %+v", r.Debrief.Termination, r.Debrief.Verdict)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	model := native()
	model.wait = true
	cancel()
	r := playCtx(t, ctx, kernel.Config{Model: model, Tools: tools, Strategy: strategy.Reactive{}})
	if !errors.Is(r.err, context.Canceled) || r.Debrief.Verdict.Status != "cancelled" {
		t.Errorf("%v %+v", r.err, r.Debrief.Verdict)
	}
}

func TestPlanExecuteReflect(t *testing.T) {
	good := `{"steps":[{"title":"look","type":"tool_call","toolName":"search","toolArgs":{"q":"a"},"rationale":{"why":"fresh data is needed","confidence":0.9}},{"title":"think","type":"analysis"}]}`
	bare := `{"steps":[{"title":"look","type":"tool_call","toolName":"search","toolArgs":{"q":"a"}}]}`
	tests := []struct {
		name    string
		answers []parsers.Answer
		status  rationale.Status
		metric  int
		reason  string
	}{
		{"stated at once", []parsers.Answer{answer(good), answer("done")}, rationale.Present, 0, kernel.ReasonFinalAnswer},
		{"stated when asked again", []parsers.Answer{answer(bare), answer(good), answer("done")}, rationale.Present, 0, kernel.ReasonFinalAnswer},
		{"never stated", []parsers.Answer{answer(bare), answer(bare), answer("done")}, rationale.Missing, 1, kernel.ReasonFinalAnswer},
		{"the second plan cannot be read", []parsers.Answer{answer(bare), answer("no plan"), answer("done")}, rationale.Missing, 1, kernel.ReasonFinalAnswer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := native(tt.answers...)
			r := play(t, kernel.Config{Model: model, Tools: tools, Strategy: strategy.PlanExecuteReflect{}})
			calls := find[*trace.ToolCallStart](r)
			if len(calls) != 1 || calls[0].RationaleStatus != tt.status {
				t.Fatalf("%+v", calls)
			}
			if tt.status == rationale.Present && calls[0].RationaleSource != rationale.SourcePlan {
				t.Errorf("source %q", calls[0].RationaleSource)
			}
			if r.Debrief.Metrics.PlanRationaleMissing != tt.metric || r.Reason != tt.reason {
				t.Errorf("metric %d reason %s", r.Debrief.Metrics.PlanRationaleMissing, r.Reason)
			}
			if asked := strings.Contains(lastText(model.requests[1]), "[STRICT RETRY]"); asked != (len(tt.answers) == 3) {
				t.Errorf("strict retry: %v", asked)
			}
			checkOrigins(t, r)
		})
	}
	t.Run("no plan at all", func(t *testing.T) {
		r := play(t, kernel.Config{Model: native(answer("I cannot plan.")), Tools: tools, Strategy: strategy.PlanExecuteReflect{}})
		if r.Reason != kernel.ReasonPlanFailed || !r.Failed {
			t.Errorf("%+v", r.Result)
		}
	})
	t.Run("replan up to the limit", func(t *testing.T) {
		again := answer("REPLAN: more data")
		r := play(t, kernel.Config{
			Model: native(answer(good), again, answer(good), again, answer(good), again), Tools: tools,
			Strategy: strategy.PlanExecuteReflect{}, Limits: kernel.Limits{Replans: 2},
		})
		if r.Reason != "replan_limit" || len(find[*trace.ToolCallStart](r)) != 3 {
			t.Errorf("%+v", r.Result)
		}
	})
}

func lastText(req provider.Request) string {
	if len(req.Messages) == 0 {
		return ""
	}
	last := req.Messages[len(req.Messages)-1]
	return last.Blocks[len(last.Blocks)-1].Text
}

func TestStrategySwitch(t *testing.T) {
	call := answer(block1, `search {"q":"a"}`)
	plan := answer(`{"steps":[]}`)
	r := play(t, kernel.Config{
		Model: native(call, call, call, call, plan, answer("done")), Tools: tools,
		Strategy: strategy.Reactive{}, Fallback: strategy.PlanExecuteReflect{},
	})
	switched := find[*trace.StrategySwitched](r)
	if len(switched) != 1 || switched[0].Rationale == nil || r.Output != "done" {
		t.Fatalf("%+v %+v\n%s", switched, r.Result, r.tree(t))
	}
}

func TestSubAgent(t *testing.T) {
	ids := 0
	newID := func() (string, error) { ids++; return "01KDVSG000SVB000000000000" + string(rune('0'+ids)), nil }
	sub, err := kernel.NewSubAgent("delegate", "delegates", kernel.Config{
		Model: native(answer(block1, `search {"q":"sub"}`), answer("sub answer")), Tools: tools, Strategy: strategy.Reactive{}, NewID: newID,
	})
	if err != nil {
		t.Fatal(err)
	}
	outer := toolbox{sub}
	r := play(t, kernel.Config{
		Model: native(answer(block1, `delegate {"task":"part one"}`), answer("all done")), Tools: outer, Strategy: strategy.Reactive{}, NewID: newID,
	})
	if len(r.Debrief.Children) != 1 || r.Debrief.Children[0].Goal != "part one" || r.Debrief.Children[0].ParentCallID != "c1" {
		t.Fatalf("%+v\n%s", r.Debrief.Children, r.tree(t))
	}
	if r.Debrief.Path[0].Outcome != "success" || r.Debrief.Metrics.ToolCalls != 1 {
		t.Errorf("%s", r.tree(t))
	}
}

// toolbox is a toolbox of one tool.
type toolbox struct{ kernel.Tool }

func (b toolbox) Specs() []kernel.ToolSpec { return []kernel.ToolSpec{b.Spec()} }
func (b toolbox) Lookup(name string) (kernel.ToolSpec, bool) {
	return b.Spec(), name == b.Spec().Name
}
func (b toolbox) Call(ctx context.Context, _ string, args json.RawMessage) (kernel.ToolResult, error) {
	return b.Run(ctx, args)
}

// TestDeniedWithoutAMessage: a rule need not say why; the call is not made all
// the same.
func TestDeniedWithoutAMessage(t *testing.T) {
	made := false
	r := play(t, kernel.Config{
		Model:    native(answer(block1, `search {"q":"a"}`), answer("done")),
		Tools:    box{"search": func(json.RawMessage) (string, error) { made = true; return "x", nil }},
		Strategy: strategy.Reactive{},
		Policy:   control.Policy{Rules: []control.Rule{{Tool: "search", Verdict: control.Deny}}},
	})
	end := find[*trace.ToolCallEnd](r)[0]
	if made || !end.Rejected || *end.OK || end.Error == "" {
		t.Errorf("made %v, %+v", made, end)
	}
}
