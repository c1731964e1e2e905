package client

import (
	"bufio"
	"context"
	"io"
	"net"

	"tenon/proto"
)

// attachPath upgrades a connection for package engine/attached.
const attachPath = "/v1/exec/attached"

// begun reads what an upgrade has read already, then the connection.
type begun struct {
	have *bufio.Reader
	rest io.Reader
}

func (b *begun) Read(p []byte) (int, error) {
	if n := b.have.Buffered(); n > 0 {
		return b.have.Read(p[:min(n, len(p))])
	}
	return b.rest.Read(p)
}

// Attach opens the connection over which a program is executed beside its
// caller; see package engine/attached. in is where to read: it may hold what has
// come already. It brings the daemon up as Open does; the caller closes conn.
func (c *Client) Attach(ctx context.Context) (conn net.Conn, in *bufio.Reader, err error) {
	if err := c.setup(); err != nil {
		return nil, nil, err
	}
	up, err := c.upgrade(ctx, attachPath, proto.UpgradeAttached)
	if c.mayStart(err) {
		if err = c.start(ctx); err == nil {
			up, err = c.upgrade(ctx, attachPath, proto.UpgradeAttached)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	w := c.watch(up.Conn, nil)
	return w, bufio.NewReader(&begun{up.in, w}), nil
}
