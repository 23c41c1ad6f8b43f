//go:build !noreasoning

package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// maxCondition bounds a condition, in bytes.
const maxCondition = 2048

// condition is the when of a node: an expression that is true or false.
type condition struct {
	source value
	text   string
	// shift is how many bytes of the source stand before the text.
	shift int
}

// newCondition takes a condition out of its text. {{ }} around all of it is
// allowed, since it is natural to write.
func newCondition(path string, v value) (condition, error) {
	c := condition{source: v, text: v.text}
	if inner, ok := strings.CutPrefix(strings.TrimSpace(v.text), "{{"); ok && strings.HasSuffix(inner, "}}") {
		c.text = strings.TrimSuffix(inner, "}}")
		c.shift = strings.Index(v.text, "{{") + 2
	}
	switch {
	case len(c.text) > maxCondition:
		return c, &Error{path, v.place.line, v.place.column, fmt.Sprintf("a condition of %d bytes; at most %d are read", len(c.text), maxCondition)}
	case strings.TrimSpace(c.text) == "":
		return c, &Error{path, v.place.line, v.place.column, "the condition is empty"}
	}
	return c, nil
}

// functions are what a condition can call.
func functions() []string { return []string{"int", "float", "len", "lower", "trim", "upper"} }

// compile checks the condition against the names that there are. The library
// knows their positions; it loops over nothing here, so that a condition ends.
func (c condition) compile(path string, state []string, output bool) (*vm.Program, error) {
	known := types.Map{}
	for _, name := range state {
		known[name] = types.Any
	}
	env := types.Map{"state": known}
	if output {
		env["output"] = types.Any
	}
	guard := &loopless{}
	options := []expr.Option{expr.Env(env), expr.AsBool(), expr.DisableAllBuiltins(), expr.Patch(guard), expr.MaxNodes(500), expr.Optimize(false)}
	for _, name := range functions() {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(c.text, options...)
	if guard.found != "" {
		return nil, c.fail(path, 1, 1, guard.found)
	}
	var at *file.Error
	if errors.As(err, &at) {
		return nil, c.fail(path, max(1, at.Line), at.Column+1, firstLine(at.Message))
	}
	if err != nil {
		return nil, c.fail(path, 1, 1, firstLine(err.Error()))
	}
	return program, nil
}

func (c condition) fail(path string, line, column int, message string) error {
	if line == 1 {
		column += c.shift
	}
	at := c.source.at(line, column)
	return &Error{path, at.line, at.column, "when: " + message}
}

// loopless refuses what makes a condition long to evaluate.
type loopless struct{ found string }

// Visit implements [ast.Visitor].
func (l *loopless) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.PredicateNode, *ast.VariableDeclaratorNode, *ast.SequenceNode:
		l.found = "loops and variables are not read in a condition"
	case *ast.BinaryNode:
		if n.Operator == ".." {
			l.found = "ranges are not read in a condition"
		}
	case *ast.BuiltinNode:
		if !slices.Contains(functions(), n.Name) {
			l.found = fmt.Sprintf("there is no function %q; the functions are %s", n.Name, strings.Join(functions(), ", "))
		}
	}
}

// holds evaluates the condition.
func (c condition) holds(path string, state map[string]any, output any) (bool, error) {
	var names []string
	for name := range state {
		names = append(names, name)
	}
	program, err := c.compile(path, names, true)
	if err != nil {
		return false, err
	}
	result, err := expr.Run(program, map[string]any{"state": state, "output": output})
	if err != nil { // its message may quote the values
		return false, c.fail(path, 1, 1, "it cannot be evaluated with the values that the state has")
	}
	yes, ok := result.(bool)
	if !ok {
		return false, c.fail(path, 1, 1, "it is neither true nor false")
	}
	return yes, nil
}
