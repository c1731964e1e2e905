package local

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf reads LOCAL_PEERCRED and LOCAL_PEERPID.
func PeerOf(c net.Conn) (Creds, error) {
	u, err := unixConn(c)
	if err != nil {
		return Creds{}, err
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Creds{}, err
	}
	var out Creds
	var gotErr error
	if err := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			gotErr = err
			return
		}
		out.UID = int(cred.Uid)
		out.PID, gotErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return Creds{}, err
	}
	return out, gotErr
}
