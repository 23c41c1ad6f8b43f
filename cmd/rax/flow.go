package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/flow"
)

// runFlow checks a flow, and runs it into one trace.
func runFlow(cmd *cobra.Command, sys system, path string, opt runOptions) error {
	if err := opt.validate(); err != nil {
		return err
	}
	conf, err := loadConfig(sys)
	if err != nil {
		return err
	}
	f, err := flow.Load(path)
	if err != nil {
		return flowError(err)
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
	env := flow.Env{Config: cfg, Tools: tools, DefaultModel: opt.model, State: map[string]any{}}
	if env.DefaultModel == "" {
		env.DefaultModel = conf.Model.Default
	}
	env.Model = func(spec string) (kernel.Model, error) {
		node := opt
		node.model = spec
		return openModel(sys, conf, node)
	}
	for _, pair := range opt.state {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return usageError{fmt.Errorf("--state %q is no name=value", pair), "for example --state question=why"}
		}
		env.State[name] = value
	}
	if opt.check {
		if err := f.Check(env); err != nil {
			return flowError(err)
		}
		line := render.Clean(path) + " can run"
		if inputs := f.Inputs(); len(inputs) > 0 {
			line += "; it is given " + render.Clean(strings.Join(inputs, ", ")) + " with --state"
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
		return err
	}
	done, err := watchers(&env.Config, sys, opt)
	if err != nil {
		return err
	}
	err = recorded(cmd, sys, opt, func(ctx context.Context, rec *runTrace) (kernel.Result, error) {
		rec.ask(&env.Config)
		res, err := f.Run(ctx, env, rec)
		return res.Result, err
	})
	return errors.Join(flowError(err), done())
}

// flowError makes what is wrong with a flow a mistake of its author.
func flowError(err error) error {
	var one *flow.Error
	var several flow.Errors
	if errors.As(err, &one) || errors.As(err, &several) {
		return usageError{err, "see: rax schema flow"}
	}
	return err
}
