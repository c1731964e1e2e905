//go:build unix

package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tenon/daemon/internal/fault"
)

// Lock is an advisory lock on a file. The kernel gives it back when every
// process that holds the open file is gone, so a killed holder never blocks
// the next one, and a child that inherits the file goes on holding it.
type Lock struct {
	f    *os.File
	path string
}

// errHeld says that somebody else holds the lock.
var errHeld = errors.New("lock is held")

// TakeLock waits for the lock of a serving daemon until ctx ends. Whoever gets
// it may touch the socket.
func (p Paths) TakeLock(ctx context.Context) (*Lock, error) {
	return wait(ctx, filepath.Join(p.Runtime, lockName))
}

// TryLock is TakeLock that fails at once with DaemonUnavailable naming the
// holder.
func (p Paths) TryLock() (*Lock, error) {
	l, err := take(filepath.Join(p.Runtime, lockName), syscall.LOCK_EX|syscall.LOCK_NB)
	if !errors.Is(err, errHeld) {
		return l, err
	}
	e := fault.New(fault.DaemonUnavailable, "another daemon holds %s", filepath.Join(p.Runtime, lockName))
	if info, ok := p.Info(); ok {
		e = fault.New(fault.DaemonUnavailable, "another daemon (pid %d, %s) is running", info.PID, FormatBuild(info.Build))
	}
	return nil, e.WithHint("tenon daemon status shows it, tenon daemon stop ends it")
}

// TakeStart waits for the right to bring a daemon up. The holder hands it to
// the daemon it starts (File), which releases it when it serves; so the next
// starter finds a daemon, never a second start, even when this one is killed.
func (p Paths) TakeStart(ctx context.Context) (*Lock, error) {
	return wait(ctx, filepath.Join(p.Runtime, startName))
}

// LockFile waits for the lock on the file at path, which is made where it is not
// there (0600), until ctx ends.
func LockFile(ctx context.Context, path string) (*Lock, error) { return wait(ctx, path) }

// Inherited wraps a start lock that a starter passed down as file descriptor fd.
func Inherited(fd uintptr) *Lock {
	syscall.CloseOnExec(int(fd)) // servers that we start must not keep it
	return &Lock{f: os.NewFile(fd, startName)}
}

// wait blocks in the kernel, not in a loop. When ctx ends first, the thread
// stays behind until the lock comes, and then gives it back.
func wait(ctx context.Context, path string) (*Lock, error) {
	if l, err := take(path, syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, errHeld) {
		return l, err
	}
	type taken struct {
		l   *Lock
		err error
	}
	got := make(chan taken)
	go func() {
		l, err := take(path, syscall.LOCK_EX)
		select {
		case got <- taken{l, err}:
		case <-ctx.Done():
			if l != nil {
				_ = l.Release()
			}
		}
	}()
	select {
	case t := <-got:
		return t.l, t.err
	case <-ctx.Done():
		return nil, fault.From(context.Cause(ctx))
	}
}

// take opens and locks path. A file that was replaced or removed between open
// and lock guards nothing, so it is opened again.
func take(path string, how int) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fault.New(fault.DaemonUnavailable, "cannot open lock %s: %w", path, err)
		}
		for {
			err = syscall.Flock(int(f.Fd()), how)
			if !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, errHeld
		}
		if err != nil {
			_ = f.Close()
			return nil, fault.New(fault.DaemonUnavailable, "cannot lock %s: %w", path, err)
		}
		l := &Lock{f: f, path: path}
		if l.current() {
			return l, nil
		}
		_ = f.Close()
	}
}

// current reports whether the locked file is still the one at its path.
func (l *Lock) current() bool {
	mine, err := l.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(l.path)
	return err == nil && os.SameFile(mine, there)
}

// File is the open file, to be inherited by a child.
func (l *Lock) File() *os.File { return l.f }

// Release gives the lock back; the file stays.
func (l *Lock) Release() error { return l.f.Close() }

// Remove deletes the lock file, if it is still ours, and gives the lock back:
// in this order, so that nobody can lock a file that is about to vanish
// without noticing (see take).
func (l *Lock) Remove() error {
	if l.path != "" && l.current() {
		if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = l.f.Close()
			return err
		}
	}
	return l.f.Close()
}
