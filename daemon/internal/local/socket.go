package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tenon/daemon/internal/fault"
)

// MaxSocketPath is the longest socket path in bytes that every system binds:
// sun_path holds 104 bytes on macOS and the BSDs and 108 on Linux, one of them
// the terminating zero.
const MaxSocketPath = 103

// SocketPath is the socket that belongs to a runtime directory: daemon.sock in
// it or, where that path is longer than MaxSocketPath, a name made from its
// digest in the user's private directory below the system's temporary one.
// The rule depends on the path only, so both sides always agree.
func SocketPath(runtime string) string {
	direct := filepath.Join(runtime, socketName)
	if len(direct) <= MaxSocketPath {
		return direct
	}
	sum := sha256.Sum256([]byte(direct))
	return filepath.Join(privateTemp(), hex.EncodeToString(sum[:8])+".sock")
}

// probe bounds how long a connect to a socket that is in our way may take. A
// live daemon's kernel queue answers at once, however slow the daemon is.
const probe = 2 * time.Second

// Listener is the daemon's socket; Close removes it only if it is still ours.
type Listener struct {
	*net.UnixListener
	path string
	mine fs.FileInfo
}

// Listen binds the socket with mode 0600. The caller must hold the daemon lock
// (the argument proves it). A dead socket file is replaced; one that somebody
// serves, and anything that is not a socket of this user, is refused with its
// path and left alone.
func (p Paths) Listen(held *Lock) (*Listener, error) {
	if held == nil {
		return nil, fault.New(fault.InternalError, "socket %s: bind without the lock", p.Socket)
	}
	if err := makeRoom(p.Socket); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket, Net: "unix"})
	if err != nil {
		return nil, fault.New(fault.DaemonUnavailable, "cannot bind socket %s (%d bytes): %w", p.Socket, len(p.Socket), err).
			WithHint("set TENON_RUNTIME_DIR to a short private directory")
	}
	l.SetUnlinkOnClose(false) // Close decides, by identity and not by name
	// Between bind and chmod the 0700 directory keeps others out.
	if err := os.Chmod(p.Socket, 0o600); err != nil {
		_ = l.Close()
		return nil, fault.New(fault.DaemonUnavailable, "cannot make socket %s private: %w", p.Socket, err)
	}
	st, err := os.Lstat(p.Socket)
	if err != nil {
		_ = l.Close()
		return nil, fault.New(fault.DaemonUnavailable, "socket %s vanished: %w", p.Socket, err)
	}
	return &Listener{UnixListener: l, path: p.Socket, mine: st}, nil
}

// makeRoom clears the place for the socket, or says what is in the way.
func makeRoom(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New(fault.DaemonUnavailable, "cannot check socket %s: %w", path, err)
	}
	if st.Mode().Type() != fs.ModeSocket {
		return fault.New(fault.DaemonUnavailable, "%s is in the way: a %s, not a socket", path, describe(st)).
			WithHint("move it away, or set TENON_RUNTIME_DIR")
	}
	if !ours(st) {
		return fault.New(fault.DaemonUnavailable, "socket %s belongs to another user", path).
			WithHint("set TENON_RUNTIME_DIR to a directory of your own")
	}
	conn, err := net.DialTimeout("unix", path, probe)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.DaemonUnavailable, "somebody serves %s without holding its lock", path).
			WithHint("end that process, or set TENON_RUNTIME_DIR")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.DaemonUnavailable, "cannot remove dead socket %s: %w", path, err)
	}
	return nil
}

func describe(st fs.FileInfo) string {
	switch {
	case st.IsDir():
		return "folder"
	case st.Mode().IsRegular():
		return "file"
	case st.Mode()&fs.ModeSymlink != 0:
		return "link"
	default:
		return "special file"
	}
}

// Close stops accepting and removes the socket file if it is still the one
// that was bound; it may be called twice.
func (l *Listener) Close() error {
	l.unlink()
	return l.UnixListener.Close()
}

// backlogWait is how long Retire goes on accepting those who connected before
// the name was gone: they wait in the kernel's queue, so no longer than a
// scheduler's delay.
const backlogWait = 50 * time.Millisecond

// Retire removes the socket's name, so that nobody new connects, and makes
// Accept fail with net.ErrClosed once those who had connected are accepted. The
// listener still needs its Close.
func (l *Listener) Retire() {
	l.unlink()
	_ = l.SetDeadline(time.Now().Add(backlogWait)) // fails on a closed one only
}

// Accept is net.Listener's. The deadline of Retire is the end, not something
// to try again after, for which an HTTP server takes a timeout.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.UnixListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, net.ErrClosed
	}
	return conn, err
}

// Gone reports whether nobody can find this listener any more: its name was
// removed, or is another file's.
func (l *Listener) Gone() bool {
	st, err := os.Lstat(l.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(st, l.mine)
}

// unlink removes the socket file if it is still the one that was bound.
func (l *Listener) unlink() {
	if st, err := os.Lstat(l.path); err == nil && os.SameFile(st, l.mine) {
		_ = os.Remove(l.path)
	}
}
