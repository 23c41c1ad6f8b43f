package dir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// readLog returns the lines of the prune log.
func readLog(t *testing.T, d Dir) []PruneRecord {
	t.Helper()
	data, err := os.ReadFile(d.join(pruneLogName))
	if err != nil {
		t.Fatal(err)
	}
	var out []PruneRecord
	for line := range bytes.Lines(data) {
		var r PruneRecord
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

func removedFiles(rep PruneReport) []string {
	var out []string
	for _, r := range rep.Removed {
		out = append(out, r.File)
	}
	slices.Sort(out)
	return out
}

func skipReasons(rep PruneReport) map[string]string {
	out := map[string]string{}
	for _, s := range rep.Skipped {
		out[s.File] = s.Reason
	}
	return out
}

func TestPruneRules(t *testing.T) {
	// Five traces, 0 to 40 days old: newID(4) is the newest.
	for name, c := range map[string]struct {
		opt  PruneOptions
		gone []int
	}{
		"nothing asked":         {PruneOptions{}, nil},
		"by age":                {PruneOptions{OlderThan: 25 * day}, []int{0, 1}},
		"exactly as old":        {PruneOptions{OlderThan: 30 * day}, []int{0}},
		"by number":             {PruneOptions{KeepLast: 2}, []int{0, 1, 2}},
		"keep more":             {PruneOptions{KeepLast: 9}, nil},
		"kept although old":     {PruneOptions{OlderThan: 5 * day, KeepLast: 3}, []int{0, 1}},
		"young although beyond": {PruneOptions{OlderThan: 35 * day, KeepLast: 1}, []int{0}},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/dry=%v", name, dry), func(t *testing.T) {
				d := Dir{t.TempDir()}
				var want, left []string
				for i := range 5 {
					file := newID(i) + ".jsonl"
					put(t, d, file, "12345", now.Add(-time.Duration(4-i)*10*day))
					if slices.Contains(c.gone, i) {
						want = append(want, file)
					}
					if dry || !slices.Contains(c.gone, i) {
						left = append(left, file)
					}
				}
				c.opt.Now, c.opt.DryRun = now, dry
				rep, err := d.Prune(c.opt)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(removedFiles(rep), want) || rep.Kept != 5-len(want) ||
					rep.BytesFreed != int64(5*len(want)) || len(rep.Skipped) != 0 || rep.Compressed == nil {
					t.Errorf("report: %+v", rep)
				}
				if !dry && len(want) > 0 {
					if got := readLog(t, d); len(got) != len(want) || !slices.Equal(got, rep.Removed) {
						t.Errorf("log %+v\nreport %+v", got, rep.Removed)
					}
					left = append(left, pruneLogName)
				}
				if got := names(t, d); !slices.Equal(got, left) {
					t.Errorf("left %v, want %v", got, left)
				}
			})
		}
	}
}

func TestPruneOptionsChecked(t *testing.T) {
	d := Dir{t.TempDir()}
	for _, opt := range []PruneOptions{
		{}, {Now: now, KeepLast: -1}, {Now: now, OlderThan: -1}, {Now: now, CompressAfter: -1},
	} {
		if _, err := d.Prune(opt); err == nil {
			t.Errorf("%+v: no error", opt)
		}
	}
	rep, err := (Dir{d.join("none")}).Prune(pruneAll())
	if err != nil || rep.Kept != 0 {
		t.Errorf("missing directory: %+v, %v", rep, err)
	}
	if got := names(t, d); len(got) != 0 {
		t.Errorf("written: %v", got)
	}
}

func TestPruneLeavesForeignFiles(t *testing.T) {
	d := Dir{t.TempDir()}
	old := now.Add(-365 * day)
	foreign := []string{
		"run-7.jsonl", strings.ToLower(newID(1)) + ".jsonl", newID(2) + ".jsonl.bak", newID(3) + ".json",
		"." + newID(4) + ".jsonl", newID(5), newID(6) + "x.jsonl", "notes.txt", ".x.jsonl.zst.tmp",
	}
	for _, name := range foreign {
		put(t, d, name, "keep", old)
	}
	dirName := newID(7) + ".jsonl"
	os.Mkdir(d.join(dirName), 0o700)
	put(t, Dir{d.join(dirName)}, newID(8)+".jsonl", "keep", old)
	foreign = append(foreign, dirName)
	outside := put(t, Dir{t.TempDir()}, "outside.jsonl", "keep", old)
	if runtime.GOOS != "windows" {
		for _, link := range []string{newID(9) + ".jsonl", newID(10) + ".jsonl.zst"} {
			if err := os.Symlink(outside, d.join(link)); err != nil {
				t.Fatal(err)
			}
			foreign = append(foreign, link)
		}
	}
	for _, ext := range []string{".jsonl", ".jsonl.gz", ".jsonl.zst"} {
		put(t, d, newID(11)+ext, "go", old)
	}
	rep, err := d.Prune(pruneAll())
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Removed) != 3 || rep.Removed[2].File != newID(11)+".jsonl" {
		t.Errorf("removed: %+v", rep.Removed)
	}
	reasons := skipReasons(rep)
	for _, name := range foreign {
		if _, err := os.Lstat(d.join(name)); err != nil || reasons[name] == "" {
			t.Errorf("%s: %v, reason %q", name, err, reasons[name])
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.Path, dirName, newID(8)+".jsonl")); err != nil {
		t.Error(err)
	}
}

func TestPruneBesideLiveWriter(t *testing.T) {
	d := Dir{t.TempDir()}
	old := now.Add(-365 * day)
	live, dead, livePacked := newID(1)+".jsonl", newID(2)+".jsonl", newID(3)+".jsonl"
	for _, name := range []string{live, dead} {
		put(t, d, name, "x", old)
	}
	put(t, d, livePacked, "x", now.Add(-5*day))
	kill, _ := hold(t, d, newID(1))
	_, letGo := hold(t, d, newID(3))

	for _, dry := range []bool{true, false} {
		opt := pruneAll()
		opt.DryRun = dry
		rep, err := d.Prune(opt)
		if err != nil {
			t.Fatal(err)
		}
		reasons := skipReasons(rep)
		if !slices.Equal(removedFiles(rep), []string{dead}) || len(rep.Compressed) != 0 ||
			!strings.Contains(reasons[live], "live") || !strings.Contains(reasons[livePacked], "live") {
			t.Errorf("dry %v: %+v", dry, rep)
		}
	}
	if got := names(t, d); !slices.Equal(got, []string{live, livePacked, pruneLogName}) {
		t.Errorf("left: %v", got)
	}
	kill()
	letGo()
	rep, err := d.Prune(pruneAll())
	if err != nil || len(rep.Removed) != 1 || len(rep.Compressed) != 1 {
		t.Errorf("after the writers: %+v, %v", rep, err)
	}
}

// A trace that was written to after the plan was made stays.
func TestPruneSeesChange(t *testing.T) {
	d := Dir{t.TempDir()}
	old := now.Add(-365 * day)
	put(t, d, newID(1)+".jsonl", "x", old)
	put(t, d, newID(2)+".jsonl", "x", old)
	put(t, d, newID(3)+".jsonl", "x", now.Add(-2*day))
	rep, err := d.prune(pruneAll(), func(s step, id string) error {
		if s == stepRemoveLocked && id == newID(2) { // the first of the plan
			put(t, d, newID(1)+".jsonl", "more", old)
			os.Remove(d.join(newID(3) + ".jsonl"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reasons := skipReasons(rep)
	if !slices.Equal(removedFiles(rep), []string{newID(2) + ".jsonl"}) ||
		reasons[newID(1)+".jsonl"] != errChanged.Error() || reasons[newID(3)+".jsonl"] == "" {
		t.Errorf("%+v", rep)
	}
}

func TestPruneLogComesFirst(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "x", now.Add(-365*day))
	put(t, d, pruneLogName, `{"torn`, now)
	stop := errors.New("stop")
	_, err := d.prune(pruneAll(), func(s step, _ string) error {
		if s == stepRemoveLogged {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.join(newID(1) + ".jsonl")); err != nil {
		t.Error("removed before the hook")
	}
	log, _ := os.ReadFile(d.join(pruneLogName))
	lines := strings.Split(string(log), "\n")
	if len(lines) != 3 || lines[0] != `{"torn` || !strings.Contains(lines[1], newID(1)) || lines[2] != "" {
		t.Errorf("log: %q", log)
	}
}

func TestPruneWithoutLogRemovesNothing(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "x", now.Add(-365*day))
	os.Mkdir(d.join(pruneLogName), 0o700)
	if _, err := d.Prune(pruneAll()); err == nil {
		t.Error("no error")
	}
	os.Remove(d.join(pruneLogName))
	if runtime.GOOS != "windows" {
		outside := put(t, Dir{t.TempDir()}, "outside", "", now)
		os.Symlink(outside, d.join(pruneLogName))
		if _, err := d.Prune(pruneAll()); err == nil {
			t.Error("log through a symbolic link: no error")
		}
		os.Remove(d.join(pruneLogName))
	}
	if _, err := os.Stat(d.join(newID(1) + ".jsonl")); err != nil {
		t.Error(err)
	}
}

func TestTwoPrunes(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "x", now.Add(-365*day))
	var second error
	rep, err := d.prune(pruneAll(), func(s step, _ string) error {
		if s == stepRemoveLocked {
			_, second = d.Prune(pruneAll())
		}
		return nil
	})
	var locked *LockedError
	if err != nil || len(rep.Removed) != 1 || !errors.As(second, &locked) {
		t.Errorf("first %v, second %v", err, second)
	}
}

func TestPruneManyInBatches(t *testing.T) {
	d := Dir{t.TempDir()}
	const n = 300
	for i := range n {
		put(t, d, newID(i)+".jsonl", "x", now.Add(-365*day))
	}
	rep, err := d.Prune(PruneOptions{KeepLast: 7, Now: now})
	if err != nil || len(rep.Removed) != n-7 || rep.Kept != 7 || len(readLog(t, d)) != n-7 {
		t.Errorf("%d removed, %d kept, %v", len(rep.Removed), rep.Kept, err)
	}
	entries, _ := d.List()
	if len(entries) != 7 || entries[6].ID != newID(n-7) {
		t.Errorf("%v", ids(entries))
	}
}
