package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// transport sends requests to the upstreams. A request that an upstream refuses
// with the mandate is sent again as the client wrote it: what the client sees
// is what it would see without the proxy.
type transport struct{ p *Proxy }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := r.Context().Value(targetKey{}).(target); !ok {
		return nil, errors.New("a request without a target")
	}
	resp, err := t.p.cfg.Transport.RoundTrip(r)
	x := roundTripOf(r.Context())
	if err != nil || x == nil || !x.req.Added {
		return resp, err
	}
	if !refusal(resp.StatusCode) {
		if resp.StatusCode < 300 {
			x.settled(len(x.req.Injected) > 0, false)
		}
		return resp, nil
	}
	_ = resp.Body.Close() // nothing of it is wanted
	argument := len(x.req.Injected) > 0
	x.refused()
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(x.original))
	again.GetBody = nil
	again.ContentLength = int64(len(x.original))
	again.Header.Del("Content-Length")
	resp, err = t.p.cfg.Transport.RoundTrip(again)
	if err == nil && resp.StatusCode < 300 {
		x.settled(argument, true)
	}
	return resp, err
}

// refusal reports whether a status may mean that the mandate was too much.
func refusal(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
