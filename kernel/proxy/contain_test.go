package proxy

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/parsers/rewrite"
)

// TestContained: when editing fails inside, the answer goes on as it came.
func TestContained(t *testing.T) {
	var notes []string
	p := &Proxy{cfg: Config{Mode: ModeOff, Note: func(s string) { notes = append(notes, s) }}}
	p.cfg.Now = time.Now
	x := &roundTrip{p: p, begun: make(chan struct{})}
	close(x.begun)
	p.book = newBook(p)
	sent := "data: {\"secret\":1}\n\ndata: {\"a\":2}\n\n"
	// An Answer without an editor panics at the first event.
	b := &body{x: x, src: io.NopCloser(strings.NewReader(sent)), edit: &rewrite.Answer{}}
	got, err := io.ReadAll(&oneByOne{b})
	if err != nil || !bytes.Equal(got, []byte(sent)) {
		t.Errorf("got %q, %v", got, err)
	}
	p.work.Wait()
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "internal error") || strings.Contains(all, "secret") {
		t.Errorf("notes %q", notes)
	}
}

// oneByOne reads small pieces.
type oneByOne struct{ r io.Reader }

func (o *oneByOne) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 3)]) }
