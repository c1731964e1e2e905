package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerCreds reads LOCAL_PEERCRED and LOCAL_PEERPID.
func peerCreds(c net.Conn) (creds, error) {
	u, err := unixConn(c)
	if err != nil {
		return creds{}, err
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return creds{}, err
	}
	var out creds
	var gotErr error
	if err := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			gotErr = err
			return
		}
		out.uid = int(cred.Uid)
		out.pid, gotErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return creds{}, err
	}
	return out, gotErr
}
