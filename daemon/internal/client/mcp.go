package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// MCPMode is what an MCP connection shows; the zero value is code mode.
type MCPMode struct {
	Flat   bool
	Server string // passed through; excludes Flat
}

func (m MCPMode) path() string {
	switch {
	case m.Server != "":
		return "/mcp/" + url.PathEscape(m.Server)
	case m.Flat:
		return "/mcp?codemode=false"
	default:
		return "/mcp"
	}
}

// MCPConn is a connection on which both sides speak MCP, a message a line.
type MCPConn struct {
	net.Conn
	in    *bufio.Reader
	heard func() // of bytes that have come; nil: nobody wants to know
}

// Read reads what the daemon says.
func (c *MCPConn) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if n > 0 && c.heard != nil {
		c.heard()
	}
	return n, err
}

// CloseWrite says that nothing more is asked.
func (c *MCPConn) CloseWrite() error { return closeWrite(c.Conn) }

// watch has the connection fail with os.ErrDeadlineExceeded when the daemon gives
// no sign of life while waits says that something is waited for. It comes before
// the first Read; waits must not be waited for while the connection is closed.
func (c *MCPConn) watch(by *Client, waits func() bool) {
	w := by.watch(c.Conn, waits)
	c.Conn, c.heard = w, func() { w.heard.Store(true) }
}

// MCP opens an MCP connection, bringing the daemon up when there is none. The
// caller closes it.
func (c *Client) MCP(ctx context.Context, m MCPMode) (*MCPConn, error) {
	if err := c.setup(); err != nil {
		return nil, err
	}
	conn, err := c.upgrade(ctx, m.path(), proto.UpgradeMCP)
	if !c.mayStart(err) {
		return conn, err
	}
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c.upgrade(ctx, m.path(), proto.UpgradeMCP)
}

// upgrade turns a new connection over to another protocol.
func (c *Client) upgrade(ctx context.Context, path, protocol string) (*MCPConn, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.host()+path, nil)
	if err != nil {
		return nil, fault.New(fault.UsageError, "cannot make a request for %s: %w", path, err)
	}
	c.headers(req.Header)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol)
	conn, err := c.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fault.From(context.Cause(ctx))
		}
		return nil, c.unreachable(&dialError{err})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // while the daemon answers
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(c.answerWait())) // it takes a daemon no time
	out, in := bufio.NewWriter(conn), bufio.NewReader(conn)
	if err = req.Write(out); err == nil {
		err = out.Flush()
	}
	var res *http.Response
	if err == nil {
		res, err = http.ReadResponse(in, req)
	}
	if err != nil {
		_ = conn.Close()
		if ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, c.unreachable(fmt.Errorf("%w: %w", errDying, err)) // nothing was asked of it yet
		}
		return nil, c.broken(ctx, err)
	}
	if err = c.greet(res.Header); err == nil && res.StatusCode != http.StatusSwitchingProtocols {
		err = problem(res)
	}
	if err != nil {
		_ = res.Body.Close()
		_ = conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return &MCPConn{Conn: conn, in: in}, nil
}
