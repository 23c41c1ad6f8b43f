package model_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/model/fake"
	"github.com/rax-project/rax/parsers/provider"
)

func good() fake.Step { return fake.Step{Answer: fake.Answer{Text: "hello"}} }

func TestRetry(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		for _, first := range []fake.Step{
			{Status: 429, Message: "slow down"}, {Status: 500}, {Status: 503}, {Status: 529}, {Status: 408},
			{Status: 502, Body: "<html>bad gateway</html>"},
			{Stop: fake.StopDrop}, {Stop: fake.StopCut}, {Stop: fake.StopEnd},
		} {
			first.Text = "hello"
			s := serve(t, first, good())
			reply, h, err := ask(t, open(t, s, spec), stream, question())
			if err != nil || reply.Answer.Text() != "hello" || reply.Attempts != 2 || stream && h.text != "hello" {
				t.Errorf("%+v: %q after %d attempts, %v", first, reply.Answer.Text(), reply.Attempts, err)
			}
			requests := s.Requests()
			if len(requests) != 2 || string(requests[0].Body) != string(requests[1].Body) {
				t.Errorf("%+v: %d requests, or of other bodies", first, len(requests))
			}
		}
	})
}

func TestNoRetry(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		for _, step := range []fake.Step{
			{Status: 400}, {Status: 401}, {Status: 404}, {Status: 422}, {Status: 501},
			{Status: 500, Header: map[string]string{"X-Should-Retry": "false"}},
		} {
			s := serve(t, step, good())
			reply, _, err := ask(t, open(t, s, spec), stream, question())
			var api *provider.APIError
			if !errors.As(err, &api) || api.Status != step.Status || reply.Attempts != 1 || len(s.Requests()) != 1 {
				t.Errorf("%d: %v after %d attempts", step.Status, err, reply.Attempts)
			}
		}
	})
	s := serve(t, fake.Step{Status: 429, Body: `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`}, good())
	if reply, _, err := ask(t, open(t, s, "openai:m"), false, question()); err == nil || reply.Attempts != 1 {
		t.Errorf("%v after %d attempts", err, reply.Attempts)
	}
}

func TestRetryExhausted(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		fail := fake.Step{Status: 500, Message: "oh"}
		s := serve(t, fail, fail, fail, good())
		n := newNaps()
		m := open(t, s, spec, func(o *model.Options) { o.MaxRetries, o.Sleep, o.Now = 2, n.sleep, n.clock })
		reply, _, err := ask(t, m, stream, question())
		var api *provider.APIError
		if !errors.As(err, &api) || api.Status != 500 || reply.Attempts != 3 || len(s.Requests()) != 3 {
			t.Errorf("%v after %d attempts", err, reply.Attempts)
		}
		if len(n.all) != 2 || n.all[0] < 250*time.Millisecond || n.all[0] > 750*time.Millisecond || n.all[1] > 1125*time.Millisecond {
			t.Errorf("slept %v", n.all)
		}
		s = serve(t, fail, good())
		never := open(t, s, spec, func(o *model.Options) { o.MaxRetries = -1 })
		if reply, _, err := ask(t, never, stream, question()); err == nil || reply.Attempts != 1 {
			t.Errorf("%v after %d attempts", err, reply.Attempts)
		}
	})
}

// What the server asks for is waited for, in each of the ways to ask, unless it
// is more than there is time for.
func TestRetryAfter(t *testing.T) {
	now := newNaps().now
	for _, c := range []struct {
		name  string
		step  fake.Step
		spec  string
		sleep time.Duration // 0: gives up
	}{
		{"seconds", fake.Step{Status: 429, Header: map[string]string{"Retry-After": "7"}}, "openai:m", 7 * time.Second},
		{"date", fake.Step{Status: 503, Header: map[string]string{"Retry-After": now.Add(9 * time.Second).Format(http.TimeFormat)}}, "anthropic:m", 9 * time.Second},
		{"milliseconds", fake.Step{Status: 429, Header: map[string]string{"Retry-After-Ms": "1500"}}, "openai-responses:m", 1500 * time.Millisecond},
		{"in the body", fake.Step{Status: 429, Body: `{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"11s"}]}}`}, "gemini:m", 11 * time.Second},
		{"too long", fake.Step{Status: 429, Header: map[string]string{"Retry-After": "3600"}}, "openai:m", 0},
		{"absurd", fake.Step{Status: 429, Header: map[string]string{"Retry-After": "1e300"}}, "openai:m", -1},
		{"past", fake.Step{Status: 429, Header: map[string]string{"Retry-After": now.Add(-time.Hour).Format(http.TimeFormat)}}, "openai:m", -1},
		{"nonsense", fake.Step{Status: 429, Header: map[string]string{"Retry-After": "soon"}}, "openai:m", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.step, good())
			n := newNaps()
			m := open(t, s, c.spec, func(o *model.Options) { o.Sleep, o.Now = n.sleep, n.clock })
			_, _, err := ask(t, m, false, question())
			var api *provider.APIError
			switch {
			case c.sleep == 0:
				if !errors.As(err, &api) || api.RetryAfter != time.Hour || len(n.all) != 0 {
					t.Errorf("%v, slept %v", err, n.all)
				}
			case err != nil || len(n.all) != 1 || c.sleep > 0 && n.all[0] != c.sleep || c.sleep < 0 && n.all[0] > time.Second:
				t.Errorf("%v, slept %v, want %v", err, n.all, c.sleep)
			}
		})
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	s := serve(t, fake.Step{Status: 429, Header: map[string]string{"Retry-After": "60"}}, good())
	ctx, cancel := context.WithCancel(t.Context())
	m := open(t, s, "openai:m", func(o *model.Options) {
		o.Sleep = nil // the real one, which the context ends
		now, asked := o.Now, 0
		o.Now = func() time.Time {
			// At the start, for the header of the response, before the sleep.
			if asked++; asked == 4 {
				cancel()
			}
			return now()
		}
	})
	reply, err := m.Complete(ctx, question(), nil)
	if !errors.Is(err, context.Canceled) || reply.Attempts != 1 {
		t.Errorf("%v after %d attempts", err, reply.Attempts)
	}
}
