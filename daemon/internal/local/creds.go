package local

import (
	"errors"
	"net"
)

// ErrNoCreds says that a connection has no peer credentials: it is no unix
// socket, or the system does not tell.
var ErrNoCreds = errors.New("the connection has no peer credentials")

// Creds are what the kernel says of the other side of a unix socket: of who
// connected, or of who listens.
type Creds struct{ PID, UID int }

// netConn is the part of a wrapped connection that PeerOf looks through, as
// tls.Conn and our own wrappers have it.
type netConn interface{ NetConn() net.Conn }

func unixConn(c net.Conn) (*net.UnixConn, error) {
	for {
		switch v := c.(type) {
		case *net.UnixConn:
			return v, nil
		case netConn:
			c = v.NetConn()
		default:
			return nil, ErrNoCreds
		}
	}
}
