package safety

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table in docs/safety.md is the default policy. -update rewrites it.
func TestDocumentedRules(t *testing.T) {
	const path = "../../docs/safety.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| rule | severity | action |\n| --- | --- | --- |\n"
	before, rest, ok := strings.Cut(string(doc), head)
	table, after, end := strings.Cut(rest, "\n\n")
	if !ok || !end {
		t.Fatalf("%s has no table of the rules", path)
	}
	var want []string
	for _, r := range Default().Rules() {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", r.Name, r.Severity, r.Action))
	}
	if table == strings.Join(want, "\n") {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not the default policy; run with -update", path)
	}
	if err := os.WriteFile(path, []byte(before+head+strings.Join(want, "\n")+"\n\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
