package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rax-project/rax/debrief/render"
	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
	"github.com/rax-project/rax/parsers/text"
	"github.com/rax-project/rax/trace"
	"github.com/rax-project/rax/trace/safety"
)

type parseOptions struct {
	format, tools string
	asked, json   bool
}

// formatText is the format of a model's bare text, which is no wire format.
const formatText = "text"

func newParse(sys system) *cobra.Command {
	var opt parseOptions
	cmd := &cobra.Command{
		Use:   "parse FILE",
		Short: "How rax reads one answer of a model, call by call",
		Long: `Parse reads one answer of a model as its provider sent it, a body or a stream,
and shows its calls with what became of the rationale of each: what to run to
learn why a reason was not captured. FILE is "-" for standard input.

With --tools, calls that the model wrote as text are read too. With --format
text the input is a model's bare text.`,
		Example: `  rax diagnose parse response.json
  curl -s https://…/chat/completions … | rax diagnose parse - --json
  rax diagnose parse answer.txt --format text --tools tools.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runParse(cmd, sys, args[0], opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.format, "format", "", "the wire format (default: recognised), or text")
	f.StringVar(&opt.tools, "tools", "", "a JSON file with the names, or the definitions, of the tools on offer")
	f.BoolVar(&opt.asked, "asked", true, "the request asked for reasons: a call without one is missing, not unasked")
	f.BoolVar(&opt.json, "json", false, "print as JSON")
	_ = cmd.RegisterFlagCompletionFunc("format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return append(formatNames(), formatText), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func formatNames() []string {
	var names []string
	for _, f := range provider.Formats {
		names = append(names, string(f))
	}
	return names
}

func runParse(cmd *cobra.Command, sys system, path string, opt parseOptions) error {
	term, err := terminalOf(cmd, sys)
	if err != nil {
		return err
	}
	tools, err := toolNames(opt.tools)
	if err != nil {
		return err
	}
	body, err := readInput(path, sys.in)
	if err != nil {
		return err
	}
	answer, err := readAnswer(path, body, tools, opt)
	var api *provider.APIError
	if err != nil && !errors.As(err, &api) {
		return err
	}
	session := safety.Default().Session()
	view := parsers.NewView(answer, session)
	if api != nil {
		return fmt.Errorf("%s: %w: %s", path, api, session.Text("error", api.Message).Text)
	}
	if opt.json {
		return render.JSON(cmd.OutOrStdout(), view)
	}
	return printView(cmd.OutOrStdout(), view, term)
}

// readInput reads a file or standard input, up to the longest line of a trace.
func readInput(path string, in io.Reader) ([]byte, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, trace.DefaultMaxLine+1))
	if err == nil && len(body) > trace.DefaultMaxLine {
		err = fmt.Errorf("%s: longer than %d bytes", path, trace.DefaultMaxLine)
	}
	return body, err
}

func readAnswer(path string, body []byte, tools []string, opt parseOptions) (parsers.Answer, error) {
	if opt.format == formatText {
		return text.Answer(string(body), tools, opt.asked), nil
	}
	format := provider.Format(opt.format)
	if format == "" {
		var err error
		if format, err = provider.Detect(body); err != nil {
			return parsers.Answer{}, unreadable{fmt.Errorf("%s: %w", path, err), "name it with --format: " + strings.Join(formatNames(), ", ") + " or text"}
		}
	} else if !format.Valid() {
		return parsers.Answer{}, usageError{fmt.Errorf("unknown format %q", opt.format), "want one of " + strings.Join(formatNames(), ", ") + ", text"}
	}
	answer, err := provider.Parse(format, body, provider.ParseOptions{})
	if err != nil {
		var api *provider.APIError
		if errors.As(err, &api) {
			return answer, err
		}
		return answer, unreadable{fmt.Errorf("%s: %w", path, err), ""}
	}
	if len(answer.Calls) == 0 && len(tools) > 0 {
		return text.Answered(answer, tools, opt.asked), nil
	}
	parsers.Attach(&answer, opt.asked)
	return answer, nil
}

// toolNames reads the names of tools from a JSON list of names or of
// definitions as any provider takes them.
func toolNames(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, usageError{fmt.Errorf("%s: not a JSON list of tools", path), `for example ["web_search","calculator"]`}
	}
	var names []string
	for i, item := range list {
		var name string
		var def struct {
			Name     string
			Function struct{ Name string }
		}
		if json.Unmarshal(item, &name) != nil && json.Unmarshal(item, &def) == nil {
			name = def.Name + def.Function.Name
		}
		if name == "" {
			return nil, usageError{fmt.Errorf("%s: item %d names no tool", path, i+1), `for example ["web_search","calculator"]`}
		}
		names = append(names, name)
	}
	return names, nil
}

func printView(w io.Writer, v parsers.View, term terminal) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", render.Clean(v.Format))
	for _, s := range []string{v.Model, v.ID, v.Finish} {
		if s != "" {
			fmt.Fprintf(&b, " | %s", render.Clean(s))
		}
	}
	b.WriteString("\n")
	if v.Text != "" {
		fmt.Fprintf(&b, "text: %s\n", render.Quote(v.Text))
	}
	for _, r := range v.Reasoning {
		if r.Hidden {
			fmt.Fprintf(&b, "reasoning (%s): not disclosed%s\n", render.Clean(r.Format), counted(r.Tokens))
		} else {
			fmt.Fprintf(&b, "reasoning (%s): %s\n", render.Clean(r.Format), render.Quote(r.Text))
		}
	}
	for i, c := range v.Calls {
		fmt.Fprintf(&b, "call %d: %s %s\n", i+1, render.Clean(c.Name), render.Clean(string(c.Arguments)))
		fmt.Fprintf(&b, "  %s\n", captured(c))
		for _, warning := range c.Warnings {
			fmt.Fprintf(&b, "  warning: %s\n", render.Clean(warning))
		}
	}
	for _, u := range v.Unmatched {
		fmt.Fprintf(&b, "block for call %d belongs to no call: %s\n", u.Call, render.Clean(u.Reason))
	}
	for _, bi := range v.Builtin {
		fmt.Fprintf(&b, "run by the provider: %s %s\n", render.Clean(bi.Type), render.Clean(bi.Name))
	}
	for _, warning := range v.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", render.Clean(warning))
	}
	if v.Cut {
		b.WriteString("the answer stops before its end\n")
	}
	return render.Lines(w, b.String(), term.width)
}

func counted(tokens *int64) string {
	if tokens == nil {
		return ""
	}
	return fmt.Sprintf(" (%d tokens)", *tokens)
}

// captured says what became of a call's rationale.
func captured(c parsers.CallView) string {
	line := "rationale: " + string(c.Status)
	if c.Source != "" {
		line += " (" + string(c.Source) + ")"
	}
	if c.Rationale != nil {
		line += " " + render.Quote(c.Rationale.Why)
	}
	if c.Reason != "" {
		line += ", " + render.Clean(c.Reason)
	}
	return line
}
