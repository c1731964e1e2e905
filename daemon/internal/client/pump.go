package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
)

// codeGone is the JSON-RPC code of a request whose daemon went away; MCP leaves
// -32000 to -32099 to servers.
const codeGone = -32000

// PumpMCP carries MCP between a client on in and out and the daemon, a message
// a line, until the input ends, which lets the daemon answer what was asked, or
// ctx does. When the daemon goes away it answers what was in flight with an
// error, since nobody knows what became of it, and connects again, with the
// client's own hello, for the next message: a host outlives many daemons. So it
// does when one that has something to answer gives no sign of life.
func (c *Client) PumpMCP(ctx context.Context, m MCPMode, in io.Reader, out io.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- c.pump(ctx, m, in, out) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// A client that does not read keeps a write waiting, which nothing but its own
	// end would end: a signal must not have to wait for that.
	late := time.NewTimer(stuckOutput)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return nil
	}
}

// stuckOutput is how long the end waits for a write to a client that does not read.
const stuckOutput = time.Second

func (c *Client) pump(ctx context.Context, m MCPMode, in io.Reader, out io.Writer) error {
	p := &pump{c: c, mode: m, out: out, flying: map[string]bool{}}
	if err := p.connect(ctx); err != nil {
		return err
	}
	defer p.hangUp()
	lines := make(chan []byte)
	over := make(chan struct{}) // the pump has ended
	defer close(over)
	go func() {
		defer close(lines)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := r.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				select {
				case lines <- append(bytes.TrimSpace(line), '\n'):
				case <-over:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return p.finish(ctx)
			}
			p.up(ctx, line)
		case <-ctx.Done():
			return nil
		}
	}
}

// pump is the state of PumpMCP.
type pump struct {
	c    *Client
	mode MCPMode

	writing sync.Mutex // of out: one message at a time
	out     io.Writer

	mu      sync.Mutex
	conn    *MCPConn      // nil: none
	gone    chan struct{} // closed when conn has ended
	hello   []byte        // the client's initialize, once it was answered
	helloID string
	ready   []byte // its notifications/initialized
	level   []byte // its logging/setLevel
	asked   *asked // what conn has asked of the client
	turns   int    // how many daemons were connected
	flying  map[string]bool
	swallow map[string]bool // answers to what the pump itself has sent again
	ending  bool
}

// head is what the pump reads of a message.
type head struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// connect opens a connection and says the client's hello again, if there was one.
func (p *pump) connect(ctx context.Context) error {
	conn, err := p.c.MCP(ctx, p.mode)
	if err != nil {
		return err
	}
	conn.watch(p.c, p.waits)
	p.mu.Lock()
	p.conn, p.gone, p.swallow = conn, make(chan struct{}), map[string]bool{}
	p.asked = newAsked(p.turns)
	p.turns++
	again := [][]byte{p.hello, p.ready, p.level}
	for _, line := range again {
		var h head
		if json.Unmarshal(line, &h) == nil && len(h.ID) > 0 {
			p.swallow[string(h.ID)] = true
		}
	}
	go p.down(conn, p.gone)
	p.mu.Unlock()
	for _, line := range again {
		if line == nil {
			continue
		}
		if _, err := conn.Write(line); err != nil {
			_ = conn.Close() // down sees it
			return nil
		}
	}
	return nil
}

// waits reports whether the daemon has something to say.
func (p *pump) waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.flying) > 0 || p.ending
}

// up carries one message to the daemon.
func (p *pump) up(ctx context.Context, line []byte) {
	var h head
	known := json.Unmarshal(line, &h) == nil
	call := known && len(h.ID) > 0 && h.Method != ""
	for try := 0; ; try++ {
		p.mu.Lock()
		conn := p.conn
		p.mu.Unlock()
		if conn == nil {
			if known && h.Method == "" {
				return // an answer to a daemon that is gone
			}
			if err := p.connect(ctx); err != nil {
				if call {
					p.refuse(h.ID, fault.From(err))
				}
				return
			}
			continue
		}
		if known && h.Method == "" && len(h.ID) > 0 {
			if line, known = p.answer(conn, h, line); !known {
				return // nobody waits for it, or not any more
			}
		}
		p.note(h, line, call)
		n, err := conn.Write(line)
		if err == nil {
			return
		}
		p.lost(conn, err, n == 0 && try == 0 && call, h)
		if n > 0 || try > 0 || !call {
			return
		}
	}
}

// answer is an answer of the client's as the daemon on conn shall see it; false
// when that has not asked.
func (p *pump) answer(conn *MCPConn, h head, line []byte) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != conn {
		return nil, false
	}
	return p.asked.up(h, line)
}

// note remembers what a later daemon must hear again, and what is in flight.
func (p *pump) note(h head, line []byte, call bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch h.Method {
	case "initialize":
		p.helloID, p.hello = string(h.ID), bytes.Clone(line)
	case "notifications/initialized":
		p.ready = bytes.Clone(line)
	case "logging/setLevel":
		p.level = bytes.Clone(line)
	}
	if call {
		p.flying[string(h.ID)] = true
	}
}

// down carries the daemon's messages to the client until the connection ends.
func (p *pump) down(conn *MCPConn, gone chan struct{}) {
	defer close(gone)
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			p.lost(conn, err, false, head{})
			return
		}
		var h head
		known := json.Unmarshal(line, &h) == nil
		if known && h.Method != "" {
			p.mu.Lock()
			if p.conn == conn {
				line = p.asked.down(h, line)
			}
			p.mu.Unlock()
		}
		if known && h.Method == "" && len(h.ID) > 0 {
			id := string(h.ID)
			p.mu.Lock()
			own := p.swallow[id] && !p.flying[id]
			delete(p.swallow, id)
			delete(p.flying, id)
			p.mu.Unlock()
			if own {
				continue
			}
		}
		p.write(line)
	}
}

// lost ends a connection that has failed and answers what was in flight on it, but for the one
// message that never left, which is sent again.
func (p *pump) lost(conn *MCPConn, failed error, again bool, h head) {
	p.mu.Lock()
	if p.conn != conn {
		p.mu.Unlock()
		return
	}
	p.conn = nil
	var left []string
	for id := range p.flying {
		if again && id == string(h.ID) {
			continue
		}
		left = append(left, id)
		if id == p.helloID {
			p.hello = nil // it was never answered: there is nothing to say again
		}
	}
	p.flying = map[string]bool{}
	late := p.asked.withdrawn()
	ending := p.ending
	p.mu.Unlock()
	_ = conn.Close() // waits for who may be in waits
	silent := errors.Is(failed, os.ErrDeadlineExceeded)
	why := fault.New(fault.DaemonUnavailable, "the daemon went away during the request").
		WithHint("whether it was carried out is unknown, so it was not sent again; the next request starts a new daemon")
	switch {
	case silent:
		why = fault.From(p.c.broken(context.Background(), failed))
	case ending:
		why = fault.New(fault.Cancelled, "the input ended, and the request took too long after that")
	}
	for _, id := range left {
		p.refuse(json.RawMessage(id), why)
	}
	for _, line := range late {
		p.write(line)
	}
	switch {
	case p.c.Notice == nil:
	case silent:
		p.c.Notice(why.Message)
	case !ending:
		p.c.Notice("the daemon went away; the next message connects again")
	}
}

// refuse answers a request that no daemon answers.
func (p *pump) refuse(id json.RawMessage, e *fault.Error) {
	message := string(e.Kind) + ": " + e.Message
	if e.Hint != "" {
		message += "; " + e.Hint
	}
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": codeGone, "message": message}})
	if err == nil { // the id was valid JSON
		p.write(append(data, '\n'))
	}
}

func (p *pump) write(line []byte) {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, _ = p.out.Write(line) // a client that reads no more will close its end
}

// finish tells the daemon that nothing more is asked and waits for what it
// still says; it does not wait long.
func (p *pump) finish(ctx context.Context) error {
	p.mu.Lock()
	p.ending = true
	conn, gone := p.conn, p.gone
	p.mu.Unlock()
	if conn == nil {
		return nil
	}
	if err := conn.CloseWrite(); err != nil && !errors.Is(err, io.EOF) {
		return nil // it is gone already
	}
	select {
	case <-gone:
	case <-ctx.Done():
	}
	return nil
}

// hangUp ends the connection and waits for down.
func (p *pump) hangUp() {
	p.mu.Lock()
	p.ending = true
	conn, gone := p.conn, p.gone
	p.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
	if gone != nil {
		<-gone
	}
}
