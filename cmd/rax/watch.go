package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/rax-project/rax/kernel"
	"github.com/rax-project/rax/kernel/strategy"
)

// watchers adds to a run those who are told what happens beside the terminal:
// the file of --export and the log of --log. The returned function closes the
// file and gives every error of it.
func watchers(cfg *kernel.Config, sys system, opt runOptions) (func() error, error) {
	var all strategy.Watchers
	if cfg.Watch != nil {
		all = append(all, cfg.Watch)
	}
	switch opt.log {
	case "text":
		all = append(all, strategy.NewLogger(slog.New(slog.NewTextHandler(sys.err, nil))))
	case "json":
		all = append(all, strategy.NewLogger(slog.New(slog.NewJSONHandler(sys.err, nil))))
	}
	done := func() error { return nil }
	if opt.export != "" {
		f, err := os.OpenFile(opt.export, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, err
		}
		exporter := strategy.NewExporter(f)
		all = append(all, exporter)
		done = func() error { return errors.Join(exporter.Err(), f.Close()) }
	}
	if len(all) > 0 {
		cfg.Watch = all
	}
	return done, nil
}
