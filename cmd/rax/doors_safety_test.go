package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These tests keep the text of models from leaving the program by a way around
// the safety pipeline (docs/safety.md, "Doors"). The types do most of it: only
// trace makes a Record, only parsers/live a Chunk. What types cannot see is
// listed here, each with the reason why it is safe. Whoever opens a new door adds
// it, and says why nothing unsafe passes it.

// openers are the files that open a file for writing, a socket, a process or a
// standard stream.
var openers = map[string]string{
	"cmd/rax/watch.go":             "opens the file of the exporter and the log, which take Records only",
	"kernel/proxy/handler.go":      "gives an agent the bytes of the provider that it asked; what is kept goes through a trace.Writer",
	"kernel/proxy/proxy.go":        "gives an agent the bytes of the provider that it asked; what is kept goes through a trace.Writer",
	"kernel/proxy/serve.go":        "gives an agent the bytes of the provider that it asked; what is kept goes through a trace.Writer",
	"cmd/rax/main.go":              "hands the standard streams to the commands",
	"cmd/rax/open.go":              "spools standard input, which has to be read twice, for its owner alone; removed at the end",
	"parsers/transcript/input.go":  "copies an input that cannot be read twice, for its owner alone; removed at the end",
	"trace/dir/compress.go":        "packs a trace as it is",
	"trace/dir/lock.go":            "the file of a trace.Writer, and its lock",
	"trace/dir/replace.go":         "the file of a trace.Writer, for an import",
	"kernel/model/model.go":        "the client that sends prompts to the provider, which is the model's own side",
	"kernel/model/remote.go":       "sends prompts to the provider, which is the model's own side",
	"kernel/tool/files.go":         "reads for the tools, inside the root that the user named",
	"kernel/tool/file_write.go":    "a tool: writes what the model was asked to write, inside the root that the user named",
	"kernel/tool/http_get.go":      "a tool: fetches what the model asks for",
	"kernel/tool/shell_unix.go":    "a tool: runs what the model asks for, where the user allows it",
	"kernel/tool/shell_windows.go": "a tool: runs what the model asks for, where the user allows it",
	"kernel/model/fake/fake.go":    "a provider for tests, on loopback",
	"kernel/strategy/export.go":    "tells a logger that it was handed about Records",
}

// writers are the files outside of debrief/render that take an io.Writer, which
// somebody else opened.
var writers = map[string]string{
	"trace/writer.go":           "the door itself",
	"trace/dir/compress.go":     "packs a trace as it is",
	"kernel/strategy/export.go": "takes Records",
	"cmd/rax/terminal.go":       "looks at the stream, and writes nothing",
	"cmd/rax/root.go":           "hands the standard streams to the commands",
	"cmd/rax/exit.go":           "scrubs what it says",
	"cmd/rax/progress.go":       "shows Records, and asks with scrubbed text",
	"cmd/rax/debrief.go":        "hands a Debrief to render",
	"cmd/rax/import.go":         "shows the Account, which is scrubbed where it is made",
	"cmd/rax/parse.go":          "shows a View, which is scrubbed where it is made",
	"cmd/rax/prune.go":          "shows names of trace files, and figures",
	"cmd/rax/run.go":            "scrubs the result of a run",
	"cmd/rax/scan.go":           "shows rules, lines and fields; the fields are scrubbed where they are made",
	"cmd/rax/static.go":         "shows texts of rax itself",
	"cmd/rax/tools.go":          "shows texts of rax itself",
}

// shows are the functions of cmd/rax that write to a stream themselves instead
// of handing data to render.
var shows = map[string]string{
	"say":             "scrubs",
	"progress.say":    "lines of Records",
	"askUser":         "scrubs",
	"printResult":     "scrubs",
	"printExact":      "a View",
	"printAccount":    "figures, and an id that rax made",
	"printTools":      "texts of rax itself",
	"view":            "a blank line between two debriefs",
	"newPrompt":       "a constant",
	"runFlow":         "names of the user's own flow, cleaned",
	"newSchema":       "a schema of rax itself",
	"buildInfo.print": "texts of rax itself",
	"printPrune":      "names of trace files, and figures",
	"runTrace.Write":  "a trace.Writer",
	"lateTrace.write": "a trace.Writer",
}

// opens are the names that open a door, by the package they belong to; "*" means
// every name.
var opens = map[string][]string{
	"os":           {"Create", "CreateTemp", "OpenFile", "WriteFile", "NewFile", "Pipe", "Stdout", "Stderr", "StartProcess"},
	"os/exec":      {"Command", "CommandContext"},
	"net":          {"Dial", "DialTimeout", "Dialer", "Listen", "ListenConfig", "ListenPacket", "ListenTCP", "ListenUnix", "DialTCP", "DialUnix"},
	"net/http":     {"Get", "Post", "PostForm", "Client", "DefaultClient", "NewRequest", "NewRequestWithContext", "ListenAndServe", "ListenAndServeTLS", "Serve", "Server", "ResponseWriter"},
	"database/sql": {"Open", "OpenDB"},
	"log":          {"*"},
	"log/slog":     {"*"},
	"log/syslog":   {"*"},
	"fmt":          {"Print", "Printf", "Println"},
	"io/ioutil":    {"*"},
}

// goFile is a parsed file of the module.
type goFile struct {
	path    string
	file    *ast.File
	imports map[string]string // by the name in the file
}

// moduleFiles parses every file of the module but tests.
func moduleFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	set := token.NewFileSet()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "tools" || name == "sdktest" || name == "testdata" || name == "build" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := goFile{filepath.ToSlash(rel), file, map[string]string{}}
		for _, spec := range file.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			as := imported[strings.LastIndexByte(imported, '/')+1:]
			if spec.Name != nil {
				as = spec.Name.Name
			}
			s.imports[as] = imported
		}
		files = append(files, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("only %d files found", len(files))
	}
	return files
}

// opened names what a file uses of opens, and the methods that open files of an
// os.Root.
func (s goFile) opened() []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if ok {
				if names := opens[s.imports[id.Name]]; slices.Contains(names, n.Sel.Name) || slices.Contains(names, "*") {
					found = append(found, s.imports[id.Name]+"."+n.Sel.Name)
				}
			}
			if (!ok || s.imports[id.Name] == "") && slices.Contains([]string{"OpenFile", "WriteFile", "CreateTemp"}, n.Sel.Name) {
				found = append(found, "."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
				found = append(found, id.Name)
			}
		}
		return true
	})
	return found
}

// takesWriter reports a file that names io.Writer.
func (s goFile) takesWriter() bool {
	found := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			id, _ := sel.X.(*ast.Ident)
			found = found || id != nil && s.imports[id.Name] == "io" && (sel.Sel.Name == "Writer" || sel.Sel.Name == "WriteCloser")
		}
		return !found
	})
	return found
}

// showing names the functions of a file that write to a stream that is none of
// their own buffers.
func (s goFile) showing() []string {
	var found []string
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			id, _ := sel.X.(*ast.Ident)
			_, buffer := call.Args[0].(*ast.UnaryExpr)
			prints := id != nil && (s.imports[id.Name] == "fmt" && strings.HasPrefix(sel.Sel.Name, "Fprint") || s.imports[id.Name] == "io" && sel.Sel.Name == "WriteString")
			if prints && !buffer || sel.Sel.Name == "Write" && len(call.Args) == 1 && (id == nil || s.imports[id.Name] == "") {
				found = append(found, nameOf(fn))
			}
			return true
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	return fmt.Sprint(of) + "." + fn.Name.Name
}

// agree reports what is found and not listed, and what is listed and gone.
func agree(t *testing.T, what string, found map[string][]string, listed map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if listed[name] == "" {
			t.Errorf("%s %s (%s): list it with the reason why nothing unsafe passes there, or hand the data to debrief/render or a trace.Writer", name, what, strings.Join(found[name], ", "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if found[name] == nil {
			t.Errorf("%s is listed and no longer %s", name, what)
		}
	}
}

func TestDoorsAreListed(t *testing.T) {
	opened, taking := map[string][]string{}, map[string][]string{}
	for _, s := range moduleFiles(t) {
		if names := s.opened(); names != nil {
			opened[s.path] = slices.Compact(names)
		}
		if !strings.HasPrefix(s.path, "debrief/render/") && s.takesWriter() {
			taking[s.path] = []string{"io.Writer"}
		}
	}
	agree(t, "opens a door", opened, openers)
	agree(t, "takes a writer", taking, writers)
}

func TestCommandsShowByRender(t *testing.T) {
	found := map[string][]string{}
	for _, s := range moduleFiles(t) {
		if strings.HasPrefix(s.path, "cmd/rax/") {
			for _, name := range s.showing() {
				found[name] = append(found[name], s.path)
			}
		}
	}
	agree(t, "writes to a stream", found, shows)
}

// TestDoorsSeeABypass: each way round would be noticed.
func TestDoorsSeeABypass(t *testing.T) {
	for name, body := range map[string]string{
		"a file": `os.WriteFile("x", []byte(text), 0o600)`, "standard output": `os.Stdout.WriteString(text)`, "a log": `log.Print(text)`,
		"a structured log": `slog.Info(text)`, "a print": `fmt.Println(text)`, "a built-in": `println(text)`, "a socket": `net.Dial("tcp", text)`,
		"a request": `http.Post(text, "", nil)`, "a process": `exec.Command("logger", text)`, "a root": `root.OpenFile(text, 0, 0)`,
	} {
		src := "package p\nimport (\"os\"; \"log\"; \"log/slog\"; \"fmt\"; \"net\"; \"net/http\"; \"os/exec\")\nfunc f(text string) { " + body + " }\n"
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s := goFile{"p.go", file, map[string]string{"os": "os", "log": "log", "slog": "log/slog", "fmt": "fmt", "net": "net", "http": "net/http", "exec": "os/exec"}}
		if s.opened() == nil {
			t.Errorf("%s is not noticed: %s", name, body)
		}
	}
	for name, body := range map[string]string{
		"Fprintln": `fmt.Fprintln(w, text)`, "Write": `w.Write([]byte(text))`, "WriteString": `io.WriteString(w, text)`, "chained": `cmd.OutOrStdout().Write(text)`,
	} {
		src := "package p\nimport (\"fmt\"; \"io\")\nfunc f(w io.Writer, text string) { " + body + " }\n"
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s := goFile{"p.go", file, map[string]string{"fmt": "fmt", "io": "io"}}
		if !slices.Equal(s.showing(), []string{"f"}) || !s.takesWriter() {
			t.Errorf("%s is not noticed: %s", name, body)
		}
	}
}
