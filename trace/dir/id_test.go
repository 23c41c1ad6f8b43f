package dir

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

func TestNewIDRises(t *testing.T) {
	e := NewEntropy(nil)
	last := ""
	for i, at := range []time.Duration{0, 0, 0, time.Millisecond, time.Hour, -time.Hour, -time.Hour, 0, 2 * time.Hour} {
		id, err := NewID(now.Add(at), e)
		if err != nil {
			t.Fatal(err)
		}
		if !IsID(id) || id <= last {
			t.Errorf("id %d: %s after %s", i, id, last)
		}
		last = id
	}
	id, _ := ulid.Parse(last)
	if got := ulid.Time(id.Time()); !got.Equal(now.Add(2 * time.Hour)) {
		t.Errorf("time in id: %v", got)
	}
}

func TestNewIDConcurrent(t *testing.T) {
	e := NewEntropy(nil)
	var wg sync.WaitGroup
	got := make([][]string, 8)
	for g := range got {
		wg.Go(func() {
			for range 500 {
				id, err := NewID(now, e)
				if err != nil {
					t.Error(err)
				}
				got[g] = append(got[g], id)
			}
		})
	}
	wg.Wait()
	for _, own := range got {
		if !slices.IsSorted(own) {
			t.Error("ids of one goroutine do not rise")
		}
	}
	all := slices.Concat(got...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 8*500 {
		t.Errorf("%d different ids of %d", n, 8*500)
	}
}

// With steps as large as the library takes them, one millisecond holds about
// 65,000 ids; the time part must move on by itself then.
func TestNewIDOverflow(t *testing.T) {
	source := rand.NewChaCha8([32]byte{})
	e := &Entropy{src: ulid.Monotonic(source, math.MaxUint64)}
	last := ""
	for range 200_000 {
		id, err := NewID(now, e)
		if err != nil || id <= last {
			t.Fatalf("%s after %s: %v", id, last, err)
		}
		last = id
	}
	if id, _ := ulid.Parse(last); id.Time() == uint64(now.UnixMilli()) {
		t.Error("the millisecond never overflowed: nothing was tested")
	}
}

func TestNewIDErrors(t *testing.T) {
	if _, err := NewID(time.Unix(-1, 0), NewEntropy(nil)); !errors.Is(err, ulid.ErrBigTime) {
		t.Errorf("before 1970: %v", err)
	}
	if _, err := NewID(time.Time{}, NewEntropy(nil)); err == nil {
		t.Error("zero time: no error")
	}
	if id, err := NewID(now, NewEntropy(bytes.NewReader(nil))); err == nil {
		t.Errorf("no randomness: %s", id)
	}
}

func TestImportID(t *testing.T) {
	start := time.UnixMilli(1748779200123)
	base := ImportID(start, "claude", "0195")
	// Fixed for ever: a change would import every session a second time.
	if want := "01JWNNSVKVEM8VKFCHAXXQ9ZDF"; base != want {
		t.Errorf("ImportID = %s, want %s", base, want)
	}
	if !IsID(base) || ImportID(start, "claude", "0195") != base {
		t.Error("not a stable ULID")
	}
	id, _ := ulid.Parse(base)
	if id.Time() != 1748779200123 {
		t.Errorf("time part %d", id.Time())
	}
	seen := map[string]string{base: "base"}
	for name, id := range map[string]string{
		"cut":    ImportID(start, "claude0", "195"),
		"joined": ImportID(start, "claude0195"),
		"more":   ImportID(start, "claude", "0195", ""),
		"order":  ImportID(start, "0195", "claude"),
		"time":   ImportID(start.Add(time.Millisecond), "claude", "0195"),
		"none":   ImportID(start),
	} {
		if seen[id] != "" {
			t.Errorf("%s equals %s", name, seen[id])
		}
		seen[id] = name
	}
	for name, at := range map[string]time.Time{
		"zero": {}, "1969": time.Unix(-5, 0), "far": time.UnixMilli(1 << 60),
	} {
		if id := ImportID(at, "x"); !IsID(id) {
			t.Errorf("%s: %q is no id", name, id)
		}
	}
	if got := ImportID(time.Time{}, "x"); !strings.HasPrefix(got, "0000000000") {
		t.Errorf("unknown start: %s", got)
	}
}

func TestIsID(t *testing.T) {
	good := newID(1)
	for s, want := range map[string]bool{
		good: true, strings.ToLower(good): false, good + "0": false, good[1:]: false, "": false,
		"8" + good[1:]: false, "U" + good[1:]: false, good[:25] + "/": false, good[:25] + "\x00": false,
	} {
		if IsID(s) != want {
			t.Errorf("IsID(%q) = %v", s, !want)
		}
	}
}
