package safety

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rax-project/rax/trace/safety/safetytest"
)

func TestScanNamesRuleLineAndField(t *testing.T) {
	for _, c := range safetytest.Samples(newRand(71)) {
		quoted, err := json.Marshal(c.Text())
		if err != nil {
			t.Fatal(err)
		}
		file := fmt.Sprintf("{\"a\":1}\n\n{\"args\":{\"x\":[%s,%s]}}\nprose\nwith %s in it\nand more\n{\"why\":%s}", quoted, quoted, c.Text(), quoted)
		report, err := Default().Session().Scan(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if c.Leaked(string(shown)) {
			t.Fatalf("%s: %s", c.Rule, shown)
		}
		why := 7 + strings.Count(c.Text(), "\n")
		want := map[string]int{"3 args.x": 2, "5 ": 1, fmt.Sprintf("%d why", why): 1}
		for _, f := range report.Findings {
			if f.Rule == c.Rule {
				want[fmt.Sprintf("%d %s", f.Line, f.Field)] -= f.Count
			}
		}
		for place, n := range want {
			if n != 0 {
				t.Errorf("%s: %d missing at %q: %s", c.Rule, n, place, shown)
			}
		}
		if report.Lines != why || report.Counts[c.Rule] != 4 || report.Worst() < High {
			t.Errorf("%s: %s", c.Rule, shown)
		}
	}
}

func TestScanReadsAnIndentedDocument(t *testing.T) {
	value := "hunt" + random(newRand(72), base62, 10)
	doc := "{\n  \"env\": {\n    \"DB_PASSWORD\": \"" + value + "\"\n  }\n}\n"
	report, err := Default().Session().Scan(strings.NewReader(doc))
	if err != nil || len(report.Findings) != 1 || report.Findings[0].Field != "env.DB_PASSWORD" || report.Findings[0].Line != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestScanFindsNothingInItsOwnMarks(t *testing.T) {
	var file bytes.Buffer
	s := Default().Session()
	for _, c := range safetytest.Samples(newRand(73)) {
		raw, err := json.Marshal(map[string]string{"x": c.Text()})
		if err != nil {
			t.Fatal(err)
		}
		clean, _ := s.Line(nil, raw)
		file.Write(append(clean, '\n'))
	}
	report, err := Default().Session().Scan(&file)
	if err != nil || len(report.Findings) != 0 || report.Worst() != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestScanIsBounded(t *testing.T) {
	key := "np" + "m_" + random(newRand(74), base62, 36)
	line := `{"x":"` + key + `"}` + "\n"
	report, err := Default().Session().Scan(strings.NewReader(strings.Repeat(line, maxFindings+5)))
	if err != nil || len(report.Findings) != maxFindings || report.Omitted != 5 || report.Counts["npm-token"] != maxFindings+5 {
		t.Errorf("%d findings, %d omitted, %v", len(report.Findings), report.Omitted, err)
	}
	broken := errors.New("broken")
	report, err = Default().Session().Scan(iotest.ErrReader(broken))
	if !errors.Is(err, broken) || report.Lines != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
