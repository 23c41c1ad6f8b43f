package transcript

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaudeFixtures(t *testing.T) {
	files, err := filepath.Glob(fixtures + "/claude-code/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.jsonl") {
			continue
		}
		seen++
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			events, acc := read(t, content, file)
			compareGolden(t, strings.TrimSuffix(file, ".jsonl")+".golden.jsonl", golden(t, events))
			counted, err := json.MarshalIndent(acc, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, strings.TrimSuffix(file, ".jsonl")+".account.json", append(counted, '\n'))
			checkAccount(t, content, acc)
			checkOrigins(t, content, events)
			for _, v := range violations(t, written(t, events)) {
				if v.Rule != "open-call" || acc.UnpairedCalls == 0 && acc.SubRuns == 0 {
					t.Error(v)
				}
			}
		})
	}
	if seen < 6 {
		t.Fatalf("only %d fixtures", seen)
	}
}
