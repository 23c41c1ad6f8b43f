package kernel

import (
	"strings"

	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/rationale"
)

// specs are the tools that the model can call.
func (r *run) specs() []ToolSpec {
	if r.cfg.Tools == nil {
		return nil
	}
	return r.cfg.Tools.Specs()
}

// native reports whether calls are made by the provider's own means.
func (r *run) native() bool {
	switch r.cfg.ToolMode {
	case ToolsNative:
		return true
	case ToolsText:
		return false
	default:
		return r.cfg.Model.Info().NativeTools
	}
}

// offer is what the model is given to call, and how it is asked for reasons.
type offer struct {
	tools []provider.Tool
	// system is what the system prompt ends with. It is constant for the tools
	// and the channel, so that a provider's prompt cache holds.
	system string
	// known are the names of all tools that can be called.
	known []string
	// injected are the tools that carry the rationale argument.
	injected []string
	asked    bool
}

// offers makes the offer of the next request. The mandate goes last into the
// system prompt, and only when there is anything to call.
func (r *run) offers() (offer, error) {
	specs := r.specs()
	var o offer
	if len(specs) == 0 {
		return o, nil
	}
	o.asked = r.cfg.Rationale != RationaleOff
	for _, s := range specs {
		o.known = append(o.known, s.Name)
	}
	if !r.native() {
		tools := make([]text.Tool, len(specs))
		for i, s := range specs {
			tools[i] = text.Tool{Name: s.Name, Description: s.Description, Parameters: s.Schema}
		}
		o.system = text.Prompt(tools, o.asked)
		return o, nil
	}
	blocks := o.asked && !r.byArgument
	for _, s := range specs {
		tool := provider.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema}
		if o.asked && r.byArgument {
			schema, injected, err := rationale.InjectArgument(s.Schema, dialect(r.cfg.Model.Info().Format))
			if err != nil {
				return o, err
			}
			if injected {
				tool.Schema = schema
				o.injected = append(o.injected, s.Name)
			}
			// A tool with a rationale of its own can only be asked for by block.
			blocks = blocks || !injected
		}
		o.tools = append(o.tools, tool)
	}
	var prompts []string
	if len(o.injected) > 0 {
		prompts = append(prompts, rationale.ArgumentPrompt)
	}
	if blocks {
		prompts = append(prompts, rationale.Prompt())
	}
	o.system = strings.Join(prompts, "\n")
	return o, nil
}

func dialect(f provider.Format) rationale.Dialect {
	if f == provider.Gemini {
		return rationale.DialectGemini
	}
	return rationale.DialectDefault
}

// joinSystem puts the parts of a system prompt one after the other.
func joinSystem(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}
