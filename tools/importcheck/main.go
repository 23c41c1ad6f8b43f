// Importcheck reports the imports that the design of rax forbids.
//
//	go -C tools run ./importcheck ..
//
// The argument is a directory of the module to check. The rules are the table
// in rules.go. The exit code is 1 when a rule is broken, 2 when the packages
// cannot be listed.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// platforms are the systems whose files are looked at: an import behind a build
// constraint is an import.
var platforms = []string{"linux", "darwin", "windows"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: importcheck directory")
		os.Exit(2)
	}
	graph, err := load(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	found := check(graph, rules)
	for _, f := range found {
		fmt.Fprintln(os.Stderr, f)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
	fmt.Printf("imports: %d packages keep %d rules\n", len(graph), len(rules))
}

// load lists the packages of the module in dir with their imports on every
// platform. Each platform is listed by the go command, so its errors, such as
// a file that does not parse, are returned in its words.
func load(dir string) (imports, error) {
	graph := imports{}
	for _, goos := range platforms {
		cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Module", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w\n%s", goos, err, strings.TrimSpace(stderr.String()))
		}
		if err := add(graph, out); err != nil {
			return nil, fmt.Errorf("go list for %s: %w", goos, err)
		}
	}
	if len(graph) == 0 {
		return nil, errors.New("no packages found")
	}
	return graph, nil
}

// add merges the output of go list -json into the graph.
func add(graph imports, list []byte) error {
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
			Module     struct{ Path string }
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		name := short(pkg.ImportPath, pkg.Module.Path)
		merged := graph[name]
		for _, imp := range pkg.Imports {
			merged = append(merged, short(imp, pkg.Module.Path))
		}
		slices.Sort(merged)
		graph[name] = slices.Compact(merged)
	}
}

// short names a package of the module "rax/..." and leaves others as they are.
func short(path, module string) string {
	if rest, ok := strings.CutPrefix(path, module); ok && (rest == "" || rest[0] == '/') {
		return "rax" + rest
	}
	return path
}
