package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Session is a transcript that another agent keeps.
type Session struct {
	// ID is the agent's own id of the session: the name of its file.
	ID      string
	Path    string
	Size    int64
	ModTime time.Time
}

// agent is a program whose transcripts can be looked up.
type agent struct {
	name string
	list func(Env) ([]Session, error)
}

var agents = [...]agent{
	{"claude", claudeSessions},
}

// Agents lists the names under which sessions can be looked up.
func Agents() []string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.name
	}
	return names
}

// Sessions lists the sessions of an agent, the most recently written first. An
// agent that was never used has none. The error is *UnknownAgentError or of the
// file system.
func Sessions(name string, env Env) ([]Session, error) {
	for _, a := range agents {
		if a.name != name {
			continue
		}
		sessions, err := a.list(env)
		if err != nil {
			return nil, fmt.Errorf("list sessions of %s: %w", name, err)
		}
		slices.SortFunc(sessions, func(a, b Session) int {
			return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(b.ID, a.ID), strings.Compare(a.Path, b.Path))
		})
		return sessions, nil
	}
	return nil, &UnknownAgentError{Name: name, Known: Agents()}
}

// claudeSessions looks in $CLAUDE_CONFIG_DIR, else ~/.claude, for
// projects/*/*.jsonl. Files of sub-agents (<session>/subagents/ and, of older
// versions, agent-*.jsonl beside the sessions) are no sessions.
func claudeSessions(env Env) ([]Session, error) {
	root := env.Getenv("CLAUDE_CONFIG_DIR")
	if root == "" {
		home, err := env.Home()
		if err != nil {
			return nil, err
		}
		root = filepath.Join(home, ".claude")
	}
	root = filepath.Join(root, "projects")
	projects, err := readDir(root)
	if err != nil {
		return nil, err
	}
	var sessions []Session
	for _, p := range projects {
		// A project may be a link to a directory elsewhere: it is followed.
		files, err := readDir(filepath.Join(root, p.Name()))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name := f.Name()
			if !strings.HasSuffix(name, ".jsonl") || strings.HasPrefix(name, "agent-") || strings.HasPrefix(name, ".") {
				continue
			}
			path := filepath.Join(root, p.Name(), name)
			info, err := os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // went away since the directory was read
			}
			if err != nil {
				return nil, err
			}
			if info.Mode().IsRegular() {
				sessions = append(sessions, Session{ID: baseID(name), Path: path, Size: info.Size(), ModTime: info.ModTime()})
			}
		}
	}
	return sessions, nil
}

// readDir lists a directory. What is missing or no directory holds nothing.
func readDir(path string) ([]fs.DirEntry, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}
