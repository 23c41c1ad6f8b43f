package model_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/model/fake"
	"github.com/rax-project/rax/parsers/provider"
)

// scripts are files that can be played, each with what it says.
var scripts = map[string]struct {
	file string
	says []string // text, thinking, calls and finish of each answer
}{
	"lines": {
		`{"thinking":"hm","text":"I look.","calls":[{"name":"search","arguments":{"q":"a"},"id":"c1"},{"name":"clock"}],"usage":{"input":10,"output":2}}

{"text":"Done.","finish":"length"}`,
		[]string{`I look.|hm|search {"q":"a"};clock {}|tool_calls`, "Done.|||length"},
	},
	"array":          {`[{"text":"one"}, {"text":"two"}]`, []string{"one|||stop", "two|||stop"}},
	"one object":     {"{\n \"text\": \"one\"\n}\n", []string{"one|||stop"}},
	"marked":         {"\ufeff{\"text\":\"one\"}\r\n{\"text\":\"two\"}\r\n", []string{"one|||stop", "two|||stop"}},
	"tags":           {`{"text":"<think>hm</think>So."}`, []string{"So.|hm||stop"}},
	"bad arguments":  {`{"calls":[{"name":"search","arguments":"{\"q\":"}]}`, []string{`||search {"q": (invalid)|tool_calls`}},
	"long":           {`{"text":"` + strings.Repeat("größer ", 20) + `","thinking":"` + strings.Repeat("日本", 40) + `"}`, []string{strings.Repeat("größer ", 20) + "|" + strings.Repeat("日本", 40) + "||stop"}},
	"nothing":        {`{"text":""}`, []string{"|||stop"}},
	"first counts":   {`{"text":"one","text":"two"}`, []string{"one|||stop"}},
	"null is absent": {`{"text":"one","calls":null}`, []string{"one|||stop"}},
	"bodies": {
		`{"choices":[{"message":{"role":"assistant","content":"chat"},"finish_reason":"stop"}]}
{"type":"message","role":"assistant","content":[{"type":"text","text":"messages"}],"stop_reason":"end_turn"}
{"candidates":[{"content":{"parts":[{"text":"gemini"}]},"finishReason":"STOP"}]}
{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"responses"}]}]}`,
		[]string{"chat|||stop", "messages|||end_turn", "gemini|||STOP", "responses|||completed"},
	},
	"ollama": {
		`{"model":"m","message":{"role":"assistant","content":"one "},"done":false}
{"model":"m","message":{"role":"assistant","content":"line"},"done":false}
{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}
{"model":"m","message":{"role":"assistant","content":"two"},"done":true,"done_reason":"stop"}`,
		[]string{"one line|||stop", "two|||stop"},
	},
	"wrapped": {
		`{"format":"openai-chat","body":{"choices":[{"message":{"content":"chat"},"finish_reason":"stop"}]}}
{"format":"anthropic-messages","stream":"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"streamed\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}
{"format":"ollama-native","status":404,"body":{"error":"no such model"}}
{"format":"openai-chat","status":503,"body":"<html>"}
{"format":"openai-chat","stream":"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n"}
{"format":"openai-chat","body":"{\"choi"}`,
		[]string{"chat|||stop", "streamed|||", "error: provider error 404", "error: provider error 503", "half||| cut", "error: openai-chat: offset"},
	},
	"a stream": {
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"sse\"}}]}\n\ndata: [DONE]\n\n", []string{"sse|||"},
	},
}

// saying puts what the next answer says on a line.
func saying(t *testing.T, p *model.Player, live bool) (string, heard) {
	t.Helper()
	r, h, err := ask(t, p, live, question())
	a := r.Answer
	var cut *model.CutError
	if err != nil && !errors.As(err, &cut) {
		return "error: " + err.Error(), h
	}
	var calls []string
	for i, c := range a.Calls {
		s := call(a, i)
		if c.Invalid {
			s += " (invalid)"
		}
		calls = append(calls, s)
	}
	s := strings.Join([]string{a.Text(), a.Thinking(), strings.Join(calls, ";"), a.Finish}, "|")
	if err != nil {
		s += " cut"
	}
	return s, h
}

func TestScripts(t *testing.T) {
	for name, c := range scripts {
		t.Run(name, func(t *testing.T) {
			answers, err := model.ReadScript(name, []byte(c.file))
			if err != nil {
				t.Fatal(err)
			}
			quiet, live := model.Script(name, answers...), model.Script(name, answers...)
			for i, want := range c.says {
				got, _ := saying(t, quiet, false)
				watched, h := saying(t, live, true)
				if got != watched {
					t.Errorf("answer %d: %q, watched %q", i+1, got, watched)
				}
				if strings.HasPrefix(want, "error: ") {
					if !strings.HasPrefix(got, want) {
						t.Errorf("answer %d: %q, want %q", i+1, got, want)
					}
					continue
				}
				if got != want {
					t.Errorf("answer %d: %q, want %q", i+1, got, want)
				}
				if parts := strings.Split(want, "|"); h.text != parts[0] || h.thinking != parts[1] {
					t.Errorf("answer %d: heard %+v", i+1, h)
				}
			}
			var e *model.ExhaustedError
			if _, _, err := ask(t, quiet, false, question()); !errors.As(err, &e) || e.Answers != len(c.says) || !strings.Contains(err.Error(), "it had ") {
				t.Errorf("after the last answer: %v", err)
			}
		})
	}
}

func TestScriptUsage(t *testing.T) {
	answers, err := model.ReadScript("s", []byte(`{"text":"a","usage":{"input":10,"output":4,"reasoning":3,"cacheRead":2,"cacheWrite":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := ask(t, model.Script("s", answers...), false, question())
	u := r.Answer.Usage
	if err != nil || *u.Input != 10 || *u.Output != 4 || *u.Reasoning != 3 || *u.CacheRead != 2 || *u.CacheWrite != 1 {
		t.Errorf("%s, %v", u.Raw, err)
	}
	if r.Duration != 0 || r.CostUsd != nil || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
}

func TestBadScripts(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"empty":            {" \n", "no answers"},
		"empty array":      {"[]", "no answers"},
		"prose":            {"Dear model,", "neither answers nor the bytes of one"},
		"broken line":      {"{\"text\":\"a\"}\n{\"text\":", "script broken line:2: no JSON"},
		"a slip":           {`{"text":"a"}` + "\n" + `{"txet":"a"}`, "script a slip:2: no answer"},
		"a slip beside":    {`[{"text":"a"},{"text":"a","tools":[]}]`, "script a slip beside: answer 2: no answer"},
		"no string":        {`{"text":1}`, "text is no string"},
		"no array":         {`{"calls":{}}`, "calls is no array"},
		"call":             {`{"calls":[{"arguments":{}}]}`, "call 1: want name"},
		"call member":      {`{"calls":[{"name":"a","args":{}}]}`, "call 1: want name"},
		"usage":            {`{"usage":{"in":1}}`, `"in" is no member of usage`},
		"usage count":      {`{"usage":{"input":-1}}`, "usage: input is no count"},
		"usage number":     {`{"usage":{"input":1.5}}`, "usage: input is no count"},
		"usage list":       {`{"usage":[]}`, "usage is no object"},
		"format":           {`{"format":"morse","body":{}}`, "unknown format; known are openai-chat,"},
		"both":             {`{"format":"gemini","body":{},"stream":""}`, "both body and stream"},
		"stream":           {`{"format":"gemini","stream":{}}`, "stream is no string"},
		"status":           {`{"format":"gemini","body":{},"status":"x"}`, "status is no whole number"},
		"wrapped member":   {`{"format":"gemini","body":{},"code":1}`, `"code" is no member`},
		"deep":             {strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), ""},
		"an array of more": {`[1]`, "no answer"},
	} {
		answers, err := model.ReadScript(name, []byte(c.file))
		var e *model.ScriptError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d answers, %v", name, len(answers), err)
		}
	}
}

func TestOpenScript(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "a.jsonl")
	packed := filepath.Join(dir, "b.jsonl.gz")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(`{"text":"packed"}`)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{plain: []byte(`{"text":"plain"}`), packed: z.Bytes()} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{plain: "plain", packed: "packed"} {
		m, err := model.Open("scripted:"+path, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := ask(t, m, false, question())
		info := m.Info()
		if err != nil || r.Answer.Text() != want || info.Provider != "scripted" || info.Name != filepath.Base(path) || !info.NativeTools {
			t.Errorf("%q, %v, %+v", r.Answer.Text(), err, info)
		}
	}
	for _, path := range []string{filepath.Join(dir, "none"), dir} {
		if _, err := model.Open("scripted:"+path, model.Options{}); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}

func TestScriptNames(t *testing.T) {
	wire := provider.NewNameMap([]string{tool}).Wire(tool)
	body, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"finish_reason": "tool_calls", "message": map[string]any{
		"tool_calls": []any{map[string]any{"id": "1", "function": map[string]any{"name": wire, "arguments": "{}"}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	req := question()
	req.Tools = tools
	p := model.Script("s",
		model.Answer{Wire: &model.Wire{Format: provider.OpenAIChat, Body: body}},
		model.Answer{Calls: []model.Call{{Name: tool}}},
		model.Answer{Err: errors.New("planned")},
	)
	for range 2 {
		r, _, err := ask(t, p, false, req)
		if err != nil || len(r.Answer.Calls) != 1 || r.Answer.Calls[0].Name != tool {
			t.Errorf("%+v, %v", r.Answer.Calls, err)
		}
	}
	if _, _, err := ask(t, p, false, req); err == nil || err.Error() != "planned" {
		t.Errorf("%v", err)
	}
	if all, given := p.Answers(); all != 3 || given != 3 {
		t.Errorf("%d of %d answers", given, all)
	}
}

func TestThen(t *testing.T) {
	s := serve(t, fake.Step{Answer: fake.Answer{Text: "live"}})
	m := open(t, s, "anthropic:live-model")
	p := model.Script("s", model.Answer{Text: "recorded"}).Then(m)
	if p.Info() != m.Info() {
		t.Errorf("%+v", p.Info())
	}
	for _, want := range []string{"recorded", "live"} {
		req := question()
		req.Model = "another"
		r, h, err := ask(t, p, true, req)
		if err != nil || r.Answer.Text() != want || h.text != want {
			t.Errorf("%q, heard %q, %v", r.Answer.Text(), h.text, err)
		}
	}
	if body := string(s.Requests()[0].Body); !strings.Contains(body, `"model":"live-model"`) {
		t.Errorf("body %s", body)
	}
}

func TestScriptTogether(t *testing.T) {
	const n = 50
	p := model.Script("s", make([]model.Answer, n)...)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := p.Complete(ctx, question(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, given := p.Answers(); all != given {
		t.Errorf("%d of %d", given, all)
	}
	cancel()
	if _, err := model.Script("s", model.Answer{Text: "a"}).Complete(ctx, question(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// FuzzReadScript reads anything, and plays what it read: watched or not, an
// answer says the same.
func FuzzReadScript(f *testing.F) {
	for _, c := range scripts {
		f.Add([]byte(c.file))
	}
	if len(scripts) == 0 {
		f.Fatal("no seeds")
	}
	f.Add([]byte(`{"kind":"run-started","runId":"r","seq":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		answers, err := model.ReadScript("fuzz", data)
		if err != nil {
			if len(answers) > 0 {
				t.Fatal("answers beside an error")
			}
			return
		}
		if len(answers) == 0 {
			t.Fatal("neither answers nor an error")
		}
		quiet, live := model.Script("fuzz", answers...), model.Script("fuzz", answers...)
		for range answers {
			a, aerr := quiet.Complete(t.Context(), question(), nil)
			b, berr := live.Complete(t.Context(), question(), func(provider.Delta) {})
			if (aerr == nil) != (berr == nil) || aerr != nil && aerr.Error() != berr.Error() {
				t.Fatalf("%v, watched %v", aerr, berr)
			}
			if aerr == nil && a.Answer.Text() != b.Answer.Text() {
				t.Fatalf("%q, watched %q", a.Answer.Text(), b.Answer.Text())
			}
		}
	})
}
