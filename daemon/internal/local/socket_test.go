package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

func listen(t *testing.T, p Paths) *Listener {
	t.Helper()
	l, err := tryListen(t, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func tryListen(t *testing.T, p Paths) (*Listener, error) {
	t.Helper()
	lock, err := p.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Release() })
	return p.Listen(lock)
}

// kenneth-liao/mcp-launchpad PR #3.
func TestLongSocketPathsWork(t *testing.T) {
	for _, length := range []int{103, 104, 107, 108, 200} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			p := places(t)
			dir := p.Runtime + "/"
			dir += strings.Repeat("d", length-len(dir)-len("/"+socketName))
			direct := filepath.Join(dir, socketName)
			if len(direct) != length {
				t.Fatalf("path has %d bytes", len(direct))
			}
			p.Runtime, p.Socket = dir, SocketPath(dir)
			if err := p.Ensure(); err != nil {
				t.Fatal(err)
			}
			if len(p.Socket) > MaxSocketPath {
				t.Errorf("socket path has %d bytes", len(p.Socket))
			}
			if (length <= MaxSocketPath) != (p.Socket == direct) {
				t.Errorf("%d bytes became %s", length, p.Socket)
			}
			listen(t, p)
			conn, err := net.Dial("unix", SocketPath(dir)) // as a client computes it
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		})
	}
}

// Giammarco-Ferranti/deja#6.
func TestADeadSocketIsReplaced(t *testing.T) {
	p := places(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	listen(t, p)
	st, err := os.Stat(p.Socket)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("socket mode %v, %v", st.Mode(), err)
	}
}

// the kernel accepts for a daemon that is too busy to.
func TestALiveSocketIsLeftAloneHoweverSlowItAccepts(t *testing.T) {
	p := places(t)
	slow, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	before, _ := os.Lstat(p.Socket)
	_, err = tryListen(t, p)
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), p.Socket) {
		t.Errorf("got %v", err)
	}
	after, err := os.Lstat(p.Socket)
	if err != nil || !os.SameFile(before, after) {
		t.Error("the live socket was touched")
	}
}

// an ordinary file and a folder in the socket's place.
func TestWhatIsNotASocketIsRefusedWithItsPath(t *testing.T) {
	for what, put := range map[string]func(string) error{
		"file":   func(p string) error { return os.WriteFile(p, []byte("precious"), 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"link":   func(p string) error { return os.Symlink("nowhere", p) },
	} {
		t.Run(what, func(t *testing.T) {
			p := places(t)
			if err := put(p.Socket); err != nil {
				t.Fatal(err)
			}
			_, err := tryListen(t, p)
			if err == nil || !strings.Contains(err.Error(), p.Socket) || !strings.Contains(err.Error(), what) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Lstat(p.Socket); err != nil {
				t.Error("it was removed")
			}
		})
	}
}

func TestClosingRemovesOnlyOurOwnSocket(t *testing.T) {
	p := places(t)
	l := listen(t, p)
	if err := os.Remove(p.Socket); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := os.Lstat(p.Socket); err != nil {
		t.Error("a file of somebody else was removed")
	}
}

func TestARetiredListenerServesThoseWhoHadConnected(t *testing.T) {
	p := places(t)
	l := listen(t, p)
	early, err := net.Dial("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	l.Retire()
	if _, err := net.Dial("unix", p.Socket); err == nil {
		t.Error("the name was still there")
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatalf("who had connected was not accepted: %v", err)
	}
	_ = conn.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the end is %v", err)
	}
}
