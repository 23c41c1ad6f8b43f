package dir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// PruneOptions says what may go. Zero values set no rule, so that a zero
// PruneOptions (but for Now) changes nothing.
type PruneOptions struct {
	// OlderThan removes traces last written longer ago than this.
	OlderThan time.Duration
	// KeepLast removes traces beyond this many most recently written ones.
	// With OlderThan it protects: only what is older and beyond goes.
	KeepLast int
	// CompressAfter compresses closed traces last written longer ago than
	// this, if they are not removed.
	CompressAfter time.Duration
	// DryRun reports what would be done and writes nothing.
	DryRun bool
	// Now is the time that ages are counted from. Required.
	Now time.Time
}

// The values of [PruneRecord.Action].
const (
	ActionRemove       = "remove"
	ActionCompress     = "compress" // and remove the original
	ActionRemoveFailed = "remove-failed"
)

// PruneRecord is what was done to one file: an item of the report, and a line
// of prune.log.jsonl.
type PruneRecord struct {
	Time    time.Time `json:"time"`
	ID      string    `json:"id"`
	File    string    `json:"file"` // name in the directory
	Size    int64     `json:"size"` // bytes, before
	ModTime time.Time `json:"mtime"`
	Action  string    `json:"action"`
	Reason  string    `json:"reason"`
	// CompressedSize is the size in bytes of the copy; absent in a dry run.
	CompressedSize int64 `json:"compressedSize,omitempty"`
}

// Skip is a file that Prune left alone although it might have been meant.
type Skip struct {
	File   string `json:"file"` // name in the directory, quoted where unprintable
	Reason string `json:"reason"`
}

// PruneReport is what Prune did, or in a dry run would do. Its lists are never
// nil; Skipped is sorted by name, the others are in the order of the work.
type PruneReport struct {
	Removed    []PruneRecord `json:"removed"`
	Compressed []PruneRecord `json:"compressed"`
	Kept       int           `json:"kept"` // traces that no rule applied to
	Skipped    []Skip        `json:"skipped"`
	// BytesFreed is counted, not guessed: a dry run counts removals only, as
	// it cannot know how small a trace becomes.
	BytesFreed int64 `json:"bytesFreed"`
}

// Prune removes and compresses traces by age and by number.
//
// It touches regular files directly in the directory that are named as rax
// names them (<ULID>.jsonl, .jsonl.gz, .jsonl.zst), and the unfinished copies
// of a compression that was interrupted. It never touches a trace that somebody
// holds the lock of, or one that changed since it looked; it holds that lock
// while it works. Everything else is reported as skipped, with the reason.
//
// Before a file goes, a line that says so is on disk in prune.log.jsonl. A
// trace is compressed into <ULID>.jsonl.zst with its modification time kept,
// and the original goes only after the copy was read back and found equal. What
// fails for one file is reported as skipped. The error is for what stops the
// whole: an unreadable directory, a log that cannot be written (without it
// nothing is removed), a [*LockedError] when another Prune is at work. The
// report holds what was done until then.
func (d Dir) Prune(opt PruneOptions) (PruneReport, error) {
	return d.prune(opt, func(step, string) error { return nil })
}

// step names the moments of the work that tests interrupt: at each, the hook
// may fail or end the process.
type step string

const (
	stepRemoveLocked step = "remove-locked"
	stepRemoveLogged step = "remove-logged"
	stepRemoved      step = "removed"
	stepLocked       step = "compress-locked"
	stepTemp         step = "compress-temp"
	stepWritten      step = "compress-written"
	stepSynced       step = "compress-synced"
	stepVerified     step = "compress-verified"
	stepRenamed      step = "compress-renamed"
	stepLogged       step = "compress-logged"
	stepDone         step = "compress-done"
)

type pruner struct {
	dir  Dir
	opt  PruneOptions
	at   func(s step, id string) error
	root *os.Root
	log  *pruneLog // nil until something is to be changed
	rep  PruneReport
}

// plan is what the rules say, before any file was opened.
type plan struct {
	remove   []removal
	compress []file
}

// removal is the files that go together, and why.
type removal struct {
	id     string
	names  []string
	infos  []fs.FileInfo
	reason string
}

func (d Dir) prune(opt PruneOptions, at func(step, string) error) (PruneReport, error) {
	p := &pruner{dir: d, opt: opt, at: at, rep: PruneReport{
		Removed: []PruneRecord{}, Compressed: []PruneRecord{}, Skipped: []Skip{},
	}}
	err := p.run()
	slices.SortStableFunc(p.rep.Skipped, func(a, b Skip) int { return strings.Compare(a.File, b.File) })
	if err != nil {
		err = fmt.Errorf("prune: %w", err)
	}
	return p.rep, err
}

func (p *pruner) run() (err error) {
	if p.opt.Now.IsZero() || p.opt.OlderThan < 0 || p.opt.KeepLast < 0 || p.opt.CompressAfter < 0 {
		return errors.New("options need the time, and no negative value")
	}
	plan, err := p.plan()
	if err != nil {
		return err
	}
	if p.opt.DryRun {
		p.dryRun(plan)
		return nil
	}
	if len(plan.remove)+len(plan.compress) == 0 {
		return nil
	}
	if p.root, err = p.dir.openRoot(); err != nil {
		return err
	}
	defer p.root.Close()
	if p.log, err = openPruneLog(p.root, p.dir.Path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.log.close()) }()

	for batch := range slices.Chunk(plan.remove, 128) {
		if err := p.removeAll(batch); err != nil {
			return err
		}
	}
	for _, f := range plan.compress {
		if err := p.compress(f); err != nil {
			return err
		}
	}
	return nil
}

// plan applies the rules to what the directory holds.
func (p *pruner) plan() (plan, error) {
	var out plan
	names, err := p.dir.read()
	if err != nil {
		return out, err
	}
	var files []file
	for _, n := range names {
		if n.Name() == pruneLogName {
			continue
		}
		id, form, ours := parseName(n.Name())
		temp, isTemp := parseTemp(n.Name())
		switch {
		case !n.Type().IsRegular():
			p.skip(n.Name(), errors.New("not a regular file"))
			continue
		case !isTemp && !(ours && IsID(id)):
			p.skip(n.Name(), errors.New("not named as rax names traces"))
			continue
		}
		info, err := n.Info()
		if err != nil {
			p.skip(n.Name(), err)
			continue
		}
		if isTemp {
			out.remove = append(out.remove, removal{temp, []string{n.Name()}, []fs.FileInfo{info}, "unfinished compression"})
			continue
		}
		files = append(files, file{id, form, info})
	}
	slices.SortFunc(out.remove, func(a, b removal) int { return cmp.Compare(a.id, b.id) })
	for i, g := range group(files) {
		reason := p.reason(i, g[0].info.ModTime())
		switch {
		case reason != "":
			r := removal{id: g[0].id, reason: reason}
			for _, f := range slices.Backward(g) { // the one that wins goes last
				r.names = append(r.names, f.name())
				r.infos = append(r.infos, f.info)
			}
			out.remove = append(out.remove, r)
		case p.compressible(g[0]):
			out.compress = append(out.compress, g[0])
		default:
			p.rep.Kept++
		}
	}
	return out, nil
}

// reason says why the i-th newest trace must go; it is empty if it stays.
func (p *pruner) reason(i int, mtime time.Time) string {
	older := p.opt.OlderThan > 0 && p.opt.Now.Sub(mtime) > p.opt.OlderThan
	beyond := p.opt.KeepLast > 0 && i >= p.opt.KeepLast
	switch {
	case older && beyond:
		return fmt.Sprintf("older than %s and beyond the %d newest", p.opt.OlderThan, p.opt.KeepLast)
	case older && p.opt.KeepLast == 0:
		return fmt.Sprintf("older than %s", p.opt.OlderThan)
	case beyond && p.opt.OlderThan == 0:
		return fmt.Sprintf("beyond the %d newest", p.opt.KeepLast)
	}
	return ""
}

func (p *pruner) compressible(f file) bool {
	return f.form == plain && f.info.Size() > 0 &&
		p.opt.CompressAfter > 0 && p.opt.Now.Sub(f.info.ModTime()) > p.opt.CompressAfter
}

func (p *pruner) dryRun(plan plan) {
	for _, r := range plan.remove {
		if p.skipLive(r.names...) {
			continue
		}
		for i := range r.names {
			p.removed(p.record(r.id, r.names[i], r.infos[i], ActionRemove, r.reason))
		}
	}
	for _, f := range plan.compress {
		if !p.skipLive(f.name()) {
			p.rep.Compressed = append(p.rep.Compressed, p.record(f.id, f.name(), f.info, ActionCompress, p.compressReason()))
		}
	}
}

// skipLive asks for the locks without taking them.
func (p *pruner) skipLive(names ...string) bool {
	for _, name := range names {
		live, err := probe(p.dir.join(name))
		if live {
			err = &LockedError{Path: name}
		}
		if err != nil {
			p.skip(name, err)
			return true
		}
	}
	return false
}

// removeAll removes a batch of traces: it locks them all, writes all their
// lines down, and only then removes any, so that one sync serves the batch.
func (p *pruner) removeAll(batch []removal) (err error) {
	type victim struct {
		file *os.File
		rec  PruneRecord
	}
	var victims []victim
	defer func() {
		for _, v := range victims {
			err = errors.Join(err, release(v.file))
		}
	}()
	var records []PruneRecord
next:
	for _, r := range batch {
		var held []victim
		for i, name := range r.names {
			f, err := p.lockUnchanged(name, r.infos[i])
			if err != nil {
				p.skip(name, err)
				for _, h := range held {
					if err := release(h.file); err != nil {
						return err
					}
				}
				continue next
			}
			held = append(held, victim{f, p.record(r.id, name, r.infos[i], ActionRemove, r.reason)})
		}
		for _, h := range held {
			records = append(records, h.rec)
		}
		victims = append(victims, held...)
		if err := p.at(stepRemoveLocked, r.id); err != nil {
			return err
		}
	}
	if err := p.log.append(records...); err != nil {
		return err
	}
	for _, v := range victims {
		if err := p.at(stepRemoveLogged, v.rec.ID); err != nil {
			return err
		}
		if err := p.remove(v.rec); err != nil {
			return err
		}
		if err := p.at(stepRemoved, v.rec.ID); err != nil {
			return err
		}
	}
	return nil
}

// remove removes one file that was written down. If it cannot, that is written
// down too, so that the log stays true.
func (p *pruner) remove(rec PruneRecord) error {
	err := p.root.Remove(rec.File)
	if err == nil {
		p.removed(rec)
		return nil
	}
	p.skip(rec.File, err)
	rec.Action, rec.Reason = ActionRemoveFailed, err.Error()
	return p.log.append(rec)
}

// lockUnchanged locks a file that still is as it was when the plan was made.
func (p *pruner) lockUnchanged(name string, planned fs.FileInfo) (*os.File, error) {
	f, err := openLocked(p.root, name, os.O_RDWR, tryOnce)
	if err != nil {
		return nil, err
	}
	if err := unchanged(f, planned); err != nil {
		return nil, errors.Join(err, release(f))
	}
	return f, nil
}

var errChanged = errors.New("changed meanwhile")

func unchanged(f *os.File, before fs.FileInfo) error {
	now, err := f.Stat()
	if err == nil && (now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
		err = errChanged
	}
	return err
}

func (p *pruner) record(id, name string, info fs.FileInfo, action, reason string) PruneRecord {
	return PruneRecord{
		Time: p.opt.Now.UTC(), ID: id, File: name, Size: info.Size(),
		ModTime: info.ModTime().UTC(), Action: action, Reason: reason,
	}
}

func (p *pruner) removed(rec PruneRecord) {
	p.rep.Removed = append(p.rep.Removed, rec)
	p.rep.BytesFreed += rec.Size
}

// skip reports a file that stays. The reason names no path: File does.
func (p *pruner) skip(name string, err error) {
	var locked *LockedError
	var path *fs.PathError
	reason := err.Error()
	switch {
	case errors.As(err, &locked):
		reason = "live: in use by another writer"
	case errors.As(err, &path):
		reason = path.Op + ": " + path.Err.Error()
	}
	p.rep.Skipped = append(p.rep.Skipped, Skip{File: showName(name), Reason: reason})
}
