package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/kernel/proxy"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
)

type proxyOptions struct {
	listen, mode string
	observe      bool
	upstreams    []string
	idle         time.Duration
}

func newProxy(sys system) *cobra.Command {
	var opt proxyOptions
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Capture the reasons of any agent: point its base URL here",
		Long: `Proxy stands between an agent and its provider. It asks for the reason of every
tool call, takes what the model states out of the answers before the agent sees
them, and writes a trace of every run. What cannot be edited safely passes as it
is.

The paths of OpenAI, Anthropic, Gemini and Ollama decide where a request goes;
their addresses come from OPENAI_BASE_URL, ANTHROPIC_BASE_URL,
GOOGLE_GEMINI_BASE_URL and OLLAMA_HOST, or from --upstream. Keys are the agent's
own, passed on and never stored. RAX_PROXY_TOKEN, where it is set, must be sent
by clients.`,
		Example: `  rax proxy
  rax proxy --mode argument --upstream openai=http://localhost:8000/v1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runProxy(cmd, sys, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.listen, "listen", "127.0.0.1:8484", "the address to listen on, of this machine alone")
	f.StringVar(&opt.mode, "mode", string(proxy.ModeBlock), "block, argument, auto, observe or off")
	f.BoolVar(&opt.observe, "observe", false, "change nothing and only record")
	f.StringArrayVar(&opt.upstreams, "upstream", nil, "a provider's address, as name=URL")
	f.DurationVar(&opt.idle, "idle", proxy.DefaultIdle, "a run that is silent for this long has ended")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"block", "argument", "auto", "observe", "off"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runProxy(cmd *cobra.Command, sys system, opt proxyOptions) error {
	if opt.observe {
		opt.mode = string(proxy.ModeObserve)
	}
	if err := oneOfFlag("mode", opt.mode, "block", "argument", "auto", "observe", "off"); err != nil {
		return err
	}
	upstreams, err := upstreamsOf(sys, opt.upstreams)
	if err != nil {
		return err
	}
	search, err := searchOf(cmd, sys)
	if err != nil {
		return err
	}
	pipeline, err := pipelineOf(sys)
	if err != nil {
		return err
	}
	ids := dir.NewEntropy(nil)
	p, err := proxy.New(proxy.Config{
		Upstreams: upstreams, Mode: proxy.Mode(opt.mode), Token: sys.getenv("RAX_PROXY_TOKEN"), Idle: opt.idle,
		NewID: func() (string, error) { return dir.NewID(sys.now(), ids) },
		Now:   sys.now,
		Note:  func(text string) { say(cmd.ErrOrStderr(), "note: ", text) },
		Trace: func(id string) (*trace.Writer, error) {
			f, err := search.Dir.Create(id)
			if err != nil {
				return nil, err
			}
			w, err := trace.NewWriter(f, trace.WriterOptions{Name: id, Producer: producer(), Now: sys.now, Safety: pipeline})
			if err != nil {
				return nil, errors.Join(err, f.Close())
			}
			say(cmd.ErrOrStderr(), "run: ", "rax diagnose debrief "+id)
			return w, nil
		},
	})
	if err != nil {
		return usageError{err, "see: rax proxy --help"}
	}
	l, err := proxy.Listen(opt.listen)
	if err != nil {
		return err
	}
	say(cmd.ErrOrStderr(), "listening on ", "http://"+l.Addr().String())
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	select {
	case err = <-served:
	case <-cmd.Context().Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if errors.Is(err, proxy.ErrClosed) {
		err = nil
	}
	return errors.Join(err, p.Shutdown(ctx))
}

// upstreamsOf gives the providers' addresses: by flag, by environment, or the
// ones that everybody knows.
func upstreamsOf(sys system, flags []string) ([]proxy.Upstream, error) {
	addresses := []struct{ name, variable, known string }{
		{"openai", "OPENAI_BASE_URL", "https://api.openai.com/v1"},
		{"anthropic", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"},
		{"gemini", "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"},
		{"ollama", "OLLAMA_HOST", "http://127.0.0.1:11434"},
	}
	given := make(map[string]string)
	var order []string
	for _, a := range addresses {
		order = append(order, a.name)
		given[a.name] = a.known
		if v := sys.getenv(a.variable); v != "" {
			if !strings.Contains(v, "://") {
				v = "http://" + v
			}
			given[a.name] = v
		}
	}
	for _, f := range flags {
		name, address, ok := strings.Cut(f, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("--upstream %q is no name=URL", f), "for example --upstream openai=http://localhost:8000/v1"}
		}
		if _, known := given[name]; !known {
			order = append(order, name)
		}
		given[name] = address
	}
	var out []proxy.Upstream
	for _, name := range order {
		u, err := url.Parse(given[name])
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usageError{fmt.Errorf("the address of %s is no http URL", name), "for example https://api.openai.com/v1"}
		}
		out = append(out, proxy.Upstream{Name: name, URL: u})
	}
	return out, nil
}
