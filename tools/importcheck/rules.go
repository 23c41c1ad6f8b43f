package main

import "strings"

// rule forbids imports. In its patterns "rax/" stands for the path of the
// module, "x/..." means x and everything below it, and any other pattern means
// one package.
type rule struct {
	// text is the rule in words, as the message shows it.
	text string
	// of are the packages that the rule binds, and except those it spares.
	of, except []string
	// forbid are the imports it forbids, and allow those it permits all the same.
	forbid, allow []string
}

// rules keep imports pointing one way (rationale <- trace <- parsers, debrief
// <- kernel <- cmd/rax) and each library behind its door. Tests are not bound.
//
// A forbidden package of rax is found behind any number of steps; a library
// only where it is imported directly, since that is what a door is.
var rules = []rule{
	{
		text:   "rationale imports nothing of rax",
		of:     []string{"rax/rationale/..."},
		forbid: []string{"rax/..."},
		allow:  []string{"rax/rationale/..."},
	},
	{
		text:   "trace imports of rax only rationale and trace/safety",
		of:     []string{"rax/trace"},
		forbid: []string{"rax/..."},
		allow:  []string{"rax/rationale", "rax/trace/safety"},
	},
	{
		text:   "trace/safety imports nothing of rax",
		of:     []string{"rax/trace/safety/..."},
		forbid: []string{"rax/..."},
		allow:  []string{"rax/trace/safety/..."},
	},
	{
		text:   "trace/dir imports nothing of rax",
		of:     []string{"rax/trace/dir/..."},
		forbid: []string{"rax/..."},
		allow:  []string{"rax/trace/dir/..."},
	},
	{
		text:   "debrief imports neither kernel nor parsers",
		of:     []string{"rax/debrief/..."},
		forbid: []string{"rax/kernel/...", "rax/parsers/..."},
	},
	{
		text:   "parsers import neither debrief nor kernel",
		of:     []string{"rax/parsers/..."},
		forbid: []string{"rax/debrief/...", "rax/kernel/..."},
	},
	{
		text:   "kernel imports of its children only convo and control",
		of:     []string{"rax/kernel"},
		forbid: []string{"rax/kernel/..."},
		allow:  []string{"rax/kernel/convo", "rax/kernel/control"},
	},
	{
		text:   "nobody imports cmd",
		of:     []string{"rax/..."},
		except: []string{"rax/cmd/..."},
		forbid: []string{"rax/cmd/..."},
	},
	{
		text:   "only cmd/rax and tests import fixtures",
		of:     []string{"rax/..."},
		except: []string{"rax/cmd/...", "rax/fixtures/..."},
		forbid: []string{"rax/fixtures/..."},
	},
	door("github.com/spf13/cobra/...", "rax/cmd/rax"),
	door("github.com/xlab/treeprint/...", "rax/debrief/render"),
	door("github.com/olekukonko/tablewriter/...", "rax/debrief/render"),
	door("github.com/go-playground/validator/...", "rax/rationale"),
	door("github.com/tidwall/gjson/...", "rax/rationale", "rax/trace/...", "rax/parsers/...", "rax/kernel/tool"),
	door("github.com/goccy/go-yaml/...", "rax/cmd/rax", "rax/kernel/flow"),
	door("github.com/nikolalohinski/gonja/...", "rax/kernel/flow"),
	door("github.com/expr-lang/expr/...", "rax/kernel/flow"),
	door("github.com/google/jsonschema-go/...", "rax/cmd/rax", "rax/debrief", "rax/kernel/tool", "rax/kernel/flow"),
	door("modernc.org/sqlite/...", "rax/kernel/trail"),
}

// door is the rule that only the given packages import a library.
func door(library string, only ...string) rule {
	name := strings.TrimSuffix(library, "/...")
	doors := strings.ReplaceAll(strings.Join(only, ", "), "rax/", "")
	return rule{
		text:   "only " + doors + " may import " + name,
		of:     []string{"rax/..."},
		except: only,
		forbid: []string{library},
	}
}

func (r rule) binds(pkg string) bool   { return matchAny(r.of, pkg) && !matchAny(r.except, pkg) }
func (r rule) forbids(pkg string) bool { return matchAny(r.forbid, pkg) && !matchAny(r.allow, pkg) }

func matchAny(patterns []string, pkg string) bool {
	for _, p := range patterns {
		tree, isTree := strings.CutSuffix(p, "/...")
		if pkg == tree || isTree && strings.HasPrefix(pkg, tree+"/") {
			return true
		}
	}
	return false
}
