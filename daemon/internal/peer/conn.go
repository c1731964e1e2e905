package peer

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"tenon/daemon/internal/config"
)

// errNoCreds says that a connection has no peer credentials: it is no unix
// socket.
var errNoCreds = errors.New("the connection has no peer credentials")

// creds are what the kernel says of the other side of a unix socket.
type creds struct{ pid, uid int }

// conn is what is known of one connection, found out once.
type conn struct {
	creds creds
	err   error // no credentials

	mu      sync.Mutex
	start   string    // guarded by mu; start time of the peer, "" before it is read
	checked time.Time // guarded by mu; when above was found out
	above   string    // guarded by mu; why the peer is inside an agent's shell, or ""
	envText string    // guarded by mu; the newest environment header and what it says
	env     config.Env
}

type connKey struct{}

// ConnContext is for http.Server.ConnContext: it reads the peer's credentials
// once per connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	state := &conn{}
	state.creds, state.err = peerCreds(c)
	return context.WithValue(ctx, connKey{}, state)
}

// netConn is the part of a wrapped connection that peerCreds looks through, as
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
			return nil, errNoCreds
		}
	}
}
