package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"
	"slices"
	"strings"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/rationale"
)

// digest identifies a conversation, or what an answer says.
type digest [sha256.Size]byte

// chain gives the digest of every beginning of a conversation: chain[n] is that
// of its first n messages. What clients change between two requests is left out:
// thinking, cache marks, white space at the ends of texts, the spelling of
// arguments.
func chain(messages []provider.Message) []digest {
	out := make([]digest, 1, len(messages)+1)
	for i, m := range messages {
		h := sha256.New()
		h.Write(out[i][:])
		word(h, string(m.Role))
		var text strings.Builder
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.BlockText:
				text.WriteString(b.Text)
			case provider.BlockCall:
				word(h, "call", b.ID, b.Name, canonical(b.Arguments))
			case provider.BlockResult:
				word(h, "result", b.ID, b.Name, b.Text)
			case provider.BlockOther:
				word(h, "other", b.Type)
			}
		}
		word(h, strings.TrimSpace(text.String()))
		out = append(out, digest(h.Sum(nil)))
	}
	return out
}

// word adds words such that no two lists of them are added alike.
func word(h hash.Hash, words ...string) {
	for _, w := range words {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(w)))
		h.Write(n[:])
		h.Write([]byte(w))
	}
}

// canonical spells arguments in one way.
func canonical(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(args)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(out)
}

// said is what an answer says, as it can be recognised in a later request.
type said struct {
	calls digest // the zero digest without calls
	text  digest
}

// saidBy is what an answer says to the client: without its reasons.
func saidBy(a parsers.Answer, injected []string) said {
	blocks := []provider.Block{{Kind: provider.BlockText, Text: rationale.Strip(a.Text())}}
	for _, c := range a.Calls {
		args := c.Arguments
		if slices.Contains(injected, c.Name) {
			args, _, _ = rationale.ExtractArgument(args)
		}
		blocks = append(blocks, provider.Block{Kind: provider.BlockCall, ID: c.ID, Name: c.Name, Arguments: args})
	}
	return saidIn([]provider.Message{{Role: provider.RoleAssistant, Blocks: blocks}})
}

// saidIn is what the assistant says in the first of the messages, up to one of
// somebody else.
func saidIn(messages []provider.Message) (s said) {
	calls, text := sha256.New(), sha256.New()
	called := false
	for _, m := range messages {
		if m.Role != provider.RoleAssistant {
			break
		}
		for _, b := range m.Blocks {
			switch b.Kind {
			case provider.BlockText:
				for _, w := range strings.Fields(b.Text) {
					word(text, w)
				}
			case provider.BlockCall:
				called = true
				word(calls, b.ID, b.Name, canonical(b.Arguments))
			}
		}
	}
	if called {
		s.calls = digest(calls.Sum(nil))
	}
	s.text = digest(text.Sum(nil))
	return s
}

// is reports whether two are the same answer. What was called says it; clients
// are free with text beside calls.
func (s said) is(other said) bool {
	if s.calls != (digest{}) || other.calls != (digest{}) {
		return s.calls == other.calls
	}
	return s.text == other.text
}

// spoke reports whether the answer calls nothing.
func (s said) spoke() bool { return s.calls == digest{} }
