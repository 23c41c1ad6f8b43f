package text

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
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

// TestRealTexts reads every string of the recordings. They come from native
// function calling, so calls written as text are only in strings that quote a
// transcript: next to none. Without RAX_FULL=1 it reads a part of them.
func TestRealTexts(t *testing.T) {
	names := map[string]bool{}
	var texts []string
	var walk func(v gjson.Result)
	walk = func(v gjson.Result) {
		switch {
		case v.IsObject() || v.IsArray():
			name := v.Get("name")
			if v.Get("arguments").Exists() || v.Get("input").Exists() || v.Get("args").Exists() {
				names[name.Str] = name.Str != ""
			}
			v.ForEach(func(_, member gjson.Result) bool {
				walk(member)
				return true
			})
		case v.Type == gjson.String && len(v.Str) > 20:
			texts = append(texts, v.Str)
		}
	}
	err := filepath.WalkDir(dataDir(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".json") {
			return err
		}
		data, err := os.ReadFile(path)
		for line := range strings.Lines(string(data)) {
			if filepath.Ext(path) == ".json" {
				line = string(data)
			}
			if gjson.Valid(line) {
				walk(gjson.Parse(line))
			}
			if filepath.Ext(path) == ".json" {
				break
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for name, ok := range names {
		if ok {
			tools = append(tools, name)
		}
	}
	if len(texts) == 0 || len(tools) == 0 {
		t.Fatalf("%d texts, %d tools", len(texts), len(tools))
	}
	calls, step := 0, 1
	if os.Getenv("RAX_FULL") == "" {
		step = 7 // a part of them, the same each time
	}
	read := 0
	for i := 0; i < len(texts); i += step {
		text := texts[i]
		read++
		r := Parse(text, tools)
		check(t, text, r)
		if len(r.Calls) > 0 {
			calls++
		}
	}
	t.Logf("%d of %d texts have a call of one of %d tools", calls, read, len(tools))
	if calls*500 > read {
		t.Errorf("%d of %d texts have calls", calls, read)
	}
}
