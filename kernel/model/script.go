package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
)

// Answer is one answer of a script: an Err, a Parsed one, the bytes of a Wire
// one, or else what the other fields say.
type Answer struct {
	Text     string
	Thinking string
	Calls    []Call
	Usage    parsers.Usage // without Raw
	// Finish is the finish reason; empty means "stop", or "tool_calls" where
	// there are calls.
	Finish  string
	Refusal string

	Wire   *Wire
	Parsed *parsers.Answer
	// Err fails the request. What a Parsed answer holds comes beside it.
	Err error
}

// Call is a tool call of a scripted answer.
type Call struct {
	ID   string
	Name string
	// Arguments is an object; a JSON string stands for its text, so that
	// arguments can be scripted that are no JSON.
	Arguments json.RawMessage
}

// Wire is an answer as a provider sent it: a body, or all bytes of a stream.
type Wire struct {
	Format provider.Format
	// Status is the HTTP status; from 400 on Body is an error. 0 means 200.
	Status int
	Body   []byte
}

// Player is a model that gives answers which are written down, one a request
// and in their order, whatever it is asked. It reaches no network. It may be
// used by several goroutines.
type Player struct {
	name string
	info kernel.ModelInfo
	subs map[string]*Player

	mu      sync.Mutex
	answers []Answer
	next    int
	then    kernel.Model
}

// Script returns the player of a script. The name stands in its errors, and in
// traces as the name of the model.
func Script(name string, answers ...Answer) *Player {
	return &Player{
		name: name, answers: answers,
		info: kernel.ModelInfo{Provider: scripted, Name: name, Format: provider.OpenAIChat, NativeTools: true},
	}
}

// ExhaustedError says that a player was asked for more answers than it has.
type ExhaustedError struct {
	Script  string
	Answers int
}

func (e *ExhaustedError) Error() string {
	if e.Answers == 1 {
		return fmt.Sprintf("script %s is exhausted: it had 1 answer", e.Script)
	}
	return fmt.Sprintf("script %s is exhausted: it had %d answers", e.Script, e.Answers)
}

// Hint says what can be done about it.
func (e *ExhaustedError) Hint() string {
	return "the run asks the model more often than the script foresees"
}

// Then hands over to another model once all answers were given, and returns the
// player. From then on Info describes the other model, which the conversation
// is made for; it must be called before the run.
func (p *Player) Then(m kernel.Model) *Player {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.then = m
	return p
}

// Sub is the player of the sub-run that a call of the recorded run opened, by
// the callId of that call; nil when there is none. Only traces have them.
func (p *Player) Sub(callID string) *Player { return p.subs[callID] }

// Answers is how many answers there are, and how many of them were given.
func (p *Player) Answers() (all, given int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.answers), p.next
}

// Info implements [kernel.Model].
func (p *Player) Info() kernel.ModelInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.then != nil {
		return p.then.Info()
	}
	return p.info
}

// Complete implements [kernel.Model]. A Reply of the script takes no time and
// has no cost: nothing was asked of anybody.
func (p *Player) Complete(ctx context.Context, req provider.Request, live func(provider.Delta)) (kernel.Reply, error) {
	if err := ctx.Err(); err != nil {
		return kernel.Reply{}, err
	}
	a, then, err := p.take()
	if err != nil {
		return kernel.Reply{}, err
	}
	if then != nil {
		req.Model = then.Info().Name
		return then.Complete(ctx, req, live)
	}
	answer, err := a.play(nameMap(req.Tools), live)
	var cut *CutError
	if errors.As(err, &cut) {
		cut.Provider = "script " + p.name
	}
	return kernel.Reply{Answer: answer, Attempts: 1}, err
}

// take gives the next answer, or who answers instead.
func (p *Player) take() (a Answer, then kernel.Model, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == len(p.answers) {
		if p.then != nil {
			return a, p.then, nil
		}
		return a, nil, &ExhaustedError{p.name, len(p.answers)}
	}
	a = p.answers[p.next]
	p.next++
	return a, nil, nil
}

// play makes the answer, by the same parsers that read a provider's.
func (a Answer) play(names *provider.NameMap, live func(provider.Delta)) (parsers.Answer, error) {
	if a.Parsed != nil {
		show(*a.Parsed, live)
		return *a.Parsed, a.Err
	}
	if a.Err != nil {
		return parsers.Answer{}, a.Err
	}
	w := a.Wire
	if w == nil {
		body, err := a.body()
		if err != nil {
			return parsers.Answer{}, err
		}
		w, names = &Wire{Format: provider.OpenAIChat, Body: body}, nil
	}
	answer, err := w.play(names, live)
	if err == nil && answer.Cut {
		err = &CutError{}
	}
	return answer, err
}

func (w *Wire) play(names *provider.NameMap, live func(provider.Delta)) (parsers.Answer, error) {
	opts := provider.ParseOptions{Status: w.Status, Names: names}
	if live == nil || w.Status >= 400 {
		return provider.Parse(w.Format, w.Body, opts)
	}
	shown := false
	opts.OnDelta = func(d provider.Delta) {
		shown = true
		live(d)
	}
	s := provider.NewStream(w.Format, opts)
	const piece = 512 // bytes at once, as a network may give them
	for rest := w.Body; len(rest) > 0; {
		n := min(piece, len(rest))
		_ = s.Write(rest[:n]) // Close returns the same error
		rest = rest[n:]
	}
	answer, err := s.Close()
	if !shown {
		show(answer, live)
	}
	return answer, err
}

// show gives an answer that came at once to whoever watches, in pieces.
func show(a parsers.Answer, live func(provider.Delta)) {
	if live == nil {
		return
	}
	for _, part := range a.Parts {
		switch part.Kind {
		case parsers.PartText:
			each(part.Text, func(s string) { live(provider.Delta{Kind: provider.DeltaText, Text: s}) })
		case parsers.PartThinking:
			each(part.Text, func(s string) { live(provider.Delta{Kind: provider.DeltaThinking, Text: s}) })
		case parsers.PartCall:
			c := a.Calls[part.Call]
			live(provider.Delta{Kind: provider.DeltaCall, Call: part.Call, ID: c.ID, Name: c.Name})
			live(provider.Delta{Kind: provider.DeltaArguments, Call: part.Call, Text: string(c.Arguments)})
		}
	}
}

// each cuts a text between characters into pieces as long as a few words.
func each(text string, f func(string)) {
	const piece = 24
	for len(text) > piece {
		n := piece
		for n > piece-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		f(text[:n])
		text = text[n:]
	}
	if text != "" {
		f(text)
	}
}

// The body of OpenAI Chat that stands for a plain answer.
type (
	chatBody struct {
		Choices []chatChoice `json:"choices"`
		Usage   *chatUsage   `json:"usage,omitempty"`
	}
	chatChoice struct {
		Message chatMessage `json:"message"`
		Finish  string      `json:"finish_reason"`
	}
	chatMessage struct {
		Reasoning string     `json:"reasoning,omitempty"`
		Content   string     `json:"content"`
		Refusal   string     `json:"refusal,omitempty"`
		Calls     []chatCall `json:"tool_calls,omitempty"`
	}
	chatCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	chatUsage struct {
		Input   *int64      `json:"prompt_tokens,omitempty"`
		Output  *int64      `json:"completion_tokens,omitempty"`
		Total   *int64      `json:"total_tokens,omitempty"`
		Prompt  chatDetails `json:"prompt_tokens_details"`
		Written chatDetails `json:"completion_tokens_details"`
	}
	chatDetails struct {
		Reasoning  *int64 `json:"reasoning_tokens,omitempty"`
		CacheRead  *int64 `json:"cached_tokens,omitempty"`
		CacheWrite *int64 `json:"cache_write_tokens,omitempty"`
	}
)

// body writes a plain answer as a body of OpenAI Chat, so that what it says is
// read like anything that a provider sends.
func (a Answer) body() ([]byte, error) {
	c := chatChoice{Finish: a.Finish, Message: chatMessage{Reasoning: a.Thinking, Content: a.Text, Refusal: a.Refusal}}
	if c.Finish == "" {
		c.Finish = "stop"
		if len(a.Calls) > 0 {
			c.Finish = "tool_calls"
		}
	}
	for _, call := range a.Calls {
		f := chatFunction{Name: call.Name, Arguments: string(call.Arguments)}
		var text string
		if json.Unmarshal(call.Arguments, &text) == nil {
			f.Arguments = text
		}
		c.Message.Calls = append(c.Message.Calls, chatCall{call.ID, "function", f})
	}
	b := chatBody{Choices: []chatChoice{c}}
	if u := a.Usage; u.Input != nil || u.Output != nil {
		b.Usage = &chatUsage{
			Input: u.Input, Output: u.Output, Total: u.Total,
			Prompt:  chatDetails{CacheRead: u.CacheRead, CacheWrite: u.CacheWrite},
			Written: chatDetails{Reasoning: u.Reasoning},
		}
	}
	return json.Marshal(b)
}
