package local

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf reads SO_PEERCRED: who connected, at the time of connecting, or who
// listens, at the time of its listening.
func PeerOf(c net.Conn) (Creds, error) {
	u, err := unixConn(c)
	if err != nil {
		return Creds{}, err
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Creds{}, err
	}
	var got *unix.Ucred
	var gotErr error
	if err := raw.Control(func(fd uintptr) {
		got, gotErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Creds{}, err
	}
	if gotErr != nil {
		return Creds{}, gotErr
	}
	return Creds{PID: int(got.Pid), UID: int(got.Uid)}, nil
}
