package model_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/model/fake"
	"github.com/rax-project/rax/parsers/provider"
)

// long is an answer of many pieces, of which every format has sent some text
// after eight.
func long(stop fake.Stop) fake.Step {
	return fake.Step{
		Answer: fake.Answer{Text: strings.Repeat("a sentence of the answer. ", 8)},
		Stop:   stop, After: 8, Message: "overloaded",
	}
}

// A stream that breaks after it began is not asked for again, and what arrived
// is kept.
func TestBrokenStream(t *testing.T) {
	for _, stop := range []fake.Stop{fake.StopCut, fake.StopEnd, fake.StopHang, fake.StopError} {
		for _, spec := range specs {
			t.Run(spec+"/"+string(stop), func(t *testing.T) {
				s := serve(t, long(stop), good())
				m := open(t, s, spec, func(o *model.Options) { o.Timeouts.Idle = 100 * time.Millisecond })
				reply, h, err := ask(t, m, true, question())
				var cut *model.CutError
				var timeout *model.TimeoutError
				var api *provider.APIError
				switch stop {
				case fake.StopHang:
					if !errors.As(err, &timeout) || !timeout.Timeout() {
						t.Errorf("error %v", err)
					}
				case fake.StopError:
					if !errors.As(err, &api) {
						t.Errorf("error %v", err)
					}
				default:
					if !errors.As(err, &cut) || (cut.Err == nil) != (stop == fake.StopEnd) {
						t.Errorf("error %v", err)
					}
				}
				text := reply.Answer.Text()
				if !reply.Answer.Cut || text == "" || text != h.text || !strings.HasPrefix(long("").Text, text) {
					t.Errorf("cut %v, text %q, heard %q", reply.Answer.Cut, text, h.text)
				}
				if reply.Attempts != 1 || len(s.Requests()) != 1 {
					t.Errorf("%d attempts", reply.Attempts)
				}
			})
		}
	}
}

// An error behind the last piece of an answer leaves the answer in doubt.
func TestErrorAfterTheAnswer(t *testing.T) {
	s := serve(t, fake.Step{Answer: fake.Answer{Text: "hello"}, Stop: fake.StopError, After: 4}, good())
	reply, _, err := ask(t, open(t, s, "openai:m"), true, question())
	var api *provider.APIError
	if !errors.As(err, &api) || reply.Answer.Text() != "hello" || reply.Answer.Finish != "stop" || !reply.Answer.Cut || reply.Attempts != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// A connection that breaks behind the last piece breaks nothing.
func TestCutAfterTheAnswer(t *testing.T) {
	for _, spec := range specs {
		s := serve(t, fake.Step{Answer: fake.Answer{Text: "hello"}, Stop: fake.StopCut, After: 99}, good())
		reply, _, err := ask(t, open(t, s, spec), true, question())
		if err != nil || reply.Answer.Text() != "hello" || reply.Answer.Cut || reply.Attempts != 1 {
			t.Errorf("%s: %+v, %v", spec, reply, err)
		}
	}
}

// Half a body is nothing that anybody saw: it is asked for again.
func TestBrokenBody(t *testing.T) {
	for _, spec := range specs {
		s := serve(t, fake.Step{Answer: fake.Answer{Text: "hello"}, Stop: fake.StopCut, After: 5}, good())
		reply, _, err := ask(t, open(t, s, spec), false, question())
		if err != nil || reply.Answer.Text() != "hello" || reply.Attempts != 2 {
			t.Errorf("%s: %v after %d attempts", spec, err, reply.Attempts)
		}
	}
}

// A provider that is overloaded says so in a stream of status 200, and then
// nothing was heard yet.
func TestErrorBeforeTheAnswer(t *testing.T) {
	for _, spec := range []string{"anthropic:m", "openai:m", "gemini:m"} {
		s := serve(t, fake.Step{Stop: fake.StopError, After: 0, Message: "overloaded"}, good())
		reply, h, err := ask(t, open(t, s, spec), true, question())
		if err != nil || h.text != "hello" || reply.Attempts != 2 {
			t.Errorf("%s: %v after %d attempts", spec, err, reply.Attempts)
		}
	}
}

func TestNotAnAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		for _, body := range []string{"{", "<html>sign in</html>", "data: {\"x\"\n\n", "null", "[]", "{}"} {
			s := serve(t, fake.Step{Body: body}, good())
			reply, _, err := ask(t, open(t, s, spec), stream, question())
			var syntax *provider.SyntaxError
			var cut *model.CutError
			if !errors.As(err, &syntax) && !errors.Is(err, provider.ErrUnknown) && !errors.As(err, &cut) {
				if err != nil || reply.Attempts != 2 { // nothing in it: asked again
					t.Errorf("%q: %v after %d attempts", body, err, reply.Attempts)
				}
			}
		}
	})
}

func TestTimeouts(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		silent := fake.Step{Stop: fake.StopSilent}
		s := serve(t, silent, silent)
		m := open(t, s, spec, func(o *model.Options) { o.Timeouts.Header, o.MaxRetries = 20*time.Millisecond, 1 })
		reply, _, err := ask(t, m, stream, question())
		var timeout *model.TimeoutError
		if !errors.As(err, &timeout) || timeout.After != 20*time.Millisecond || reply.Attempts != 2 {
			t.Errorf("%v after %d attempts", err, reply.Attempts)
		}
	})
}

func TestCancel(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		for _, step := range []fake.Step{{Stop: fake.StopSilent}, long(fake.StopHang)} {
			s := serve(t, step)
			ctx, cancel := context.WithCancelCause(t.Context())
			m := open(t, s, spec)
			done := make(chan error, 1)
			go func() {
				_, err := m.Complete(ctx, question(), nil)
				done <- err
			}()
			for len(s.Requests()) == 0 {
				runtime.Gosched()
			}
			cancel(errors.New("enough"))
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := serve(t, good())
	if reply, err := open(t, s, "openai:m").Complete(ctx, question(), nil); !errors.Is(err, context.Canceled) || len(s.Requests()) != 0 {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestTooLong(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		s := serve(t, fake.Step{Answer: fake.Answer{Text: strings.Repeat("x", 100_000)}}, good())
		m := open(t, s, spec, func(o *model.Options) { o.MaxResponse = 50_000 })
		reply, _, err := ask(t, m, stream, question())
		var size *model.SizeError
		if !errors.As(err, &size) || size.Limit != 50_000 || reply.Attempts != 1 || stream != reply.Answer.Cut {
			t.Errorf("%v after %d attempts, cut %v", err, reply.Attempts, reply.Answer.Cut)
		}
	})
}

// Nothing listens, and that is said at once.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	m, err := model.Open("ollama:m", model.Options{Getenv: only("OLLAMA_HOST", address)})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := m.Complete(t.Context(), question(), nil)
	var e *model.UnreachableError
	if !errors.As(err, &e) || e.Address != "http://"+address || !strings.Contains(e.Hint(), "is ollama running?") {
		t.Fatalf("%v", err)
	}
	if runtime.GOOS != "windows" && reply.Attempts != 1 {
		t.Errorf("%d attempts", reply.Attempts)
	}
}

// A certificate that nobody vouches for gets better by no retry.
func TestCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	defer server.Close()
	m, err := model.Open("ollama:m", model.Options{Getenv: only("OLLAMA_HOST", server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := m.Complete(t.Context(), question(), nil)
	var e *model.UnreachableError
	if !errors.As(err, &e) || reply.Attempts != 1 {
		t.Errorf("%v after %d attempts", err, reply.Attempts)
	}
}

func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	func() {
		s := fake.New(good(), long(fake.StopCut), long(fake.StopHang), fake.Step{Stop: fake.StopSilent}, fake.Step{Status: 400})
		defer s.Close()
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		m, err := model.Open("anthropic:m", model.Options{
			Getenv: s.Getenv, HTTP: &http.Client{Transport: transport}, MaxRetries: -1,
			Timeouts: model.Timeouts{Header: 50 * time.Millisecond, Idle: 50 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			_, _ = m.Complete(t.Context(), question(), func(provider.Delta) {})
		}
	}()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}
