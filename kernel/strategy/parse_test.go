//go:build !noreasoning

package strategy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/strategy"
)

// readable are answers of cot that can be read, with the reading that serves.
var readable = []struct {
	name, answer, thinking, value string
	reading                       strategy.Reading
	repaired                      bool
}{
	{"JSON alone", `{"thinking":"15% is 0.15","answer":"12"}`, "15% is 0.15", `"12"`, strategy.ReadJSON, false},
	{"JSON with a value", `{"thinking":"t","answer":{"n":12,"unit":["m"]}}`, "t", `{"n":12,"unit":["m"]}`, strategy.ReadJSON, false},
	{"JSON with zero", `{"thinking":"t","answer":0}`, "t", `0`, strategy.ReadJSON, false},
	{"JSON in prose", "Sure!\n{\"thinking\":\"t\",\"answer\":\"a\"}\nDone.", "t", `"a"`, strategy.ReadJSON, false},
	{"JSON with other members", `{"confidence":1,"thinking":"t","answer":"a"}`, "t", `"a"`, strategy.ReadJSON, false},
	{"JSON with a trailing comma", `{'thinking':'t','answer':'a',}`, "t", `"a"`, strategy.ReadJSON, true},
	{"JSON that quotes a tag", `{"thinking":"a <thinking> tag","answer":"x"}`, "a <thinking> tag", `"x"`, strategy.ReadJSON, false},
	{"first of equal names", `{"thinking":"t","answer":"a","answer":"b"}`, "t", `"a"`, strategy.ReadJSON, false},
	{"JSON after private thinking", "<think>\nhm\n</think>\n{\"thinking\":\"t\",\"answer\":\"a\"}", "t", `"a"`, strategy.ReadJSON, false},
	{"fence", "Here:\n```json\n{\"thinking\":\"t\",\"answer\":\"a\"}\n```\n", "t", `"a"`, strategy.ReadMarkdown, false},
	{"headings", "## Thinking\nfirst\n\n- second\n\n## Answer\n42 metres\n", "first\n\n- second", `"42 metres"`, strategy.ReadMarkdown, false},
	{"bold labels", "**Thinking:** it follows\n\n**Answer:** 42", "it follows", `"42"`, strategy.ReadMarkdown, false},
	{"tags", "<thinking>\nStep 1\n</thinking>\n42", "Step 1", `"42"`, strategy.ReadDelimiters, false},
	{"tags with an answer tag", "<thinking>s</thinking> So:\n<answer> 42 </answer> bye", "s", `"42"`, strategy.ReadDelimiters, false},
	{"tags with a JSON answer", "<thinking>s</thinking>\n{\"answer\": 42}", "s", `42`, strategy.ReadDelimiters, false},
	{"tags with other JSON", "<thinking>s</thinking>\n{\"n\": 42}", "s", `"{\"n\": 42}"`, strategy.ReadDelimiters, false},
}

// malformed are answers of cot that cannot be read (AC5): each is an error that
// carries the answer, and none is a guess.
var malformed = []struct{ name, answer, reason string }{
	{"empty", "", "empty"},
	{"white space", " \n\t", "empty"},
	{"plain text", "The answer is 42.", "none of"},
	{"JSON without thinking", `{"answer":"42"}`, "none of"},
	{"JSON without answer", `{"thinking":"t"}`, "none of"},
	{"other names", `{"Thinking":"t","Answer":"a"}`, "none of"},
	{"cut JSON", `{"thinking":"t","answer":"4`, "none of"},
	{"JSON cut behind its values", `{"thinking":"t","answer":"42"`, "cut off"},
	{"thinking is no string", `{"thinking":["t"],"answer":"a"}`, "no string"},
	{"thinking is empty", `{"thinking":" ","answer":"a"}`, "empty"},
	{"answer is null", `{"thinking":"t","answer":null}`, "null"},
	{"two answers", `{"thinking":"t","answer":"a"} or {"thinking":"t","answer":"b"}`, "several"},
	{"tag never closed", "<thinking>s\n42", "never closed"},
	{"tag without an answer", "<thinking>s</thinking>\n ", "nothing follows"},
	{"tag without thinking", "<thinking> </thinking> 42", "thinking is empty"},
	{"answer tag never closed", "<thinking>s</thinking><answer>42", "never closed"},
	{"sections in the wrong order", "## Answer\n42\n## Thinking\nt", "none of"},
	{"a section without text", "## Thinking\n\n## Answer\n42", "empty"},
	{"NUL and broken UTF-8", "\x00\xff{\"thinking\":", "none of"},
}

// TestOutputParsing is the category "Output Parsing" of specification 003.
func TestOutputParsing(t *testing.T) {
	t.Run("json_response_with_thinking_and_answer", func(t *testing.T) { reads(t, strategy.ReadJSON) })
	t.Run("markdown_when_json_fails", func(t *testing.T) { reads(t, strategy.ReadMarkdown) })
	t.Run("delimiters_when_json_and_markdown_fail", func(t *testing.T) { reads(t, strategy.ReadDelimiters) })
	t.Run("thinking_tags_are_extracted", func(t *testing.T) {
		out, err := strategy.ParseCot("before <thinking>\n 1 < 2 </thinking> after </thinking>")
		if err != nil || out.Thinking != "1 < 2" || out.Text() != "after </thinking>" {
			t.Errorf("%+v %v", out, err)
		}
	})
	t.Run("malformed_output_is_an_error_with_the_raw_output", func(t *testing.T) {
		for _, tt := range malformed {
			out, err := strategy.ParseCot(tt.answer)
			var bad *strategy.OutputError
			if !errors.As(err, &bad) || bad.Raw != tt.answer || !strings.Contains(bad.Reason, tt.reason) {
				t.Errorf("%s: %+v %v", tt.name, out, err)
				continue
			}
			if tt.answer != "" && len(tt.answer) > 3 && strings.Contains(err.Error(), tt.answer) {
				t.Errorf("%s: the message repeats the answer: %v", tt.name, err)
			}
		}
	})
	t.Run("hostile_output_is_refused", func(t *testing.T) {
		for _, unit := range []string{
			"{", "[", "{\"thinking\":", "```\n", "## Thinking\n", "<thinking>", "</thinking>", "**", "<answer>", "\n", "{\"thinking\":\"a\",\"answer\":1}",
			"```\n{\"thinking\":\"a\",\"answer\":1}\n```\n", "'", "\\\"",
		} {
			if _, err := strategy.ParseCot(strings.Repeat(unit, 256<<10/len(unit))); err == nil {
				t.Errorf("%q was read", unit)
			}
		}
	})
}

func reads(t *testing.T, how strategy.Reading) {
	t.Helper()
	n := 0
	for _, tt := range readable {
		if tt.reading != how {
			continue
		}
		n++
		out, err := strategy.ParseCot(tt.answer)
		if err != nil || out.Thinking != tt.thinking || string(out.Answer) != tt.value || out.Reading != how || out.Repaired != tt.repaired {
			t.Errorf("%s: %+v %v", tt.name, out, err)
		}
	}
	if n == 0 {
		t.Fatal("no case")
	}
}

// FuzzParseCot: whatever is read says where it stands and is JSON; whatever is
// not read comes back as it was.
func FuzzParseCot(f *testing.F) {
	seeds := 0
	for _, tt := range readable {
		f.Add(tt.answer)
		seeds++
	}
	for _, tt := range malformed {
		f.Add(tt.answer)
		seeds++
	}
	if seeds == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, answer string) {
		out, err := strategy.ParseCot(answer)
		var bad *strategy.OutputError
		switch {
		case errors.As(err, &bad):
			if bad.Raw != answer || bad.Reason == "" {
				t.Errorf("%+v", bad)
			}
		case err != nil:
			t.Errorf("%T", err)
		case strings.TrimSpace(out.Thinking) == "" || !json.Valid(out.Answer) || out.Reading == "":
			t.Errorf("%+v", out)
		case out.Reading == strategy.ReadDelimiters && !strings.Contains(answer, out.Thinking):
			t.Errorf("the thinking does not stand in the answer")
		}
	})
}
