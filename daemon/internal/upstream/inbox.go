package upstream

import (
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inbox reads the pipe that a process writes to. Read is the usual way: the
// goroutine gives its thread away, and the runtime's poller wakes it. Within is
// for who waits for one answer that comes soon: the thread itself waits in the
// kernel. That is two system calls where the poller makes four and wakes a second
// thread to look after it, but it holds a thread, so it is for a moment only. All
// methods belong to whoever has the turn to read.
type inbox struct {
	f   *os.File
	raw syscall.RawConn
	err error // of raw

	into    []byte // of the attempt in progress
	until   time.Time
	n       int
	failure error
	attempt func(fd uintptr) bool // made once, since a closure a call costs
}

func newInbox(f *os.File) *inbox {
	i := &inbox{f: f}
	i.raw, i.err = f.SyscallConn()
	i.attempt = func(fd uintptr) bool {
		i.n, i.failure = readBy(int(fd), i.into, i.until)
		return true // one try: nothing is left to the poller
	}
	return i
}

func (i *inbox) Read(b []byte) (int, error) { return i.f.Read(b) }

// within reads once, and waits for that for d at most: then it gives
// os.ErrDeadlineExceeded. It does not see that the file is closed meanwhile.
func (i *inbox) within(b []byte, d time.Duration) (int, error) {
	if i.err != nil {
		return 0, i.err
	}
	i.into, i.until = b, time.Now().Add(d)
	err := i.raw.Read(i.attempt)
	i.into = nil
	if err == nil {
		err = i.failure
	}
	if err != nil {
		return 0, err
	}
	return i.n, nil
}

// readBy waits until a descriptor can be read and reads once.
func readBy(fd int, b []byte, until time.Time) (int, error) {
	for {
		left := time.Until(until)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		ready := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready[:], int((left+time.Millisecond-1)/time.Millisecond))
		if err == unix.EINTR || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return 0, err
		}
		n, err = syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}
