package exchange

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// Call is a tool call that the model decided on, with the reason that it
// stated.
type Call struct {
	Name string
	// Args are the arguments without the injected rationale; a JSON string when
	// they are no valid JSON.
	Args       json.RawMessage
	ProviderID string
	Capture    rationale.Capture
	Origin     *rationale.Origin
	// Narrative is text beside the call, and NarrativeScope whether it stands
	// beside this one or beside several.
	Narrative       string
	NarrativeOrigin *rationale.Origin
	NarrativeScope  string
	NarrativeCut    bool
	Withheld        bool
}

// Calls gives the calls of the stored answer. asked says that the request asked
// for reasons; injected are the tools that were given the rationale argument.
func (s Stored) Calls(a parsers.Answer, asked bool, injected []string) []Call {
	var calls []Call
	narrative, cut := rationale.Narrative(s.Content)
	for i, c := range a.Calls {
		out := Call{Name: c.Name, Args: c.Arguments, ProviderID: c.ID, Capture: s.captures[i], Withheld: a.Withheld()}
		if c.Invalid {
			out.Args, _ = json.Marshal(string(c.Arguments)) // a string always encodes
		}
		if out.Capture.Part >= 0 && out.Capture.Span.Len() > 0 {
			out.Origin = s.at(out.Capture.Part, out.Capture.Span)
		}
		if slices.Contains(injected, c.Name) && !c.Invalid {
			out.takeArgument(s, i)
		}
		if !asked && out.Capture.Status == rationale.Missing {
			out.Capture.Status = rationale.Unasked
		}
		if narrative.Len() > 0 {
			out.Narrative, out.NarrativeCut = narrative.In(s.Content), cut
			out.NarrativeOrigin, out.NarrativeScope = s.at(0, narrative), "call"
			if len(a.Calls) > 1 {
				out.NarrativeScope = "group"
			}
		}
		calls = append(calls, out)
	}
	return calls
}

// takeArgument takes the injected rationale out of a call's arguments.
func (c *Call) takeArgument(s Stored, i int) {
	rest, raw, found := rationale.ExtractArgument(c.Args)
	if !found {
		return
	}
	c.Args = rest
	stated := rationale.Capture{Source: rationale.SourceArgument, Part: -1}
	d, err := rationale.Decode(raw)
	if err != nil {
		stated.Status, stated.Reason = rationale.Malformed, err.Error()
	} else {
		stated.Status, stated.Rationale = rationale.Present, &d.Rationale
		stated.Assumptions, stated.Warnings = d.Assumptions, d.Warnings
	}
	c.Capture = rationale.Resolve(stated, c.Capture)
	if c.Capture.Source != rationale.SourceArgument || c.Capture.Status != rationale.Present {
		return
	}
	// A why that was cut is shorter than what stands there.
	field := fmt.Sprintf("/response/toolCalls/%d/arguments/%s/why", i, rationale.ArgumentName)
	if why, ok := trace.Pointer(s.rec, field); ok {
		end := len(why)
		if c.Capture.Rationale.Truncated {
			end = min(end, len(c.Capture.Rationale.Why))
		}
		c.Origin = &rationale.Origin{Event: new(s.seq), Field: field, End: end}
	}
}

// start is the event of the call.
func (c Call) start(callID string, group *int) *trace.ToolCallStart {
	ev := &trace.ToolCallStart{
		Base: trace.Base{CallID: callID}, ToolName: c.Name, ProviderCallID: c.ProviderID, ParallelGroup: group,
		RationaleStatus: c.Capture.Status, RationaleReason: c.Capture.Reason, Rationale: c.Capture.Rationale,
		Origin: c.Origin, Narrative: c.Narrative, NarrativeOrigin: c.NarrativeOrigin,
		NarrativeScope: c.NarrativeScope, NarrativeCut: c.NarrativeCut, Withheld: c.Withheld, Args: c.Args,
	}
	if c.Capture.Status == rationale.Present || c.Capture.Status == rationale.Malformed {
		ev.RationaleSource = c.Capture.Source
	}
	return ev
}
