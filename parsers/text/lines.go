package text

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rax-project/rax/parsers/text/lenient"
	"github.com/rax-project/rax/rationale"
)

// pair is one named value of a block that is not JSON.
type pair struct {
	name  string
	value rationale.Span
	// indented says that the value is a block whose indentation is not part
	// of it ("name: |").
	indented bool
	// json says that the value is JSON and so shows where it ends.
	json bool
}

// lines reads a block of "name: value" lines:
//
//	tool: write_file
//	path: notes.txt
//	content: first line
//	second line
//	rationale: {"why":"keep the findings"}
//
// A line that is indented deeper than the names, or does not begin with a name
// and a colon, goes on with the value above it. So does everything inside JSON
// brackets. After "name: |" the value is the indented block below.
//
// In a block that is not closed, nothing tells the end of a value over several
// lines from the prose after it or from a cut: such a call cannot be run.
func (p *parser) lines(body rationale.Span) {
	var pairs []pair
	indent := -1
	at := body.Start
	for at > 0 && (p.text[at-1] == ' ' || p.text[at-1] == '\t') {
		at--
	}
	own := at > 0 && p.text[at-1] == '\n' // else the tag stands on the first line
	for at < body.End {
		end := lineEnd(p.text, at, body.End)
		line := p.text[at:end]
		depth := len(line) - len(strings.TrimLeft(line, " \t"))
		name, value := splitLine(line)
		if name == "" || indent >= 0 && depth > indent {
			if len(pairs) > 0 && strings.TrimSpace(line) != "" {
				last := &pairs[len(pairs)-1]
				if last.value.Len() == 0 {
					last.value.Start = at
				}
				last.value.End = trimmed(p.text, at, end).End
			}
			at = end
			continue
		}
		if indent < 0 && own {
			indent = depth
		}
		own = true
		span := trimmed(p.text, at+value, end)
		next := pair{name: name, value: span}
		switch head := span.In(p.text); {
		case head == "|" || head == "|-":
			next.indented, next.value = true, rationale.Span{}
		case strings.HasPrefix(head, "{") || strings.HasPrefix(head, "["):
			if _, stop, ok := p.json(p.text[:body.End], span.Start); ok {
				next.value.End, next.json = stop, true
				end = lineEnd(p.text, stop, body.End)
			}
		}
		pairs = append(pairs, next)
		at = end
	}
	if last := len(pairs) - 1; last >= 0 && !strings.HasPrefix(p.text[body.End:], closeCall) &&
		!pairs[last].json && strings.Contains(pairs[last].value.In(p.text), "\n") {
		p.reject(body, "", "the block is not closed and its last value may not be whole")
		return
	}
	p.fromPairs(body, pairs)
}

// splitLine returns the name that a line begins with and the offset of what
// follows its colon. "https://…" is no name.
func splitLine(line string) (name string, value int) {
	rest := strings.TrimLeft(line, " \t")
	start := len(line) - len(rest)
	name, after, ok := strings.Cut(rest, ":")
	if !ok || name == "" {
		return "", 0
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-' && c != '.') {
			return "", 0
		}
	}
	if after != "" && strings.IndexByte(" \t\r\n", after[0]) < 0 && !contains(nameKeys[:], name) {
		return "", 0
	}
	return name, start + len(name) + 1
}

// functions reads <function=name> with <parameter=name> values, or with a JSON
// object.
func (p *parser) functions(t tags, body rationale.Span) {
	for at := body.Start; ; {
		start := t.next(openFunction, at, body.End)
		if start == body.End {
			return
		}
		next := t.next(openFunction, start+1, body.End)
		end := t.next(closeFunction, start, next)
		at = next
		span := rationale.Span{Start: start, End: min(end+len(closeFunction), next)}
		name, inner, ok := p.tagName(start+len(openFunction), end)
		if !ok {
			p.reject(span, "", "the name of the function cannot be read")
			continue
		}
		pairs := []pair{{name: "function", value: name}}
		inner = end - len(strings.TrimLeft(p.text[inner:end], " \t\r\n"))
		if inner < end && p.text[inner] == '{' {
			if _, stop, ok := p.json(p.text[:end], inner); ok {
				pairs = append(pairs, pair{name: "arguments", value: rationale.Span{Start: inner, End: stop}})
			}
		}
		whole := true
		for param := t.next(openParameter, inner, end); param < end; {
			after := t.next(openParameter, param+1, end)
			stop := t.next(closeParameter, param, after)
			whole = stop < end || strings.HasPrefix(p.text[end:], closeFunction)
			if key, value, ok := p.tagName(param+len(openParameter), stop); ok {
				pairs = append(pairs, pair{name: key.In(p.text), value: unwrapped(p.text, value, stop)})
			} else {
				p.warn("the parameter at byte %d cannot be read", param)
			}
			param = after
		}
		if !whole {
			p.reject(span, name.In(p.text), "the last parameter is cut off")
			continue
		}
		p.fromPairs(span, pairs)
	}
}

// tagName reads the name that ends an opening tag and returns what follows.
func (p *parser) tagName(at, end int) (name rationale.Span, after int, ok bool) {
	for i := at; i < end && p.text[i] != '\n' && p.text[i] != '<'; i++ {
		if p.text[i] == '>' {
			return trimmed(p.text, at, i), i + 1, i > at
		}
	}
	return name, at, false
}

// fromPairs makes a call of named values. A value is a string as it stands,
// but for the object that holds all arguments and the rationale.
func (p *parser) fromPairs(span rationale.Span, pairs []pair) {
	d := draft{Call: Call{Span: span, Untyped: true}, removed: span}
	nameKey, stated := "", ""
	for _, key := range nameKeys {
		i := indexOf(pairs, key)
		if i < 0 {
			continue
		}
		name := pairs[i].value.In(p.text)
		if stated == "" {
			stated, _, _ = strings.Cut(name, "\n")
		}
		if p.callable(name) {
			d.Name, nameKey = name, key
			break
		}
	}
	if nameKey == "" {
		p.reject(span, stated, "the call names no known tool")
		return
	}
	seen := map[string]bool{nameKey: true}
	arguments := []byte{'{'}
	for _, kv := range pairs {
		if seen[kv.name] {
			if kv.name != nameKey {
				p.warn("the call at byte %d names a value twice; the first counts", span.Start)
			}
			continue
		}
		seen[kv.name] = true
		value := kv.value.In(p.text)
		switch {
		case kv.name == "rationale":
			d.sibling, d.Repaired = p.pairReason(kv.value)
			continue
		case contains(argumentKeys[:], kv.name):
			if raw, repaired, ok := wholeObject(value); ok && d.Untyped && len(arguments) == 1 {
				d.Arguments, d.Untyped = raw, false
				d.Repaired = d.Repaired || repaired
				continue
			}
		case kv.indented:
			value = dedent(value)
		}
		if !d.Untyped {
			p.warn("the call at byte %d has values beside its arguments; they were left out", span.Start)
			continue
		}
		if len(arguments) > 1 {
			arguments = append(arguments, ',')
		}
		arguments = appendString(arguments, kv.name)
		arguments = append(arguments, ':')
		arguments = appendString(arguments, value)
	}
	if d.Untyped {
		d.Untyped = len(arguments) > 1
		arguments = append(arguments, '}')
		d.Arguments = arguments
	}
	p.drafts = append(p.drafts, d)
}

// pairReason reads a rationale that is the value of a line or parameter.
func (p *parser) pairReason(value rationale.Span) (*rationale.Capture, bool) {
	m := lenient.Member{Name: "rationale", Kind: lenient.String, Span: value}
	if _, repaired, ok := wholeObject(value.In(p.text)); ok {
		m.Kind, m.Repaired = lenient.ObjectKind, repaired
	}
	return p.sibling(m), m.Repaired
}

func indexOf(pairs []pair, name string) int {
	for i := range pairs {
		if pairs[i].name == name {
			return i
		}
	}
	return -1
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// appendString appends s as a JSON string without escaping HTML, which would
// only make the arguments longer.
func appendString(out []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // a string always encodes
		return append(out, `""`...)
	}
	return append(out, bytes.TrimRight(b.Bytes(), "\n")...)
}

// lineEnd returns the offset after the line break of the line at the offset.
func lineEnd(text string, at, end int) int {
	if i := strings.IndexByte(text[at:end], '\n'); i >= 0 {
		return at + i + 1
	}
	return end
}

// trimmed returns the range without white space at its ends.
func trimmed(text string, from, to int) rationale.Span {
	s := strings.TrimRight(text[from:to], " \t\r\n")
	start := from + len(s) - len(strings.TrimLeft(s, " \t\r\n"))
	return rationale.Span{Start: start, End: from + len(s)}
}

// unwrapped returns the range without one line break at either end, which
// Qwen3-Coder puts around every value.
func unwrapped(text string, from, to int) rationale.Span {
	s := text[from:to]
	if rest, ok := strings.CutPrefix(s, "\n"); ok {
		from, s = from+1, rest
	}
	if rest, ok := strings.CutSuffix(s, "\n"); ok {
		s = rest
	}
	return rationale.Span{Start: from, End: from + len(s)}
}

// dedent removes the indentation that all lines share.
func dedent(s string) string {
	lines := strings.Split(s, "\n")
	shared := -1
	for _, line := range lines {
		rest := strings.TrimLeft(line, " \t")
		if depth := len(line) - len(rest); rest != "" && (shared < 0 || depth < shared) {
			shared = depth
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(shared, 0), len(line)):]
	}
	return strings.Join(lines, "\n")
}
