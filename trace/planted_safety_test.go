package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rax-project/rax/trace/safety/safetytest"
)

// planted gives an event of a kind with the text in every string that it can
// hold, in nested arguments and in members that no type knows.
func planted(t testing.TB, k Kind, text string) Event {
	t.Helper()
	ev := New(k)
	plantText(t, reflect.ValueOf(ev).Elem(), text)
	base := ev.Common()
	base.RunID, base.Timestamp, base.Seq = "r", 1, 0
	base.Extra = []Member{
		{"x-plain", quoted(t, text)}, {"x-nested", nested(t, text)}, {text, json.RawMessage(`1`)},
		{"x-broken", json.RawMessage(`{"a": ` + text)},
	}
	return ev
}

func quoted(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// nested holds a text at many places of one value: as value and as key, deep
// down, in JSON that a string quotes, and written in escapes.
func nested(t testing.TB, text string) json.RawMessage {
	t.Helper()
	inner := quoted(t, map[string]any{"deep": []any{text, map[string]any{"k": "so: " + text}}})
	twice := quoted(t, map[string]any{"quoted": string(inner)})
	return quoted(t, map[string]any{
		"value": text, text: "key", "list": []string{"a", text}, "inner": inner, "twice": string(twice),
		"escaped": json.RawMessage(`"` + safetytest.Escape(text) + `"`),
	})
}

func plantText(t testing.TB, v reflect.Value, text string) {
	t.Helper()
	if v.Type() == rawType {
		v.SetBytes(nested(t, text))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plantText(t, v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			plantText(t, v.Index(i), text)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		elem := reflect.New(v.Type().Elem()).Elem()
		plantText(t, elem, text)
		for _, key := range []string{text, "key"} {
			v.SetMapIndex(reflect.ValueOf(key), elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Extra" {
				plantText(t, v.Field(i), text)
			}
		}
	default:
		t.Fatalf("no planting for %s", v.Type())
	}
}

// plantedFile writes an event of every kind, and of an unknown one.
func plantedFile(t testing.TB, text string) []byte {
	t.Helper()
	file := new(memory)
	w, err := NewWriter(file, WriterOptions{Now: func() time.Time { return time.UnixMilli(1) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range append(Kinds(), Kind("x-"+text)) {
		rec, err := w.Write(planted(t, k, text))
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		if !json.Valid(rec.Bytes()) || bytes.IndexByte(rec.Bytes(), '\n') >= 0 {
			t.Fatalf("%s: not one line of JSON: %s", k, rec.Bytes())
		}
	}
	return file.Bytes()
}

// TestPlantedSecretsReachNoFile: every shape, in every string field of every
// kind, at any depth.
func TestPlantedSecretsReachNoFile(t *testing.T) {
	samples := safetytest.Samples(safetytest.NewRand(41))
	if len(samples) < 50 {
		t.Fatalf("only %d shapes", len(samples))
	}
	for i, s := range samples {
		if safetytest.Race && i%6 != 0 {
			continue
		}
		texts := []string{s.Text()}
		if i%6 == 0 { // for the time it takes
			texts = append(texts, "before "+s.Text()+"\nand after", `he wrote {"x":"`+safetytest.Escape(s.Text())+`"}`)
		}
		for _, text := range texts {
			data := plantedFile(t, text)
			for line := range bytes.Lines(data) {
				if s.Leaked(string(line)) {
					t.Errorf("%d, %s as %.20q leaks: %s", i, s.Rule, text, line)
					break
				}
			}
			for rec, err := range NewReader(bytes.NewReader(data), "t", ReaderOptions{}).All() {
				if err != nil {
					t.Fatalf("%s: %v", s.Rule, err)
				}
				if s.Leaked(string(rec.Bytes())) {
					t.Fatalf("%s: read back: %s", s.Rule, rec.Bytes())
				}
			}
		}
	}
}

// TestPlantedLabels: a value that only its name gives away, in unknown members,
// arguments and labels.
func TestPlantedLabels(t *testing.T) {
	value := safetytest.Sample{Secret: "hunt" + safetytest.Random(safetytest.NewRand(42), safetytest.Base62, 14)}
	args := quoted(t, map[string]any{"env": map[string]any{"DB_PASSWORD": value.Secret, "API_TOKEN": value.Secret}})
	for _, ev := range []Event{
		&ToolCallStart{Base: Base{RunID: "r", Extra: []Member{{"password", quoted(t, value.Secret)}, {"clientSecret", quoted(t, value.Secret)}}}, ToolName: "t", Args: args},
		&Metric{Base: Base{RunID: "r"}, Name: "m", Labels: map[string]string{"password": value.Secret, "api_key": value.Secret}},
		&Unknown{Base: Base{RunID: "r", Extra: []Member{{"auth_token", quoted(t, value.Secret)}, {"x", args}}}, Kind: "x"},
	} {
		line, _ := written(t, ev)
		if value.Leaked(string(line)) {
			t.Errorf("%s: %s", ev.EventKind(), line)
		}
		if kept := recordsOf(t, line)[0].Bytes(); bytes.Count(kept, []byte("[redacted:")) < 2 {
			t.Errorf("%s: %s", ev.EventKind(), kept)
		}
	}
}

// TestReaderScrubsPlantedSecrets: the same texts in a trace without a stamp.
func TestReaderScrubsPlantedSecrets(t *testing.T) {
	for _, s := range safetytest.Samples(safetytest.NewRand(43)) {
		var file bytes.Buffer
		for _, k := range Kinds() {
			fmt.Fprintf(&file, `{"kind":%q,"runId":"r","args":%s,"unknown":%s,"why":%s}`+"\n", k, nested(t, s.Text()), quoted(t, s.Text()), quoted(t, s.Text()))
		}
		fmt.Fprintf(&file, `{"kind":"metric","runId":"r","note":%s}{"kind":"metric"}`+"\n", quoted(t, s.Text()))
		fmt.Fprintf(&file, `{"kind":"metric","runId":"r","note":%s`+"\n", quoted(t, s.Text()))
		fmt.Fprintf(&file, `{"kind":"metric", %s: tru}`+"\n", quoted(t, s.Text()))
		io.WriteString(&file, "no JSON: "+strings.ReplaceAll(s.Text(), "\n", " ")+"\n")
		records, errs := 0, 0
		for rec, err := range NewReader(&file, "t", ReaderOptions{}).All() {
			if err != nil {
				errs++
				if s.Leaked(err.Error()) {
					t.Errorf("%s: an error shows it: %v", s.Rule, err)
				}
				continue
			}
			records++
			if s.Leaked(string(rec.Bytes())) {
				t.Errorf("%s: %s", s.Rule, rec.Bytes())
			}
			ev, warnings, err := Decode(rec)
			if err != nil {
				t.Fatal(err)
			}
			if s.Leaked(fmt.Sprintf("%+v %v", ev, warnings)) {
				t.Errorf("%s: decoded: %+v", s.Rule, ev)
			}
		}
		if records < len(Kinds()) || errs < 3 {
			t.Errorf("%s: %d records, %d errors", s.Rule, records, errs)
		}
	}
}

// TestRunsDifferOnlyInTheSecret: two runs that differ in the value of a secret
// alone are stored as the same bytes; two secrets have two numbers.
func TestRunsDifferOnlyInTheSecret(t *testing.T) {
	one, other := safetytest.Samples(safetytest.NewRand(44)), safetytest.Samples(safetytest.NewRand(45))
	for i := range one {
		if i > 0 && one[i].Rule == one[i-1].Rule || safetytest.Race && i%6 != 0 {
			continue // one of a rule, for the time it takes
		}
		if one[i].Rule == "jwt" || one[i].Rule == "basic-auth" {
			continue // base64 of another secret may be longer
		}
		other[i].Before = one[i].Before
		a, b := plantedFile(t, one[i].Text()), plantedFile(t, other[i].Text())
		if len(one[i].Text()) == len(other[i].Text()) && !bytes.Equal(a, b) {
			t.Errorf("%d, %s: the runs differ", i, one[i].Rule)
		}
	}
	line, _ := written(t, &ToolCallStart{Base: Base{RunID: "r"}, ToolName: "t", Args: quoted(t, []string{secret, secret[:12] + "RB4NV7JL", secret})},
		&TurnStarted{Base: Base{RunID: "r"}, Input: secret[:12] + "RB4NV7JL" + " then " + secret})
	records := recordsOf(t, line)
	first, second := string(records[0].Bytes()), ""
	for _, rec := range records {
		if kind, _ := kindOf(rec.Bytes()); kind == KindTurnStarted {
			second = string(rec.Bytes())
		}
	}
	if !strings.Contains(first, `["[redacted:aws-access-key#1]","[redacted:aws-access-key#2]","[redacted:aws-access-key#1]"]`) ||
		!strings.Contains(second, `"[redacted:aws-access-key#2] then [redacted:aws-access-key#1]"`) {
		t.Errorf("the numbers are not stable:\n%s\n%s", first, second)
	}
}

// TestCutReasonsHideHalfASecret: a reason or a narrative comes to the Writer
// cut to its length, maybe in the middle of a secret.
func TestCutReasonsHideHalfASecret(t *testing.T) {
	for _, s := range safetytest.Samples(safetytest.NewRand(46)) {
		for _, limit := range []int{280, 1000} {
			for _, kept := range []int{len(s.Before) + len(s.Secret)/3, len(s.Before) + len(s.Secret)/2, len(s.Before) + len(s.Secret) - 1} {
				if kept >= limit-10 {
					continue
				}
				text := (strings.Repeat("reasons ", 200)[:limit-kept-1] + " " + s.Text())[:limit]
				line, _ := written(t, &ToolCallStart{Base: Base{RunID: "r"}, ToolName: "t", Narrative: text, NarrativeCut: true})
				if s.Leaked(string(line)) {
					t.Errorf("%s, %d of it before %d: %s", s.Rule, kept, limit, line)
				}
			}
		}
	}
}
