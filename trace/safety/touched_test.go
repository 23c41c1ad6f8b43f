package safety

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// dataFolder finds the recordings: $RAX_DATA, or shared/data beside the checkout.
func dataFolder(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("RAX_DATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if data := filepath.Join(dir, "shared", "data"); isDir(data) {
			return data
		}
	}
	t.Skip("no recordings: set RAX_DATA")
	return ""
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// TestTouched holds every place of the recordings that a rule touches, each
// judged by who looked at it: "right" or "wrong", and what stands there. The file
// holds no material. -update rewrites it and keeps the judgements; a new place is
// judged "?", which fails. To sample a place, look up its member in its file.
func TestTouched(t *testing.T) {
	const golden = "testdata/touched.tsv"
	root := dataFolder(t)
	counts := map[string]int{}
	files, size := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		size += len(raw)
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		parts := [][]byte{raw}
		if filepath.Ext(path) != ".json" {
			parts = bytes.SplitAfter(raw, []byte{'\n'})
		}
		s := Default().Session()
		for _, part := range parts {
			out, findings := s.Line(nil, part)
			if findings == nil && !bytes.Equal(out, part) {
				t.Errorf("%s: changed without a finding", name)
			}
			for _, f := range findings {
				counts[f.Rule+"\t"+filepath.ToSlash(name)+"\t"+f.Field]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	title := fmt.Sprintf("# %s over %d files, %d bytes", Version, files, size)
	judged, oldTitle := readJudgements(t, golden)
	if oldTitle != title && !*update {
		t.Skipf("the recordings are others than those of %s", golden)
	}
	places := make([]string, 0, len(counts))
	for place := range counts {
		places = append(places, place)
	}
	sort.Strings(places)
	var out strings.Builder
	out.WriteString(title + "\n# rule\tfile\tplace\tcount\tjudged\n")
	for _, place := range places {
		judgement := judged[place]
		if judgement == "" {
			judgement = "?"
		}
		fmt.Fprintf(&out, "%s\t%d\t%s\n", place, counts[place], judgement)
		if !strings.HasPrefix(judgement, "right: ") && !strings.HasPrefix(judgement, "wrong: ") && !*update {
			t.Errorf("judged %s: %s", judgement, place)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the touched places differ from %s; look at them, then run with -update\n%s", golden, out.String())
	}
}

// readJudgements returns the last column by the first three, and the title.
func readJudgements(t *testing.T, path string) (map[string]string, string) {
	t.Helper()
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	judged, title := map[string]string{}, ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		columns := strings.Split(line, "\t")
		switch {
		case title == "":
			title = line
		case len(columns) == 5 && !strings.HasPrefix(line, "#"):
			judged[strings.Join(columns[:3], "\t")] = columns[4]
		}
	}
	return judged, title
}
