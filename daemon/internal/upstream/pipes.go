package upstream

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unpolled takes a pipe out of the runtime's poller and closes f. The poller hears
// of each message that goes through a pipe it knows, whether anybody waits for it
// there or not, and wakes a thread for it: two in a call, which is more work than
// the call. What is returned does not block and is waited for by unix.Poll.
func unpolled(f *os.File) (*os.File, error) {
	fd, err := duplicate(f)
	if err != nil {
		return nil, err
	}
	// Which way a file goes is decided by what its descriptor is when it is made.
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("pipe: %w", err)
	}
	out := os.NewFile(uintptr(fd), f.Name())
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("pipe: %w", err)
	}
	_ = f.Close()
	return out, nil
}

// duplicate gives a pipe a second descriptor.
func duplicate(f *os.File) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
		if err == nil {
			err = failed
		}
	}
	if err != nil {
		return 0, fmt.Errorf("pipe: %w", err)
	}
	return fd, nil
}
