package upstream

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inbox reads the pipe that a process writes to, in two ways. Within is for who
// waits for one answer that comes soon: the thread itself waits in the kernel, two
// system calls and nobody to wake. It holds the thread, so it is for a moment only.
// Read is for who waits for whatever comes, and leaves that to the runtime's
// poller, which knows the pipe from then on until leave.
//
// Within, Read and leave belong to whoever has the turn to read; expire and close
// may be called by others meanwhile.
type inbox struct {
	f   *os.File // unpolled
	raw syscall.RawConn

	mu       sync.Mutex
	polled   *os.File // a second descriptor, while the poller knows it
	deadline time.Time
	closed   bool

	into    []byte // of the attempt in progress
	until   time.Time
	n       int
	failure error
	attempt func(fd uintptr) bool // made once, since a closure a call costs
}

// newInbox takes f over, also when it fails.
func newInbox(f *os.File) (*inbox, error) {
	own, err := unpolled(f)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	i := &inbox{f: own}
	if i.raw, err = own.SyscallConn(); err != nil {
		_ = own.Close()
		return nil, err
	}
	i.attempt = func(fd uintptr) bool {
		i.n, i.failure = readBy(int(fd), i.into, i.until)
		return true // one try: there is no poller to wait for
	}
	return i, nil
}

// within reads once, and waits for that for d at most: then it gives
// os.ErrDeadlineExceeded. It does not see that the inbox is closed meanwhile.
func (i *inbox) within(b []byte, d time.Duration) (int, error) {
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

// patrol is how often a Read that the poller cannot help looks up.
const patrol = 50 * time.Millisecond

// Read waits until there is something, the deadline or the end.
func (i *inbox) Read(b []byte) (int, error) {
	f, err := i.poll()
	if err != nil {
		return 0, err
	}
	if f != nil {
		return f.Read(b)
	}
	for {
		n, err := i.within(b, patrol)
		if !errors.Is(err, os.ErrDeadlineExceeded) || i.expired() {
			return n, err
		}
	}
}

// poll makes the pipe known to the poller. Without an error and without a file
// there is no descriptor left for that.
func (i *inbox) poll() (*os.File, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil, os.ErrClosed
	}
	if i.polled == nil {
		fd, err := duplicate(i.f)
		if err != nil {
			return nil, nil
		}
		i.polled = os.NewFile(uintptr(fd), i.f.Name())
		_ = i.polled.SetReadDeadline(i.deadline) // a pipe has deadlines
	}
	return i.polled, nil
}

// leave ends what Read began.
func (i *inbox) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.polled != nil {
		_ = i.polled.Close()
		i.polled = nil
	}
}

// expire lets every Read end at t.
func (i *inbox) expire(t time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.deadline = t
	if i.polled != nil {
		_ = i.polled.SetReadDeadline(t)
	}
}

func (i *inbox) expired() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.closed || !i.deadline.IsZero() && time.Now().After(i.deadline)
}

// close ends a Read that goes on.
func (i *inbox) close() {
	i.leave()
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.leave() // a Read may have come in between
	_ = i.f.Close()
}

// readBy waits until a descriptor can be read and reads once.
func readBy(fd int, b []byte, until time.Time) (int, error) {
	for {
		if err := awaitFD(fd, unix.POLLIN, until); err != nil {
			return 0, err
		}
		n, err := syscall.Read(fd, b)
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

// awaitFD waits until a descriptor is ready for events, or in a state in which
// nothing has to be waited for; os.ErrDeadlineExceeded when it is not by then.
func awaitFD(fd int, events int16, until time.Time) error {
	for {
		left := time.Until(until)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		ready := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Poll(ready[:], int((left+time.Millisecond-1)/time.Millisecond))
		if err == unix.EINTR || err == nil && n == 0 {
			continue
		}
		return err
	}
}
