package transcript

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/rationale"
	"github.com/rax-project/rax/trace"
)

// claudeSurvey is what the first pass finds out about a session file.
type claudeSurvey struct {
	router   claudeRouter
	session  string
	version  string
	start    int64 // the time of the first line that has one
	sessions map[string]bool
	models   map[string]bool
	threads  map[string]*claudeThreadFacts
	messages map[claudeMessageKey]*claudeMessageFacts
}

// claudeThreadFacts is about the main thread, whose name is empty, or a
// sub-agent.
type claudeThreadFacts struct {
	// lines is the number of its lines of the types user and assistant.
	lines int
	model string
	asked bool
	// request is the first thing that the user asked for, command the first
	// slash command.
	request, command string
}

type claudeMessageKey struct{ thread, id string }

// claudeMessageFacts is about one message of the model.
type claudeMessageFacts struct {
	lines  int
	calls  int
	blocks bool
	tokens *trace.Tokens
	// The second pass notes the iteration, and the parallel group once it has
	// one.
	iter  int
	group *int
	seen  int
}

// claudeRouter tells which thread a line belongs to. Both passes use one, and it
// gives both the same answers.
type claudeRouter struct {
	// alone says that the file is a sub-agent's own: all its lines are
	// sidechain, and the sub-agent is the main thread.
	alone bool
	// root names the sidechain thread of each of its lines, by uuid.
	root map[string]string
	side int
}

// thread gives the name of a line's thread; empty is the main one.
func (r *claudeRouter) thread(l *claudeLine) string {
	switch {
	case l.inner, l.sidechain && !r.alone && l.agent != "":
		return "agent:" + l.agent
	case !l.sidechain || r.alone:
		return ""
	}
	name, known := r.root[l.parent]
	if !known {
		r.side++
		name = "side:" + strconv.Itoa(r.side)
	}
	if r.root == nil {
		r.root = make(map[string]string)
	}
	if l.uuid != "" {
		r.root[l.uuid] = name
	}
	return name
}

// claudeLines calls each for every object of a session file and, where t is
// given, counts its lines.
func claudeLines(ctx context.Context, in *input, t *tally, each func(*claudeLine) error) error {
	for line, err := range in.lines() {
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
		var bad *trace.SyntaxError
		switch {
		case errors.As(err, &bad):
			if t != nil {
				t.damage(bad)
			}
			continue
		case err != nil:
			return err
		case t != nil:
			t.object(line.Place.Line)
		}
		if err := each(readClaudeLine(line)); err != nil {
			return err
		}
	}
	return nil
}

// surveyClaude is the first pass.
func surveyClaude(ctx context.Context, in *input) (*claudeSurvey, error) {
	s, err := surveyOnce(ctx, in, claudeRouter{})
	if err == nil && s.threads[""] == nil && len(s.threads) > 0 {
		// Nothing but a sidechain: the file of a sub-agent, whose run it is.
		s, err = surveyOnce(ctx, in, claudeRouter{alone: true})
	}
	return s, err
}

func surveyOnce(ctx context.Context, in *input, router claudeRouter) (*claudeSurvey, error) {
	s := &claudeSurvey{
		router: router, sessions: make(map[string]bool), models: make(map[string]bool),
		threads: make(map[string]*claudeThreadFacts), messages: make(map[claudeMessageKey]*claudeMessageFacts),
	}
	err := claudeLines(ctx, in, nil, func(l *claudeLine) error {
		s.line(l)
		return nil
	})
	for key, m := range s.messages {
		if m.blocks && m.calls > 0 {
			s.threads[key.thread].asked = true
		}
	}
	s.router = router
	return s, err
}

func (s *claudeSurvey) line(l *claudeLine) {
	if s.start == 0 {
		s.start = l.at
	}
	if l.session != "" {
		s.sessions[l.session] = true
	}
	if l.kind != "user" && l.kind != "assistant" {
		return
	}
	name := s.router.thread(l)
	thread := s.threads[name]
	if thread == nil {
		thread = &claudeThreadFacts{}
		s.threads[name] = thread
	}
	thread.lines++
	if name == "" {
		s.session, s.version = keep(l.session, s.session), keep(l.version, s.version)
	}
	if l.kind == "assistant" {
		s.message(l, name, thread)
		return
	}
	switch said, text, _ := l.said(); {
	case said == saidRequest && thread.request == "":
		thread.request = strings.Clone(text)
	case said == saidCommand && thread.command == "":
		thread.command = strings.Clone(text)
	}
}

// keep gives the newer of two values, if there is one.
func keep(newer, older string) string {
	if newer != "" {
		return newer
	}
	return older
}

func (s *claudeSurvey) message(l *claudeLine, name string, thread *claudeThreadFacts) {
	model := str(l.message.Get("model"))
	if name == "" && model != "" {
		s.models[model] = true
	}
	if thread.model == "" && model != claudeSynthetic {
		thread.model = model
	}
	key := claudeMessageKey{name, l.messageID()}
	m := s.messages[key]
	if m == nil {
		m = &claudeMessageFacts{}
		s.messages[key] = m
	}
	m.lines++
	if model == claudeSynthetic || l.apiError {
		return
	}
	m.usage(l.message.Get("usage"))
	for b := range l.blocks() {
		if b.kind == "tool_use" {
			m.calls++
		} else if text, _ := b.text(); !m.blocks {
			m.blocks = states(text)
		}
	}
}

// states reports whether a text holds a rationale block, or what tries to be
// one: something asked for it then.
func states(text string) bool {
	if !strings.ContainsAny(text, "<&") {
		return false
	}
	return slices.ContainsFunc(rationale.ParseBlocks(text), func(b rationale.Block) bool {
		return b.Rationale != nil || b.Stated > 0
	})
}

// usage takes the greatest of what the lines of a message say that it cost: each
// repeats what was known when it was written. What they say of the output is a
// lower bound, and what they say of the input leaves out the cache.
func (m *claudeMessageFacts) usage(u gjson.Result) {
	if !u.IsObject() {
		return
	}
	if m.tokens == nil {
		m.tokens = &trace.Tokens{LowerBound: true}
	}
	for name, sum := range map[string]**int64{
		"input_tokens": &m.tokens.Input, "output_tokens": &m.tokens.Output,
		"cache_read_input_tokens": &m.tokens.CacheRead, "cache_creation_input_tokens": &m.tokens.CacheWrite,
		"output_tokens_details.thinking_tokens": &m.tokens.Reasoning,
	} {
		v := u.Get(name)
		if v.Type != gjson.Number || v.Num < 0 || v.Num > 1<<53 {
			continue
		}
		if n := v.Int(); *sum == nil || n > **sum {
			*sum = &n
		}
	}
}

// messageID identifies the message of a line; a line without an id is a message
// of its own.
func (l *claudeLine) messageID() string {
	if id := str(l.message.Get("id")); id != "" {
		return id
	}
	return "line " + strconv.FormatInt(l.place.Offset, 10)
}

// claudeBlock is a piece of a message.
type claudeBlock struct {
	kind  string
	value gjson.Result
	// pointer is the JSON Pointer of value.
	pointer string
}

// blocks goes over the content of a message. Content that is a string is one
// block of text.
func (l *claudeLine) blocks() iter.Seq[claudeBlock] {
	return func(yield func(claudeBlock) bool) {
		content := l.message.Get("content")
		at := l.pointer + "/content"
		if content.Type == gjson.String {
			yield(claudeBlock{"text", content, at})
		}
		if !content.IsArray() {
			return
		}
		i := 0
		content.ForEach(func(_, block gjson.Result) bool {
			b := claudeBlock{str(block.Get("type")), block, at + "/" + strconv.Itoa(i)}
			i++
			return yield(b)
		})
	}
}

// text gives the text of a block of text or thinking, and its JSON Pointer. The
// text shares the memory of the line.
func (b claudeBlock) text() (text, pointer string) {
	if b.value.Type == gjson.String {
		return b.value.Str, b.pointer
	}
	if b.kind != "text" && b.kind != "thinking" {
		return "", ""
	}
	v := b.value.Get(b.kind)
	if v.Type != gjson.String {
		return "", ""
	}
	return v.Str, b.pointer + "/" + b.kind
}

// modelNames are the names of the models of the main thread, sorted.
func (s *claudeSurvey) modelNames() []string {
	names := make([]string, 0, len(s.models))
	for name := range s.models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
