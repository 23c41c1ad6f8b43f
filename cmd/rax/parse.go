package main

import (
	"bytes"
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

With --tools, calls that the model wrote as text are read too, and a rationale
that rax asked for as an argument of a tool is told from the tool's own. FILE
may be the request. With --format text the input is a model's bare text.`,
		Example: `  rax diagnose parse response.json
  curl -s https://…/chat/completions … | rax diagnose parse - --json
  rax diagnose parse answer.txt --format text --tools tools.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runParse(cmd, sys, args[0], opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.format, "format", "", "the wire format (default: recognised), or text")
	f.StringVar(&opt.tools, "tools", "", "a JSON file with the names or the definitions of the tools on offer, or the request")
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
	pipeline, err := pipelineOf(sys)
	if err != nil {
		return err
	}
	tools, err := readTools(opt.tools)
	if err != nil {
		return err
	}
	body, err := readInput(path, sys.in)
	if err != nil {
		return err
	}
	answer, err := readAnswer(path, body, tools, opt)
	session := pipeline.Session()
	var api *provider.APIError
	var failure *parsers.ErrorView
	if errors.As(err, &api) {
		failure = errorView(api, session)
	}
	switch {
	case err != nil && failure == nil:
		return err
	case failure != nil && answer.Empty():
		if opt.json {
			if err := render.JSON(cmd.OutOrStdout(), errorOnly{opt.format, failure}); err != nil {
				return err
			}
		}
		return refused{path, api, failure}
	}
	if opt.json {
		return printExact(cmd.OutOrStdout(), answer, failure, session)
	}
	view := parsers.NewView(answer, session, false)
	view.Error = failure
	return printView(cmd.OutOrStdout(), view, term)
}

// errorOnly is what --json prints of a body that holds an error and no answer.
// Formats share their errors: whose it is only the flag tells.
type errorOnly struct {
	Format string             `json:"format,omitempty"`
	Error  *parsers.ErrorView `json:"error"`
}

func errorView(e *provider.APIError, s *safety.Session) *parsers.ErrorView {
	scrub := func(text string) string { return s.Text("error", text).Text }
	return &parsers.ErrorView{
		Status: e.Status, Type: scrub(e.Type), Code: scrub(e.Code), Param: scrub(e.Param), Message: scrub(e.Message),
	}
}

// refused says that a provider answered with an error.
type refused struct {
	path string
	*provider.APIError
	view *parsers.ErrorView
}

func (e refused) Error() string {
	return fmt.Sprintf("%s: %v: %s", e.path, e.APIError, e.view.Message)
}

func (e refused) Unwrap() error { return e.APIError }

// Hint says where to look.
func (e refused) Hint() string {
	if e.view.Param != "" {
		return "the provider sent an error and no answer; it names the field " + e.view.Param + " of the request"
	}
	return "the provider sent an error and no answer; look at the request"
}

// printExact prints an exact view, with its bytes made harmless, or a plain one
// where that cannot be done.
func printExact(w io.Writer, a parsers.Answer, failure *parsers.ErrorView, s *safety.Session) error {
	view := parsers.NewView(a, s, true)
	view.Error = failure
	var b bytes.Buffer
	if err := render.JSON(&b, view); err != nil {
		return err
	}
	if doc, ok := parsers.Defuse(b.Bytes(), s); ok {
		_, err := w.Write(doc)
		return err
	}
	view = parsers.NewView(a, s, false)
	view.Error = failure
	return render.JSON(w, view)
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

func readAnswer(path string, body []byte, tools []provider.Tool, opt parseOptions) (parsers.Answer, error) {
	names, injected := toolNames(tools)
	if opt.format == formatText {
		return text.Answer(string(body), names, opt.asked), nil
	}
	format := provider.Format(opt.format)
	if format != "" && !format.Valid() {
		return parsers.Answer{}, usageError{fmt.Errorf("unknown format %q", opt.format), "want one of " + formatList()}
	}
	var err error
	if format == "" {
		format, err = provider.Detect(body)
	}
	var answer parsers.Answer
	if err == nil {
		answer, err = provider.Parse(format, body, provider.ParseOptions{})
	}
	var api *provider.APIError
	var syntax *provider.SyntaxError
	if errors.As(err, &syntax) && !answer.Empty() {
		answer.Warnings = append(answer.Warnings, "a part of the stream is damaged and was left out: "+err.Error())
		err = nil
	}
	if err != nil && !errors.As(err, &api) {
		return answer, unreadable{fmt.Errorf("%s: %w", path, err), unreadableHint(body, err)}
	}
	if len(answer.Calls) == 0 && len(names) > 0 {
		return text.Answered(answer, names, opt.asked), err
	}
	parsers.Attach(&answer, opt.asked, injected...)
	return answer, err
}

func unreadableHint(body []byte, err error) string {
	switch {
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		return "it is compressed: unpack it with gunzip"
	case errors.Is(err, provider.ErrUnknown):
		return "name its format with --format: " + formatList()
	}
	return "the answer is damaged there, or only a part of it"
}

func formatList() string { return strings.Join(append(formatNames(), formatText), ", ") }

// readTools reads the tools on offer.
func readTools(path string) ([]provider.Tool, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tools, err := provider.ParseTools(data)
	if err == nil && len(tools) == 0 {
		err = errors.New("names no tool")
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", path, err), `want a list such as ["web_search","calculator"], a list of definitions, or a request with one`}
	}
	return tools, nil
}

// toolNames gives the names of the tools, and of those that ask for the
// rationale as an argument.
func toolNames(tools []provider.Tool) (names, injected []string) {
	for _, t := range tools {
		names = append(names, t.Name)
		if t.HasArgument() {
			injected = append(injected, t.Name)
		}
	}
	return names, injected
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
		if c.Invalid {
			b.WriteString("  the arguments are not valid JSON\n")
		}
		fmt.Fprintf(&b, "  %s\n", captured(c))
		if w := c.Written; w != nil {
			fmt.Fprintf(&b, "  written as text: %s, confidence %.2f\n", writtenAs(w), w.Confidence)
		}
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
	if e := v.Error; e != nil {
		fmt.Fprintf(&b, "the provider reports an error: %s\n", render.Quote(e.Message))
	}
	return render.Lines(w, b.String(), term.width)
}

func counted(tokens *int64) string {
	if tokens == nil {
		return ""
	}
	return fmt.Sprintf(" (%d tokens)", *tokens)
}

func writtenAs(w *parsers.Written) string {
	as := [...]string{"", "a tagged block", "a JSON object", "a JSON array"}[w.Tier]
	if w.Repaired {
		as += ", repaired"
	}
	return as
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
