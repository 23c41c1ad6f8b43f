package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/parsers/provider"
)

// remote is a model behind HTTP. It keeps nothing between requests and may be
// used by several goroutines.
type remote struct {
	info    kernel.ModelInfo
	service service
	base    *url.URL
	key     string
	// compatible says that the server speaks OpenAI Chat and is not OpenAI's.
	compatible bool
	http       *http.Client
	price      *Price
	opt        Options
}

func newRemote(s service, spec, model string, opt Options) (*remote, error) {
	base, own, err := addressOf(s, opt.Getenv)
	if err != nil {
		return nil, err
	}
	foreign := !own && s.baseVar == "OPENAI_BASE_URL"
	m := &remote{
		info: kernel.ModelInfo{
			Provider: s.name, Name: model, Format: s.format, NativeTools: true,
			// What else speaks OpenAI's formats may refuse a schema.
			Structured: !foreign, Window: opt.Windows[spec],
		},
		service: s, base: base, compatible: foreign, opt: opt, http: clientOf(opt),
	}
	if len(s.keyVars) > 0 {
		key, variable, err := findKey(s, opt)
		if err != nil {
			return nil, err
		}
		if key == "" && !foreign {
			return nil, &KeyError{Variable: variable}
		}
		m.key = key
	}
	if p, ok := opt.Prices[spec]; ok {
		m.price = &p
	}
	return m, nil
}

// clientOf gives the client that follows no redirect: it would carry the key to
// wherever the redirect points.
func clientOf(opt Options) *http.Client {
	var c http.Client
	if opt.HTTP != nil {
		c = *opt.HTTP
	} else {
		dialer := &net.Dialer{Timeout: opt.Timeouts.Connect}
		c.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
			TLSHandshakeTimeout: opt.Timeouts.Connect, ForceAttemptHTTP2: true,
			MaxIdleConns: 16, IdleConnTimeout: 90 * time.Second,
		}
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Info implements [kernel.Model].
func (m *remote) Info() kernel.ModelInfo { return m.info }

// Complete implements [kernel.Model]. It streams when live is given.
func (m *remote) Complete(ctx context.Context, req provider.Request, live func(provider.Delta)) (kernel.Reply, error) {
	start := m.opt.Now()
	if req.Model == "" {
		req.Model = m.info.Name
	}
	req.Stream = live != nil || m.opt.Stream
	req.Compatible = m.compatible
	path, body, err := provider.Encode(m.info.Format, req)
	if err != nil {
		return kernel.Reply{}, err
	}
	parse := provider.ParseOptions{Names: nameMap(req.Tools)}
	a, attempts := m.retry(ctx, func(ctx context.Context) attempt {
		return m.send(ctx, m.base.String()+path, body, req.Stream, parse, live)
	})
	reply := kernel.Reply{Answer: a.answer, Attempts: attempts, Duration: m.opt.Now().Sub(start)}
	if m.price != nil {
		reply.CostUsd = m.price.Cost(a.answer.Usage)
	}
	return reply, m.clean(a.err)
}

func nameMap(tools []provider.Tool) *provider.NameMap {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return provider.NewNameMap(names)
}

// clean takes the key out of what a server says.
func (m *remote) clean(err error) error {
	var api *provider.APIError
	if m.key != "" && errors.As(err, &api) {
		for _, s := range []*string{&api.Message, &api.Type, &api.Code, &api.Param} {
			*s = strings.ReplaceAll(*s, m.key, "[key]")
		}
	}
	return err
}

// maxErrorBody bounds the body of an error, in bytes.
const maxErrorBody = 1 << 20

// send sends one request and reads its response.
func (m *remote) send(parent context.Context, address string, body []byte, stream bool, parse provider.ParseOptions, live func(provider.Delta)) attempt {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return attempt{err: fmt.Errorf("%s: the request cannot be made", m.service.name)} // the cause repeats the address
	}
	m.header(req.Header, stream)
	guard := &guard{name: m.service.name, idle: m.opt.Timeouts.Idle, cancel: cancel}
	guard.start(waitHeader, m.opt.Timeouts.Header)
	defer guard.stop()
	resp, err := m.http.Do(req)
	if err != nil {
		return attempt{err: m.unreachable(parent, ctx, err)}
	}
	defer resp.Body.Close()
	guard.body = resp.Body
	guard.start(waitRest, m.opt.Timeouts.Idle)

	parse.Status = resp.StatusCode
	parse.RetryAfter = retryAfter(resp.Header, m.opt.Now())
	again := shouldRetry(resp.Header)
	switch {
	case resp.StatusCode >= 400:
		// An error that breaks off is an error all the same.
		text, _ := io.ReadAll(io.LimitReader(guard, maxErrorBody))
		_, err := provider.Parse(m.info.Format, text, parse)
		return attempt{err: err, again: again}
	case resp.StatusCode >= 300 || resp.StatusCode < 200:
		return attempt{err: &StatusError{m.service.name, resp.StatusCode}}
	}
	r := &reader{remote: m, parse: parse, live: live, src: guard}
	if stream {
		r.stream()
	} else {
		r.whole()
	}
	r.settle(parent, ctx)
	return r.attempt
}

func (m *remote) header(h http.Header, stream bool) {
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "rax")
	h.Set("Accept", "application/json")
	if stream && m.info.Format != provider.OllamaNative {
		h.Set("Accept", "text/event-stream")
	}
	if m.info.Format == provider.AnthropicMessages {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	if m.key != "" {
		m.service.sign(h, m.key)
	}
}

// unreachable makes the error of a request without a response.
func (m *remote) unreachable(parent, ctx context.Context, err error) error {
	if cause := why(parent, ctx); cause != nil {
		return cause
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // the address is said already
	}
	return &UnreachableError{m.service.name, m.base.Scheme + "://" + m.base.Host, err}
}

// why gives the reason for which a request was ended from this side; nil when
// it was not.
func why(parent, ctx context.Context) error {
	if err := parent.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// guard reads a response and ends the request when nothing comes for too long.
type guard struct {
	name   string
	idle   time.Duration
	cancel context.CancelCauseFunc
	body   io.Reader
	timer  *time.Timer
}

func (g *guard) start(waiting string, d time.Duration) {
	g.stop()
	g.timer = time.AfterFunc(d, func() { g.cancel(&TimeoutError{g.name, waiting, d}) })
}

func (g *guard) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.body.Read(p)
	if n > 0 {
		g.timer.Reset(g.idle)
	}
	return n, err
}

// reader reads the response of one attempt.
type reader struct {
	*remote
	attempt
	parse provider.ParseOptions
	live  func(provider.Delta)
	src   io.Reader
	// broken is what ended the reading, but for a good end.
	broken error
	bytes  int64
}

// stream reads an answer while it arrives.
func (r *reader) stream() {
	if r.live != nil {
		r.parse.OnDelta = func(d provider.Delta) {
			r.arrived = true
			r.live(d)
		}
	}
	s := provider.NewStream(r.info.Format, r.parse)
	buf := make([]byte, 16<<10)
	for {
		n, err := r.src.Read(buf)
		if r.bytes += int64(n); r.bytes > r.opt.MaxResponse {
			r.broken = &SizeError{r.service.name, r.opt.MaxResponse}
			break
		}
		_ = s.Write(buf[:n]) // Close returns the same error
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.broken = err
			}
			break
		}
	}
	r.answer, r.err = s.Close()
}

// whole reads an answer that comes at once.
func (r *reader) whole() {
	body, err := io.ReadAll(io.LimitReader(r.src, r.opt.MaxResponse+1))
	if r.bytes = int64(len(body)); r.bytes > r.opt.MaxResponse {
		err = &SizeError{r.service.name, r.opt.MaxResponse}
	}
	if err != nil {
		r.broken = err
		return
	}
	r.answer, r.err = provider.Parse(r.info.Format, body, r.parse)
}

// settle says what became of the attempt. A stream whose last event came is
// whole, however the connection ended. Otherwise what ended the reading
// outweighs what the bytes look like: half a body is no wrong syntax.
func (r *reader) settle(parent, ctx context.Context) {
	r.arrived = r.arrived || len(r.answer.Parts) > 0
	var api *provider.APIError
	var size *SizeError
	switch cause := why(parent, ctx); {
	case r.err == nil && r.answer.Format != "" && !r.answer.Cut && r.bytes > 0:
		return
	case errors.As(r.err, &api): // what the provider says itself
	case cause != nil:
		r.err = cause
	case errors.As(r.broken, &size):
		r.err = size
	case r.broken != nil:
		r.err = &CutError{r.service.name, r.broken}
	case r.err == nil, r.bytes == 0:
		r.err = &CutError{Provider: r.service.name}
	}
	if r.arrived {
		r.answer.Cut = true
	}
}
