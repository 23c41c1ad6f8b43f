package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP serves one request. A panic in it ends that request alone.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		refuse(w, http.StatusServiceUnavailable, "rax proxy: shutting down")
		return
	}
	defer p.work.Done()
	defer func() {
		if v := recover(); v == http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
			panic(v) // how a copy that broke off is told to the server
		} else if v != nil {
			p.cfg.Note("internal error while serving a request")
			panic(http.ErrAbortHandler)
		}
	}()
	if status, problem := p.admit(r); problem != "" {
		refuse(w, status, problem)
		return
	}
	t, err := p.route(r)
	if err != nil {
		refuse(w, http.StatusNotFound, "rax proxy: "+err.Error())
		return
	}
	sw := &stallWriter{ResponseWriter: w, control: http.NewResponseController(w), stall: p.cfg.Limits.Stall}
	ctx := context.WithValue(r.Context(), targetKey{}, t)
	r.Body = http.MaxBytesReader(w, r.Body, p.cfg.Limits.Request)
	if t.format != "" && p.cfg.Mode != ModeOff {
		x, err := p.read(r, t, sw)
		if err != nil {
			p.unread(w, r, err)
			return
		}
		if x != nil {
			ctx = context.WithValue(ctx, roundTripKey{}, x)
			sent := x.req.Body
			p.book.arrive(x)
			p.beside("reading a request", func() { p.book.begin(x, sent) })
			defer x.finish(true) // where nothing else did
		}
	}
	p.reverse.ServeHTTP(sw, r.WithContext(ctx))
}

// enter counts a request in, unless the proxy is shutting down.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Add(1)
	}
	return !p.closed
}

type targetKey struct{}

// admit reports why a request is not served at all.
func (p *Proxy) admit(r *http.Request) (status int, problem string) {
	if !p.hostAllowed(r.Host) {
		// A page in a browser that calls a name of its own by which this machine
		// is found must not use what listens here.
		return http.StatusForbidden, "rax proxy: not known by this host name"
	}
	if p.cfg.Token == "" {
		return 0, ""
	}
	sent := r.Header.Get(HeaderToken)
	if sent == "" {
		scheme, token, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
		if strings.EqualFold(scheme, "Bearer") {
			sent = strings.TrimSpace(token)
		}
	}
	sum := sha256.Sum256([]byte(sent))
	if subtle.ConstantTimeCompare(sum[:], p.token[:]) != 1 {
		return http.StatusProxyAuthRequired, "rax proxy: the token is missing or wrong"
	}
	return 0, ""
}

func (p *Proxy) hostAllowed(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || p.cfg.Remote && len(p.cfg.Hosts) == 0 {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(p.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// read takes in the body of a request to a model. One that is too long to be
// edited passes as it is: the exchange is nil.
func (p *Proxy) read(r *http.Request, t target, w *stallWriter) (*roundTrip, error) {
	limit := p.cfg.Limits.Edited
	switch {
	case r.Header.Get("Content-Encoding") != "" && r.Header.Get("Content-Encoding") != "identity":
		p.cfg.Note("an encoded request passes as it is and is not recorded")
		return nil, nil
	case r.ContentLength > limit:
		p.cfg.Note("a request of " + strconv.FormatInt(r.ContentLength>>20, 10) + " MiB passes as it is and is not recorded")
		return nil, nil
	}
	_ = w.control.SetReadDeadline(time.Now().Add(w.stall)) // not all writers have deadlines
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(r.Body, limit+1))
	_ = w.control.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		p.cfg.Note("a request of more than " + strconv.FormatInt(limit>>20, 10) + " MiB passes as it is and is not recorded")
		r.Body = &joined{io.MultiReader(&body, r.Body), r.Body}
		return nil, nil
	}
	x := p.newRoundTrip(t, body.Bytes())
	r.Body = io.NopCloser(bytes.NewReader(x.req.Body))
	r.ContentLength = int64(len(x.req.Body))
	r.TransferEncoding = nil
	return x, nil
}

// joined is a body of which the beginning was read.
type joined struct {
	io.Reader
	io.Closer
}

// unread answers a request whose body did not arrive.
func (p *Proxy) unread(w http.ResponseWriter, r *http.Request, err error) {
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuse(w, http.StatusRequestEntityTooLarge, "rax proxy: the request is too long")
	case r.Context().Err() == nil:
		refuse(w, http.StatusBadRequest, "rax proxy: the request did not arrive whole")
	}
}

// rewrite makes the request to the upstream.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	t, ok := pr.In.Context().Value(targetKey{}).(target)
	if !ok {
		return // nothing is sent to an address of the client's choice: see transport
	}
	pr.Out.URL = t.upstream.address(t.path, pr.In.URL.RawQuery)
	pr.Out.Host = t.upstream.URL.Host
	for _, name := range []string{HeaderRun, HeaderToken} {
		pr.Out.Header.Del(name)
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := pr.In.Header[name]; ok {
			pr.Out.Header[name] = v
		}
	}
	x := roundTripOf(pr.In.Context())
	if x == nil {
		return
	}
	body := x.req.Body
	pr.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	// An answer is read here: it must come in a way that can be.
	if !x.req.Added && strings.Contains(pr.In.Header.Get("Accept-Encoding"), "gzip") {
		pr.Out.Header.Set("Accept-Encoding", "gzip")
	} else {
		pr.Out.Header.Set("Accept-Encoding", "identity")
	}
}

// failed answers when the upstream did not.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if x := roundTripOf(r.Context()); x != nil && r.Context().Err() == nil {
		x.note("the upstream could not be reached")
	}
	var long *http.MaxBytesError
	var timeout net.Error
	switch {
	case errors.As(err, &long):
		refuse(w, http.StatusRequestEntityTooLarge, "rax proxy: the request is too long")
	case errors.As(err, &timeout) && timeout.Timeout():
		refuse(w, http.StatusGatewayTimeout, "rax proxy: the upstream did not answer in time")
	default:
		refuse(w, http.StatusBadGateway, "rax proxy: the upstream could not be reached")
	}
}

// refuse answers with an error in the envelope that most clients read.
func refuse(w http.ResponseWriter, status int, problem string) {
	body, err := json.Marshal(map[string]any{
		"type": "error", "error": map[string]string{"type": "rax_proxy_error", "message": problem},
	})
	if err != nil {
		body = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// stallWriter gives up on a client that takes nothing.
type stallWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func (w *stallWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.stall)) // not all writers have deadlines
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController through.
func (w *stallWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
