package peer

import (
	"context"
	"net"
	"sync"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/local"
)

// conn is what is known of one connection, found out once.
type conn struct {
	creds local.Creds
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
	state.creds, state.err = local.PeerOf(c)
	return context.WithValue(ctx, connKey{}, state)
}
