package model_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/model/fake"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
)

// specs are the models that a fake server serves, one a format.
var specs = []string{"openai:m", "openai-responses:m", "anthropic:m", "gemini:m", "ollama:m"}

// everywhere runs a test for each provider, with bodies and with streams.
func everywhere(t *testing.T, f func(t *testing.T, spec string, stream bool)) {
	for _, spec := range specs {
		name, _, _ := strings.Cut(spec, ":")
		t.Run(name+"/body", func(t *testing.T) { f(t, spec, false) })
		t.Run(name+"/stream", func(t *testing.T) { f(t, spec, true) })
	}
}

// naps records what a model would have slept.
type naps struct {
	mu  sync.Mutex
	all []time.Duration
	now time.Time
}

func (n *naps) sleep(ctx context.Context, d time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, d)
	n.now = n.now.Add(d)
	return ctx.Err()
}

func (n *naps) clock() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

func newNaps() *naps { return &naps{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func serve(t *testing.T, steps ...fake.Step) *fake.Server {
	t.Helper()
	s := fake.New(steps...)
	t.Cleanup(s.Close)
	return s
}

// open opens a model of a server. It never really sleeps.
func open(t *testing.T, s *fake.Server, spec string, change ...func(*model.Options)) kernel.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	nap := newNaps()
	opt := model.Options{
		Getenv: s.Getenv, HTTP: &http.Client{Transport: transport}, Sleep: nap.sleep, Now: nap.clock,
	}
	for _, f := range change {
		f(&opt)
	}
	m, err := model.Open(spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// heard is what came live.
type heard struct {
	text, thinking string
	calls          []string // name and arguments
}

func (h *heard) delta(d provider.Delta) {
	switch d.Kind {
	case provider.DeltaText:
		h.text += d.Text
	case provider.DeltaThinking:
		h.thinking += d.Text
	case provider.DeltaCall:
		h.calls = append(h.calls, d.Name+" ")
	case provider.DeltaArguments:
		h.calls[d.Call] += d.Text
	}
}

// ask completes a request, with a watcher when streaming.
func ask(t *testing.T, m kernel.Model, stream bool, req provider.Request) (kernel.Reply, heard, error) {
	t.Helper()
	var h heard
	var live func(provider.Delta)
	if stream {
		live = h.delta
	}
	reply, err := m.Complete(t.Context(), req, live)
	return reply, h, err
}

func user(text string) provider.Message {
	return provider.Message{Role: provider.RoleUser, Blocks: []provider.Block{{Kind: provider.BlockText, Text: text}}}
}

func question() provider.Request {
	return provider.Request{System: "Be brief.", Messages: []provider.Message{user("How warm is it?")}}
}

func call(a parsers.Answer, i int) string {
	return a.Calls[i].Name + " " + string(a.Calls[i].Arguments)
}
