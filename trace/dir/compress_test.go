package dir

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// text returns n bytes of lines, the last one not ended.
func text(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(`{"kind":"metric","seq":`)
		b.WriteString(strings.Repeat("7", i%40))
		b.WriteString("}\n")
	}
	return b.String()[:n]
}

func unpack(t *testing.T, data []byte) string {
	t.Helper()
	dec, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	out, err := io.ReadAll(dec)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func TestWriteFrames(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, c := range map[string]struct {
		in     string
		frames int // of 1000 bytes; -1: not counted here
	}{
		"empty":               {"", 0},
		"one line":            {"a\n", 1},
		"not ended":           {"a", 1},
		"exact":               {strings.Repeat("123456789\n", 100), 1},
		"two":                 {strings.Repeat("123456789\n", 101), 2},
		"newlines":            {strings.Repeat("\n", 2500), 3},
		"long line":           {"a\n" + long + "\nb\n", 2},
		"long line at end":    {strings.Repeat("123456789\n", 100) + long, 2},
		"no newline anywhere": {long, 1},
		"torn":                {text(10_500), -1},
		"nul and crlf":        {"\x00\x00\r\n\r\n\xff", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := writeFrames(&out, strings.NewReader(c.in), 1000)
			if err != nil {
				t.Fatal(err)
			}
			if unpack(t, out.Bytes()) != c.in || got.size != int64(len(c.in)) {
				t.Error("not the same text")
			}
			if err := verify(bytes.NewReader(out.Bytes()), got); err != nil {
				t.Error(err)
			}
			// Every frame stands alone and, but for the last, ends a line.
			var frames []string
			for data := out.Bytes(); len(data) > 0; {
				next := bytes.Index(data[1:], zstdMagic) + 1
				if next == 0 {
					next = len(data)
				}
				frames = append(frames, unpack(t, data[:next]))
				data = data[next:]
			}
			if c.frames >= 0 && len(frames) != c.frames {
				t.Errorf("%d frames, want %d", len(frames), c.frames)
			}
			for _, f := range frames[:max(len(frames)-1, 0)] {
				if !strings.HasSuffix(f, "\n") || len(f) < 1000 {
					t.Errorf("frame of %d bytes, ended %v", len(f), strings.HasSuffix(f, "\n"))
				}
			}
		})
	}
}

func TestWriteFramesErrors(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader("a\nb"), readerFunc(func([]byte) (int, error) { return 0, broken }))
	if _, err := writeFrames(io.Discard, in, 1); !errors.Is(err, broken) {
		t.Errorf("read error: %v", err)
	}
	full := writerFunc(func([]byte) (int, error) { return 0, broken })
	if _, err := writeFrames(full, strings.NewReader(text(5000)), 1000); !errors.Is(err, broken) {
		t.Errorf("write error: %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestVerifyDetects(t *testing.T) {
	var out bytes.Buffer
	want, err := writeFrames(&out, strings.NewReader(text(50_000)), 10_000)
	if err != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	for i := 0; i < len(whole); i += 7 {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x10
		if verify(bytes.NewReader(damaged), want) == nil {
			t.Errorf("damage at %d not seen", i)
		}
		if verify(bytes.NewReader(whole[:i]), want) == nil {
			t.Errorf("cut at %d not seen", i)
		}
	}
	if verify(bytes.NewReader(append(bytes.Clone(whole), whole...)), want) == nil {
		t.Error("twice the text not seen")
	}
}

func TestPruneCompresses(t *testing.T) {
	d := Dir{t.TempDir()}
	mtime := now.Add(-3*day + 123456789*time.Nanosecond)
	content := text(100_000)
	put(t, d, newID(1)+".jsonl", content, mtime)
	put(t, d, newID(2)+".jsonl", content, now.Add(-time.Hour)) // too young
	put(t, d, newID(3)+".jsonl", "", mtime)                    // nothing to compress
	put(t, d, newID(4)+".jsonl.gz", "gz", mtime)               // is compressed
	opt := PruneOptions{CompressAfter: 2 * day, Now: now}

	opt.DryRun = true
	dry, err := d.Prune(opt)
	if err != nil || len(dry.Compressed) != 1 || dry.BytesFreed != 0 || len(names(t, d)) != 4 {
		t.Fatalf("%+v, %v", dry, err)
	}
	opt.DryRun = false
	rep, err := d.Prune(opt)
	if err != nil || len(rep.Compressed) != 1 || rep.Kept != 3 || len(rep.Skipped) != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	want := []string{newID(1) + ".jsonl.zst", newID(2) + ".jsonl", newID(3) + ".jsonl", newID(4) + ".jsonl.gz", pruneLogName}
	if got := names(t, d); !slices.Equal(got, want) {
		t.Errorf("left %v", got)
	}
	data, err := os.ReadFile(d.join(want[0]))
	if err != nil || unpack(t, data) != content {
		t.Error("not the same text")
	}
	info, _ := os.Stat(d.join(want[0]))
	if !info.ModTime().Equal(mtime) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mtime %v, mode %o", info.ModTime(), info.Mode())
	}
	rec := rep.Compressed[0]
	if rec.Size != 100_000 || rec.CompressedSize != info.Size() || rep.BytesFreed != rec.Size-info.Size() {
		t.Errorf("%+v, freed %d", rec, rep.BytesFreed)
	}
	if log := readLog(t, d); !slices.Equal(log, rep.Compressed) {
		t.Errorf("log %+v", log)
	}
	if _, err := d.Create(newID(1)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a compressed trace: %v", err)
	}
	again, err := d.Prune(opt)
	if err != nil || len(again.Compressed) != 0 || again.Kept != 4 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// compressSteps are all the moments of one compression, in order.
var compressSteps = []step{
	stepLocked, stepTemp, stepWritten, stepSynced, stepVerified, stepRenamed, stepLogged, stepDone,
}

// After the process ends at any moment, the trace reads whole, and the next
// prune leaves exactly what an undisturbed one would have left.
func TestCompressCrash(t *testing.T) {
	content := text(300_000)
	mtime := now.Add(-3 * day)
	for _, at := range compressSteps {
		t.Run(string(at), func(t *testing.T) {
			d := Dir{t.TempDir()}
			put(t, d, newID(1)+".jsonl", content, mtime)
			if code := runExit(t, "crash", d.Path, string(at)); code != exitCrash {
				t.Fatalf("exit %d: the step was not reached", code)
			}
			entries, err := d.List()
			if err != nil || len(entries) != 1 || !entries[0].ModTime.Equal(mtime) {
				t.Fatalf("%+v, %v", entries, err)
			}
			data, err := os.ReadFile(entries[0].Path)
			if err != nil {
				t.Fatal(err)
			}
			got := string(data)
			if entries[0].Compressed {
				got = unpack(t, data)
			}
			if got != content {
				t.Error("the trace is damaged")
			}
			rep, err := d.Prune(pruneAll())
			if err != nil || len(rep.Skipped) != 0 {
				t.Fatalf("%+v, %v", rep, err)
			}
			if got := names(t, d); !slices.Equal(got, []string{newID(1) + ".jsonl.zst", pruneLogName}) {
				t.Errorf("left %v", got)
			}
			info, _ := os.Stat(d.join(newID(1) + ".jsonl.zst"))
			data, _ = os.ReadFile(d.join(newID(1) + ".jsonl.zst"))
			if unpack(t, data) != content || !info.ModTime().Equal(mtime) {
				t.Error("the copy is damaged or has a new time")
			}
		})
	}
}

func TestRemoveCrash(t *testing.T) {
	for _, at := range []step{stepRemoveLocked, stepRemoveLogged, stepRemoved} {
		t.Run(string(at), func(t *testing.T) {
			d := Dir{t.TempDir()}
			for i := range 3 {
				put(t, d, newID(i)+".jsonl", "x", now.Add(-365*day))
			}
			if code := runExit(t, "crash", d.Path, string(at)); code != exitCrash {
				t.Fatalf("exit %d", code)
			}
			logged := map[string]bool{}
			if at != stepRemoveLocked {
				for _, r := range readLog(t, d) {
					logged[r.ID] = true
				}
			}
			left, _ := d.List()
			for i := range 3 {
				there := slices.Contains(ids(left), newID(i))
				if !there && !logged[newID(i)] {
					t.Errorf("trace %d went without a line", i)
				}
			}
			if _, err := d.Prune(pruneAll()); err != nil {
				t.Fatal(err)
			}
			if got := names(t, d); !slices.Equal(got, []string{pruneLogName}) {
				t.Errorf("left %v", got)
			}
		})
	}
}

// An error, other than a crash, cleans up: the original stays, alone until the
// copy has its name.
func TestCompressFailure(t *testing.T) {
	full := errors.New("disk full")
	for _, at := range compressSteps[:len(compressSteps)-1] {
		t.Run(string(at), func(t *testing.T) {
			d := Dir{t.TempDir()}
			path := put(t, d, newID(1)+".jsonl", "content\n", now.Add(-3*day))
			rep, err := d.prune(pruneAll(), func(s step, _ string) error {
				if s == at {
					return full
				}
				return nil
			})
			reason := skipReasons(rep)[newID(1)+".jsonl"]
			if !errors.Is(err, full) && !strings.Contains(reason, full.Error()) {
				t.Errorf("not told: %v, %+v", err, rep)
			}
			if got, _ := os.ReadFile(path); string(got) != "content\n" || len(rep.Compressed) != 0 || rep.BytesFreed != 0 {
				t.Errorf("%q, %+v", got, rep)
			}
			for _, name := range names(t, d) {
				if _, isTemp := parseTemp(name); isTemp {
					t.Errorf("left behind: %s", name)
				}
			}
			f, err := d.OpenAppend(newID(1))
			if err != nil {
				t.Fatalf("the lock stayed: %v", err)
			}
			f.Close()
		})
	}
}

// A writer that asks for no lock, as other tools, goes on while rax compresses.
func TestCompressSeesForeignWriter(t *testing.T) {
	d := Dir{t.TempDir()}
	path := put(t, d, newID(1)+".jsonl", "one\n", now.Add(-3*day))
	rep, err := d.prune(pruneAll(), func(s step, _ string) error {
		if s == stepWritten {
			put(t, d, newID(1)+".jsonl", "one\ntwo\n", now)
		}
		return nil
	})
	if err != nil || len(rep.Compressed) != 0 || len(rep.Skipped) != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
	if got, _ := os.ReadFile(path); string(got) != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}

func TestWriterWaitsOutCompression(t *testing.T) {
	d := Dir{t.TempDir()}
	put(t, d, newID(1)+".jsonl", "one\n", now.Add(-3*day))
	var during error
	_, err := d.prune(pruneAll(), func(s step, _ string) error {
		if s == stepRenamed {
			_, during = d.OpenAppend(newID(1))
		}
		return nil
	})
	var locked *LockedError
	if err != nil || !errors.As(during, &locked) {
		t.Errorf("%v, %v", during, err)
	}
	if _, err := d.OpenAppend(newID(1)); !errors.Is(err, ErrCompressed) {
		t.Errorf("afterwards: %v", err)
	}
}

func TestCompressNeverOverwrites(t *testing.T) {
	d := Dir{t.TempDir()}
	var other bytes.Buffer
	if _, err := writeFrames(&other, strings.NewReader("something else\n"), frameSize); err != nil {
		t.Fatal(err)
	}
	old := now.Add(-3 * day)
	for i, content := range []string{other.String(), "no zstd at all", ""} {
		put(t, d, newID(i)+".jsonl", "one\n", old)
		put(t, d, newID(i)+".jsonl.zst", content, old)
	}
	rep, err := d.Prune(pruneAll())
	if err != nil || len(rep.Compressed) != 0 || len(rep.Skipped) != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
	if got, _ := os.ReadFile(d.join(newID(0) + ".jsonl.zst")); string(got) != other.String() {
		t.Error("overwritten")
	}
	entries, _ := d.List()
	if len(entries) != 3 || entries[0].Compressed || len(entries[0].Shadowed) != 1 {
		t.Errorf("%+v", entries)
	}
}

func BenchmarkCompress(b *testing.B) {
	in := text(64 << 20)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := writeFrames(io.Discard, strings.NewReader(in), frameSize); err != nil {
			b.Fatal(err)
		}
	}
}
