package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// maxName is the longest tool name that every provider takes.
const maxName = 64

// NameMap maps tool names to names that are legal on every wire, and back:
// "github/list_commits" is illegal at OpenAI and Anthropic. Legal names are
// letters, digits, "_" and "-", begin with a letter or "_", and have at most 64
// bytes. A legal name stays as it is; two names never share a wire name, and
// one set of names always gives the same map, whatever its order. A nil
// NameMap changes nothing.
type NameMap struct {
	wire map[string]string
	name map[string]string
}

// NewNameMap makes the map for the tools of one request.
func NewNameMap(names []string) *NameMap {
	m := &NameMap{wire: make(map[string]string, len(names)), name: make(map[string]string, len(names))}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for _, name := range sorted {
		if legalName(name) {
			m.wire[name], m.name[name] = name, name
		}
	}
	for _, name := range sorted {
		if legalName(name) {
			continue
		}
		wire := legalise(name, 8)
		for n := 9; ; n++ { // a longer digest until it is free
			if _, taken := m.name[wire]; !taken {
				break
			}
			wire = legalise(name, n)
		}
		m.wire[name], m.name[wire] = wire, name
	}
	return m
}

// Wire returns the legal name. A name outside the map, such as that of a tool
// in an old message that is offered no more, is made legal on its own.
func (m *NameMap) Wire(name string) string {
	if m == nil {
		return name
	}
	if wire, ok := m.wire[name]; ok {
		return wire
	}
	if legalName(name) {
		return name
	}
	return legalise(name, 8)
}

// Name returns the tool's own name. A wire name outside the map, one that the
// model made up, stays as it is.
func (m *NameMap) Name(wire string) string {
	if m == nil {
		return wire
	}
	if name, ok := m.name[wire]; ok {
		return name
	}
	return wire
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func legalName(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '-' || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

// legalise replaces what is illegal by "_" and appends digits of a digest, so
// that "a/b" and "a.b" stay apart.
func legalise(name string, digits int) string {
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:])[:min(digits, maxName-2)]
	var b []byte
	if name == "" || name[0] == '-' || '0' <= name[0] && name[0] <= '9' {
		b = append(b, '_')
	}
	for _, r := range name {
		if len(b)+len(tail) >= maxName {
			break
		}
		if r < 0x80 && isNameByte(byte(r)) {
			b = append(b, byte(r))
		} else {
			b = append(b, '_')
		}
	}
	return string(b) + tail
}
