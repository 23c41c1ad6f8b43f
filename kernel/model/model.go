// Package model talks to language models: over HTTP to the providers, and
// offline to scripts and traces. What goes over the wire is written and read by
// parsers/provider; this package is the transport.
//
//	m, err := model.Open("anthropic:claude-sonnet-4-5", model.Options{Getenv: os.Getenv})
//	reply, err := m.Complete(ctx, request, nil)
//
// A key goes into a request header and nowhere else: not into an error, not
// into a URL, and not to the place that a redirect names.
package model

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers/provider"
)

// Options say how models are reached. Of the zero value no variable is set, so
// that only ollama and scripted models open.
type Options struct {
	// Getenv reads the environment, see [Open]; nil means that it is empty.
	Getenv func(name string) string
	// KeyFile is a file with the key, for when the environment has none: the key
	// alone, or lines NAME=key with the names of the environment. On Unix nobody
	// but its owner may have a right to it.
	KeyFile string
	// HTTP sends the requests; nil means a client of its own, which uses the
	// proxies that the environment of the process names. Redirects are never
	// followed.
	HTTP *http.Client
	// Prices and Windows (tokens of a prompt) are known by the whole
	// "provider:model". Nothing is built in: both change too often.
	Prices  map[string]Price
	Windows map[string]int64
	// Stream asks for streams even when nobody watches, so that a long answer
	// is bounded by Idle and not by Header.
	Stream bool
	// MaxRetries is how often a request is sent again; 0 means 4, less than 0
	// never.
	MaxRetries int
	// MaxElapsed is after how long no request is sent again; 0 means 2 minutes.
	MaxElapsed time.Duration
	Timeouts   Timeouts
	// MaxResponse bounds an answer, in bytes after decompression; 0 means 64 MiB.
	MaxResponse int64

	// Now and Sleep are the clock; nil means the real one. Sleep returns the
	// error of its context when that ends first.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Timeouts bound the waiting for a server. A zero field takes the default. How
// long an answer takes as a whole is for the context to bound.
type Timeouts struct {
	// Connect is for the connection and its TLS handshake, each; 10 s. It has
	// no effect on a client that was handed in.
	Connect time.Duration
	// Header is from the request to the first line of the response; 10 min,
	// since without a stream that is the whole time of thinking and writing.
	Header time.Duration
	// Idle is between two pieces of a response; 2 min.
	Idle time.Duration
}

// The defaults of Options.
const (
	DefaultMaxRetries  = 4
	DefaultMaxElapsed  = 2 * time.Minute
	DefaultConnect     = 10 * time.Second
	DefaultHeader      = 10 * time.Minute
	DefaultIdle        = 2 * time.Minute
	DefaultMaxResponse = 64 << 20
)

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.MaxElapsed, DefaultMaxElapsed)
	set(&o.Timeouts.Connect, DefaultConnect)
	set(&o.Timeouts.Header, DefaultHeader)
	set(&o.Timeouts.Idle, DefaultIdle)
	if o.MaxRetries == 0 {
		o.MaxRetries = DefaultMaxRetries
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return o
}

// Open returns the model that spec names:
//
//	openai:MODEL            OPENAI_API_KEY, OPENAI_BASE_URL (Chat Completions)
//	openai-responses:MODEL  the same (Responses)
//	anthropic:MODEL         ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
//	gemini:MODEL            GEMINI_API_KEY or GOOGLE_API_KEY, GOOGLE_GEMINI_BASE_URL
//	ollama:MODEL            OLLAMA_HOST (host, host:port or URL)
//	scripted:FILE           answers from a file, see [ReadScript]
//
// The variables mean what they mean to the providers' own clients. A missing
// key is a *[KeyError]; only another server than OpenAI's that speaks OpenAI's
// formats may have none.
func Open(spec string, opt Options) (kernel.Model, error) {
	name, model, _ := strings.Cut(spec, ":")
	if model == "" {
		return nil, &SpecError{Spec: spec}
	}
	if name == scripted {
		return OpenScript(model)
	}
	s, ok := serviceOf(name)
	if !ok {
		return nil, &SpecError{Spec: spec}
	}
	return newRemote(s, spec, model, opt.withDefaults())
}

// scripted is the provider of models that play what is written down.
const scripted = "scripted"

// service is a provider as it is reached.
type service struct {
	name   string
	format provider.Format
	// base is the address, and baseVar the variable that names another.
	base, baseVar string
	// keyVars are the variables of the key, the first one first; none for a
	// provider without keys.
	keyVars []string
	// sign puts the key into a request.
	sign func(h http.Header, key string)
}

// services lists the providers.
func services() []service {
	bearer := func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }
	openai := service{
		base: "https://api.openai.com/v1", baseVar: "OPENAI_BASE_URL",
		keyVars: []string{"OPENAI_API_KEY"}, sign: bearer,
	}
	chat, responses := openai, openai
	chat.name, chat.format = "openai", provider.OpenAIChat
	responses.name, responses.format = "openai-responses", provider.OpenAIResponses
	return []service{
		{
			name: "anthropic", format: provider.AnthropicMessages,
			base: "https://api.anthropic.com", baseVar: "ANTHROPIC_BASE_URL",
			keyVars: []string{"ANTHROPIC_API_KEY"},
			sign:    func(h http.Header, key string) { h.Set("X-Api-Key", key) },
		},
		chat,
		responses,
		{
			name: "gemini", format: provider.Gemini,
			base: "https://generativelanguage.googleapis.com", baseVar: "GOOGLE_GEMINI_BASE_URL",
			keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			sign:    func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) },
		},
		{
			name: "ollama", format: provider.OllamaNative,
			base: "http://127.0.0.1:11434", baseVar: "OLLAMA_HOST",
		},
	}
}

func serviceOf(name string) (service, bool) {
	for _, s := range services() {
		if s.name == name {
			return s, true
		}
	}
	return service{}, false
}

// SpecError says that a model is not named as "provider:model".
type SpecError struct {
	Spec string
}

func (e *SpecError) Error() string { return fmt.Sprintf("%q names no model", e.Spec) }

// Hint says how models are named.
func (e *SpecError) Hint() string {
	var names []string
	for _, s := range services() {
		names = append(names, s.name+":MODEL")
	}
	return "give one of " + strings.Join(names, ", ") + ", " + scripted + ":FILE"
}
