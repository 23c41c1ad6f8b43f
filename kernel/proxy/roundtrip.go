package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/parsers/rewrite"
)

// maxRecorded is the longest answer that is kept to be recorded, in bytes.
const maxRecorded = 64 << 20

// roundTrip is one request to a model and its answer while they pass.
type roundTrip struct {
	p      *Proxy
	target target
	key    string // of the model, among what is learned
	start  time.Time
	number int64 // in the order of arrival
	// original is the client's body; req what was made of it.
	original []byte
	req      rewrite.Request

	mu    sync.Mutex
	notes []string

	// What follows is set while the answer passes, by the goroutine that copies
	// it, and read once finish was called.
	status   int
	encoding string
	answer   bytes.Buffer
	// refusedOnce says that the provider refused the request with the mandate.
	refusedOnce bool
	over        bool // the answer is longer than what is kept
	cut         bool // it stopped before its end
	end         time.Time
	once        sync.Once
	passed      atomic.Bool

	// Of the recording. begun is closed when the rest is set.
	begun  chan struct{}
	parsed provider.Request
	turn   *turn // nil when it is not recorded
	from   int   // how many messages of the request earlier exchanges hold
}

// conversation is the part of a body of the exchange that holds the
// conversation.
func (x *roundTrip) conversation(body []byte) []byte {
	return rewrite.Conversation(x.target.format, body)
}

// newRoundTrip looks at a request to a model whose body was read.
func (p *Proxy) newRoundTrip(t target, body []byte) *roundTrip {
	x := &roundTrip{p: p, target: t, original: body, start: p.cfg.Now(), begun: make(chan struct{})}
	x.req = rewrite.Request{Body: body}
	func() {
		defer p.contain("editing a request", func() { x.req = rewrite.Request{Body: body} })
		if t.model == "" {
			x.target.model = rewrite.Model(body)
		}
		x.key = t.upstream.Name + " " + x.target.model
		x.req = rewrite.NewRequest(t.format, body, p.channel(x.key))
	}()
	if x.req.Note != "" {
		x.note(x.req.Note)
	}
	return x
}

// stream reports whether the client asked for a stream.
func (x *roundTrip) stream() bool { return x.req.Stream || x.target.stream }

// recorded reports whether the exchange is to be in a trace of its own.
func (x *roundTrip) recorded() bool { return x.req.Tools || x.p.cfg.Plain || x.target.run != "" }

// note keeps what went otherwise than it should, for the trace and for people.
func (x *roundTrip) note(text string) {
	x.mu.Lock()
	known := slices.Contains(x.notes, text)
	if !known {
		x.notes = append(x.notes, text)
	}
	x.mu.Unlock()
	if !known {
		x.p.cfg.Note(text)
	}
}

// refused makes the exchange one without the mandate, after the provider
// refused it with.
func (x *roundTrip) refused() {
	x.req.Body, x.req.Added, x.req.Injected, x.refusedOnce = x.original, false, nil, true
	x.note("the request was refused with the mandate and sent again without it")
}

// settled learns from how the provider took the request with the mandate.
func (x *roundTrip) settled(argument, refused bool) {
	kind := rewrite.Block
	if argument {
		kind = rewrite.Argument
	}
	x.p.learned.change(x.key, func(h *habit) {
		if refused {
			h.refused[kind]++
		} else {
			h.refused[kind] = 0
		}
	})
}

// keep keeps bytes of the answer as they came.
func (x *roundTrip) keep(b []byte) {
	if x.over || x.answer.Len()+len(b) > maxRecorded {
		x.over = true
		return
	}
	x.answer.Write(b)
}

// finish ends the exchange, once, and has it recorded beside the traffic.
func (x *roundTrip) finish(cut bool) {
	x.once.Do(func() {
		x.cut, x.end = cut, x.p.cfg.Now()
		x.passed.Store(true)
		x.p.beside("recording an answer", func() { x.p.book.finish(x) })
	})
}

// body is the whole answer, decoded; problem says why there is none.
func (x *roundTrip) body() (body []byte, problem string) {
	if x.over {
		return nil, "the answer is longer than 64 MiB and is not recorded"
	}
	switch strings.ToLower(x.encoding) {
	case "", "identity":
		return x.answer.Bytes(), ""
	case "gzip":
		z, err := gzip.NewReader(&x.answer)
		if err != nil {
			return nil, "the answer cannot be unpacked and is not recorded"
		}
		body, err = io.ReadAll(io.LimitReader(z, maxRecorded+1))
		if len(body) > maxRecorded {
			return nil, "the answer is longer than 64 MiB and is not recorded"
		}
		if err != nil {
			x.cut = true
		}
		return body, ""
	}
	return nil, "the answer is encoded in a way that is not read here, and is not recorded"
}
