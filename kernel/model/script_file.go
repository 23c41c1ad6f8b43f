package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/trace"
)

// maxScript bounds a script, in bytes after decompression.
const maxScript = 256 << 20

// OpenScript returns the player of a file: a script, see [ReadScript], or a
// trace, see [FromTrace]. The file may be compressed with gzip or zstd.
func OpenScript(path string) (*Player, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("script %s: no regular file", path), err)
	}
	plain, err := trace.Plain(f)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(plain, maxScript+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("script %s: %w", path, err)
	case len(data) > maxScript:
		return nil, fmt.Errorf("script %s: over 256 MiB", path)
	}
	return player(filepath.Base(path), data)
}

func player(name string, data []byte) (*Player, error) {
	if isTrace(data) {
		p, err := FromTrace(trace.NewReader(bytes.NewReader(data), name, trace.ReaderOptions{}).All(), -1)
		if err != nil {
			return nil, err
		}
		p.name, p.info.Name = name, name
		return p, nil
	}
	answers, err := ReadScript(name, data)
	if err != nil {
		return nil, err
	}
	return Script(name, answers...), nil
}

// isTrace reports whether the first line is an event of a trace.
func isTrace(data []byte) bool {
	line, _, _ := bytes.Cut(trim(data), []byte("\n"))
	m, err := object(line)
	return err == nil && text(m["kind"]) != "" && text(m["runId"]) != ""
}

func trim(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
}

// ScriptError says where a script cannot be read.
type ScriptError struct {
	Name string
	// Line is 1-based, and Answer counts the answers from 1; 0 means that the
	// place is not known that way.
	Line, Answer int
	Err          error
}

func (e *ScriptError) Error() string {
	s := "script " + e.Name
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if e.Answer > 0 {
		s += fmt.Sprintf(": answer %d", e.Answer)
	}
	return s + ": " + e.Err.Error()
}

func (e *ScriptError) Unwrap() error { return e.Err }

var errNoScript = errors.New("neither answers nor the bytes of one")

// ReadScript reads the answers of a script. It is one of
//
//   - JSON objects, one a line,
//   - a JSON array of them, or a single one,
//   - all bytes of a recorded stream (SSE, an AWS event stream).
//
// An object is one of
//
//   - {"text":…,"thinking":…,"calls":[{"name":…,"arguments":{…},"id":…}],
//     "usage":{"input":1,"output":2},"finish":…,"refusal":…}, every member
//     optional; usage also has reasoning, cacheRead and cacheWrite,
//   - {"format":"anthropic-messages","body":…} or {"format":…,"stream":"…"},
//     with "status":429 for an error; a body that is a string stands for its
//     text,
//   - the body of an answer in any wire format. Lines of an Ollama stream are
//     one answer up to the line that says it is done.
//
// Formats are the names of parsers/provider. An unknown member of the first two
// is an error, so that a slip of the pen changes no run.
func ReadScript(name string, data []byte) ([]Answer, error) {
	body := trim(data)
	var answers []Answer
	var err error
	switch {
	case len(body) == 0:
		err = errors.New("no answers")
	case body[0] == '[' && json.Valid(body):
		var list []json.RawMessage
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, &ScriptError{Name: name, Err: err}
		}
		answers, err = answersOf(list, func(i int) *ScriptError { return &ScriptError{Name: name, Answer: i + 1} })
	case body[0] == '{' && json.Valid(body):
		answers, err = answersOf([]json.RawMessage{body}, func(int) *ScriptError { return &ScriptError{Name: name} })
	case body[0] == '{' || body[0] == '[':
		answers, err = linesOf(name, data)
	default:
		var f provider.Format
		if f, err = provider.Detect(data); err == nil {
			return []Answer{{Wire: &Wire{Format: f, Body: data}}}, nil
		}
		if errors.Is(err, provider.ErrUnknown) {
			err = errNoScript
		}
	}
	var at *ScriptError
	if err != nil && !errors.As(err, &at) {
		err = &ScriptError{Name: name, Err: err}
	}
	if err == nil && len(answers) == 0 {
		err = &ScriptError{Name: name, Err: errors.New("no answers")}
	}
	return answers, err
}

// linesOf reads one object a line.
func linesOf(name string, data []byte) ([]Answer, error) {
	var list []json.RawMessage
	var lines []int
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = trim(line)
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return nil, &ScriptError{Name: name, Line: n, Err: errors.New("no JSON")}
		}
		list, lines = append(list, line), append(lines, n)
	}
	return answersOf(list, func(i int) *ScriptError { return &ScriptError{Name: name, Line: lines[i]} })
}

// answersOf reads a list of objects; at says where one stands.
func answersOf(list []json.RawMessage, at func(int) *ScriptError) ([]Answer, error) {
	var answers []Answer
	var open *Wire // an Ollama stream that is not done
	for i, raw := range list {
		a, more, err := answerOf(raw)
		if err != nil {
			e := at(i)
			e.Err = err
			return nil, e
		}
		if open != nil && a.Wire != nil && a.Wire.Format == provider.OllamaNative {
			open.Body = append(append(open.Body, '\n'), a.Wire.Body...)
		} else {
			answers = append(answers, a)
			open = nil
		}
		switch {
		case !more:
			open = nil
		case open == nil:
			open = a.Wire
			open.Body = slices.Clone(open.Body)
		}
	}
	return answers, nil
}

// answerOf reads one object. more says that it is a line of a stream that goes
// on.
func answerOf(raw json.RawMessage) (a Answer, more bool, err error) {
	m, err := object(raw)
	switch {
	case err == nil && len(m) > 0 && only(m, "text", "thinking", "calls", "usage", "finish", "refusal") == "":
		a, err = plain(m)
		return a, false, err
	case err == nil && m["format"] != nil && (m["body"] != nil || m["stream"] != nil):
		a.Wire, err = wrapped(m)
		return a, false, err
	}
	f, err := provider.Detect(raw)
	if err != nil {
		if errors.Is(err, provider.ErrUnknown) {
			err = errors.New("no answer: neither text, calls or thinking, nor a known wire format")
		}
		return Answer{}, false, err
	}
	more = f == provider.OllamaNative && string(m["done"]) == "false"
	return Answer{Wire: &Wire{Format: f, Body: raw}}, more, nil
}

func wrapped(m map[string]json.RawMessage) (*Wire, error) {
	if name := only(m, "format", "body", "stream", "status"); name != "" {
		return nil, fmt.Errorf("%q is no member of a wire answer", name)
	}
	w := &Wire{Format: provider.Format(text(m["format"])), Body: m["body"]}
	if !slices.Contains(provider.Formats[:], w.Format) {
		return nil, fmt.Errorf("unknown format; known are %s", formats())
	}
	if s := m["stream"]; s != nil {
		if w.Body != nil {
			return nil, errors.New("both body and stream")
		}
		w.Body = s
		if json.Unmarshal(s, new(string)) != nil {
			return nil, errors.New("stream is no string")
		}
	}
	var s string
	if json.Unmarshal(w.Body, &s) == nil {
		w.Body = []byte(s)
	}
	if raw := m["status"]; raw != nil && json.Unmarshal(raw, &w.Status) != nil {
		return nil, errors.New("status is no whole number")
	}
	return w, nil
}

func formats() string {
	var names []string
	for _, f := range provider.Formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// plain reads the members of a plain answer.
func plain(m map[string]json.RawMessage) (a Answer, err error) {
	for _, f := range []struct {
		name string
		into *string
	}{{"text", &a.Text}, {"thinking", &a.Thinking}, {"finish", &a.Finish}, {"refusal", &a.Refusal}} {
		if raw := m[f.name]; raw != nil && json.Unmarshal(raw, f.into) != nil {
			return a, fmt.Errorf("%s is no string", f.name)
		}
	}
	if raw := m["calls"]; raw != nil {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return a, errors.New("calls is no array")
		}
		for i, raw := range list {
			c, err := object(raw)
			if err != nil || text(c["name"]) == "" || only(c, "id", "name", "arguments") != "" {
				return a, fmt.Errorf("call %d: want name, arguments and id", i+1)
			}
			a.Calls = append(a.Calls, Call{ID: text(c["id"]), Name: text(c["name"]), Arguments: c["arguments"]})
		}
	}
	if raw := m["usage"]; raw != nil {
		if a.Usage, err = usage(raw); err != nil {
			return a, err
		}
	}
	return a, nil
}

func usage(raw json.RawMessage) (u parsers.Usage, err error) {
	m, err := object(raw)
	if err != nil {
		return u, errors.New("usage is no object")
	}
	counts := map[string]**int64{
		"input": &u.Input, "output": &u.Output, "reasoning": &u.Reasoning,
		"cacheRead": &u.CacheRead, "cacheWrite": &u.CacheWrite, "total": &u.Total,
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		into, ok := counts[name]
		if !ok {
			return u, fmt.Errorf("%q is no member of usage", name)
		}
		if json.Unmarshal(m[name], into) != nil || *into != nil && **into < 0 {
			return u, fmt.Errorf("usage: %s is no count", name)
		}
	}
	return u, nil
}

var errNoObject = errors.New("no JSON object")

// object reads the members of a JSON object as the rest of rax does: of equal
// names the first counts, and names are case-sensitive. encoding/json alone
// does neither. A member that is null is absent.
func object(raw []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	m := map[string]json.RawMessage{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, errNoObject
		}
		name, ok := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil || !ok {
			return nil, errNoObject
		}
		if !seen[name] && string(value) != "null" {
			m[name] = value
		}
		seen[name] = true
	}
	if _, err := d.Token(); err != nil {
		return nil, errNoObject
	}
	return m, nil
}

// text is the value of a JSON string, and empty for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// only gives the first name, in order of the alphabet, that is not one of the
// known; empty when all are.
func only(m map[string]json.RawMessage, known ...string) string {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}
