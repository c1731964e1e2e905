package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// connections numbers the bridges of this process.
var connections atomic.Int64

// conn is one connected plugin. Its reader settles responses and cancels and
// starts a goroutine for every request; it never runs a handler itself, so that
// a handler may ask the plugin something and be answered.
type conn struct {
	id      string
	server  *Server
	ws      *websocket.Conn
	caller  *peer.Caller // of the connection, before any session
	log     *slog.Logger
	greeted atomic.Pointer[proto.Hello] // nil until hello was accepted
	closing atomic.Pointer[fault.Error] // why we close it, nil while we do not

	life context.Context // ends with the connection; its cause says why
	end  context.CancelCauseFunc
	out  chan []byte // to the writer; nil is the last, see flush
	// flushed is closed when the writer came to the end of what was queued.
	flushed chan struct{}
	work    sync.WaitGroup

	mu       sync.Mutex
	next     int64                              // guarded by mu: last id of ours
	pending  map[int64]chan proto.RPCMessage    // guarded by mu: our requests, by id
	handling map[string]context.CancelCauseFunc // guarded by mu: theirs, by id as written
	owed     int                                // guarded by mu: theirs without an answer in out
	settled  chan struct{}                      // guarded by mu: closed when owed is 0; nil: nobody waits
	shown    map[string]chan struct{}           // guarded by mu: closed when the question is shown
}

func newConn(ctx context.Context, s *Server, ws *websocket.Conn, caller *peer.Caller) *conn {
	// Not the number alone, which another daemon counts again: a host's ticket
	// outlives the daemon, and would then speak for another host's bridge.
	id := "br_" + strconv.FormatInt(connections.Add(1), 10) + "_" + strings.ToLower(rand.Text()[:12])
	life, end := context.WithCancelCause(ctx)
	return &conn{
		life: life, end: end, // ended by serve
		id: id, server: s, ws: ws, caller: caller, log: s.o.Log.With("bridge", id),
		out:      make(chan []byte, queueLength),
		flushed:  make(chan struct{}),
		pending:  map[int64]chan proto.RPCMessage{},
		handling: map[string]context.CancelCauseFunc{},
		shown:    map[string]chan struct{}{},
	}
}

// serve runs the connection: hello, then messages until either side ends it.
// When it returns, every handler has returned too.
func (c *conn) serve() {
	writer := make(chan struct{})
	go func() { defer close(writer); c.write() }()

	err := c.hello()
	if err == nil {
		err = c.read()
	}
	reason := lostReason(err)
	if own := c.closing.Load(); own != nil {
		reason = own.Message
	}
	if c.greeted.Load() != nil {
		c.server.o.Sessions.RemoveBridge(c, reason) // pairs with AddBridge in hello
	}
	c.end(fault.New(fault.Cancelled, "%s", reason))
	<-writer
	c.ws.CloseNow()
	c.work.Wait()
	c.log.Info("bridge closed", "reason", reason)
}

// read takes messages until the connection ends; the error says why.
func (c *conn) read() error {
	for {
		m, err := c.receive(c.life)
		var bad *proto.FieldError
		if errors.As(err, &bad) {
			c.respond(nil, nil, &proto.RPCError{Code: proto.CodeInvalidRequest, Message: bad.Error(),
				Data: fault.New(fault.UsageError, "message not understood: %v", bad).Wire()})
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case m.Method == proto.MethodCancelRequest:
			c.cancelled(m.Params)
		case m.Method != "":
			c.start(m)
		default:
			c.settle(m)
		}
	}
}

// receive reads one message. A *proto.FieldError leaves the connection usable.
func (c *conn) receive(ctx context.Context) (proto.RPCMessage, error) {
	var m proto.RPCMessage
	kind, data, err := c.ws.Read(ctx)
	if err != nil {
		if cause := context.Cause(c.life); cause != nil {
			return m, cause
		}
		return m, err
	}
	if kind != websocket.MessageText {
		return m, &proto.FieldError{Problem: "must be a text frame"}
	}
	return m, proto.Decode(data, &m)
}

// settle hands a response to the request that waits for it. One that nobody
// waits for any more is late, and dropped.
func (c *conn) settle(m proto.RPCMessage) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, ok := c.pending[id]; ok {
		delete(c.pending, id)
		waiting <- m // has room for one
	}
}

// write is the only writer of the socket. It ends with the connection, after
// sending what was queued before a close.
func (c *conn) write() {
	for {
		select {
		case data := <-c.out:
			if data == nil {
				close(c.flushed)
				continue
			}
			if err := c.writeOne(data); err != nil {
				c.end(fault.New(fault.Cancelled, "bridge lost: %w", err))
				return
			}
		case <-c.life.Done():
			return
		}
	}
}

func (c *conn) writeOne(data []byte) error {
	ctx, cancel := context.WithTimeout(c.life, writeTimeout)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, data)
}

// send queues a message that must arrive. A peer that does not read for
// stallTimeout is closed: holding its messages would hold our memory.
func (c *conn) send(m proto.RPCMessage) error {
	data, err := encode(m)
	if err != nil {
		return err
	}
	select {
	case c.out <- data:
		return nil
	case <-c.life.Done():
		return context.Cause(c.life)
	default:
	}
	stalled := time.NewTimer(stallTimeout)
	defer stalled.Stop()
	select {
	case c.out <- data:
		return nil
	case <-c.life.Done():
		return context.Cause(c.life)
	case <-stalled.C:
		c.end(fault.New(fault.Cancelled, "bridge lost: the plugin stopped reading")) // ends reader and writer
		return context.Cause(c.life)
	}
}

// errTooLarge says that a message of ours is over MaxFrame.
var errTooLarge = fmt.Errorf("message exceeds %d bytes", MaxFrame)

func encode(m proto.RPCMessage) ([]byte, error) {
	m.JSONRPC = proto.RPCVersion
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.Method, err)
	}
	if len(data) > MaxFrame {
		return nil, errTooLarge
	}
	return data, nil
}

// answerGrace is how long a close waits for answers that are owed.
const answerGrace = 2 * time.Second

// flush waits until every request has its answer and everything queued is sent:
// a host that is cut off before would repeat what was done. Only the first and
// only close calls it.
func (c *conn) flush() {
	late := time.NewTimer(answerGrace)
	defer late.Stop()
	c.mu.Lock()
	settled := make(chan struct{})
	if c.owed == 0 {
		close(settled)
	} else {
		c.settled = settled
	}
	c.mu.Unlock()
	select {
	case <-settled:
	case <-c.life.Done():
		return
	case <-late.C:
		return
	}
	select {
	case c.out <- nil:
	case <-c.life.Done():
		return
	case <-late.C:
		return
	}
	select {
	case <-c.flushed:
	case <-c.life.Done():
	case <-late.C:
	}
}

// close ends the connection from our side and tells the peer why; a peer that
// does not answer the close within 5 s (the library's bound) is cut off.
func (c *conn) close(code websocket.StatusCode, reason string) {
	c.closing.CompareAndSwap(nil, fault.New(fault.Cancelled, "bridge lost: %s", reason))
	c.flush()
	c.ws.Close(code, clip(reason))
	c.end(c.closing.Load())
}

// lostReason is the text that ends the runs and questions of a lost bridge.
func lostReason(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Message
	}
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway:
		return "bridge lost: the host closed it"
	case -1:
		return "bridge lost: the host went away"
	default:
		return "bridge lost: " + err.Error()
	}
}

func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
