package model_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/parsers/provider"
)

// dataDir returns the folder of real recordings: $RAX_DATA, or shared/data
// beside the checkout.
func dataDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("RAX_DATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		data := filepath.Join(dir, "shared", "data")
		if info, err := os.Stat(data); err == nil && info.IsDir() {
			return data
		}
	}
	t.Skip("no real recordings: set RAX_DATA to their folder")
	return ""
}

// TestRecordedAnswers plays every recorded answer of a provider as a script:
// watched or not it says the same, and only a recorded error is one.
func TestRecordedAnswers(t *testing.T) {
	played, failed := 0, 0
	err := filepath.WalkDir(filepath.Join(dataDir(t), "wire"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "response.") {
			return err
		}
		if d.Name() == "response.txt" {
			return nil // a page of prose, which only its status makes an error
		}
		m, err := model.OpenScript(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		all, _ := m.Answers()
		if all != 1 {
			t.Errorf("%s: %d answers", path, all)
		}
		reply, _, err := ask(t, m, false, question())
		again, err2 := model.OpenScript(path)
		if err2 != nil {
			return err2
		}
		watched, h, _ := ask(t, again, true, question())
		var api *provider.APIError
		var cut *model.CutError
		switch {
		case errors.As(err, &api), errors.As(err, &cut):
			failed++
		case err != nil:
			t.Errorf("%s: %v", path, err)
		case watched.Answer.Text() != reply.Answer.Text() || len(watched.Answer.Calls) != len(reply.Answer.Calls):
			t.Errorf("%s: watched, it says something else", path)
		case len(h.calls) != len(reply.Answer.Calls):
			t.Errorf("%s: heard %d calls of %d", path, len(h.calls), len(reply.Answer.Calls))
		}
		played++
		return nil
	})
	if err != nil || played == 0 {
		t.Fatalf("%d answers, %v", played, err)
	}
	t.Logf("%d answers played, %d of them errors or cut", played, failed)
}

// TestRecordedTraces replays the traces that Reactive Agents wrote.
func TestRecordedTraces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dataDir(t), "reactive-agents", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces, %v", err)
	}
	for _, path := range files {
		m, err := model.OpenScript(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		all, _ := m.Answers()
		for range all {
			if _, _, err := ask(t, m, false, question()); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		t.Logf("%s: %d answers", filepath.Base(path), all)
	}
}
