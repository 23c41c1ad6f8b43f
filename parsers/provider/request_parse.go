package provider

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// ParseRequest reads a request body of any format but Bedrock's InvokeModel:
// model, system prompt, messages in their order, tools. What it does not know
// is kept as [BlockOther] or left out, but never put in another place. The
// model and whether it streams are in the URL for Gemini and Bedrock.
func ParseRequest(format Format, body []byte) (Request, error) {
	if at, err := validate(body); err != nil {
		return Request{}, &SyntaxError{Format: format, Offset: at, Err: err}
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return Request{}, ErrUnknown
	}
	r := Request{Model: str(root.Get("model")), Stream: root.Get("stream").Bool()}
	if t := root.Get("temperature"); t.Type == gjson.Number {
		r.Temperature = &t.Num
	}
	list := "messages"
	switch format {
	case OpenAIResponses:
		list = "input"
	case Gemini:
		list = "contents"
	}
	if !root.Get(list).Exists() {
		return Request{}, ErrUnknown
	}
	switch format {
	case OpenAIChat, MistralChat, CohereV2:
		parseChat(format, root, &r)
	case OpenAIResponses:
		parseResponses(root, &r)
	case AnthropicMessages:
		parseAnthropic(root, &r)
	case Gemini:
		parseGemini(root, &r)
	case OllamaNative:
		parseOllama(root, &r)
	case BedrockConverse:
		parseConverse(root, &r)
	default:
		return Request{}, ErrUnknown
	}
	r.System, r.system = strings.Join(r.system, "\n\n"), nil
	return r, nil
}

// addMessage appends a message; system messages before all others are the
// system prompt.
func (r *Request) addMessage(m Message) {
	if m.Role == RoleSystem && len(r.Messages) == 0 {
		if text, plain := joined(m); plain {
			r.addSystem(text)
			return
		}
	}
	r.Messages = append(r.Messages, m)
}

func (r *Request) addSystem(text string) {
	if text != "" {
		r.system = append(r.system, text)
	}
}

// addTool appends a tool; one without a name is a built-in and has its type.
func (r *Request) addTool(name, description, schema, kind gjson.Result) {
	t := Tool{Name: str(name), Description: str(description)}
	if schema.Exists() {
		t.Schema = json.RawMessage(schema.Raw)
	}
	if t.Name == "" {
		t.Name = str(kind)
	}
	if t.Name != "" {
		r.Tools = append(r.Tools, t)
	}
}

func firstOf(v gjson.Result, paths ...string) gjson.Result {
	for _, path := range paths {
		if r := v.Get(path); r.Exists() {
			return r
		}
	}
	return gjson.Result{}
}

// contentText is the text of a content that is a string or a list of blocks.
func contentText(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var b strings.Builder
	each(content, func(c gjson.Result) bool {
		if c.Type == gjson.String {
			b.WriteString(c.Str)
		} else {
			b.WriteString(str(c.Get("text")))
		}
		return true
	})
	return b.String()
}

// contentBlocks reads such a content as blocks.
func contentBlocks(content gjson.Result) (blocks []Block) {
	if content.Type == gjson.String {
		if content.Str != "" {
			blocks = append(blocks, Block{Kind: BlockText, Text: content.Str})
		}
		return blocks
	}
	each(content, func(c gjson.Result) bool {
		switch kind := str(c.Get("type")); kind {
		case "text", "input_text", "output_text":
			blocks = append(blocks, Block{Kind: BlockText, Text: str(c.Get("text"))})
		case "thinking": // Mistral, Cohere
			text := str(c.Get("thinking"))
			if text == "" {
				text = contentText(c.Get("thinking"))
			}
			blocks = append(blocks, Block{Kind: BlockThinking, Text: text, Format: "parsed"})
		default:
			blocks = append(blocks, Block{Kind: BlockOther, Type: kind, Raw: json.RawMessage(c.Raw)})
		}
		return true
	})
	return blocks
}

// parseConverse reads requests of Bedrock Converse.
func parseConverse(root gjson.Result, r *Request) {
	each(root.Get("system"), func(s gjson.Result) bool {
		r.addSystem(str(s.Get("text")))
		return true
	})
	each(root.Get("messages"), func(m gjson.Result) bool {
		msg := Message{Role: Role(str(m.Get("role"))), Format: BedrockConverse}
		each(m.Get("content"), func(c gjson.Result) bool {
			b := Block{Kind: BlockOther, Type: firstKey(c), Raw: json.RawMessage(c.Raw)}
			switch {
			case c.Get("text").Exists():
				b = Block{Kind: BlockText, Text: str(c.Get("text"))}
			case c.Get("toolUse").Exists():
				t := c.Get("toolUse")
				b = Block{
					Kind: BlockCall, ID: str(t.Get("toolUseId")), Name: str(t.Get("name")),
					Arguments: json.RawMessage(argsOf(t.Get("input"))),
				}
			case c.Get("toolResult").Exists():
				t := c.Get("toolResult")
				b = Block{Kind: BlockResult, ID: str(t.Get("toolUseId")), Failed: str(t.Get("status")) == "error"}
				b.Text = contentText(t.Get("content"))
				if v := t.Get("content.0.json"); b.Text == "" && v.Exists() {
					b.Text = v.Raw
				}
			case c.Get("reasoningContent.reasoningText").Exists():
				t := c.Get("reasoningContent.reasoningText")
				b = Block{Kind: BlockThinking, Text: str(t.Get("text")), Format: "parsed"}
				if s := str(t.Get("signature")); s != "" {
					b.Signed = quote(s)
				}
			}
			msg.Blocks = append(msg.Blocks, b)
			return true
		})
		r.addTurn(msg)
		return true
	})
	each(root.Get("toolConfig.tools"), func(t gjson.Result) bool {
		s := firstOf(t, "toolSpec", "systemTool")
		r.addTool(s.Get("name"), s.Get("description"), s.Get("inputSchema.json"), gjson.Result{})
		return true
	})
	r.MaxTokens = int(root.Get("inferenceConfig.maxTokens").Int())
	if t := root.Get("inferenceConfig.temperature"); t.Type == gjson.Number {
		r.Temperature = &t.Num
	}
}

// addTurn appends the user's turn of a format that has no role for tools: its
// results become a message of RoleTool, in the order in which they stand.
func (r *Request) addTurn(m Message) {
	if m.Role != RoleUser {
		r.Messages = append(r.Messages, m)
		return
	}
	for i, b := range m.Blocks {
		role := RoleUser
		if b.Kind == BlockResult {
			role = RoleTool
		}
		if n := len(r.Messages) - 1; i == 0 || r.Messages[n].Role != role {
			r.Messages = append(r.Messages, Message{Role: role, Format: m.Format})
		}
		n := len(r.Messages) - 1
		r.Messages[n].Blocks = append(r.Messages[n].Blocks, b)
	}
}
