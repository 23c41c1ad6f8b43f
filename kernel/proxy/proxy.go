// Package proxy captures the reasons of agents that nobody changed: it stands
// between an agent and its provider. It adds the mandate to requests that offer
// tools, takes what the model states out of the answers, and writes a trace of
// every run.
//
// The agent must never fail because of it. Whatever cannot be edited safely
// passes as it is; a request that the provider refuses with the mandate is sent
// again without it; recording goes on beside the traffic and never holds it up.
//
//	p, err := proxy.New(proxy.Config{Upstreams: ups, Trace: create, NewID: newID})
//	go p.Serve(listener)
//	defer p.Shutdown(ctx)
//
// A Proxy is an [http.Handler] too. Nothing here is part of the promised Go API.
package proxy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rax-project/rax/trace"
)

// Mode says what a proxy does to what passes through it.
type Mode string

// The modes.
const (
	// ModeBlock (the default) asks for <rationale> blocks in the text.
	ModeBlock Mode = "block"
	// ModeArgument adds a rationale argument to every tool.
	ModeArgument Mode = "argument"
	// ModeAuto starts with blocks and takes arguments for a model that made
	// calls and stated nothing.
	ModeAuto Mode = "auto"
	// ModeObserve changes nothing and records.
	ModeObserve Mode = "observe"
	// ModeOff changes nothing and records nothing.
	ModeOff Mode = "off"
)

// Modes lists every mode.
var Modes = [...]Mode{ModeBlock, ModeArgument, ModeAuto, ModeObserve, ModeOff}

// Upstream is a provider's server.
type Upstream struct {
	// Name chooses it: "openai", "anthropic", "gemini" and "ollama" serve the
	// paths of their own APIs, and any name the path prefix /to/NAME/.
	Name string
	// URL is its base. Where it ends in a version (/v1), that takes the place of
	// the version that a request's path begins with.
	URL *url.URL
}

// Limits bound what a proxy takes. A zero field takes the default.
type Limits struct {
	// Connections is how many clients are served at once.
	Connections int
	// Request is the longest request body in bytes; a longer one is refused.
	Request int64
	// Edited is the longest request body that is held in memory; a longer one
	// passes as it is and is not recorded.
	Edited int64
	// Stall is how long a client may neither send nor take anything.
	Stall time.Duration
	// Runs is how many runs are open at once; beyond it the one that was silent
	// longest ends.
	Runs int
}

// The defaults of Limits.
const (
	DefaultConnections = 1024
	DefaultRequest     = 512 << 20
	DefaultEdited      = 32 << 20
	DefaultStall       = 5 * time.Minute
	DefaultRuns        = 256
	// DefaultIdle is how long a run is silent before it ends.
	DefaultIdle = 10 * time.Minute
)

// Config describes a proxy.
type Config struct {
	Upstreams []Upstream
	Mode      Mode
	// Plain records conversations that offer no tools as well. Within a run that
	// is named or known all are recorded.
	Plain bool
	// Token, where it is set, must be sent by clients, as
	// "Proxy-Authorization: Bearer TOKEN" or as "X-Rax-Token: TOKEN".
	Token string
	// Remote serves clients of other machines too. It needs a Token.
	Remote bool
	// Hosts are names by which the proxy may be called beside localhost and the
	// loopback addresses. With Remote and without Hosts any name will do.
	Hosts []string
	// Trace opens the trace of a new run. Several may be open at once.
	Trace func(runID string) (*trace.Writer, error)
	// NewID makes the id of a run.
	NewID func() (string, error)
	// Now gives the time of events; nil means time.Now.
	Now func() time.Time
	// Idle is how long a run is silent before it ends; 0 means DefaultIdle.
	Idle   time.Duration
	Limits Limits
	// Transport sends requests to the upstreams; nil means one with TLS by the
	// system's roots and the proxies of the environment.
	Transport http.RoundTripper
	// Note is told what went otherwise than it should, in one line for people
	// that holds nothing of what passes. It is called by several goroutines.
	Note func(text string)
}

// Proxy is a proxy. It is made by [New].
type Proxy struct {
	cfg     Config
	token   [sha256.Size]byte
	reverse *httputil.ReverseProxy
	learned learned
	book    *book
	work    sync.WaitGroup // what goes on beside the traffic
	idle    sync.WaitGroup // the end of silent runs

	mu     sync.Mutex
	server *http.Server
	closed bool
	stop   chan struct{}
}

// New checks a configuration and returns its proxy.
func New(cfg Config) (*Proxy, error) {
	if cfg.Mode == "" {
		cfg.Mode = ModeBlock
	}
	if !slices.Contains(Modes[:], cfg.Mode) {
		return nil, fmt.Errorf("unknown proxy mode %q: want block, argument, auto, observe or off", cfg.Mode)
	}
	if err := checkUpstreams(cfg.Upstreams); err != nil {
		return nil, err
	}
	switch {
	case cfg.Mode != ModeOff && (cfg.Trace == nil || cfg.NewID == nil):
		return nil, errors.New("proxy: nothing to record with")
	case cfg.Remote && cfg.Token == "":
		return nil, errors.New("a proxy for other machines needs a token")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Note == nil {
		cfg.Note = func(string) {}
	}
	if cfg.Transport == nil {
		cfg.Transport = newTransport()
	}
	setDefault(&cfg.Idle, DefaultIdle)
	setDefault(&cfg.Limits.Connections, DefaultConnections)
	setDefault(&cfg.Limits.Request, DefaultRequest)
	setDefault(&cfg.Limits.Edited, DefaultEdited)
	setDefault(&cfg.Limits.Stall, DefaultStall)
	setDefault(&cfg.Limits.Runs, DefaultRuns)
	p := &Proxy{cfg: cfg, token: sha256.Sum256([]byte(cfg.Token)), stop: make(chan struct{})}
	p.learned.models = make(map[string]habit)
	p.book = newBook(p)
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      &transport{p},
		FlushInterval:  -1,
		ErrorLog:       log.New(io.Discard, "", 0), // its lines hold addresses, and these keys
		BufferPool:     &buffers{},
		ModifyResponse: p.modify,
		ErrorHandler:   p.failed,
	}
	return p, nil
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// newTransport is a transport for long answers: nothing bounds how long a model
// may think.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // encodings are the client's affair
	}
}

// buffers are the copying buffers of the answers.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }

// beside does work beside the traffic. A panic in it is noted.
func (p *Proxy) beside(what string, f func()) {
	p.work.Go(func() {
		defer p.contain(what, nil)
		f()
	})
}

// contain ends a panic and notes it; then is done afterwards.
func (p *Proxy) contain(what string, then func()) {
	v := recover()
	if v == nil {
		return
	}
	p.cfg.Note(fmt.Sprintf("internal error while %s: %s", what, origin(debug.Stack())))
	if then != nil {
		then()
	}
}

// origin is where in rax a panic began: the frame below that of the panic. The
// value of the panic may hold what passed, so it is not shown.
func origin(stack []byte) string {
	_, below, _ := strings.Cut(string(stack), "\npanic(")
	for line := range strings.Lines(below) {
		if file, _, ok := strings.Cut(strings.TrimSpace(line), " +0x"); ok && strings.Contains(file, "/rax/") || ok && strings.Contains(file, "kernel/proxy") {
			return file[strings.LastIndexByte(file, '/')+1:]
		}
	}
	return "unknown place"
}

type roundTripKey struct{}

// roundTripOf is the exchange that a request belongs to; nil when it is not
// looked at.
func roundTripOf(ctx context.Context) *roundTrip {
	x, _ := ctx.Value(roundTripKey{}).(*roundTrip)
	return x
}
