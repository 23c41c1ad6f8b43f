package tool

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rax-project/rax/kernel"
)

type fileListArgs struct {
	Path      string `json:"path,omitempty" jsonschema:"directory relative to the root; default the root itself"`
	Glob      string `json:"glob,omitempty" jsonschema:"only what fits, such as *.go or src/**/*.{ts,tsx}; a pattern without a slash is for the last element of a path"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"also what is in directories below, except in .git"`
	Limit     int    `json:"limit,omitempty" jsonschema:"most entries to list; default 200"`
}

func fileList(f files) kernel.Tool {
	return Func("file_list",
		"List the files and directories in a directory. Directories end in /, symbolic links in @.",
		kernel.EffectRead,
		func(ctx context.Context, a fileListArgs) (kernel.ToolResult, error) {
			dir, err := clean(a.Path)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			fits, err := newGlob(a.Glob, dir)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			if a.Limit == 0 {
				a.Limit = 200
			}
			var out strings.Builder
			n, more := 0, false
			deep := a.Recursive || strings.Contains(a.Glob, "/")
			w, err := f.walk(ctx, dir, deep, func(name string, e fs.DirEntry) error {
				if fits != nil && !fits(name) {
					return nil
				}
				if n == a.Limit {
					more = true
					return fs.SkipAll
				}
				n++
				fmt.Fprintln(&out, shownPath(name)+suffix(e))
				return nil
			})
			if err != nil {
				return kernel.ToolResult{}, err
			}
			notes := w.notes()
			if more {
				notes = append(notes, fmt.Sprintf("there are more than %d: narrow the glob or raise limit", n))
			}
			if n == 0 {
				notes = append(notes, "nothing found")
			}
			summary := fmt.Sprintf("%d entries", n)
			if n == 1 {
				summary = "1 entry"
			}
			return kernel.ToolResult{
				Content:   note(out.String(), notes...),
				Summary:   summary,
				Truncated: more || w.stopped,
			}, nil
		},
		between("limit", 1, 2000))
}

func suffix(e fs.DirEntry) string {
	switch {
	case e.IsDir():
		return "/"
	case e.Type()&fs.ModeSymlink != 0:
		return "@"
	}
	return ""
}
