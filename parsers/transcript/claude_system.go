package transcript

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/trace"
)

// synthetic takes a message that the client made in the model's name: an error
// of the API, or nothing of interest.
func (r *claudeReader) synthetic(t *claudeThread, l *claudeLine) error {
	acc := r.out.account
	if !l.apiError {
		count(acc.PassedOver, "assistant/synthetic")
		return nil
	}
	count(acc.Objects, "assistant/api-error")
	if t == r.main {
		acc.APIErrors++
	}
	if err := t.close(); err != nil {
		return err
	}
	var text string
	for b := range l.blocks() {
		if b.kind == "text" && text == "" {
			text, _ = b.text()
		}
	}
	text = strings.Clone(text)
	t.run.answer, t.run.failed = "", keep(firstLine(text), "error of the model's API")
	ev := &trace.ErrorRaised{Where: "model", Code: str(l.all.Get("error")), Message: text}
	return t.run.emit(ev, t.run.see(l.at), trace.NoIter)
}

// system takes a line of type system that says something about the run.
func (r *claudeReader) system(l *claudeLine) (used bool, err error) {
	acc, run := r.out.account, r.main.run
	switch l.sub {
	case "compact_boundary", "microcompact_boundary":
		name := "compactMetadata"
		if l.sub == "compact_boundary" {
			acc.Compactions++
		} else {
			acc.Microcompactions++
			name = "microcompactMetadata"
		}
		if err := r.main.close(); err != nil {
			return true, err
		}
		ev := &trace.StatePatchApplied{PatchKind: "compaction", Diff: compactionDiff(l.all.Get(name), l.sub)}
		return true, run.emit(ev, run.see(l.at), trace.NoIter)
	case "api_error", "error":
		acc.APIRetries++
		ev := &trace.ErrorRaised{Where: "model"}
		e := l.all.Get("error")
		for _, path := range []string{"error.error.message", "error.message", "message", "cause.message", "formatted"} {
			ev.Message = keep(ev.Message, str(e.Get(path)))
		}
		for _, path := range []string{"error.error.type", "error.type", "type", "code", "cause.code"} {
			ev.Code = keep(ev.Code, str(e.Get(path)))
		}
		if status := e.Get("status"); ev.Code == "" && status.Type == gjson.Number {
			ev.Code = status.Raw
		}
		if n := l.all.Get("retryAttempt"); n.Type == gjson.Number && n.Num > 0 && n.Num < 1<<20 {
			ev.Attempt = int(n.Int())
		}
		return true, run.emit(ev, run.see(l.at), trace.NoIter)
	}
	return false, nil
}

// compactionDiff keeps the small members of what a compaction says of itself.
func compactionDiff(meta gjson.Result, sub string) json.RawMessage {
	diff := make(map[string]any)
	for _, name := range []string{"trigger", "preTokens", "postTokens", "tokensSaved"} {
		switch v := meta.Get(name); v.Type {
		case gjson.String:
			diff[name] = v.Str
		case gjson.Number:
			diff[name] = json.Number(v.Raw)
		}
	}
	if sub == "microcompact_boundary" {
		diff["micro"] = true
	}
	encoded, err := json.Marshal(diff)
	if err != nil {
		return nil
	}
	return encoded
}
