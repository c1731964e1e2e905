package fakeserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
)

var errPeerGone = errors.New("the client is gone")

// writer is where messages for a client go. Both methods may be called
// concurrently; each call is one write.
type writer interface {
	message(json []byte) // one whole JSON-RPC message, without line end
	raw(bytes []byte)    // whatever --say wants
}

// lineWriter writes one message a line.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func newLineWriter(w io.Writer) *lineWriter { return &lineWriter{w: w} }

func (l *lineWriter) message(b []byte) { l.raw(append(b, '\n')) }

func (l *lineWriter) raw(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.w.Write(b) // a client that is gone shows as the end of stdin
}

// peer is one client session.
type peer struct {
	s    *server
	out  writer        // messages that belong to no request
	done chan struct{} // closed by close
	work sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	asked   map[string]chan *envelope     // our requests, by id
	running map[string]context.CancelFunc // the client's calls, by id
}

func newPeer(s *server, out writer) *peer {
	return &peer{
		s: s, out: out, done: make(chan struct{}),
		asked: map[string]chan *envelope{}, running: map[string]context.CancelFunc{},
	}
}

// start runs f beside the reading loop; close waits for it.
func (p *peer) start(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.work.Go(f)
}

func (p *peer) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.done)
	for _, cancel := range p.running {
		cancel()
	}
	p.mu.Unlock()
	p.work.Wait()
}

// begin makes the context of one call, ended by its cancellation or by close.
func (p *peer) begin(id string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		cancel()
	}
	p.running[id] = cancel
	return ctx, func() {
		p.mu.Lock()
		delete(p.running, id)
		p.mu.Unlock()
		cancel()
	}
}

func (p *peer) cancel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel, ok := p.running[id]; ok {
		cancel()
	}
}

// ask sends a request to the client and waits for its answer, which is
// returned whole: a refusal is an answer too. The end of ctx takes the request
// back.
func (p *peer) ask(ctx context.Context, out writer, method string, params []byte) (json.RawMessage, error) {
	id := strconv.FormatInt(p.s.asks.Add(1), 10)
	got := make(chan *envelope, 1)
	p.mu.Lock()
	p.asked[id] = got
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.asked, id)
		p.mu.Unlock()
	}()
	b := []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"`)
	if len(params) > 0 {
		b = append(append(b, `,"params":`...), params...)
	}
	out.message(append(b, '}'))
	select {
	case m := <-got:
		if len(m.Error) > 0 {
			return m.Error, nil
		}
		return m.Result, nil
	case <-ctx.Done():
		out.message([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"not needed any more"}}`))
		return nil, ctx.Err()
	case <-p.done:
		return nil, errPeerGone
	}
}

func (p *peer) settle(m *envelope) {
	p.mu.Lock()
	got := p.asked[string(m.ID)]
	p.mu.Unlock()
	if got != nil {
		select {
		case got <- m:
		default: // answered twice
		}
	}
}
