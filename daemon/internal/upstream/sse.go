package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// sse is the wire of protocol 2024-11-05: one stream of events for all that
// the server says, whose first event tells where to POST.
type sse struct {
	web
	endpoint string        // set before found is closed
	found    chan struct{} // closed with the first event
}

// newSSE opens the stream and waits for the endpoint.
func newSSE(ctx context.Context, c *conn) error {
	w := &sse{web: newWeb(c), found: make(chan struct{})}
	c.wire = w
	own, cancel := context.WithCancel(c.ctx)
	unhook := context.AfterFunc(ctx, cancel)
	resp, sent, err := w.do(own, http.MethodGet, c.spec.URL, nil, http.Header{"Accept": {"text/event-stream"}})
	if err != nil {
		cancel()
		return w.broken(sent, err)
	}
	if resp.StatusCode != http.StatusOK || !isEvents(resp) {
		defer cancel()
		if err := w.refusal(resp, 0); err != nil {
			return err
		}
		return c.unavailable("server %s offers no event stream", c.spec.Name)
	}
	if !c.start(func() { defer cancel(); w.read(resp) }) {
		cancel()
		return resp.Body.Close()
	}
	select {
	case <-w.found:
	case <-c.done:
	case <-ctx.Done():
	}
	unhook()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.Err()
}

func (w *sse) read(resp *http.Response) {
	e := &events{
		limit:  w.c.limit,
		each:   w.heard,
		beyond: func(head, tail []byte) { w.c.unreadable(head, tail, 0) },
	}
	err := e.run(resp.Body)
	_ = resp.Body.Close()
	if errors.Is(err, io.EOF) {
		err = errors.New("the event stream ended")
	}
	w.c.fail(w.broken(true, err))
}

func (w *sse) heard(e event) {
	if e.name != "endpoint" {
		w.c.receive(e.data, true, 0)
		return
	}
	select {
	case <-w.found:
		return // told before; it never moves
	default:
	}
	base, err := url.Parse(w.c.spec.URL)
	if err == nil {
		base, err = base.Parse(string(e.data))
	}
	if err != nil {
		w.c.fail(w.c.unavailable("server %s names an unusable endpoint: %w", w.c.spec.Name, err))
		return
	}
	// Our headers go to the endpoint, so it must not lead elsewhere.
	if own, err := url.Parse(w.c.spec.URL); err != nil || own.Scheme != base.Scheme || own.Host != base.Host {
		w.c.fail(w.c.unavailable("server %s names an endpoint on another host: %s", w.c.spec.Name, base.Host))
		return
	}
	w.endpoint = base.String()
	close(w.found)
}

func (w *sse) send(b []byte, id int64) error {
	b = bytes.Clone(b)
	if !w.c.start(func() {
		if err := w.deliver(w.c.ctx, b); err != nil {
			w.c.settle(id, nil, err)
		}
	}) {
		return io.ErrClosedPipe
	}
	return nil
}

func (w *sse) deliver(ctx context.Context, b []byte) error {
	resp, sent, err := w.do(ctx, http.MethodPost, w.endpoint, b, nil)
	if err != nil {
		return w.broken(sent, err)
	}
	if resp.StatusCode >= 300 {
		return w.refusal(resp, 0)
	}
	return resp.Body.Close()
}

func (w *sse) forget(int64) {}

func (w *sse) ready(string) {}

func (w *sse) close(context.Context) error {
	w.client.CloseIdleConnections()
	return nil
}
