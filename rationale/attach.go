package rationale

import (
	"fmt"
	"slices"
	"strings"
)

// placed is a block with the part it stands in.
type placed struct {
	Block
	part int
}

// Attach finds the rationale of each call of one model message: block N is for
// the Nth call. It returns one capture per call, in order, and the blocks that
// belong to none.
//
// Numbers run over all text parts together, and apart from that over all
// thinking parts. A block in thinking is used only where no block in text, be
// it readable or not, is for the call: what stands in text is what the model
// committed to, and thinking holds drafts. Drafts that are passed over are no
// finding. Blocks in thinking that all state the same number are counted in
// order only when text has no block and there are as many as calls; otherwise
// they are drafts of one.
func Attach(parts []Part, calls int) ([]Capture, []Unmatched) {
	var text, thinking []*placed
	for i, part := range parts {
		for _, b := range readBlocks(part.Text) {
			if part.Thinking {
				thinking = append(thinking, &placed{b, i})
			} else {
				text = append(text, &placed{b, i})
			}
		}
	}
	number(blocksOf(text), true)
	number(blocksOf(thinking), len(text) == 0 && len(thinking) == calls)

	captures := make([]Capture, max(calls, 0))
	for i := range captures {
		captures[i] = Capture{Status: Missing, Part: -1}
	}
	var unmatched []Unmatched
	stated := make([]bool, len(captures))
	for _, p := range text {
		if reason := p.misses(calls); reason != "" {
			unmatched = append(unmatched, p.unmatched(reason))
			continue
		}
		captures[p.Call-1] = p.capture()
		stated[p.Call-1] = true
	}
	for _, p := range thinking {
		switch {
		case p.Call >= 1 && p.Call <= calls:
			if !stated[p.Call-1] {
				captures[p.Call-1] = p.capture()
			}
		case p.Call == 0 && p.Stated >= 1 && p.Stated <= calls: // an earlier draft
		default:
			unmatched = append(unmatched, p.unmatched(p.misses(calls)))
		}
	}
	slices.SortStableFunc(unmatched, func(a, b Unmatched) int {
		if a.Part != b.Part {
			return a.Part - b.Part
		}
		return a.Span.Start - b.Span.Start
	})
	return captures, unmatched
}

func blocksOf(all []*placed) []*Block {
	blocks := make([]*Block, len(all))
	for i, p := range all {
		blocks[i] = &p.Block
	}
	return blocks
}

// misses says why the block is for none of the calls; "" when it is for one.
func (p *placed) misses(calls int) string {
	switch {
	case p.Unmatched != "":
		return p.Unmatched
	case p.Call > calls && calls <= 0:
		return "the message has no call"
	case p.Call > calls:
		return fmt.Sprintf("it is for call %d of %d", p.Call, calls)
	}
	return ""
}

func (p *placed) unmatched(reason string) Unmatched {
	return Unmatched{Part: p.part, Span: p.Span, Call: p.Stated, Reason: reason}
}

func (p *placed) capture() Capture {
	c := Capture{
		Status:      Present,
		Source:      SourceBlock,
		Rationale:   p.Rationale,
		Assumptions: p.Assumptions,
		Part:        p.part,
		Span:        p.Why,
		Warnings:    p.Warnings,
	}
	if p.Rationale == nil {
		c.Status, c.Reason, c.Span = Malformed, p.Reason, p.Span
	}
	return c
}

// precedence is the order in which the channels are believed: the more firmly
// a reason is tied to its call, the earlier.
var precedence = [...]Source{SourceArgument, SourceBlock, SourceSibling, SourcePlan, SourceStatedArg, SourceKernel}

// Resolve chooses among what several channels hold for one call: the first
// that is present, in the order argument, block, sibling, plan; else the first
// that is malformed; else it is missing. Channels that state different reasons
// give the chosen one a warning. When nothing was asked in any channel, the
// result is unasked.
func Resolve(captures ...Capture) Capture {
	ordered := slices.Clone(captures)
	slices.SortStableFunc(ordered, func(a, b Capture) int { return rank(a.Source) - rank(b.Source) })
	chosen := slices.IndexFunc(ordered, func(c Capture) bool { return c.Status == Present })
	for _, status := range [...]Status{Blocked, Malformed} {
		if chosen < 0 {
			chosen = slices.IndexFunc(ordered, func(c Capture) bool { return c.Status == status })
		}
	}
	if chosen < 0 {
		asked := slices.ContainsFunc(captures, func(c Capture) bool { return c.Status != Unasked })
		if len(captures) > 0 && !asked {
			return captures[0]
		}
		return Capture{Status: Missing, Part: -1}
	}
	out := ordered[chosen]
	if out.Status != Present {
		return out
	}
	var others []string
	for _, c := range ordered[chosen+1:] {
		if c.Status == Present && c.Rationale.Why != out.Rationale.Why {
			others = append(others, string(c.Source))
		}
	}
	if len(others) > 0 {
		warning := fmt.Sprintf("another reason than in %s is stated in %s", out.Source, strings.Join(others, ", "))
		out.Warnings = append(slices.Clone(out.Warnings), warning)
	}
	return out
}

func rank(s Source) int {
	if i := slices.Index(precedence[:], s); i >= 0 {
		return i
	}
	return len(precedence)
}
