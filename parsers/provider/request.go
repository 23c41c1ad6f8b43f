package provider

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/thinking"
	"github.com/rax-project/rax/rationale"
)

// Request is a request to a model, whatever wire format it is sent in.
type Request struct {
	Model string
	// System is the system prompt; of several system texts at the beginning,
	// joined by an empty line.
	System   string
	Messages []Message
	Tools    []Tool
	Choice   ToolChoice
	Thinking Thinking
	// MaxTokens bounds the answer; 0 leaves it to the provider, but Anthropic
	// demands a number and gets 4096.
	MaxTokens   int
	Temperature *float64
	Stream      bool
	// Schema asks for an answer in JSON of this shape; nil asks for none.
	Schema *Schema
	// Compatible marks a server that speaks OpenAI Chat and is not OpenAI's: it
	// knows max_tokens, where OpenAI wants max_completion_tokens.
	Compatible bool

	system []string // System while a request is parsed
}

// Role says who a message is from.
type Role string

// The roles. Tool results are messages of RoleTool in every format.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleSystem    Role = "system" // in the middle of a conversation
)

// Message is a turn of the conversation.
type Message struct {
	Role Role
	// Format is the wire format that an assistant's message came in. Only there
	// does its signed thinking go back.
	Format Format
	Blocks []Block
}

// BlockKind tells the pieces of a message apart.
type BlockKind string

// The kinds of blocks.
const (
	BlockText     BlockKind = "text"
	BlockThinking BlockKind = "thinking"
	BlockCall     BlockKind = "call"
	BlockResult   BlockKind = "result"
	BlockOther    BlockKind = "other" // images, files, ...: Raw goes back into the format it came from
)

// Block is a piece of a message.
type Block struct {
	Kind BlockKind
	// Text of a text or thinking, or the content of a result.
	Text string
	// Format and Signed of thinking, as in [parsers.Part]; Gemini also signs
	// texts and calls.
	Format string
	Signed json.RawMessage
	// ID and Name of a call, and of the call that a result answers. Where a
	// format demands what is missing here, [Encode] finds it by the order.
	ID   string
	Name string
	// Arguments of a call.
	Arguments json.RawMessage
	// Failed marks the result of a call that failed.
	Failed bool
	// Type and Raw of other content.
	Type string
	Raw  json.RawMessage
}

// Tool is a tool that is offered to the model.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments; empty for none.
	Schema json.RawMessage
}

// ToolChoice says whether the model is to call a tool. The zero value leaves
// it to the provider.
type ToolChoice struct {
	// Mode is "auto", "none" or "required"; empty with a Name.
	Mode string
	// Name forces one tool.
	Name string
}

// Thinking asks for private reasoning. The zero value leaves it to the
// provider.
type Thinking struct {
	// Effort is "low", "medium", "high" or what else the provider knows;
	// "none" switches thinking off.
	Effort string
	// Budget bounds thinking in tokens, where the provider can (Anthropic,
	// Gemini).
	Budget int
	// Show asks for the thinking or a summary of it to be disclosed, where it
	// is not by default (OpenAI Responses, Gemini).
	Show bool
}

// Schema is a named JSON Schema.
type Schema struct {
	Name   string
	Schema json.RawMessage
}

// AssistantMessage is an answer as it goes back into the conversation: in
// order, with its signed thinking. Thinking in tags stays out, as all unsigned
// thinking does where the provider does not ask for it (specification 002).
func AssistantMessage(a parsers.Answer) Message {
	m := Message{Role: RoleAssistant, Format: Format(a.Format)}
	for _, p := range a.Parts {
		switch p.Kind {
		case parsers.PartText:
			m.Blocks = append(m.Blocks, Block{Kind: BlockText, Text: p.Text, Signed: p.Signed})
		case parsers.PartThinking:
			if p.Signed != nil || p.Format != string(thinking.ThinkTags) && p.Text != "" {
				m.Blocks = append(m.Blocks, Block{Kind: BlockThinking, Text: p.Text, Format: p.Format, Signed: p.Signed})
			}
		case parsers.PartCall:
			c := a.Calls[p.Call]
			args := c.Arguments
			if c.Taken != nil { // the model sees its call as it wrote it
				if whole, err := rationale.AddArgument(args, c.Taken); err == nil {
					args = whole
				}
			}
			m.Blocks = append(m.Blocks, Block{Kind: BlockCall, ID: c.ID, Name: c.Name, Arguments: args, Signed: p.Signed})
		}
	}
	return m
}

// ErrUnsupported says that a request holds what the format cannot carry.
var ErrUnsupported = errors.New("not supported by the wire format")

// Encode writes a request. path is what follows the provider's base URL, which
// ends as the provider's own clients have it: with the version for OpenAI
// formats (https://api.openai.com/v1), without one for the others. Tool names
// are mapped by [NewNameMap] of the request's tools; give the same map to
// [ParseOptions]. Raw values of the request go out byte for byte.
func Encode(format Format, r Request) (path string, body []byte, err error) {
	for _, t := range r.Tools {
		if len(t.Schema) > 0 {
			if _, err := validate(t.Schema); err != nil {
				return "", nil, fmt.Errorf("schema of tool %s: %w", safeWord(t.Name), err)
			}
		}
	}
	names := make([]string, len(r.Tools))
	for i, t := range r.Tools {
		names[i] = t.Name
	}
	e := &encoder{format: format, names: NewNameMap(names), r: r}
	e.r.Messages = linked(r.Messages, format)
	switch format {
	case OpenAIChat:
		path = e.chat()
	case OpenAIResponses:
		path = e.responses()
	case AnthropicMessages:
		path = e.anthropic()
	case Gemini:
		path = e.gemini()
	case OllamaNative:
		path = e.ollama()
	default:
		return "", nil, fmt.Errorf("requests of %s: %w", format, ErrUnsupported)
	}
	if e.err != nil {
		return "", nil, e.err
	}
	return path, e.buf, nil
}

// encoder writes one request.
type encoder struct {
	jsonWriter
	format Format
	names  *NameMap
	r      Request
	err    error
}

// own reports whether a message came in the format that is written.
func (e *encoder) own(m Message) bool { return m.Format == "" || m.Format == e.format }

// other writes content that is passed on as it is.
func (e *encoder) other(m Message, b Block) {
	if b.Raw == nil || !e.own(m) {
		if e.err == nil {
			e.err = fmt.Errorf("%s content: %w", safeWord(b.Type), ErrUnsupported)
		}
		return
	}
	e.raw(b.Raw)
}

// object writes arguments as a JSON object, whatever they are: a format that
// demands one would refuse the whole conversation for one broken call.
func (e *encoder) object(args json.RawMessage) {
	if len(args) == 0 {
		e.raw([]byte("{}"))
		return
	}
	if _, err := validate(args); err == nil && gjson.ParseBytes(args).IsObject() {
		e.raw(args)
		return
	}
	e.obj(func() { e.key("invalid_arguments").str(string(args)) })
}

// schema writes a tool's schema.
func (e *encoder) schema(s json.RawMessage) {
	if len(s) == 0 {
		s = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	e.raw(s)
}

// linked gives calls and results the ids and names that they lack: a result
// without an id answers the first open call of its name, or the first open
// call. Made ids depend on the place only, so that a prompt stays the same.
func linked(messages []Message, format Format) []Message {
	type open struct {
		id, name string
		done     bool
	}
	needID := format == OpenAIChat || format == OpenAIResponses || format == AnthropicMessages
	out := make([]Message, len(messages))
	var calls []open // of the last assistant's message
	names := map[string]string{}
	for i, m := range messages {
		out[i] = m
		out[i].Blocks = append([]Block(nil), m.Blocks...)
		if m.Role == RoleAssistant {
			calls = nil
		}
		for j := range out[i].Blocks {
			b := &out[i].Blocks[j]
			switch b.Kind {
			case BlockCall:
				if b.ID == "" && needID {
					b.ID = fmt.Sprintf("call_%d_%d", i, j)
				}
				calls = append(calls, open{id: b.ID, name: b.Name})
				if b.ID != "" {
					names[b.ID] = b.Name
				}
			case BlockResult:
				if b.Name == "" {
					b.Name = names[b.ID]
				}
				pick := -1
				for k, c := range calls {
					if c.done || (b.ID != "" && c.id != b.ID) || (b.Name != "" && c.name != b.Name) {
						continue
					}
					pick = k
					break
				}
				if pick >= 0 {
					calls[pick].done = true
					b.ID, b.Name = calls[pick].id, calls[pick].name
				}
			}
		}
	}
	return out
}
