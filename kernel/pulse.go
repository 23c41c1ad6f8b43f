package kernel

import (
	"crypto/sha256"
	"fmt"

	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/kernel/convo"
	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// pulse is what the reactive control watches of a run.
type pulse struct {
	last     [32]byte // the newest call, by tool and arguments
	lastTool string
	repeats  int
	// evidence are the results seen so far.
	evidence map[[32]byte]bool
	fresh    bool // the open iteration brought something new
	stale    int
	errors   int
	errTool  string // the tool of the newest failures, "" when they differ
	prompt   int64  // tokens of the newest prompt
}

// called notes that a call is made.
func (p *pulse) called(tool string, args []byte) {
	sum := sha256.Sum256([]byte(tool + "\x00" + string(compact(args))))
	if sum == p.last {
		p.repeats++
	} else {
		p.repeats = 0
	}
	p.last, p.lastTool = sum, tool
}

// observed notes what a call gave.
func (p *pulse) observed(tool, content string, failed bool) {
	if !failed {
		p.errors, p.errTool = 0, ""
		sum := sha256.Sum256([]byte(content))
		if p.evidence == nil {
			p.evidence = make(map[[32]byte]bool)
		}
		p.fresh = p.fresh || !p.evidence[sum]
		p.evidence[sum] = true
		return
	}
	switch {
	case p.errors == 0:
		p.errTool = tool
	case p.errTool != tool:
		p.errTool = ""
	}
	p.errors++
}

// facts closes the iteration and gives the control what it looks at.
func (r *run) facts(canSwitch bool) control.Facts {
	p := &r.pulse
	if p.fresh {
		p.stale = 0
	} else {
		p.stale++
	}
	p.fresh = false
	return control.Facts{
		Iteration: r.iter, MaxIterations: r.cfg.Limits.Iterations,
		Repeats: p.repeats, RepeatedTool: p.lastTool, Stale: p.stale,
		Errors: p.errors, ErrorTool: p.errTool,
		ContextTokens: p.prompt, Window: r.cfg.Model.Info().Window,
		Tokens: r.tokens.Load(), Budget: r.cfg.Limits.Tokens, CanSwitch: canSwitch,
	}
}

// keepRecent is how many of the newest observations compression leaves alone.
const keepRecent = 4

// compress shortens the older observations of the conversation, so that the
// next prompt fits. Pinned entries stay as they are.
func (r *run) compress() error {
	entries := r.log.Entries()
	recent := 0
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		if e.Kind != convo.KindTool || e.Priority == convo.Pinned {
			continue
		}
		if recent++; recent <= keepRecent || len(e.Text) <= 200 {
			continue
		}
		short := fmt.Sprintf("[%s] left out to make room; it was read %d bytes long", e.Ref, len(e.Text))
		r.log.Replace(e.Ref, short)
		err := r.note(&trace.CuratorDecision{
			Action: string(control.Compressed), TargetRef: e.Ref,
			Rationale: &rationale.Rationale{Why: "the prompt is near the model's window and newer observations are kept"},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func limitWhy(what string, spent, limit int64) string {
	return fmt.Sprintf("%d of %d %s are spent", spent, limit, what)
}
