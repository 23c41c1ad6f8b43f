package dir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// pruneLog is prune.log.jsonl, one [PruneRecord] a line, only ever appended to.
// Its lock is what keeps two prunes of one directory apart.
type pruneLog struct {
	file *File
}

func openPruneLog(root *os.Root, dir string) (*pruneLog, error) {
	f, err := openLocked(root, pruneLogName, os.O_RDWR|os.O_APPEND|os.O_CREATE, tryOnce)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return &pruneLog{&File{File: f, dir: dir}}, nil
}

// append writes the records down and returns when they are on disk.
func (l *pruneLog) append(records ...PruneRecord) error {
	if len(records) == 0 {
		return nil
	}
	var buf bytes.Buffer
	if torn, err := l.torn(); err != nil {
		return fmt.Errorf("write the log: %w", err)
	} else if torn {
		buf.WriteByte('\n')
	}
	enc := json.NewEncoder(&buf)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("write the log: %w", err)
		}
	}
	if _, err := l.file.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	return nil
}

// torn reports whether the log ends inside a line, as after a full disk.
func (l *pruneLog) torn() (bool, error) {
	info, err := l.file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := l.file.ReadAt(last[:], info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return last[0] != '\n', nil
}

func (l *pruneLog) close() error { return l.file.Close() }
