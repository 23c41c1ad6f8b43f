package dir

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockByte is the one byte that is locked: far behind the end of any trace,
// since Windows keeps everybody from reading what is locked.
func lockByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: 0xffff_fffe, OffsetHigh: 0x7fff_ffff}
}

// tryLock takes the lock if nobody else holds it. It binds the handle, not the
// process, so it also keeps two writers in one process apart.
func tryLock(f *os.File, shared bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

func unlock(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockByte())
	return os.NewSyscallError("UnlockFileEx", err)
}
