// Package flow runs flows: YAML files whose nodes are reasoning techniques and
// tools, one after the other, each with what the ones before it gave
// (specification 003).
//
//	nodes:
//	  - name: solve_math
//	    action: reason.cot
//	    with:
//	      problem: "{{ state.math_problem }}"
//	      model: ollama:llama3.2
//
// A flow is a run like any other: its root run decides which node is next and
// says why, every technique is a sub-run with a trace of its own, and a tool is
// a call of which no model was asked for a reason.
//
// Files come from anywhere: they are bounded in size and depth, may not hold
// aliases, and their templates see the state, the output before them and the
// list of tools, and nothing else. Everything that can be known to be wrong is
// an [Error] with file, line and column before any model is asked.
//
// The build tag noreasoning leaves flows out.
package flow

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// ErrLeftOut says that this build has no flows; every function of the package
// gives it there.
var ErrLeftOut = errors.New("this build leaves flows out (build tag noreasoning)")

// Error is one thing wrong with a flow, and where.
type Error struct {
	File string
	// Line and Column are 1-based; 0 where no place is meant.
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	switch message := shown(e.Message); {
	case e.Line == 0:
		return e.File + ": " + message
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, message)
	default:
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, message)
	}
}

// shown is a message fit for a terminal: the names in it are the file's.
func shown(message string) string {
	const most = 500
	runes := []rune(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, message))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// Errors are all that is wrong with a flow, in the order of the file; at most
// maxErrors.
type Errors []*Error

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the errors one by one.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}
