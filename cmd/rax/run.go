package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/control"
	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/strategy"
	"github.com/rax-project/rax/kernel/tool"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/dir"
	"github.com/rax-project/rax/trace/safety"
)

type runOptions struct {
	model, keyFile           string
	strategy, toolMode       string
	tools                    []string
	root                     string
	allowShell, allowPrivate bool
	approve                  string
	rationale, channel       string
	iterations               int
	tokens                   int64
	effort                   string
	durability, full         string
	state                    []string
	check                    bool
	export, log              string
	replay                   string
	from                     int
	subAgents                bool
	noStream                 bool
	json, quiet, noDebrief   bool
}

func newRun(sys system) *cobra.Command {
	opt := runOptions{}
	cmd := &cobra.Command{
		Use:   "run TASK|FLOW.yaml",
		Short: "Run an agent that must say why; write its trace, print its debrief",
		Long: `Run works on a task with a model and tools, asks the model for the reason of
every call, and writes each decision into a trace before it acts on it. The
answer is printed on standard output and the debrief after it; what happens
meanwhile is told on standard error. A flow, a YAML file, runs its nodes one
after the other (see docs/flows.md).

Models are named provider:model: anthropic:…, openai:…, openai-responses:…,
gemini:…, ollama:…, and scripted:FILE, which plays recorded answers offline. Keys
come from the providers' environment variables or from a key file.

With --replay the same agent runs again from its trace, offline: its answers and
the results of its tools are those that were recorded.`,
		Example: `  rax run "which of these files is the largest?" --model ollama:llama3.2 --root .
  rax run "what is 17 * 23?" --model anthropic:claude-sonnet-4-5 --tools calculator
  rax run flow.yaml --state question=why
  rax run --replay latest`,
		Args: func(cmd *cobra.Command, args []string) error {
			if opt.replay != "" {
				return cobra.MaximumNArgs(0)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.replay != "" {
				return runReplayed(cmd, sys, opt)
			}
			if ext := filepath.Ext(args[0]); ext == ".yaml" || ext == ".yml" {
				return runFlow(cmd, sys, args[0], opt)
			}
			return runTask(cmd, sys, args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.model, "model", "", "the model, as provider:model (default model.default of the configuration)")
	f.StringVar(&opt.keyFile, "key-file", "", "a file with the provider's key, readable by you alone")
	f.StringVar(&opt.strategy, "strategy", "", "how the run works: "+strings.Join(strategy.Names(), ", ")+" (default reactive)")
	f.StringVar(&opt.toolMode, "tool-mode", "", "native or text calls (default: what the model can)")
	f.StringSliceVar(&opt.tools, "tools", nil, "only these tools (default: all; see rax tools list)")
	f.StringVar(&opt.root, "root", "", "the directory that the file tools may work in")
	f.BoolVar(&opt.allowShell, "allow-shell", false, "offer a shell in --root; it is no sandbox")
	f.BoolVar(&opt.allowPrivate, "allow-private-net", false, "let http_get reach this machine and private networks")
	f.BoolVar(&opt.subAgents, "sub-agents", false, "let the agent delegate parts of the task to agents like itself")
	f.StringVar(&opt.approve, "approve", "ask", "calls that change something: ask, all or none")
	f.StringVar(&opt.rationale, "rationale", string(kernel.RationaleWarn), "warn, strict (ask once more) or off")
	f.StringVar(&opt.channel, "rationale-channel", string(kernel.ChannelBlock), "block, argument or auto")
	f.IntVar(&opt.iterations, "max-iterations", kernel.DefaultIterations, "end after this many iterations")
	f.Int64Var(&opt.tokens, "max-tokens", 0, "end when this many tokens are spent; 0 for no limit")
	f.StringVar(&opt.effort, "thinking", "", "how much the model is to think: low, medium, high or none")
	f.StringVar(&opt.durability, "durability", string(trace.DurabilityClose), "what a crash of the machine may cost: none, close or event")
	f.StringVar(&opt.full, "on-full-disk", string(trace.FullStop), "stop, or continue untraced")
	f.StringArrayVar(&opt.state, "state", nil, "a value of a flow's state, as name=value")
	f.BoolVar(&opt.check, "check", false, "check a flow and run nothing")
	f.StringVar(&opt.export, "export", "", "write the reasoning of the run, alone and as it happens, to this file of JSON lines")
	f.StringVar(&opt.log, "log", "", "log the steps on standard error, as text or json")
	f.StringVar(&opt.replay, "replay", "", "run again from this trace, offline")
	f.IntVar(&opt.from, "from", 0, "with --replay and --model: after this many answers ask the model")
	f.BoolVar(&opt.noStream, "no-stream", false, "ask for whole answers, not for streams")
	f.BoolVar(&opt.json, "json", false, "print the result with its debrief as JSON")
	f.BoolVar(&opt.quiet, "quiet", false, "tell nothing meanwhile")
	f.BoolVar(&opt.noDebrief, "no-debrief", false, "print the answer alone")
	complete := func(flag string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	complete("strategy", strategy.Names()...)
	complete("rationale", "warn", "strict", "off")
	complete("rationale-channel", "block", "argument", "auto")
	complete("approve", "ask", "all", "none")
	complete("tool-mode", "native", "text")
	return cmd
}

// oneOfFlag reports a flag that has none of its values.
func oneOfFlag(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return usageError{fmt.Errorf("unknown value %q of --%s", value, flag), "want " + strings.Join(known, ", ")}
}

func (opt runOptions) validate() error {
	return errors.Join(
		oneOfFlag("rationale", opt.rationale, "warn", "strict", "off"),
		oneOfFlag("rationale-channel", opt.channel, "block", "argument", "auto"),
		oneOfFlag("approve", opt.approve, "ask", "all", "none"),
		oneOfFlag("tool-mode", opt.toolMode, "", "native", "text"),
		oneOfFlag("durability", opt.durability, "none", "close", "event"),
		oneOfFlag("log", opt.log, "", "text", "json"),
		oneOfFlag("on-full-disk", opt.full, "stop", "continue"),
	)
}

func runTask(cmd *cobra.Command, sys system, task string, opt runOptions) error {
	if err := opt.validate(); err != nil {
		return err
	}
	conf, err := loadConfig(sys)
	if err != nil {
		return err
	}
	if opt.model == "" {
		opt.model = conf.Model.Default
	}
	if opt.model == "" {
		return usageError{errors.New("no model is named"), "give --model, for example --model ollama:llama3.2, or set model.default in .rax.yaml"}
	}
	m, err := openModel(sys, conf, opt)
	if err != nil {
		return err
	}
	tools, closeTools, err := openTools(opt)
	if err != nil {
		return err
	}
	defer closeTools()
	cfg, err := agentConfig(cmd, sys, conf, opt)
	if err != nil {
		return err
	}
	cfg.Model, cfg.Tools = m, tools
	if opt.subAgents {
		if err := delegate(cfg, tools); err != nil {
			return err
		}
	}
	done, err := watchers(&cfg, sys, opt)
	if err != nil {
		return err
	}
	return errors.Join(runAgent(cmd, sys, cfg, task, opt), done())
}

// delegate adds the tool by which an agent runs another one like itself.
func delegate(cfg kernel.Config, tools *tool.Registry) error {
	sub, err := kernel.NewSubAgent("delegate",
		"Give a part of the task to another agent with the same tools. It sees nothing of this conversation: describe the part in full. Its answer is the result.", cfg)
	if err != nil {
		return err
	}
	return tools.Register(sub)
}

func openModel(sys system, conf config, opt runOptions) (kernel.Model, error) {
	prices := make(map[string]model.Price, len(conf.Prices))
	for name, p := range conf.Prices {
		prices[name] = model.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	}
	options := model.Options{Getenv: sys.getenv, KeyFile: opt.keyFile, Prices: prices, Stream: !opt.noStream}
	if conf.Model.Window > 0 {
		options.Windows = map[string]int64{opt.model: conf.Model.Window}
	}
	m, err := model.Open(opt.model, options)
	if err != nil {
		return nil, usageError{err, ""}
	}
	return m, nil
}

// openTools makes the tools of a run. The returned function closes the root.
func openTools(opt runOptions) (*tool.Registry, func(), error) {
	options := tool.Options{AllowShell: opt.allowShell, AllowPrivateNet: opt.allowPrivate}
	done := func() {}
	if opt.root != "" {
		root, err := os.OpenRoot(opt.root)
		if err != nil {
			return nil, done, err
		}
		options.Root = root
		done = func() { _ = root.Close() }
	}
	registry, err := tool.NewBuiltin(tool.Limits{}, options)
	if err == nil && len(opt.tools) > 0 {
		if registry, err = registry.Select(opt.tools...); err != nil {
			err = usageError{err, "see: rax tools list"}
		}
	}
	if err != nil {
		done()
		return nil, func() {}, err
	}
	return registry, done, nil
}

func agentConfig(cmd *cobra.Command, sys system, conf config, opt runOptions) (kernel.Config, error) {
	name := opt.strategy
	if name == "" {
		name = conf.Model.Strategy
	}
	s, err := strategy.New(name)
	if err != nil {
		return kernel.Config{}, usageError{err, "want " + strings.Join(strategy.Names(), ", ")}
	}
	ids := dir.NewEntropy(nil)
	cfg := kernel.Config{
		Strategy: s, System: conf.Model.System,
		Rationale: kernel.RationaleMode(opt.rationale), Channel: kernel.Channel(opt.channel),
		ToolMode:  kernel.ToolMode(opt.toolMode),
		Limits:    kernel.Limits{Iterations: opt.iterations, Tokens: opt.tokens},
		Policy:    control.Policy{Rules: append(slices.Clone(conf.Approval), control.DefaultPolicy().Rules...)},
		Untrusted: untrusted,
		Thinking:  kernel.Thinking{Effort: opt.effort},
		NewID:     func() (string, error) { return dir.NewID(sys.now(), ids) },
		Now:       sys.now,
	}
	if opt.approve == "all" {
		cfg.Policy = control.Policy{Rules: conf.Approval}
	}
	if s.Name() == (strategy.Reactive{}).Name() {
		cfg.Fallback = strategy.PlanExecuteReflect{}
	}
	if !opt.quiet {
		cfg.Watch = newProgress(cmd.ErrOrStderr(), sys.now)
	}
	return cfg, nil
}

// untrusted says why tool output is fenced: the safety rules find that it tries
// to give instructions.
func untrusted(text string) string {
	if found := safety.Injection(text); len(found) > 0 {
		return "matches the rule " + found[0].Rule
	}
	return ""
}

// runAgent runs the agent into a new trace and prints what came of it.
func runAgent(cmd *cobra.Command, sys system, cfg kernel.Config, task string, opt runOptions) error {
	return recorded(cmd, sys, opt, func(ctx context.Context, rec *runTrace) (kernel.Result, error) {
		rec.ask(&cfg)
		agent, err := kernel.New(cfg)
		if err != nil {
			return kernel.Result{}, err
		}
		return agent.Run(ctx, task, rec)
	})
}

// recorded gives work a new trace and prints what came of it.
func recorded(cmd *cobra.Command, sys system, opt runOptions, work func(context.Context, *runTrace) (kernel.Result, error)) error {
	term, err := terminalOf(cmd, sys)
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
	rec := &runTrace{dir: search.Dir, sys: sys, opt: opt, session: pipeline.Session()}
	res, runErr := work(cmd.Context(), rec)
	closeErr := rec.close(cmd.ErrOrStderr())
	if res.RunID != "" {
		if err := printResult(cmd.OutOrStdout(), res, rec.session, opt, term); err != nil {
			return err
		}
	}
	switch {
	case runErr != nil:
		return errors.Join(runErr, closeErr)
	case closeErr != nil:
		return closeErr
	case res.Failed:
		return fmt.Errorf("the run ended by %s", res.Reason)
	}
	return nil
}

func printResult(w io.Writer, res kernel.Result, s *safety.Session, opt runOptions, term terminal) error {
	if opt.json {
		var doc bytes.Buffer
		if err := render.JSON(&doc, res); err != nil {
			return err
		}
		clean, _ := s.JSON(nil, "result", doc.Bytes())
		_, err := w.Write(clean)
		return err
	}
	if res.Output != "" {
		if _, err := fmt.Fprintln(w, render.Block(s.Stored("output", res.Output).Text)); err != nil {
			return err
		}
	}
	if opt.noDebrief || res.Debrief.RunID == "" {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return render.Tree(w, res.Debrief, render.TreeOptions{Width: term.width, Color: term.color})
}

// runTrace is the trace of a run, made with its first event.
type runTrace struct {
	dir    dir.Dir
	sys    system
	opt    runOptions
	writer *trace.Writer
	// session scrubs the trace, and what is shown of the run beside it.
	session *safety.Session
}

// ask lets a run ask the person at the terminal, unless it asks nobody or has
// the answers of a recording.
func (t *runTrace) ask(cfg *kernel.Config) {
	if cfg.Approve == nil && t.opt.approve == "ask" && t.opt.replay == "" {
		cfg.Approve = askUser(t.sys, t.session)
	}
}

// Write implements kernel.Recorder.
func (t *runTrace) Write(ev trace.Event) (trace.Record, error) {
	if t.writer == nil {
		id := ev.Common().RunID
		f, err := t.dir.Create(id)
		if err != nil {
			return trace.Record{}, err
		}
		t.writer, err = trace.NewWriter(f, trace.WriterOptions{
			Name: id, Producer: producer(), Now: t.sys.now, Session: t.session,
			Durability: trace.Durability(t.opt.durability), Full: trace.FullPolicy(t.opt.full),
		})
		if err != nil {
			return trace.Record{}, errors.Join(err, f.Close())
		}
	}
	return t.writer.Write(ev)
}

// close closes the trace. A run that went on untraced says so, and is no error.
func (t *runTrace) close(stderr io.Writer) error {
	if t.writer == nil {
		return nil
	}
	lost, why := t.writer.Untraced()
	err := t.writer.Close()
	if why != nil && t.opt.full == string(trace.FullContinue) {
		say(stderr, "warning: ", fmt.Sprintf("the trace is incomplete, %d events were not stored: %v", lost, why))
		return nil
	}
	return err
}

// runReplayed runs the agent of a trace again, from the trace.
func runReplayed(cmd *cobra.Command, sys system, opt runOptions) error {
	if opt.from > 0 && opt.model == "" {
		return usageError{errors.New("--from needs a model to go on with"), "give --model"}
	}
	in, err := open(cmd, sys, opt.replay)
	if err != nil {
		return err
	}
	defer in.close()
	var readErr error
	read := func() iter.Seq2[trace.Record, error] {
		records, err := in.records()
		if err != nil {
			readErr = err
			return func(func(trace.Record, error) bool) {}
		}
		return records
	}
	recorded, err := kernel.ReadRecorded(read())
	if err = errors.Join(readErr, err); err != nil {
		return unreadable{fmt.Errorf("%s: %w", in.name, err), "only runs of rax run can be replayed"}
	}
	upTo := -1
	if opt.from > 0 {
		upTo = opt.from
	}
	player, err := model.FromTrace(read(), upTo)
	if err = errors.Join(readErr, err); err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	tools, err := model.ReplayTools(read())
	if err = errors.Join(readErr, err); err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	cfg, err := agentConfig(cmd, sys, config{}, opt)
	if err != nil {
		return err
	}
	recorded.Settings.Apply(&cfg)
	cfg.Model, cfg.Tools, cfg.Approve = player, recorded.Toolbox(tools), recorded.Approver()
	if cfg.Strategy, err = strategy.New(recorded.Settings.Strategy); err != nil {
		return err
	}
	cfg.Fallback = nil
	if recorded.Settings.Fallback != "" {
		if cfg.Fallback, err = strategy.New(recorded.Settings.Fallback); err != nil {
			return err
		}
	}
	if opt.from > 0 && opt.model != "" {
		live, done, err := openTools(opt)
		if err != nil {
			return err
		}
		defer done()
		cfg.Tools = tools.Then(opt.from, live)
		if cfg.Model, err = goOn(sys, opt, player); err != nil {
			return err
		}
	}
	return runAgent(cmd, sys, cfg, recorded.Task, opt)
}

// goOn lets a model answer where the recording is left.
func goOn(sys system, opt runOptions, player *model.Player) (kernel.Model, error) {
	conf, err := loadConfig(sys)
	if err != nil {
		return nil, err
	}
	m, err := openModel(sys, conf, opt)
	if err != nil {
		return nil, err
	}
	return player.Then(m), nil
}
