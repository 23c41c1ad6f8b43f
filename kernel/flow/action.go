//go:build !noreasoning

package flow

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rax-project/rax/kernel/strategy"
)

// What stands in with, by action. The types are read by encoding/json after the
// templates are filled in, and described by the JSON Schema for editors.
type (
	cotWith struct {
		Problem        string                  `json:"problem" jsonschema:"what is to be solved"`
		Model          string                  `json:"model,omitempty" jsonschema:"the model of this node, as provider:model"`
		ThinkingFormat strategy.ThinkingFormat `json:"thinking_format,omitempty" jsonschema:"the form of thinking"`
		FewShot        []example               `json:"few_shot,omitempty" jsonschema:"worked examples for the model"`
	}
	reactWith struct {
		Goal     string   `json:"goal" jsonschema:"what is to be achieved"`
		Model    string   `json:"model,omitempty" jsonschema:"the model of this node, as provider:model"`
		Tools    []string `json:"tools,omitempty" jsonschema:"the tools that the model can use; all without it"`
		MaxSteps *whole   `json:"max_steps,omitempty" jsonschema:"how many turns the model has, 1 or more"`
	}
	selfCorrectWith struct {
		Task              string `json:"task" jsonschema:"what is to be done"`
		Model             string `json:"model,omitempty" jsonschema:"the model of generator and critic, as provider:model"`
		GeneratorModel    string `json:"generator_model,omitempty" jsonschema:"the model that does the task"`
		CriticModel       string `json:"critic_model,omitempty" jsonschema:"the model that criticises"`
		ImprovementRounds *whole `json:"improvement_rounds,omitempty" jsonschema:"how many critiques there are at most"`
		CriticPrompt      string `json:"critic_prompt,omitempty" jsonschema:"the request to the critic; {{ output }} is what it reviews"`
	}
	decomposeWith struct {
		Problem        string                  `json:"problem" jsonschema:"what is to be taken apart"`
		Model          string                  `json:"model,omitempty" jsonschema:"the model of this node, as provider:model"`
		ThinkingFormat strategy.ThinkingFormat `json:"thinking_format,omitempty" jsonschema:"the form of thinking about the parts"`
		MaxDepth       *whole                  `json:"max_depth,omitempty" jsonschema:"how often a part is taken apart again, 1 or more"`
		Parallel       *whole                  `json:"parallel,omitempty" jsonschema:"how many parts are worked on at once"`
		MaxParts       *whole                  `json:"max_parts,omitempty" jsonschema:"how many parts a problem has at most"`
	}
	example struct {
		Problem  string `json:"problem"`
		Thinking string `json:"thinking"`
		Answer   any    `json:"answer"`
	}
)

// whole is a whole number, also where a template gave its digits as text.
type whole int

// UnmarshalJSON implements [json.Unmarshaler].
func (w *whole) UnmarshalJSON(data []byte) error {
	text := strings.TrimSpace(strings.Trim(string(data), `"`))
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("not a whole number")
	}
	*w = whole(n)
	return nil
}

func (w *whole) value() *int {
	if w == nil {
		return nil
	}
	return new(int(*w))
}

func (w *whole) or(otherwise int) int {
	if w == nil {
		return otherwise
	}
	return int(*w)
}

// technique is an action that asks models.
type technique struct {
	action   string
	strategy string
	// input is the member that holds the task.
	input string
	// with makes an empty with of the action.
	with func() configured
}

// configured is a with that was read.
type configured interface {
	// options are those of the strategy, but for critic and its prompt.
	options() strategy.Options
	// depth is how deep the technique opens sub-runs below its own.
	depth() int
}

func techniques() []technique {
	return []technique{
		{"reason.cot", "cot", "problem", func() configured { return new(cotWith) }},
		{"reason.react", "react", "goal", func() configured { return new(reactWith) }},
		{"reason.self_correct", "self-correct", "task", func() configured { return new(selfCorrectWith) }},
		{"reason.decompose", "decompose", "problem", func() configured { return new(decomposeWith) }},
	}
}

func techniqueOf(action string) (technique, bool) {
	for _, t := range techniques() {
		if t.action == action {
			return t, true
		}
	}
	return technique{}, false
}

func (w *cotWith) options() strategy.Options {
	o := strategy.Options{ThinkingFormat: w.ThinkingFormat}
	for _, e := range w.FewShot {
		o.FewShot = append(o.FewShot, strategy.Example(e))
	}
	return o
}

func (w *reactWith) options() strategy.Options {
	return strategy.Options{MaxSteps: w.MaxSteps.value()}
}

func (w *selfCorrectWith) options() strategy.Options {
	return strategy.Options{Rounds: w.ImprovementRounds.value()}
}

func (w *decomposeWith) options() strategy.Options {
	return strategy.Options{
		ThinkingFormat: w.ThinkingFormat, MaxDepth: w.MaxDepth.value(),
		Parallel: w.Parallel.or(0), MaxParts: w.MaxParts.or(0),
	}
}

func (*cotWith) depth() int         { return 0 }
func (*reactWith) depth() int       { return 0 }
func (*selfCorrectWith) depth() int { return 0 }
func (w *decomposeWith) depth() int { return w.MaxDepth.or(strategy.DefaultMaxDepth) }

// schema describes the with of a technique.
func (t technique) schema() (*jsonschema.Schema, error) {
	var s *jsonschema.Schema
	var err error
	switch t.with().(type) {
	case *cotWith:
		s, err = jsonschema.For[cotWith](nil)
	case *reactWith:
		s, err = jsonschema.For[reactWith](nil)
	case *selfCorrectWith:
		s, err = jsonschema.For[selfCorrectWith](nil)
	default:
		s, err = jsonschema.For[decomposeWith](nil)
	}
	if err != nil {
		return nil, err
	}
	for name, p := range s.Properties {
		switch name {
		case "thinking_format":
			p.Enum = []any{
				string(strategy.StepByStep), string(strategy.ProsCons), string(strategy.Tree), string(strategy.FirstPrinciples),
			}
		case "max_steps", "improvement_rounds", "max_depth", "parallel", "max_parts":
			// A number, or a template that gives one.
			p.Type, p.Types = "", []string{"integer", "string"}
		case "tools", "few_shot":
			p.Type, p.Types = "array", nil
		}
	}
	return s, nil
}

// names are the members that a with may have.
func (t technique) names() ([]string, error) {
	s, err := t.schema()
	if err != nil {
		return nil, err
	}
	return s.PropertyOrder, nil
}

// read reads what stands in with, templates filled in.
func (t technique) read(with map[string]any) (configured, error) {
	raw, err := json.Marshal(with)
	if err != nil {
		return nil, err
	}
	w := t.with()
	return w, json.Unmarshal(raw, w)
}
