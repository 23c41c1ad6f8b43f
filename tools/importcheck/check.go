package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// imports maps each package of the module to what it imports, tests apart.
// Packages of the module are named "rax/...", the module's root "rax".
type imports map[string][]string

// check returns one message for each import that a rule forbids, in a stable
// order. What a package reaches through another package that the same rule
// binds is reported there only.
func check(graph imports, rules []rule) []string {
	var found []string
	for _, pkg := range slices.Sorted(maps.Keys(graph)) {
		reached := reach(graph, pkg)
		for _, r := range rules {
			if !r.binds(pkg) {
				continue
			}
			for _, path := range reached {
				through, target := path[:len(path)-1], path[len(path)-1]
				if !r.forbids(target) || slices.ContainsFunc(through, r.binds) {
					continue
				}
				found = append(found, message(pkg, through, target, r))
			}
		}
	}
	return found
}

func message(pkg string, through []string, target string, r rule) string {
	via := ""
	if len(through) > 0 {
		via = " through " + strings.Join(through, ", ")
	}
	return fmt.Sprintf("%s imports %s%s: %s", pkg, target, via, r.text)
}

// reach returns a shortest path, without pkg itself, to every direct import of
// pkg and to every package of rax behind those.
func reach(graph imports, pkg string) [][]string {
	var paths [][]string
	seen := map[string]bool{pkg: true}
	next := [][]string{nil}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		at := pkg
		if len(path) > 0 {
			at = path[len(path)-1]
		}
		for _, target := range slices.Sorted(slices.Values(graph[at])) {
			_, ours := graph[target]
			if seen[target] || !ours && at != pkg {
				continue
			}
			seen[target] = true
			longer := append(slices.Clone(path), target)
			paths = append(paths, longer)
			if ours {
				next = append(next, longer)
			}
		}
	}
	return paths
}
