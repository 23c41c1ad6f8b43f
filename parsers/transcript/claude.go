package transcript

import (
	"bytes"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/trace"
)

// Claude Code writes ~/.claude/projects/<directory>/<session>.jsonl: one JSON
// object a line, with sessionId, uuid, parentUuid and timestamp. A message of
// the model is spread over lines of one message.id, a block a line, and results
// of its first calls may stand between them. A tool result is a line of type
// user. Sub-agents stand in the same file, as lines marked isSidechain or inside
// progress lines, or in files of their own where every line is a sidechain.

// claudeSynthetic is the model name of messages that the client made itself.
const claudeSynthetic = "<synthetic>"

// claudeMarks tells lines that carry no uuid by the members that go with their
// type. They are what a session file may begin with.
var claudeMarks = map[string][2]string{
	"summary":               {"summary", "leafUuid"},
	"file-history-snapshot": {"messageId", "snapshot"},
	"queue-operation":       {"operation", "sessionId"},
	"custom-title":          {"customTitle", "sessionId"},
	"ai-title":              {"aiTitle", "sessionId"},
	"last-prompt":           {"lastPrompt", "sessionId"},
	"agent-name":            {"agentName", "sessionId"},
	"permission-mode":       {"permissionMode", "sessionId"},
	"mode":                  {"mode", "sessionId"},
	"pr-link":               {"prUrl", "sessionId"},
	"worktree-state":        {"worktreeSession", "sessionId"},
	"started":               {"key", "agentId"},
}

// detectClaude takes a head in which a line bears the marks of a session file.
// Lines before it that bear none, damaged ones too, do not speak against it.
func detectClaude(head []byte) error {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	for line := range bytes.Lines(head) {
		if claudeMarked(line) {
			return nil
		}
	}
	return ErrNotMine
}

// claudeMarked looks at the names of a line's members. The line may stop
// anywhere: only what stands before its end is looked at, and nothing is taken
// from it but the answer.
func claudeMarked(line []byte) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
		return false
	}
	var kind string
	has := make(map[string]bool)
	gjson.ParseBytes(line).ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		if name == "type" && value.Type == gjson.String && kind == "" {
			kind = value.Str
		}
		if len(has) < 64 {
			has[name] = true
		}
		return true
	})
	if marks, ok := claudeMarks[kind]; ok {
		return has[marks[0]] && has[marks[1]]
	}
	if !has["sessionId"] || has["kind"] || has["payload"] {
		return false
	}
	switch kind {
	case "user", "assistant", "system", "progress", "attachment":
		return has["uuid"]
	case "":
		// A line that is longer than the head: its type stands at its end.
		return has["parentUuid"] && has["isSidechain"]
	}
	return false
}

// claudeLine is one object of a session file, its small members read.
type claudeLine struct {
	place trace.Place
	// kind is its type, sub the subtype of a system line or the type of a
	// progress line's data.
	kind, sub string
	session   string
	version   string
	uuid      string
	parent    string
	agent     string
	// at is its time in ms since the Unix epoch, 0 for none. The second pass
	// gives a line without one the time of the line before, and notes it.
	at        int64
	timed     bool
	sidechain bool
	meta      bool
	summary   bool
	apiError  bool
	denial    string
	// parentCall is the provider's id of the call that started a sub-agent, and
	// prompt what the sub-agent was told.
	parentCall, prompt string

	all     gjson.Result // the object
	message gjson.Result // its message
	// pointer is the JSON Pointer of message.
	pointer string
	// inner says that it is a line of a sub-agent inside a progress line.
	inner bool
}

// readClaudeLine reads an object. It copies it: the result does not depend on
// the bytes of the line.
func readClaudeLine(line trace.Line) *claudeLine {
	l := &claudeLine{place: line.Place, all: gjson.ParseBytes(line.Bytes), pointer: "/message"}
	var data gjson.Result
	seen := make(map[string]bool, 24)
	l.all.ForEach(func(key, v gjson.Result) bool {
		name := key.String()
		if seen[name] {
			return true
		}
		seen[name] = true
		switch name {
		case "type":
			l.kind = str(v)
		case "subtype":
			l.sub = str(v)
		case "sessionId":
			l.session = str(v)
		case "version":
			l.version = str(v)
		case "uuid":
			l.uuid = str(v)
		case "parentUuid":
			l.parent = str(v)
		case "agentId":
			l.agent = str(v)
		case "timestamp":
			l.at = claudeTime(v)
		case "isSidechain":
			l.sidechain = v.IsBool() && v.Bool()
		case "isMeta":
			l.meta = v.IsBool() && v.Bool()
		case "isCompactSummary":
			l.summary = v.IsBool() && v.Bool()
		case "isApiErrorMessage":
			l.apiError = v.IsBool() && v.Bool()
		case "toolDenialKind":
			l.denial = str(v)
		case "parentToolUseID":
			l.parentCall = str(v)
		case "message":
			l.message = v
		case "data":
			data = v
		}
		return true
	})
	if l.kind == "progress" {
		l.sub = str(data.Get("type"))
		if l.sub == "agent_progress" {
			l.enter(data)
		}
	}
	return l
}

// enter reads the line of a sub-agent that a progress line wraps. Beside it
// stand all the lines before it again (normalizedMessages), which are left.
func (l *claudeLine) enter(data gjson.Result) {
	l.inner = true
	l.agent = str(data.Get("agentId"))
	l.prompt = str(data.Get("prompt"))
	line := data.Get("message")
	l.kind = str(line.Get("type"))
	l.message = line.Get("message")
	l.pointer = "/data/message/message"
	if at := claudeTime(line.Get("timestamp")); at != 0 {
		l.at = at
	}
}

// str gives a string; what is none counts as absent. The copy lets go of the
// line.
func str(v gjson.Result) string {
	if v.Type != gjson.String {
		return ""
	}
	return strings.Clone(v.Str)
}

// claudeTime reads a timestamp: RFC 3339, or milliseconds.
func claudeTime(v gjson.Result) int64 {
	switch v.Type {
	case gjson.String:
		if t, err := time.Parse(time.RFC3339Nano, v.Str); err == nil && t.UnixMilli() > 0 {
			return t.UnixMilli()
		}
	case gjson.Number:
		if ms := v.Int(); ms > 0 && ms < 1<<53 {
			return ms
		}
	}
	return 0
}

// typeName is the type under which a line is counted.
func (l *claudeLine) typeName() string {
	switch {
	case l.inner:
		return "progress/agent_progress"
	case (l.kind == "system" || l.kind == "progress") && l.sub != "":
		return l.kind + "/" + l.sub
	case l.kind == "":
		return "(no type)"
	}
	return l.kind
}

// claudePassed lists the types of lines that say nothing about the run.
var claudePassed = map[string]bool{
	"agent-name": true, "ai-title": true, "atis-latch": true, "attachment": true, "bridge-session": true,
	"custom-title": true, "file-history-snapshot": true, "frame-link": true, "last-prompt": true, "mode": true,
	"permission-mode": true, "pr-link": true, "queue-operation": true, "relocated": true, "result": true,
	"started": true, "summary": true, "tag": true, "worktree-state": true,
	"progress/bash_progress": true, "progress/hook_progress": true, "progress/mcp_progress": true,
	"progress/query_update": true, "progress/search_results_received": true, "progress/waiting_for_task": true,
	"system/informational": true, "system/local_command": true, "system/session_start": true,
	"system/stop_hook_summary": true, "system/turn_duration": true, "system/api_refusal": true,
	"system/model_refusal_fallback": true,
	// Of a sub-agent, or of a file without a conversation.
	"system/compact_boundary": true, "system/microcompact_boundary": true, "system/api_error": true, "system/error": true,
}
