package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sys := system{
		getenv: func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home}[name] },
		home:   func() (string, error) { return home, nil },
	}
	deep := filepath.Join(project, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)

	user := filepath.Join(home, "rax", "config.yaml")
	write(user, "model:\n  default: ollama:llama3.2\n  window: 8000\nprices:\n  \"openai:gpt\": {input: 2.5, output: 10}\n")
	write(filepath.Join(project, ".rax.yaml"), "model:\n  default: openai:gpt\n")
	c, err := loadConfig(sys)
	if err != nil {
		t.Fatal(err)
	}
	if c.Model.Default != "openai:gpt" || c.Model.Window != 8000 || c.Prices["openai:gpt"].Input != 2.5 || c.Prices["openai:gpt"].CacheRead != nil {
		t.Errorf("%+v", c)
	}

	for _, bad := range []struct{ text, want string }{
		{"model:\n  defalt: x\n", ":2: "},
		{"\nmodell: {}\n", ":2: "},
		{"model: [\n", ":1: "},
		{"model:\n  window: many\n", ":2: "},
	} {
		write(user, bad.text)
		_, err := loadConfig(sys)
		if err == nil || !strings.Contains(err.Error(), user+bad.want) {
			t.Errorf("%q: %v", bad.text, err)
		}
		if code, _ := classify(err); code != exitUsage {
			t.Errorf("%q: %v", bad.text, err)
		}
	}
	write(user, "")
	if _, err := loadConfig(sys); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}
