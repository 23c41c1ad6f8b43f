package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// claudeReader is the second pass over a session file.
type claudeReader struct {
	survey  *claudeSurvey
	router  claudeRouter
	out     *output
	source  string
	main    *claudeThread
	threads map[string]*claudeThread
}

// claudeThread is the main thread or a sub-agent, with the message that is being
// collected.
type claudeThread struct {
	name string
	run  *run
	left int // lines that are still to come
	msg  *message
	// whole is about msg.
	whole *claudeMessageFacts
	// command is a slash command that begins a turn if the model answers it.
	command   string
	commandAt int64
}

var errChanged = errors.New("the transcript was changed while it was read")

func readClaude(ctx context.Context, in *input, out *output) error {
	survey, err := surveyClaude(ctx, in)
	if err != nil {
		return err
	}
	r := &claudeReader{
		survey: survey, router: survey.router, out: out,
		source: baseName(in.name), threads: make(map[string]*claudeThread),
	}
	acc := out.account
	acc.Models, acc.Sessions = survey.modelNames(), len(survey.sessions)
	if acc.Sessions > 1 {
		acc.warn("the file holds %d sessions; they were read as one run", acc.Sessions)
	}
	if survey.threads[""] != nil {
		if err := r.start(); err != nil {
			return err
		}
	}
	if err := claudeLines(ctx, in, &tally{account: acc}, r.line); err != nil {
		return err
	}
	if r.main == nil {
		return ErrNoConversation
	}
	for key := range survey.messages {
		if key.thread == "" {
			acc.Messages++
		}
	}
	return r.end(r.main)
}

// start opens the main run.
func (r *claudeReader) start() error {
	facts := r.survey.threads[""]
	id := r.out.runID(r.survey.start, string(ClaudeCode), r.session())
	r.out.account.RunID = id
	r.main = &claudeThread{left: facts.lines, run: &run{
		out: r.out, base: trace.Base{RunID: id, SessionID: r.survey.session}, provider: "anthropic",
		asked: facts.asked, main: true, open: make(map[string][]*openCall),
	}}
	r.threads[""] = r.main
	ev := r.started(facts)
	if ev.Task == "" {
		ev.Task = facts.command
	}
	return r.main.run.start(ev, r.survey.start, "")
}

// session identifies the source of the run.
func (r *claudeReader) session() string { return keep(r.survey.session, r.source) }

func (r *claudeReader) started(facts *claudeThreadFacts) *trace.RunStarted {
	return &trace.RunStarted{
		Task: facts.request, Model: facts.model, Provider: "anthropic",
		ImportedFrom: &trace.ImportSource{
			Format: string(ClaudeCode), File: r.source, Session: r.survey.session, Version: r.survey.version,
		},
	}
}

// line takes one object.
func (r *claudeReader) line(l *claudeLine) error {
	acc := r.out.account
	if l.at != 0 {
		if acc.FirstTime == 0 || l.at < acc.FirstTime {
			acc.FirstTime = l.at
		}
		acc.LastTime = max(acc.LastTime, l.at)
	}
	if l.inner {
		acc.AgentProgressLines++
	}
	if l.sidechain {
		acc.SidechainLines++
	}
	name := l.typeName()
	switch {
	case r.main == nil:
	case l.kind == "user", l.kind == "assistant":
		return r.said(l)
	case l.kind == "system" && !l.sidechain:
		used, err := r.system(l)
		if used || err != nil {
			count(acc.Objects, name)
			return err
		}
	}
	if claudePassed[name] || l.inner || name == "user" || name == "assistant" {
		count(acc.PassedOver, name)
	} else {
		count(acc.UnknownTypes, name)
	}
	return nil
}

// said takes a line of the user or the model, and ends the run of a sub-agent
// after its last.
func (r *claudeReader) said(l *claudeLine) error {
	name := r.router.thread(l)
	t := r.threads[name]
	if t == nil {
		var err error
		if t, err = r.openSub(name, l); err != nil {
			return err
		}
	}
	l.timed = l.at != 0
	l.at = t.run.when(l.at)
	var err error
	if l.kind == "assistant" {
		err = r.assistant(t, l)
	} else {
		err = r.user(t, l)
	}
	if err != nil {
		return err
	}
	if t.left--; t.left == 0 && t != r.main {
		delete(r.threads, name)
		return r.end(t)
	}
	return nil
}

// openSub opens the run of a sub-agent.
func (r *claudeReader) openSub(name string, l *claudeLine) (*claudeThread, error) {
	facts := r.survey.threads[name]
	if facts == nil {
		return nil, errChanged
	}
	parent := r.main.run
	base := parent.base
	base.RunID = r.out.runID(r.survey.start, string(ClaudeCode), r.session(), name)
	base.ParentRunID, base.RootRunID, base.Depth = parent.base.RunID, parent.base.RunID, parent.base.Depth+1
	t := &claudeThread{name: name, left: facts.lines, run: &run{
		out: r.out, base: base, provider: "anthropic", asked: facts.asked, open: make(map[string][]*openCall),
	}}
	r.threads[name] = t
	r.out.account.SubRuns++
	ev := r.started(facts)
	ev.Task = keep(l.prompt, ev.Task)
	return t, t.run.start(ev, l.at, parent.starter(l.parentCall, ev.Task))
}

// end closes a thread's run.
func (r *claudeReader) end(t *claudeThread) error {
	if err := t.close(); err != nil {
		return err
	}
	return t.run.finish()
}

// close writes the message that was being collected.
func (t *claudeThread) close() error {
	if t.msg == nil {
		return nil
	}
	m := t.msg
	t.msg = nil
	return t.run.close(m, t.whole.calls, &t.whole.group)
}

// user takes a line of type user.
func (r *claudeReader) user(t *claudeThread, l *claudeLine) error {
	said, text, results := l.said()
	acc := r.out.account
	if results {
		count(acc.Objects, l.typeName())
		t.run.see(l.at)
		if err := r.results(t, l); err != nil {
			return err
		}
	} else if t == r.main && !l.meta {
		acc.UserMessages++
	}
	switch said {
	case saidRequest, saidCommand, saidStop:
		if !results {
			count(acc.Objects, l.typeName())
		}
	case saidLocal, saidSummary, saidNothing:
		if said == saidLocal {
			t.command = "" // the command was for the client
		}
		if !results {
			count(acc.PassedOver, "user/"+map[claudeSaid]string{
				saidLocal: "local", saidSummary: "summary", saidNothing: "meta",
			}[said])
		}
		return nil
	}
	if err := t.close(); err != nil {
		return err
	}
	switch said {
	case saidStop:
		t.run.see(l.at)
		t.run.interrupted, t.run.answer = true, ""
	case saidCommand:
		t.command, t.commandAt = strings.Clone(text), l.at
	case saidRequest:
		t.command = ""
		if t == r.main {
			return t.run.beginTurn(strings.Clone(text), l.at)
		}
	}
	return nil
}

// results takes the tool results of a line.
func (r *claudeReader) results(t *claudeThread, l *claudeLine) error {
	for b := range l.blocks() {
		if b.kind != "tool_result" {
			continue
		}
		// A result without is_error is a success: the client leaves it out.
		failed := b.value.Get("is_error").Type == gjson.True
		content := b.value.Get("content")
		text := resultText(content)
		if failed && strings.HasPrefix(text, claudeStop) {
			t.run.interrupted = true // until the model goes on
		}
		err := t.run.end(&resultPart{
			providerID: str(b.value.Get("tool_use_id")), at: l.at, timed: l.timed, failed: &failed,
			rejected: failed && (refused(text) || l.denial == "user-rejected"),
			text:     strings.Clone(firstLine(text)), content: raw(content),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// assistant takes a line of the model, or one that the client made in its name.
func (r *claudeReader) assistant(t *claudeThread, l *claudeLine) error {
	acc := r.out.account
	model := str(l.message.Get("model"))
	if model == claudeSynthetic || l.apiError {
		return r.synthetic(t, l)
	}
	count(acc.Objects, l.typeName())
	defer t.run.see(l.at) // after a turn that this message begins
	id := l.messageID()
	if t.msg != nil && t.msg.key != id {
		if err := t.close(); err != nil {
			return err
		}
	}
	if t.msg == nil {
		if err := r.open(t, l, id, model); err != nil {
			return err
		}
	}
	if stop := str(l.message.Get("stop_reason")); stop != "" {
		t.msg.stop = stop
	}
	for b := range l.blocks() {
		r.block(t, l, b)
	}
	t.whole.seen++
	if t.whole.seen < t.whole.lines {
		return nil
	}
	return t.close()
}

// open begins a message.
func (r *claudeReader) open(t *claudeThread, l *claudeLine, key, model string) error {
	if t.command != "" && t == r.main {
		if err := t.run.beginTurn(t.command, t.commandAt); err != nil {
			return err
		}
	}
	t.command = ""
	t.whole = r.survey.messages[claudeMessageKey{t.name, key}]
	if t.whole == nil {
		return errChanged
	}
	again := t.whole.iter != 0
	if !again {
		t.whole.iter = t.run.nextIter()
	}
	t.msg = &message{
		id: str(l.message.Get("id")), key: key, model: model, at: l.at, iter: t.whole.iter,
		again: again, tokens: t.whole.tokens,
	}
	return nil
}

// block takes a piece of a message.
func (r *claudeReader) block(t *claudeThread, l *claudeLine, b claudeBlock) {
	place := rationale.Origin{Source: r.source, Line: l.place.Line, Offset: l.place.Offset}
	text, pointer := b.text()
	place.Field = pointer
	switch b.kind {
	case "text":
		if text != "" {
			t.msg.addText(&textPart{text: strings.Clone(text), at: l.at, place: place})
		}
	case "thinking":
		hidden := text == ""
		if hidden && str(b.value.Get("signature")) == "" {
			return
		}
		t.msg.addText(&textPart{
			text: strings.Clone(text), at: l.at, thinking: true, hidden: hidden, format: "anthropic", place: place,
		})
	case "redacted_thinking":
		t.msg.addText(&textPart{at: l.at, thinking: true, hidden: true, format: "anthropic", place: place})
	case "tool_use":
		r.call(t, l, b, place)
	default:
		count(r.out.account.SkippedBlocks, keep(b.kind, "(no type)"))
	}
}

func (r *claudeReader) call(t *claudeThread, l *claudeLine, b claudeBlock, place rationale.Origin) {
	input := b.value.Get("input")
	c := &callPart{
		providerID: str(b.value.Get("id")), tool: str(b.value.Get("name")), at: l.at, timed: l.timed, args: raw(input),
	}
	if text := str(input.Get("description")); text != "" {
		// It says what the call does, not why: narrative, never a rationale.
		place.Field = b.pointer + "/input/description"
		c.described = &textPart{text: text, at: l.at, place: place}
	}
	if c.tool == "Task" || c.tool == "Agent" {
		c.prompt = str(input.Get("prompt"))
	}
	t.run.begin(t.msg, c)
}

// raw copies a value, nil for none.
func raw(v gjson.Result) json.RawMessage {
	if v.Raw == "" {
		return nil
	}
	return json.RawMessage(v.Raw)
}
