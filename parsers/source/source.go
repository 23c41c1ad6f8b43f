// Package source turns what a person types for a run into records: the id of a
// trace or its beginning, latest, a path, "-", or a session of another agent
// (claude:latest). What a file holds is decided by its content, never by its
// name: a trace is read, a transcript of another agent is imported on the fly.
package source

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/rax-project/rax/trace/dir"
	"github.com/rax-project/rax/trace/safety"
)

// Traces finds traces by what a person types; dir.Search and dir.Dir do. Errors
// are those of trace/dir.
type Traces interface {
	Find(ref string) (dir.Entry, error)
}

// Env is what the package needs of the world around it. Traces, Getenv and Home
// must be set, Stdin where standard input may be read.
type Env struct {
	Traces Traces
	Getenv func(string) string
	Home   func() (string, error)
	Stdin  io.Reader
	// Safety scrubs what is imported, and what is read without a stamp of known
	// rules; nil means safety.Default().
	Safety *safety.Pipeline
	// TempDir is for inputs that must be read twice and cannot be; empty means
	// the system's directory for temporary files.
	TempDir string
}

// Source is a file, or standard input, that a reference means.
type Source struct {
	// Ref is what the person typed.
	Ref string
	// Path opens the file; "-" is standard input.
	Path string
	// Label is how the source is called, where that is not its path.
	Label string
	// ModTime is when it was last written; the zero time of standard input.
	ModTime time.Time
}

// stdin is the reference to standard input.
const stdin = "-"

// Name is how the source is called in errors and places.
func (s Source) Name() string { return cmp.Or(s.Label, s.Path) }

// Resolve finds what a reference means. A name of an agent and a colon begin a
// reference to one of its sessions: "latest" or the beginning of a session id.
// Everything else is for env.Traces. Errors are *dir.NotFoundError,
// *dir.AmbiguousError, *UnknownAgentError or those of the file system.
func Resolve(ref string, env Env) (Source, error) {
	if name, session, ok := strings.Cut(ref, ":"); ok && isAgentRef(name) {
		return resolveSession(ref, name, session, env)
	}
	entry, err := env.Traces.Find(ref)
	if err != nil {
		return Source{}, err
	}
	return Source{Ref: ref, Path: entry.Path, ModTime: entry.ModTime}, nil
}

// isAgentRef reports whether what stands before a colon is meant as the name of
// an agent: a word in lower case. A path has a separator or a drive letter.
func isAgentRef(name string) bool {
	return len(name) > 1 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// UnknownAgentError says that a reference names an agent whose sessions cannot
// be looked up.
type UnknownAgentError struct {
	Name string
	// Known are the names that can be used.
	Known []string
}

func (e *UnknownAgentError) Error() string {
	return fmt.Sprintf("no agent is called %q", e.Name)
}

func resolveSession(ref, agent, session string, env Env) (Source, error) {
	sessions, err := Sessions(agent, env)
	if err != nil {
		return Source{}, err
	}
	var found []Session
	for _, s := range sessions {
		switch {
		case session == dir.Latest || s.ID == session:
			// The list is newest first: of one id in two projects too.
			return Source{Ref: ref, Path: s.Path, ModTime: s.ModTime}, nil
		case session != "" && strings.HasPrefix(s.ID, session):
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return Source{}, &dir.NotFoundError{Ref: ref, Suggestions: suggest(agent, sessions)}
	case 1:
		return Source{Ref: ref, Path: found[0].Path, ModTime: found[0].ModTime}, nil
	}
	matches := make([]string, len(found))
	for i, s := range found {
		matches[i] = agent + ":" + s.ID
	}
	return Source{}, &dir.AmbiguousError{Ref: ref, Matches: matches}
}

// suggest names the newest sessions.
func suggest(agent string, sessions []Session) []string {
	var refs []string
	for _, s := range sessions[:min(3, len(sessions))] {
		refs = append(refs, agent+":"+s.ID)
	}
	return refs
}

// baseID is the name of a file without its ending.
func baseID(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
