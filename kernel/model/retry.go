package model

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
)

// attempt is what one request gave.
type attempt struct {
	answer parsers.Answer
	err    error
	// arrived says that a part of an answer came, or was shown: whatever went
	// wrong after that, the request is not sent again.
	arrived bool
	// again is the server's own word on whether to try again; nil without one.
	again *bool
}

// retry sends a request until it succeeds or there is no use in going on. It
// returns the last attempt and how many there were.
//
// The intervals are backoff's, exponential with jitter. The loop is not: a
// provider says how long to wait in a header or in the body, an answer may break
// before or after its first byte, and only the latter is final.
func (m *remote) retry(ctx context.Context, send func(context.Context) attempt) (attempt, int) {
	intervals := backoff.NewExponentialBackOff() // 0.5 s, half as much again each time, up to 60 s
	start := m.opt.Now()
	for n := 1; ; n++ {
		a := send(ctx)
		if a.err == nil || ctx.Err() != nil || n > m.opt.MaxRetries || a.arrived || !a.retryable() {
			return a, n
		}
		wait := intervals.NextBackOff()
		var api *provider.APIError
		if errors.As(a.err, &api) && api.RetryAfter > 0 {
			wait = api.RetryAfter
		}
		if m.opt.Now().Sub(start)+wait > m.opt.MaxElapsed {
			return a, n
		}
		if err := m.opt.Sleep(ctx, wait); err != nil {
			a.err = err
			return a, n
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passing are the words of providers for troubles that pass, in errors that
// come with a status of success.
var passing = [...]string{
	"overloaded_error", "rate_limit_error", "api_error", "timeout_error", // Anthropic
	"server_error", "rate_limit_exceeded", // OpenAI
	"UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", // Gemini
}

// retryable reports whether the same request may succeed a little later.
func (a attempt) retryable() bool {
	var api *provider.APIError
	var unreachable *UnreachableError
	var timeout *TimeoutError
	var cut *CutError
	switch {
	case errors.As(a.err, &api):
		switch s := api.Status; {
		case api.Code == "insufficient_quota" || api.Type == "insufficient_quota":
			return false // a 429 that only money helps against
		case a.again != nil:
			return *a.again
		case s >= 400:
			return s == http.StatusRequestTimeout || s == http.StatusTooManyRequests ||
				s >= 500 && s != http.StatusNotImplemented
		}
		return slices.Contains(passing[:], api.Type) || slices.Contains(passing[:], api.Code)
	case errors.As(a.err, &unreachable):
		return !hopeless(unreachable.Err)
	}
	return errors.As(a.err, &timeout) || errors.As(a.err, &cut)
}

// hopeless reports whether a connection fails for a reason that will not pass:
// a certificate, a name that does not exist, nothing listening on this machine.
func hopeless(err error) bool {
	var cert *tls.CertificateVerificationError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &cert):
		return true
	case errors.As(err, &dns):
		return dns.IsNotFound
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op):
		addr, ok := op.Addr.(*net.TCPAddr)
		return ok && addr.IP.IsLoopback()
	}
	return false
}

// retryAfter is how long the headers of a response ask to wait; 0 when they do
// not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if s > 0 && s < 1e9 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// shouldRetry reads the header with which OpenAI and Anthropic have their say.
func shouldRetry(h http.Header) *bool {
	if v, err := strconv.ParseBool(h.Get("X-Should-Retry")); err == nil {
		return &v
	}
	return nil
}
