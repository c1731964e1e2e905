package upstream

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxQueued bounds what waits for a server that does not read its input.
const maxQueued = 64 << 20

var errNotReading = errors.New("the server does not read its input")

// outbox writes whole messages to a pipe and never blocks its callers. A
// message that fits into the pipe is written at once, in the caller's
// goroutine and without copying; when the pipe is full the rest waits in order
// for a writer that exists only while there is something to wait for.
type outbox struct {
	f   *os.File // unpolled
	raw syscall.RawConn

	mu      sync.Mutex
	queue   [][]byte
	queued  int
	writing bool  // the writer runs
	err     error // the pipe is broken
	idle    sync.Cond

	now     []byte // the message of the attempt in progress
	wrote   int
	failure error
	attempt func(fd uintptr) bool // made once, since a closure a call costs
}

// newOutbox takes f over, also when it fails.
func newOutbox(f *os.File) (*outbox, error) {
	own, err := unpolled(f)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	o := &outbox{f: own}
	if o.raw, err = own.SyscallConn(); err != nil {
		_ = own.Close()
		return nil, err
	}
	o.idle.L = &o.mu
	o.attempt = func(fd uintptr) bool {
		for {
			o.wrote, o.failure = syscall.Write(int(fd), o.now)
			if o.failure != syscall.EINTR {
				return true // one try: the caller never waits for the pipe
			}
		}
	}
	return o, nil
}

// Close tells the server that no more comes; what is queued is lost.
func (o *outbox) Close() error { return o.f.Close() }

// Write writes all of b and waits for that; closing the outbox frees it.
func (o *outbox) Write(b []byte) (int, error) {
	wrote := 0
	for wrote < len(b) {
		var failure error
		err := o.raw.Write(func(fd uintptr) bool {
			failure = awaitFD(int(fd), unix.POLLOUT, time.Now().Add(patrol))
			if failure == nil {
				var n int
				if n, failure = syscall.Write(int(fd), b[wrote:]); n > 0 {
					wrote += n
				}
			}
			return true
		})
		if err != nil {
			return wrote, err
		}
		switch {
		case failure == nil, failure == syscall.EAGAIN, failure == syscall.EINTR, errors.Is(failure, os.ErrDeadlineExceeded):
		default:
			return wrote, failure
		}
	}
	return wrote, nil
}

// send writes b or queues what the pipe does not take now. An error means that
// nothing of b was sent or will be.
func (o *outbox) send(b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if !o.writing {
		o.now, o.wrote, o.failure = b, 0, nil
		err := o.raw.Write(o.attempt)
		o.now = nil
		switch {
		case err != nil:
			o.err = err
			return err
		case o.failure == nil && o.wrote == len(b):
			return nil
		case o.failure == nil:
			b = b[o.wrote:]
		case o.failure != syscall.EAGAIN:
			o.err = o.failure
			return o.err
		}
	}
	if o.queued+len(b) > maxQueued && o.queued > 0 {
		return errNotReading
	}
	o.queue = append(o.queue, append([]byte(nil), b...))
	o.queued += len(b)
	if !o.writing {
		o.writing = true
		go o.drain() // ends when the queue is empty or the pipe is closed
	}
	return nil
}

func (o *outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 && o.err == nil {
		b := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		_, err := o.Write(b)
		o.mu.Lock()
		o.queued -= len(b)
		if err != nil {
			o.err = err
		}
	}
	o.queue = nil
	o.writing = false
	o.idle.Broadcast()
}

// wait returns when no writer runs. Close the outbox first.
func (o *outbox) wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.idle.Wait()
	}
}
