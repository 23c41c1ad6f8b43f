//go:build !noreasoning

package flow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a flow's file. The parser's time grows with the square of the
// tokens, so that they are counted first.
const (
	maxFile   = 256 << 10 // bytes
	maxTokens = 10_000
	maxDepth  = 32
)

// place is where a value stands in the file.
type place struct{ line, column int }

// kind is the type of a value.
type kind int

const (
	nullKind kind = iota
	scalarKind
	textKind
	listKind
	objectKind
)

// value is a YAML value with its place.
type value struct {
	kind   kind
	place  place
	scalar any    // of scalarKind: bool, int64, uint64 or float64
	text   string // of textKind
	// inner is where the text's own first character stands, and block says that
	// its lines are lines of the file, indented.
	inner place
	block bool
	items []value
	pairs []pair
}

// pair is a member of an object.
type pair struct {
	name  string
	place place
	value value
}

// get finds a member.
func (v value) get(name string) (value, bool) {
	for _, p := range v.pairs {
		if p.name == name {
			return p.value, true
		}
	}
	return value{}, false
}

// at is the place in the file of a place in the text, both 1-based.
func (v value) at(line, column int) place {
	switch {
	case v.block:
		return place{v.inner.line + line - 1, v.inner.column + column - 1}
	case line == 1:
		return place{v.inner.line, v.inner.column + column - 1}
	}
	return v.place // folded: the lines of the text are not those of the file
}

// document reads a file that holds one YAML document.
func document(file string, data []byte) (value, error) {
	bad := func(at place, format string, args ...any) (value, error) {
		return value{}, &Error{file, at.line, at.column, fmt.Sprintf(format, args...)}
	}
	if len(data) > maxFile {
		return bad(place{}, "the flow is %d bytes long; at most %d are read", len(data), maxFile)
	}
	source := string(data)
	tokens := lexer.Tokenize(source)
	if len(tokens) > maxTokens {
		return bad(place{}, "the flow has %d YAML tokens; at most %d are read", len(tokens), maxTokens)
	}
	depth := 0
	for _, t := range tokens {
		at := placeOf(t)
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return bad(at, "anchors, aliases and merge keys are not read")
		case token.TagType:
			return bad(at, "tags are not read")
		case token.SequenceStartType, token.MappingStartType:
			if depth++; depth > maxDepth {
				return bad(at, "values are nested deeper than %d", maxDepth)
			}
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			return bad(placeOf(y.GetToken()), "%s", y.GetMessage())
		}
		return bad(place{}, "it is no YAML")
	}
	var body ast.Node
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			return bad(placeOf(doc.Body.GetToken()), "a flow is one YAML document")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return bad(place{}, "the flow is empty")
	}
	r := yamlReader{file: file, lines: strings.Split(source, "\n")}
	return r.value(body, 0)
}

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line, max(1, t.Position.Column)}
}

// yamlReader turns nodes of the parser into values.
type yamlReader struct {
	file  string
	lines []string
}

func (r yamlReader) bad(n ast.Node, message string) (value, error) {
	at := placeOf(n.GetToken())
	return value{}, &Error{r.file, at.line, at.column, message}
}

func (r yamlReader) value(n ast.Node, depth int) (value, error) {
	if depth > maxDepth {
		return r.bad(n, fmt.Sprintf("values are nested deeper than %d", maxDepth))
	}
	v := value{place: placeOf(n.GetToken()), kind: scalarKind}
	switch n := n.(type) {
	case *ast.NullNode:
		v.kind = nullKind
	case *ast.BoolNode:
		v.scalar = n.Value
	case *ast.IntegerNode:
		v.scalar = n.Value
	case *ast.FloatNode:
		v.scalar = n.Value
	case *ast.StringNode:
		v.kind, v.text, v.inner = textKind, n.Value, v.place
		if t := n.GetToken().Type; t == token.DoubleQuoteType || t == token.SingleQuoteType {
			v.inner.column++
		}
	case *ast.LiteralNode:
		v.kind, v.text = textKind, n.Value.Value
		v.inner, v.block = r.literal(v.place, n)
	case *ast.SequenceNode:
		v.kind = listKind
		for _, item := range n.Values {
			i, err := r.value(item, depth+1)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, i)
		}
	case *ast.MappingNode:
		v.kind = objectKind
		if len(n.Values) > 0 {
			v.place = placeOf(n.Values[0].Key.GetToken())
		}
		for _, m := range n.Values {
			if err := r.pair(&v, m, depth); err != nil {
				return v, err
			}
		}
	case *ast.MappingValueNode:
		v.kind = objectKind
		if err := r.pair(&v, n, depth); err != nil {
			return v, err
		}
	default:
		return r.bad(n, fmt.Sprintf("a %s is not read here", strings.ToLower(n.Type().String())))
	}
	return v, nil
}

func (r yamlReader) pair(v *value, m *ast.MappingValueNode, depth int) error {
	key, ok := m.Key.(*ast.StringNode)
	if !ok {
		_, err := r.bad(m.Key, "a name must be plain text")
		return err
	}
	if _, twice := v.get(key.Value); twice {
		_, err := r.bad(m.Key, fmt.Sprintf("%q stands here twice", key.Value))
		return err
	}
	inner, err := r.value(m.Value, depth+1)
	if err != nil {
		return err
	}
	v.pairs = append(v.pairs, pair{key.Value, placeOf(key.GetToken()), inner})
	return nil
}

// literal finds the first character of a block of lines. The lines of a folded
// block are not those of its text.
func (r yamlReader) literal(at place, n *ast.LiteralNode) (place, bool) {
	if n.Start == nil || !strings.HasPrefix(strings.TrimSpace(n.Start.Value), "|") {
		return at, false
	}
	for i := at.line; i < len(r.lines); i++ { // the line behind the indicator
		if trimmed := strings.TrimLeft(r.lines[i], " "); strings.TrimSpace(trimmed) != "" {
			return place{at.line + 1, len(r.lines[i]) - len(trimmed) + 1}, true
		}
	}
	return at, false
}
