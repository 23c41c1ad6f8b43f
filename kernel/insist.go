package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// insisted is an answer that was given when asked once more.
type insisted struct {
	thought Thought
	answer  parsers.Answer
}

// insist asks, in strict mode, once more for the same calls with their reasons.
// The new answer counts only if it makes the very same calls and states more
// reasons; otherwise the first one stands as it was.
func (r *run) insist(ctx context.Context, ask Ask, t Thought) (insisted, bool, error) {
	missing := lacking(t.Calls)
	if r.cfg.Rationale != RationaleStrict || missing == 0 {
		return insisted{}, false, nil
	}
	var list strings.Builder
	for i, c := range t.Calls {
		fmt.Fprintf(&list, "%d. %s %s\n", i+1, c.Name, c.Args)
	}
	reminder := "[STRICT RETRY] You were about to make these calls, and did not state a reason for each of them:\n" + list.String() +
		"Make exactly these calls again, in this order, each with its rationale."
	err := r.note(&trace.HarnessSignalInjected{
		SignalKind: "rationale-strict-retry", Origin: "kernel",
		ContentPreview: reminder, ContentLen: new(int64(len(reminder))),
	})
	if err != nil {
		return insisted{}, false, err
	}
	ask.Extra = append(ask.Extra[:len(ask.Extra):len(ask.Extra)], provider.Message{
		Role: provider.RoleUser, Blocks: []provider.Block{{Kind: provider.BlockText, Text: reminder}},
	})
	again, answer, err := r.think(ctx, ask)
	if err != nil {
		return insisted{}, false, err
	}
	if !sameCalls(t.Calls, again.Calls) || lacking(again.Calls) >= missing {
		return insisted{}, false, nil
	}
	return insisted{again, answer}, true, nil
}

// lacking counts the calls without a readable reason.
func lacking(calls []Call) int {
	n := 0
	for _, c := range calls {
		if c.Capture.Status != rationale.Present {
			n++
		}
	}
	return n
}

// sameCalls reports whether two answers make the same calls in the same order.
func sameCalls(a, b []Call) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || !bytes.Equal(compact(a[i].Args), compact(b[i].Args)) {
			return false
		}
	}
	return true
}

func compact(args []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, args) != nil {
		return args
	}
	return out.Bytes()
}
