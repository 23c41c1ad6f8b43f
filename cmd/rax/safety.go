package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/rax-project/rax/trace/safety"
)

// safetyConfig is the section "safety" of a configuration file.
type safetyConfig struct {
	Allow  []string          `json:"allow,omitempty" jsonschema:"texts that are no secrets: whole, or their beginning and *"`
	Policy map[string]string `json:"policy,omitempty" jsonschema:"what becomes of a finding, by rule: block, redact, sanitize, warn or review (defaults: docs/safety.md)"`
	Limits limitsConfig      `json:"limits,omitempty" jsonschema:"the length guard: longer strings are cut; 0 is the default, -1 no limit"`
}

type limitsConfig struct {
	Text    int `json:"text,omitempty" jsonschema:"bytes of a string that is no payload (default 1 MiB)"`
	Payload int `json:"payload,omitempty" jsonschema:"bytes of a string in args, result and their like (default 16 MiB)"`
}

// pipelineOf gives the pipeline that every command of this configuration uses.
func pipelineOf(sys system) (*safety.Pipeline, error) {
	conf, err := loadConfig(sys)
	if err != nil {
		return nil, err
	}
	return conf.Safety.pipeline()
}

// pipeline is the only place of the program that makes one.
func (c safetyConfig) pipeline() (*safety.Pipeline, error) {
	policy := make(map[string]safety.Action, len(c.Policy))
	for _, rule := range slices.Sorted(maps.Keys(c.Policy)) {
		var action safety.Action
		if err := action.UnmarshalText([]byte(c.Policy[rule])); err != nil {
			return nil, fmt.Errorf("safety: rule %s: %w", rule, err)
		}
		policy[rule] = action
	}
	return safety.New(safety.Config{
		Allow: c.Allow, Policy: policy, Limits: safety.Limits{Text: c.Limits.Text, Payload: c.Limits.Payload},
	})
}

// check names the line of what is wrong with the section in a file. Each entry
// is held alone against the rules, so that the one at fault is found.
func (c safetyConfig) check(path string, data []byte) error {
	at := func(where string, one safetyConfig) error {
		_, err := one.pipeline()
		if err == nil {
			return nil
		}
		return usageError{fmt.Errorf("%s%s: %w", path, lineOf(data, where), err), "see: rax schema config"}
	}
	for _, rule := range slices.Sorted(maps.Keys(c.Policy)) {
		if err := at("$.safety.policy.'"+rule+"'", safetyConfig{Policy: map[string]string{rule: c.Policy[rule]}}); err != nil {
			return err
		}
	}
	for i, entry := range c.Allow {
		if err := at(fmt.Sprintf("$.safety.allow[%d]", i), safetyConfig{Allow: []string{entry}}); err != nil {
			return err
		}
	}
	if err := at("$.safety.limits.text", safetyConfig{Limits: limitsConfig{Text: c.Limits.Text}}); err != nil {
		return err
	}
	return at("$.safety.limits.payload", safetyConfig{Limits: limitsConfig{Payload: c.Limits.Payload}})
}

// lineOf gives ":N" for what a YAML path finds, or nothing.
func lineOf(data []byte, where string) string {
	path, err := yaml.PathString(where)
	if err != nil {
		return ""
	}
	node, err := path.ReadNode(bytes.NewReader(data))
	if err != nil || node.GetToken() == nil {
		return ""
	}
	return fmt.Sprintf(":%d", node.GetToken().Position.Line)
}
