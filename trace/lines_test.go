package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLinesAreNotScrubbed: Lines is for importers, who hand what they read to a
// Writer. Everything else it shares with Reader, whose tests cover both.
func TestLinesAreNotScrubbed(t *testing.T) {
	in := fmt.Sprintf(`{"type":"user","text":"use %s"}`, secret)
	for line, err := range Lines(strings.NewReader("\ufeff\n "+in+"\n"), "t.jsonl", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if string(line.Bytes) != in || line.Place != (Place{Name: "t.jsonl", Line: 2, Offset: 5}) {
			t.Errorf("got %s at %+v", line.Bytes, line.Place)
		}
	}
}

func TestPlain(t *testing.T) {
	const text = "{\"kind\":\"a\"}\n"
	packed := map[string][]byte{"plain": []byte(text), "short": []byte("{}"), "nothing": nil}
	for form, pack := range pack {
		packed[form] = pack(t, []byte(text))
	}
	for form, data := range packed {
		src, err := Plain(iotest.OneByteReader(strings.NewReader(string(data))))
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		want := []byte(text)
		if form == "short" || form == "nothing" {
			want = data
		}
		if err := iotest.TestReader(src, want); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
	boom := errors.New("boom")
	if _, err := Plain(iotest.ErrReader(boom)); !errors.Is(err, boom) {
		t.Errorf("a failing stream says %v", err)
	}
}
