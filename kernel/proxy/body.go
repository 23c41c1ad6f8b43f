package proxy

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/rax-project/rax/parsers/rewrite"
)

// modify puts itself between the upstream's answer and the client.
func (p *Proxy) modify(resp *http.Response) error {
	x := roundTripOf(resp.Request.Context())
	if x == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	x.status, x.encoding = resp.StatusCode, resp.Header.Get("Content-Encoding")
	b := &body{x: x, src: resp.Body}
	resp.Body = b
	if !x.req.Added || resp.StatusCode >= 300 || !isAnswer(resp.Header.Get("Content-Type")) {
		return nil
	}
	length := resp.ContentLength
	switch strings.ToLower(x.encoding) {
	case "", "identity":
	case "gzip":
		length = -1
		b.src = &unpacked{src: b.src}
		x.encoding = ""
		resp.Header.Del("Content-Encoding")
	default:
		x.note("the answer is encoded in a way that is not read here: its reasons are left in it")
		return nil
	}
	b.edit = rewrite.NewAnswer(x.target.format, rewrite.Rules{Injected: x.req.Injected, Stream: x.stream()})
	if length < 0 || length > p.cfg.Limits.Edited || x.stream() {
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
		return nil
	}
	// A body of a known length is edited as a whole, so that the client is told
	// its new length.
	whole, broke := io.ReadAll(b)
	if broke == nil {
		resp.Body = &joined{bytes.NewReader(whole), b}
		resp.ContentLength = int64(len(whole))
		resp.Header.Set("Content-Length", strconv.Itoa(len(whole)))
	} else {
		// As the upstream broke off, so does this: the old length is not reached.
		resp.Body = &joined{io.MultiReader(bytes.NewReader(whole), &broken{broke}), b}
	}
	return nil
}

// isAnswer reports whether a type of content may be an answer of a model.
func isAnswer(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "text/event-stream" || strings.HasSuffix(kind, "json"))
}

// broken is a body that breaks off.
type broken struct{ err error }

func (b *broken) Read([]byte) (int, error) { return 0, b.err }

// unpacked unpacks an answer while it arrives.
type unpacked struct {
	src io.ReadCloser
	z   *gzip.Reader
}

func (u *unpacked) Read(p []byte) (int, error) {
	if u.z == nil {
		z, err := gzip.NewReader(u.src)
		if err != nil {
			return 0, err
		}
		u.z = z
	}
	return u.z.Read(p)
}

func (u *unpacked) Close() error { return u.src.Close() }

// body is an answer on its way to the client: it is kept for the record, and
// edited where the request was.
type body struct {
	x    *roundTrip
	src  io.ReadCloser
	edit *rewrite.Answer
	// out is edited and not yet read; err comes behind it.
	out []byte
	err error
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		n, err := b.src.Read(p)
		b.x.keep(p[:n])
		b.err = err
		if b.edit != nil {
			b.feed(p[:n])
		}
		if err != nil {
			b.x.finish(!errors.Is(err, io.EOF))
		}
		if b.edit == nil && len(b.out) == 0 {
			return n, err
		}
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// feed edits the next bytes, and the rest at the end. When the editing itself
// fails, everything goes on as it came.
func (b *body) feed(chunk []byte) {
	defer b.x.p.contain("editing an answer", func() {
		b.out, b.edit = b.edit.Rest(), nil
		b.x.note("the answer could not be edited: it passes as it is from here on")
	})
	if len(chunk) > 0 {
		b.out = b.edit.Write(chunk)
	}
	if b.err != nil {
		b.out = append(bytes.Clone(b.out), b.edit.Close()...)
		for _, what := range b.edit.Notes() {
			b.x.note(what + ": it passes as it is")
		}
	}
}

// Close implements [io.Closer]. A body that is closed before its end was cut.
func (b *body) Close() error {
	err := b.src.Close()
	b.x.finish(true)
	return err
}
