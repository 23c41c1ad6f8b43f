//go:build !noreasoning

package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The bounds of a template.
const (
	maxTemplate       = 64 << 10 // bytes
	maxTemplateTokens = 4096
	maxTemplateDepth  = 16
	maxRendered       = 4 << 20 // bytes, filled in
)

// template is a text with expressions in it, in the syntax of Jinja. The library
// reads it; what the few expressions of a flow mean is decided here, on plain
// JSON values: there is no function to call, no file to include, no Go value to
// reach into, and every error has its place.
type template struct {
	source value
	parts  []part
	// refs are the variables that it names.
	refs []ref
}

// part is text, or an expression when node is set.
type part struct {
	text string
	node nodes.Node
}

// ref is a variable that a template names: its path and its place in the file.
type ref struct {
	path  []string
	place place
}

// filters are what can stand behind a |.
func filters() []string { return []string{"json", "lower", "trim", "upper"} }

// isTemplate reports whether a text has anything to fill in.
func isTemplate(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#")
}

// noStructures refuses every {% %}.
type noStructures struct{}

func (noStructures) Get(string) (parser.ControlStructureParser, bool) { return nil, false }

// parseTemplate reads the template in a text.
func parseTemplate(file string, source value) (*template, error) {
	t := &template{source: source}
	fail := func(at place, format string, args ...any) (*template, error) {
		return nil, &Error{file, at.line, at.column, fmt.Sprintf(format, args...)}
	}
	if !isTemplate(source.text) {
		t.parts = []part{{text: source.text}}
		return t, nil
	}
	if len(source.text) > maxTemplate {
		return fail(source.place, "a template of %d bytes; at most %d are read", len(source.text), maxTemplate)
	}
	cfg := config.New()
	cfg.KeepTrailingNewline = true
	depth, count := 0, 0
	for s := tokens.LexAll(source.text, cfg); ; s.Next() {
		tok := s.Current()
		switch tok.Type {
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
			depth++
		case tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
			depth--
		case tokens.Error:
			return fail(source.at(max(1, tok.Line), max(1, tok.Col)), "the template cannot be read")
		}
		if count++; depth > maxTemplateDepth || count > maxTemplateTokens {
			return fail(source.at(max(1, tok.Line), max(1, tok.Col)), "the template is too long or nested too deep")
		}
		if s.End() {
			break
		}
	}
	root, err := parser.NewParser("template", tokens.LexAll(source.text, cfg), cfg, nil, noStructures{}).Parse()
	if err != nil {
		var syntax *parser.SyntaxError
		if errors.As(err, &syntax) {
			return fail(source.at(max(1, syntax.Line), max(1, syntax.Column)), "template: %s", firstLine(syntax.Message))
		}
		return fail(source.place, "the template cannot be read")
	}
	for _, n := range root.Nodes {
		switch n := n.(type) {
		case *nodes.Comment:
		case *nodes.Data:
			t.parts = append(t.parts, part{text: trimmed(n)})
		case *nodes.Output:
			if n.Condition != nil || n.Alternative != nil {
				return fail(t.at(n.Condition), "conditions belong into when, not into a template")
			}
			if at, why := t.admit(n.Expression); why != "" {
				return fail(at, "%s", why)
			}
			t.parts = append(t.parts, part{node: n.Expression})
		default:
			return fail(source.place, "only {{ }} is read in a template")
		}
	}
	return t, nil
}

// trimmed is text without the white space that {{- and -}} ask to take away.
func trimmed(n *nodes.Data) string {
	s := n.Data.Val
	if n.Trim.Left || n.Data.Trim {
		s = strings.TrimLeft(s, " \r\n\t")
	}
	if n.Trim.Right {
		s = strings.TrimRight(s, " \r\n\t")
	}
	return s
}

// at is where an expression begins in the file.
func (t *template) at(n nodes.Node) place {
	switch e := n.(type) {
	case *nodes.GetAttribute:
		return t.at(e.Node)
	case *nodes.GetItem:
		return t.at(e.Node)
	case *nodes.FilteredExpression:
		return t.at(e.Expression)
	case *nodes.BinaryExpression:
		return t.at(e.Left)
	}
	if n == nil || n.Position() == nil {
		return t.source.place
	}
	return t.source.at(n.Position().Line, n.Position().Col)
}

// admit checks that an expression is one of those that a flow may use, and
// collects the variables that it names. Everything that is not listed is
// refused.
func (t *template) admit(n nodes.Node) (place, string) {
	switch e := n.(type) {
	case *nodes.String, *nodes.Integer, *nodes.Float, *nodes.Bool:
		return place{}, ""
	case *nodes.Name, *nodes.GetAttribute, *nodes.GetItem:
		path, ok := pathOf(e)
		if !ok {
			return t.at(n), "a variable is a name with .name, [\"name\"] or [0] behind it"
		}
		t.refs = append(t.refs, ref{path, t.at(n)})
		return place{}, ""
	case *nodes.FilteredExpression:
		for _, f := range e.Filters {
			if !slices.Contains(filters(), f.Name) || len(f.Args)+len(f.Kwargs) > 0 {
				return t.source.at(f.Token.Line, f.Token.Col), fmt.Sprintf("there is no filter %q; the filters are %s, without arguments", f.Name, strings.Join(filters(), ", "))
			}
		}
		return t.admit(e.Expression)
	case *nodes.BinaryExpression:
		if e.Operator.Token.Type != tokens.Tilde {
			return t.at(n), "of the operators only ~ is read in a template"
		}
		if at, why := t.admit(e.Left); why != "" {
			return at, why
		}
		return t.admit(e.Right)
	case *nodes.Call:
		return t.at(e.Func), "a template cannot call anything"
	}
	return t.at(n), "this expression is not read in a template"
}

// pathOf is the path of a variable: state.x["y"][0].
func pathOf(n nodes.Node) ([]string, bool) {
	var path []string
	for {
		switch e := n.(type) {
		case *nodes.Name:
			slices.Reverse(path)
			return append([]string{e.Name.Val}, path...), true
		case *nodes.GetAttribute:
			step := e.Attribute
			if step == "" {
				step = fmt.Sprint(e.Index)
			}
			path, n = append(path, step), e.Node
		case *nodes.GetItem:
			switch arg := e.Arg.(type) {
			case *nodes.String:
				path = append(path, arg.Val)
			case *nodes.Integer:
				path = append(path, fmt.Sprint(arg.Val))
			default:
				return nil, false
			}
			n = e.Node
		default:
			return nil, false
		}
	}
}

// render fills the template in. A template that is one expression gives its
// value as it is, any other gives text.
func (t *template) render(file string, vars map[string]any) (any, error) {
	if len(t.parts) == 1 && t.parts[0].node != nil {
		return t.eval(file, t.parts[0].node, vars)
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.node == nil {
			b.WriteString(p.text)
			continue
		}
		v, err := t.eval(file, p.node, vars)
		if err != nil {
			return nil, err
		}
		s, err := t.text(file, p.node, v)
		if err != nil {
			return nil, err
		}
		if b.WriteString(s); b.Len() > maxRendered {
			at := t.at(p.node)
			return nil, &Error{file, at.line, at.column, fmt.Sprintf("the text grows over %d bytes here", maxRendered)}
		}
	}
	return b.String(), nil
}

func (t *template) eval(file string, n nodes.Node, vars map[string]any) (any, error) {
	switch e := n.(type) {
	case *nodes.String:
		return e.Val, nil
	case *nodes.Integer:
		return int64(e.Val), nil
	case *nodes.Float:
		return e.Val, nil
	case *nodes.Bool:
		return e.Val, nil
	case *nodes.BinaryExpression:
		left, err := t.string(file, e.Left, vars)
		if err != nil {
			return nil, err
		}
		right, err := t.string(file, e.Right, vars)
		return left + right, err
	case *nodes.FilteredExpression:
		v, err := t.eval(file, e.Expression, vars)
		for _, f := range e.Filters {
			if err != nil {
				return nil, err
			}
			v, err = t.filter(file, e, f.Name, v)
		}
		return v, err
	}
	path, _ := pathOf(n)
	v, ok := lookup(vars, path)
	if !ok {
		at := t.at(n)
		return nil, &Error{file, at.line, at.column, strings.Join(path, ".") + " is not defined"}
	}
	return v, nil
}

func (t *template) string(file string, n nodes.Node, vars map[string]any) (string, error) {
	v, err := t.eval(file, n, vars)
	if err != nil {
		return "", err
	}
	return t.text(file, n, v)
}

func (t *template) filter(file string, n nodes.Node, name string, v any) (any, error) {
	if name == "json" {
		return asJSON(v)
	}
	s, err := t.text(file, n, v)
	switch name {
	case "lower":
		s = strings.ToLower(s)
	case "upper":
		s = strings.ToUpper(s)
	case "trim":
		s = strings.TrimSpace(s)
	}
	return s, err
}

// text is a value in a text: a string as it is, anything else as JSON. Null is
// no text: what was skipped must not become a word in a prompt.
func (t *template) text(file string, n nodes.Node, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case nil:
		at := t.at(n)
		return "", &Error{file, at.line, at.column, "the value is null"}
	}
	return asJSON(v)
}

func asJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// lookup follows a path through plain JSON values.
func lookup(vars map[string]any, path []string) (any, bool) {
	var v any = vars
	for _, step := range path {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i := 0
			if _, err := fmt.Sscanf(step, "%d", &i); err != nil || fmt.Sprint(i) != step || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
