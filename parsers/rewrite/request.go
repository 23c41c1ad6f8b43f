package rewrite

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
)

// Channel says where a request asks the model to state its reasons.
type Channel int

const (
	// Block asks for <rationale> blocks in the text.
	Block Channel = iota
	// Argument adds a rationale argument to every tool. Tools that cannot have
	// it are asked for by block.
	Argument
	// None asks for nothing.
	None
)

// Request is a request as it is to be sent.
type Request struct {
	// Body is what to send: the client's body itself when nothing was added.
	Body []byte
	// Added says that Body asks for reasons and the client's did not.
	Added bool
	// Own says that the client's body asks for them itself. Its answers are to
	// be left alone: the client reads the reasons.
	Own bool
	// Injected are the tools that were given the argument.
	Injected []string
	// Tools says that the model can call tools of the client.
	Tools bool
	// Model is what the body names; of Gemini only the path does.
	Model string
	// Note says why nothing was added to a request that has tools; empty when
	// there is nothing to say.
	Note string
	// Stream says that the body asks for a stream. Of Gemini only the path does.
	Stream bool
	// Previous and Conversation are the ids by which a Responses request goes on
	// with what the provider keeps.
	Previous, Conversation string
}

// Asked reports whether the request asks for reasons.
func (r Request) Asked() bool { return r.Added || r.Own }

// tool is a tool that the client runs.
type tool struct {
	name string
	// schema of its arguments; where there is none, holder is the object into
	// which a member named key would go.
	schema, holder gjson.Result
	key            string
	dialect        rationale.Dialect
	// free says that the tool takes no JSON arguments that could be extended.
	free bool
}

// request is a request under way.
type request struct {
	root  gjson.Result // the object that holds the conversation
	edits splice
	tools []tool
	// never says that no tool may be called.
	never bool
	// structured says that the text of the answer must be JSON, so that there is
	// no place for blocks.
	structured bool
	// noArgument says that arguments come in a form that is not taken apart.
	noArgument bool
	system     string // what the system prompt says
	// ask adds text to the system prompt; it reports why it cannot.
	ask func(text string) (problem string)
}

// NewRequest adds the mandate to a request whose model can call tools of the
// client: the prompt goes last into the system prompt, and the argument into
// the schemas. A body that is not understood, or cannot be extended without
// changing what stands there, is left as it is.
func NewRequest(format provider.Format, body []byte, channel Channel) Request {
	out := Request{Body: body}
	if !valid(body) {
		out.Note = "the request is no valid JSON"
		return out
	}
	root := gjson.ParseBytes(body)
	if inner := root.Get("request"); format == provider.Gemini && inner.IsObject() && !root.Get("contents").Exists() {
		root = inner // Code Assist wraps it
	}
	out.Model = str(root.Get("model"))
	r := &request{root: root}
	var err error
	switch format {
	case provider.OpenAIChat, provider.MistralChat:
		out.Stream, err = root.Get("stream").Bool(), r.chat()
	case provider.OpenAIResponses:
		out.Stream = root.Get("stream").Bool()
		out.Previous = str(root.Get("previous_response_id"))
		if out.Conversation = str(root.Get("conversation")); out.Conversation == "" {
			out.Conversation = str(root.Get("conversation.id"))
		}
		err = r.responses()
	case provider.AnthropicMessages:
		out.Stream, err = root.Get("stream").Bool(), r.anthropic()
	case provider.Gemini:
		err = r.gemini()
	case provider.OllamaNative:
		out.Stream, err = !root.Get("stream").Exists() || root.Get("stream").Bool(), r.ollama()
	default:
		return out
	}
	switch {
	case err != nil:
		out.Note = "the request is left as it is: " + err.Error()
	case len(r.tools) == 0 || r.never:
	default:
		out.Tools = true
		r.mandate(&out, channel)
	}
	return out
}

// Conversation is the part of a request body that holds the conversation: the
// body itself, but for Gemini's Code Assist, which wraps it.
func Conversation(format provider.Format, body []byte) []byte {
	if format == provider.Gemini && valid(body) && !gjson.GetBytes(body, "contents").Exists() {
		if inner := gjson.GetBytes(body, "request"); inner.IsObject() {
			return []byte(inner.Raw)
		}
	}
	return body
}

// Model is the model that a request body names, empty when it names none.
func Model(body []byte) string { return str(gjson.GetBytes(body, "model")) }

// mandate adds the prompt, and the argument where it is asked for.
func (r *request) mandate(out *Request, channel Channel) {
	if strings.Contains(r.system, heading(rationale.Prompt())) {
		out.Own = true // the two prompts have one heading
		return
	}
	blocks := true
	if channel == None {
		_, out.Own, _ = r.inject()
		return
	}
	if (channel == Argument || r.structured) && !r.noArgument {
		injected, own, all := r.inject()
		if own {
			out.Own = true
			return
		}
		out.Injected, blocks = injected, !all
	}
	if r.structured && len(out.Injected) == 0 {
		out.Note = "no place for reasons: the text must be JSON and no tool can take the argument"
		return
	}
	var prompts []string
	if len(out.Injected) > 0 {
		prompts = append(prompts, rationale.ArgumentPrompt)
	}
	if blocks && !r.structured {
		prompts = append(prompts, rationale.Prompt())
	}
	if problem := r.ask(strings.Join(prompts, "\n")); problem != "" {
		out.Note, out.Injected = problem, nil
		return
	}
	out.Added = true
	out.Body = r.edits.apply(make([]byte, 0, len(out.Body)+8<<10), out.Body)
}

func heading(prompt string) string {
	line, _, _ := strings.Cut(prompt, "\n")
	return line
}

// inject adds the argument to the schemas. own says that the client did so
// itself; all that every tool has it.
func (r *request) inject() (injected []string, own, all bool) {
	all = true
	for _, t := range r.tools {
		if t.free || t.name == "" || slices.Contains(injected, t.name) {
			all = false
			continue
		}
		schema := []byte(t.schema.Raw)
		with, ok, err := rationale.InjectArgument(schema, t.dialect)
		switch {
		case err != nil || !ok:
			all = false
			continue
		case t.schema.Exists() && bytes.Equal(with, schema):
			return nil, true, false
		case t.schema.Exists():
			r.edits.replace(t.schema, string(with))
		default:
			r.edits.member(t.holder, quote(t.key)+":"+string(with))
		}
		injected = append(injected, t.name)
	}
	return injected, false, all
}

// append adds text to the end of a JSON string, one empty line apart.
func (s *splice) append(v gjson.Result, text string) {
	if str(v) != "" {
		text = "\n\n" + text
	}
	quoted := quote(text)
	s.insert(v.Index+len(v.Raw)-1, quoted[1:len(quoted)-1])
}
