package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rax-project/rax/parsers/provider"
)

// The headers and path prefixes that are rax's own. None of them reaches an
// upstream.
const (
	// HeaderRun names the run that a request belongs to.
	HeaderRun = "X-Rax-Run"
	// HeaderToken carries the token of Config.Token.
	HeaderToken = "X-Rax-Token"
	// PrefixRun names the run in the path: /run/NAME/v1/messages.
	PrefixRun = "/run/"
	// PrefixTo names the upstream in the path: /to/NAME/v1/chat/completions.
	PrefixTo = "/to/"
)

// The names of the upstreams that serve paths by themselves.
const (
	openAI    = "openai"
	anthropic = "anthropic"
	gemini    = "gemini"
	ollama    = "ollama"
)

// target says where a request goes and what it is.
type target struct {
	upstream Upstream
	path     string // escaped, without rax's prefixes
	run      string // its name, if it has one
	// format is that of a request to a model, empty for all others.
	format provider.Format
	// model and stream are what the path says of them (Gemini).
	model  string
	stream bool
}

var errNoUpstream = errors.New("no upstream is configured for this path")

// checkUpstreams checks a configuration.
func checkUpstreams(ups []Upstream) error {
	if len(ups) == 0 {
		return errors.New("proxy: no upstreams")
	}
	seen := map[string]bool{}
	for _, u := range ups {
		switch {
		case !validName(u.Name):
			return fmt.Errorf("upstream %q: not a name of letters, digits, dots, dashes and underscores", u.Name)
		case seen[u.Name]:
			return fmt.Errorf("upstream %s: named twice", u.Name)
		case u.URL == nil || u.URL.Scheme != "http" && u.URL.Scheme != "https" || u.URL.Host == "":
			return fmt.Errorf("upstream %s: not an address of http or https", u.Name)
		case u.URL.User != nil || u.URL.RawQuery != "" || u.URL.Fragment != "":
			return fmt.Errorf("upstream %s: the address holds more than host and path", u.Name)
		}
		seen[u.Name] = true
	}
	return nil
}

// validName reports whether a name can be part of a path.
func validName(s string) bool {
	if s == "" || len(s) > 128 || s == "." || s == ".." {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// route finds out where a request goes.
func (p *Proxy) route(r *http.Request) (target, error) {
	t := target{path: r.URL.EscapedPath(), run: r.Header.Get(HeaderRun)}
	if name, rest, ok := prefixed(t.path, PrefixRun); ok {
		t.run, t.path = name, rest
	}
	if t.run != "" && !validName(t.run) {
		return t, errors.New("the name of the run is not one of letters, digits, dots, dashes and underscores")
	}
	to, rest, named := prefixed(t.path, PrefixTo)
	if named {
		t.path = rest
	}
	if r.Method == http.MethodPost {
		t.format = formatOf(t.path)
	}
	if t.format == provider.Gemini {
		t.model, t.stream = geminiPath(t.path)
	}
	if !named {
		to = p.owner(r, t)
	}
	i := slices.IndexFunc(p.cfg.Upstreams, func(u Upstream) bool { return u.Name == to })
	if i < 0 && !named && len(p.cfg.Upstreams) == 1 {
		i = 0
	}
	if i < 0 {
		return t, errNoUpstream
	}
	t.upstream = p.cfg.Upstreams[i]
	return t, nil
}

// prefixed takes a prefix and the name behind it off a path.
func prefixed(path, prefix string) (name, rest string, ok bool) {
	after, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return "", path, false
	}
	name, rest, _ = strings.Cut(after, "/")
	return name, "/" + rest, true
}

// formatOf tells what a path asks for.
func formatOf(path string) provider.Format {
	last := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return provider.OpenAIChat
	case last == "responses":
		return provider.OpenAIResponses
	case strings.HasSuffix(path, "/v1/messages"):
		return provider.AnthropicMessages
	case strings.HasSuffix(path, "/api/chat"):
		return provider.OllamaNative
	}
	switch _, method := geminiMethod(path); method {
	case "generateContent", "streamGenerateContent":
		return provider.Gemini
	}
	return ""
}

// geminiMethod cuts the end of a path into model and method.
func geminiMethod(path string) (model, method string) {
	last := path[strings.LastIndexByte(path, '/')+1:]
	if decoded, err := url.PathUnescape(last); err == nil {
		last = decoded
	}
	model, method, _ = strings.Cut(last, ":")
	return model, method
}

// geminiPath reads what only the path says.
func geminiPath(path string) (model string, stream bool) {
	model, method := geminiMethod(path)
	if strings.HasPrefix(model, "v1") { // Code Assist has no model there
		model = ""
	}
	return model, method == "streamGenerateContent"
}

// owner is the upstream that serves a path by itself.
func (p *Proxy) owner(r *http.Request, t target) string {
	switch t.format {
	case provider.OpenAIChat, provider.OpenAIResponses:
		return openAI
	case provider.AnthropicMessages:
		return anthropic
	case provider.Gemini:
		return gemini
	case provider.OllamaNative:
		return ollama
	}
	switch h := r.Header; {
	case h.Get("Anthropic-Version") != "", h.Get("X-Api-Key") != "":
		return anthropic
	case h.Get("X-Goog-Api-Key") != "", strings.HasPrefix(t.path, "/v1beta"), strings.HasPrefix(t.path, "/v1internal"):
		return gemini
	case strings.HasPrefix(t.path, "/api/"):
		return ollama
	}
	return openAI
}

// address is where a path is at an upstream. A version at the end of the base
// takes the place of the one at the beginning of the path.
func (u Upstream) address(path, query string) *url.URL {
	base := strings.TrimSuffix(u.URL.EscapedPath(), "/")
	segment, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if isVersion(base[strings.LastIndexByte(base, '/')+1:]) && isVersion(segment) {
		path = "/" + rest
	}
	out := *u.URL
	out.RawQuery = query
	out.RawPath = base + path
	decoded, err := url.PathUnescape(out.RawPath)
	if err != nil {
		decoded = out.RawPath
	}
	out.Path = decoded
	return &out
}

// isVersion reports whether a path segment names a version: v1, v1beta, v4.
func isVersion(s string) bool {
	return len(s) >= 2 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9'
}
