package provider

import (
	"slices"
	"strings"
	"testing"
)

func checkNames(t *testing.T, names []string) {
	t.Helper()
	m := NewNameMap(names)
	reversed := slices.Clone(names)
	slices.Reverse(reversed)
	again := NewNameMap(reversed)
	seen := map[string]string{}
	for _, name := range names {
		wire := m.Wire(name)
		if !legalName(wire) {
			t.Fatalf("%q becomes %q, which is illegal", name, wire)
		}
		if other, taken := seen[wire]; taken && other != name {
			t.Fatalf("%q and %q share %q", name, other, wire)
		}
		seen[wire] = name
		if m.Name(wire) != name {
			t.Fatalf("%q comes back as %q", name, m.Name(wire))
		}
		if legalName(name) && wire != name {
			t.Fatalf("legal name %q becomes %q", name, wire)
		}
		if again.Wire(name) != wire {
			t.Fatalf("%q depends on the order of the tools", name)
		}
	}
}

func TestNameMap(t *testing.T) {
	long := strings.Repeat("x", 80)
	names := []string{
		"github/list_commits", "github.list_commits", "github_list_commits", "ping", "7up", "-x", "", "größe",
		long, long + "y", strings.Repeat("z", 64), strings.Repeat("z", 65), "a b", "ping",
	}
	// A tool whose legal name is what another would become.
	names = append(names, NewNameMap([]string{"a/b"}).Wire("a/b"), "a/b")
	checkNames(t, names)

	m := NewNameMap(names)
	if got := m.Name("made_up"); got != "made_up" {
		t.Errorf("a made-up name becomes %q", got)
	}
	if got := m.Wire("old/tool"); !legalName(got) {
		t.Errorf("a name outside the map becomes %q", got)
	}
	var none *NameMap
	if none.Wire("a/b") != "a/b" || none.Name("a/b") != "a/b" {
		t.Error("a nil map changes names")
	}
}

func FuzzNameMap(f *testing.F) {
	f.Add("github/list_commits\ngithub.list_commits\nping")
	f.Add("a/b\n" + NewNameMap([]string{"a/b"}).Wire("a/b"))
	f.Add(strings.Repeat("é", 70) + "\n\n7")
	f.Fuzz(func(t *testing.T, list string) {
		checkNames(t, strings.Split(list, "\n"))
	})
}
