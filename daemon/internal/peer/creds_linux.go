package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerCreds reads SO_PEERCRED: who connected, at the time of connecting.
func peerCreds(c net.Conn) (creds, error) {
	u, err := unixConn(c)
	if err != nil {
		return creds{}, err
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return creds{}, err
	}
	var got *unix.Ucred
	var gotErr error
	if err := raw.Control(func(fd uintptr) {
		got, gotErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return creds{}, err
	}
	if gotErr != nil {
		return creds{}, gotErr
	}
	return creds{pid: int(got.Pid), uid: int(got.Uid)}, nil
}
