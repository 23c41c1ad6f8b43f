package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/rax-project/rax/kernel"
)

type grepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression in RE2 syntax, for single lines"`
	Path       string `json:"path,omitempty" jsonschema:"file or directory relative to the root; default the root itself"`
	Glob       string `json:"glob,omitempty" jsonschema:"only in files that fit, such as *.go or src/**/*.{ts,tsx}"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"match upper and lower case alike"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after each match; default 0"`
	Limit      int    `json:"limit,omitempty" jsonschema:"most matching lines to show; default 100"`
}

const (
	maxSearched = 4 << 20   // bytes of a file that is searched
	maxMatched  = 64 << 10  // bytes of a line that is searched
	maxProgram  = 10_000    // instructions of a compiled pattern
	maxLine     = 500       // bytes shown of a line
	maxFound    = 128 << 10 // bytes of the answer
)

func grep(f files) kernel.Tool {
	return Func("grep",
		"Search the lines of text files below a directory with a regular expression. Matches are shown as path:line:text, context as path-line-text. Symbolic links and .git are not followed.",
		kernel.EffectRead,
		func(ctx context.Context, a grepArgs) (kernel.ToolResult, error) {
			dir, err := clean(a.Path)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			fits, err := newGlob(a.Glob, dir)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			re, err := compile(a.Pattern, a.IgnoreCase)
			if err != nil {
				return kernel.ToolResult{}, err
			}
			if a.Limit == 0 {
				a.Limit = 100
			}
			s := search{re: re, context: a.Context, left: a.Limit}
			w, err := f.walk(ctx, dir, true, func(name string, e fs.DirEntry) error {
				if e.IsDir() || !e.Type().IsRegular() && name != dir || fits != nil && !fits(name) {
					return nil
				}
				return s.file(ctx, f, name)
			})
			if err != nil {
				return kernel.ToolResult{}, err
			}
			return s.result(w), nil
		},
		length("pattern", 1, 1000), between("context", 0, 10), between("limit", 1, 1000))
}

// compile refuses patterns like (.{1000}){9}: matching takes the time of the
// line's length times the program's, and cannot be interrupted.
func compile(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
		pattern = "(?i:" + pattern + ")"
	}
	parsed, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not RE2: %w", err)
	}
	if program, err := syntax.Compile(parsed.Simplify()); err != nil || len(program.Inst) > maxProgram {
		return nil, errors.New("the pattern is too large: repeat less")
	}
	return regexp.Compile(pattern)
}

// search is the state of one grep.
type search struct {
	re      *regexp.Regexp
	context int
	left    int // matches that may still be shown

	out              strings.Builder
	matches, matched int // lines, files
	binary, large    int
	unreadable, long int
	more             bool
}

func (s *search) file(ctx context.Context, f files, name string) error {
	file, info, err := f.open(name)
	if err != nil {
		s.unreadable++ // said in the result; the search goes on
		return nil
	}
	defer file.Close()
	if info.Size() > maxSearched {
		s.large++
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSearched))
	if err != nil {
		s.unreadable++
		return nil
	}
	if bytes.IndexByte(text[:min(len(text), headSize)], 0) >= 0 {
		s.binary++
		return nil
	}
	return s.lines(ctx, shownPath(name), strings.TrimSuffix(string(text), "\n"))
}

func (s *search) lines(ctx context.Context, name, text string) error {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	shown, found := -1, false // the last line shown
	for i, line := range lines {
		if i%64 == 0 || len(line) > maxLine {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if len(line) > maxMatched {
			s.long++
		}
		if !s.matchesLine(line) {
			continue
		}
		if s.left == 0 || s.out.Len() > maxFound {
			s.more = true
			return fs.SkipAll
		}
		s.left--
		s.matches++
		if !found {
			found = true
			s.matched++
		}
		first := max(i-s.context, shown+1)
		if s.context > 0 && s.out.Len() > 0 && (shown < 0 || first > shown+1) {
			s.out.WriteString("--\n")
		}
		for j := first; j <= min(i+s.context, len(lines)-1); j++ {
			s.show(name, j, lines[j])
			shown = j
		}
	}
	return nil
}

// show writes one line: a match with colons, context with hyphens.
func (s *search) show(name string, i int, line string) {
	mark := "-"
	line = strings.TrimSuffix(line, "\r")
	if s.matchesLine(line) {
		mark = ":"
	}
	if len(line) > maxLine {
		line = cutRunes(line, maxLine) + "…"
	}
	fmt.Fprintf(&s.out, "%s%s%d%s%s\n", name, mark, i+1, mark, line)
}

func (s *search) matchesLine(line string) bool {
	return s.re.MatchString(cutRunes(strings.TrimSuffix(line, "\r"), maxMatched))
}

func (s *search) result(w walked) kernel.ToolResult {
	w.unreadable += s.unreadable
	notes := w.notes()
	if s.binary > 0 {
		notes = append(notes, count(s.binary, "binary file")+" not searched")
	}
	if s.large > 0 {
		notes = append(notes, fmt.Sprintf("%s over %d bytes not searched", count(s.large, "file"), maxSearched))
	}
	if s.long > 0 {
		notes = append(notes, fmt.Sprintf("%s searched in the first %d bytes only", count(s.long, "line"), maxMatched))
	}
	if s.more {
		notes = append(notes, fmt.Sprintf("there are more than these %d: narrow the search or raise limit", s.matches))
	}
	if s.matches == 0 {
		notes = append(notes, "no match")
	}
	return kernel.ToolResult{
		Content:   note(s.out.String(), notes...),
		Summary:   fmt.Sprintf("%s in %s", count(s.matches, "matching line"), count(s.matched, "file")),
		Truncated: s.more || w.stopped,
	}
}
