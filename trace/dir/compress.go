package dir

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// frameSize is how much plain text one zstd frame holds, about: it ends at the
// first newline after this many bytes. A reader can start at any frame.
const frameSize = 4 << 20

// maxWindow bounds the memory that a compressed file can make a reader take.
const maxWindow = 128 << 20

// A copy that is being made has a hidden name that no reader takes for a trace.
const (
	tempPrefix = "."
	tempSuffix = ".jsonl.zst.tmp"
)

// parseTemp takes apart the name of an unfinished copy.
func parseTemp(name string) (id string, ok bool) {
	id, pre := strings.CutPrefix(name, tempPrefix)
	id, post := strings.CutSuffix(id, tempSuffix)
	return id, pre && post && IsID(id)
}

// sum is what two files have in common if they are the same.
type sum struct {
	hash [sha256.Size]byte
	size int64
}

// compress compresses one trace. What goes wrong with this trace is reported as
// skipped and leaves it as it was; the error is for what must stop the prune.
//
//  1. lock the trace, see that it is as planned
//  2. write the copy under a hidden name, sync it
//  3. give it the trace's modification time, read it back, compare
//  4. see that the trace did not change, rename the copy, sync the directory
//  5. write down what is about to go, and remove the original
//
// Broken off before 4 it leaves a hidden file, which the next prune removes;
// after 4 both files, of which the original wins until the next prune finds the
// copy equal and goes on with 5.
func (p *pruner) compress(f file) (err error) {
	src, err := p.lockUnchanged(f.name(), f.info)
	if err != nil {
		p.skip(f.name(), err)
		return nil
	}
	defer func() { err = errors.Join(err, release(src)) }()

	size, err := p.copyOf(f, src)
	if err != nil {
		p.skip(f.name(), fmt.Errorf("not compressed: %w", err))
		return nil
	}
	rec := p.record(f.id, f.name(), f.info, ActionCompress, p.compressReason())
	rec.CompressedSize = size
	if err := p.log.append(rec); err != nil {
		return err
	}
	if err := p.at(stepLogged, f.id); err != nil {
		return err
	}
	if err := p.root.Remove(f.name()); err != nil {
		p.skip(f.name(), err)
		rec.Action, rec.Reason = ActionRemoveFailed, err.Error()
		return p.log.append(rec)
	}
	p.rep.Compressed = append(p.rep.Compressed, rec)
	p.rep.BytesFreed += rec.Size - size
	return p.at(stepDone, f.id)
}

func (p *pruner) compressReason() string {
	return fmt.Sprintf("older than %s", p.opt.CompressAfter)
}

// copyOf makes sure that an equal compressed copy of the trace is on disk under
// its final name, and returns its size in bytes.
func (p *pruner) copyOf(f file, src *os.File) (int64, error) {
	if err := p.at(stepLocked, f.id); err != nil {
		return 0, err
	}
	name := f.id + zst.ext()
	if info, err := p.root.Lstat(name); err == nil {
		return p.adopt(name, info, src)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	temp := tempPrefix + f.id + tempSuffix
	size, err := p.writeCopy(f, src, temp)
	if err == nil {
		err = p.root.Rename(temp, name)
	}
	if err != nil {
		if gone := p.root.Remove(temp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return 0, err
	}
	if err := syncDir(p.dir.Path); err != nil {
		return 0, err
	}
	return size, p.at(stepRenamed, f.id)
}

// adopt takes over the copy that an interrupted compression left, if it holds
// what the trace holds. A different one is never overwritten.
func (p *pruner) adopt(name string, info fs.FileInfo, src *os.File) (int64, error) {
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a regular file", name)
	}
	want, err := hashOf(src)
	if err != nil {
		return 0, err
	}
	copied, err := p.root.Open(name)
	if err != nil {
		return 0, err
	}
	defer copied.Close()
	if err := verify(copied, want); err != nil {
		return 0, fmt.Errorf("%s is there already and differs: %w", name, err)
	}
	return info.Size(), nil
}

// writeCopy writes the compressed copy, makes it durable and reads it back.
func (p *pruner) writeCopy(f file, src *os.File, temp string) (size int64, err error) {
	dst, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	want, err := p.fill(f, dst, src)
	if err := errors.Join(err, dst.Close()); err != nil {
		return 0, err
	}
	// Only after the closing: Windows sets the time of writing once more then.
	if err := p.root.Chtimes(temp, f.info.ModTime(), f.info.ModTime()); err != nil {
		return 0, err
	}
	back, err := p.root.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, back.Close()) }()
	if err := verify(back, want); err != nil {
		return 0, err
	}
	// A writer that asks for no lock may have gone on.
	if err := unchanged(src, f.info); err != nil {
		return 0, err
	}
	info, err := back.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), errors.Join(back.Sync(), p.at(stepVerified, f.id))
}

// fill writes the frames and syncs them.
func (p *pruner) fill(f file, dst, src *os.File) (sum, error) {
	if err := p.at(stepTemp, f.id); err != nil {
		return sum{}, err
	}
	want, err := writeFrames(dst, src, frameSize)
	if err != nil {
		return sum{}, err
	}
	if err := p.at(stepWritten, f.id); err != nil {
		return sum{}, err
	}
	if err := dst.Sync(); err != nil {
		return sum{}, err
	}
	return want, p.at(stepSynced, f.id)
}

// writeFrames compresses src into independent zstd frames, each of about frame
// bytes of plain text and ending after a newline (the last one wherever src
// ends). It streams: a line of any length takes no more memory than a short one.
func writeFrames(dst io.Writer, src io.Reader, frame int) (sum, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return sum{}, err
	}
	hash := sha256.New()
	var total int64
	in := bufio.NewReaderSize(src, 64<<10)
	held := 0 // plain bytes in the open frame; 0 if none is open
	for {
		part, readErr := in.ReadSlice('\n')
		if len(part) > 0 {
			if held == 0 {
				enc.Reset(dst)
			}
			if _, err := enc.Write(part); err != nil {
				return sum{}, err
			}
			hash.Write(part)
			held += len(part)
			total += int64(len(part))
		}
		atNewline := readErr == nil
		if held > 0 && (readErr == io.EOF || atNewline && held >= frame) {
			if err := enc.Close(); err != nil {
				return sum{}, err
			}
			held = 0
		}
		switch {
		case readErr == io.EOF:
			return sum{[sha256.Size]byte(hash.Sum(nil)), total}, nil
		case readErr != nil && !errors.Is(readErr, bufio.ErrBufferFull):
			return sum{}, readErr
		}
	}
}

// hashOf sums a file up from its beginning.
func hashOf(f *os.File) (sum, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return sum{}, err
	}
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	return sum{[sha256.Size]byte(hash.Sum(nil)), n}, err
}

// verify reads a compressed file and compares it with what it should hold. It
// stops one byte behind that, whatever the file claims to unpack to.
func verify(r io.Reader, want sum) error {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer dec.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(dec, want.size+1))
	if err != nil {
		return fmt.Errorf("read the copy back: %w", err)
	}
	if got := (sum{[sha256.Size]byte(hash.Sum(nil)), n}); got != want {
		return errors.New("the copy is not equal to the original")
	}
	return nil
}
