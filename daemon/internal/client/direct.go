package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxHeader bounds what the head of a response may take.
const maxHeader = 64 << 10

// maxWhy bounds the reason why a response cannot be read.
const maxWhy = 200

// exchange makes one request on a connection of its own and reads the head of
// the answer; closing the body closes the connection. A command makes one
// request and ends: net/http's transport would start three goroutines, and
// threads for them, to keep a connection that nobody uses again. The end of ctx
// breaks the connection off at any point.
func (c *Client) exchange(ctx context.Context, req *http.Request) (*http.Response, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, &dialError{err}
	}
	if c.looks(req) {
		_ = conn.SetDeadline(time.Now().Add(c.answerWait()))
	} else {
		conn = c.watch(conn, nil)
	}
	hangUp := sync.OnceValue(conn.Close)
	stop := context.AfterFunc(ctx, func() { _ = hangUp() })
	res, err := ask(conn, req)
	if err != nil {
		stop()
		_ = hangUp()
		return nil, err
	}
	if c.looks(req) {
		_ = conn.SetDeadline(time.Time{})
	}
	res.Body = &body{res.Body, func() error { stop(); return hangUp() }}
	return res, nil
}

// looks reports whether a request only looks at the daemon, which then answers
// at once or not at all: it may be stopped, or hang. Work takes its time, and
// so does a server that is started for its tools.
func (c *Client) looks(req *http.Request) bool {
	return req.Method == http.MethodGet && req.Header.Get("Accept") == "application/json" && !req.URL.Query().Has("learn")
}

func (c *Client) answerWait() time.Duration {
	if c.AnswerWait > 0 {
		return c.AnswerWait
	}
	return DefaultAnswerWait
}

func ask(conn net.Conn, req *http.Request) (*http.Response, error) {
	req.Close = true
	out := bufio.NewWriter(conn)
	sent := req.Write(out)
	if sent == nil {
		sent = out.Flush()
	}
	// A daemon that refuses early answers without reading all of the request.
	head := &bounded{conn, maxHeader}
	res, err := http.ReadResponse(bufio.NewReader(head), req)
	if err != nil {
		if text := err.Error(); len(text) > maxWhy { // it cites what it cannot read
			err = errors.New(text[:maxWhy] + "…")
		}
		return nil, errors.Join(sent, err)
	}
	head.left = -1
	return res, nil
}

// bounded fails after left bytes; below 0 it has no bound.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("the head of the response is too long")
	}
	if b.left > 0 {
		p = p[:min(len(p), b.left)]
	}
	n, err := b.r.Read(p)
	if b.left > 0 {
		b.left -= n
	}
	return n, err
}

// body is a response's, which gives the connection back by ending it. It is
// not read to its end first, as net/http's would be: an endless stream has none.
type body struct {
	io.ReadCloser
	end func() error
}

func (b *body) Close() error { return b.end() }
