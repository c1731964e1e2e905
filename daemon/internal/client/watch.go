package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tenon/proto"
)

// watched is a connection on which a daemon works, which may say nothing for as
// long as it likes. When it is silent the daemon is asked for a sign of life on
// another connection: one that is stopped, or hangs, must not be waited for.
type watched struct {
	net.Conn
	heard atomic.Bool // something has come since it was last looked at
	close func() error
}

// CloseWrite says that nothing more is sent.
func (w *watched) CloseWrite() error { return closeWrite(w.Conn) }

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// watch looks after conn until it is closed. Twice without a sign of life, and the
// connection fails with os.ErrDeadlineExceeded: once could be this process's own
// stop. With the waits in between that takes twice AnswerWait. It is only asked
// while waits, when not nil, says that something is waited for.
func (c *Client) watch(conn net.Conn, waits func() bool) *watched {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	w := &watched{Conn: conn}
	w.close = sync.OnceValue(func() error {
		cancel()
		err := conn.Close()
		<-over
		return err
	})
	go func() {
		defer close(over)
		silence := time.NewTicker(c.answerWait())
		defer silence.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-silence.C:
			}
			if w.heard.Swap(false) || waits != nil && !waits() || c.lives(ctx) || c.lives(ctx) || ctx.Err() != nil {
				continue
			}
			_ = conn.SetDeadline(time.Unix(1, 0)) // long past
			return
		}
	}()
	return w
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.heard.Store(true)
	}
	return n, err
}

func (w *watched) Close() error { return w.close() }

// lives reports whether the daemon answers. A connection that fails in another way
// than by silence says nothing about the one that is watched, which fails by itself.
func (c *Client) lives(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.answerWait()/2)
	defer cancel()
	conn, err := c.connect(ctx)
	if err != nil {
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.host()+"/v1/health", nil)
	if err != nil {
		return true
	}
	c.headers(req.Header)
	req.Header.Del(proto.HeaderSession) // it asks for nobody
	res, err := ask(conn, req)
	if err == nil {
		_ = res.Body.Close()
	}
	return !errors.Is(err, os.ErrDeadlineExceeded)
}
