// Package rewrite edits requests and answers on the wire, for whoever stands
// between a client and a provider: it puts the mandate to state reasons into
// requests, and takes the stated reasons out of answers.
//
// Everything is done by splices into the bytes at hand. What is not edited
// stays as it came, byte for byte: members of unknown names, their order,
// white space, the way in which characters are escaped.
//
//	req := rewrite.NewRequest(format, body, rewrite.Block)
//	send(req.Body)
//	answer := rewrite.NewAnswer(format, rewrite.Rules{Injected: req.Injected, Stream: req.Stream})
//	for chunk := range network {
//		client.Write(answer.Write(chunk))
//	}
//	client.Write(answer.Close())
//
// What cannot be edited safely passes as it is, and Notes say so.
package rewrite

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// maxDepth bounds the nesting of JSON: gjson validates by recursion.
const maxDepth = 512

var (
	errJSON      = errors.New("it is no JSON object")
	errDuplicate = errors.New("a member stands in it twice")
)

// valid reports whether data is one JSON value of bounded depth.
func valid(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return gjson.ValidBytes(data)
}

// members are the members of an object by their names. Of equal names the first
// counts; whose meaning an edit depends on must stand once, because the
// provider may read the last.
type members struct {
	object gjson.Result
	found  map[string]gjson.Result
	twice  bool
}

// membersOf finds the named members of an object.
func membersOf(object gjson.Result, names ...string) members {
	m := members{object: object, found: make(map[string]gjson.Result, len(names))}
	if !object.IsObject() {
		return m
	}
	object.ForEach(func(k, v gjson.Result) bool {
		if slices.Contains(names, k.Str) {
			if _, again := m.found[k.Str]; again {
				m.twice = true
			} else {
				m.found[k.Str] = v
			}
		}
		return true
	})
	return m
}

// get is the first of the named members that stands there.
func (m members) get(names ...string) gjson.Result {
	for _, name := range names {
		if v, ok := m.found[name]; ok {
			return v
		}
	}
	return gjson.Result{}
}

// str is the value of a JSON string, and empty for anything else.
func str(r gjson.Result) string {
	if r.Type == gjson.String {
		return r.Str
	}
	return ""
}

// each calls f with the elements of an array. Anything else has none.
func each(array gjson.Result, f func(gjson.Result)) {
	if array.IsArray() {
		array.ForEach(func(_, v gjson.Result) bool { f(v); return true })
	}
}

// quote writes a JSON string. Markup stays readable.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
