package attached

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// link is one end of a connection: JSON-RPC 2.0, a message a line, requests both
// ways. Its reader starts a goroutine for each request, so that a handler may
// ask in turn; notifications are handled by the reader itself, in order, and
// must not wait for the other end.
type link struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	log  *slog.Logger

	last          string // the method whose answer is the connection's last word; may be empty
	requests      map[string]func(ctx context.Context, params json.RawMessage) (any, error)
	notifications map[string]func(params json.RawMessage)

	life context.Context // ends with the connection; its cause says why
	end  context.CancelCauseFunc
	work sync.WaitGroup

	writing sync.Mutex

	mu       sync.Mutex
	next     int64                              // guarded by mu: last id of ours
	pending  map[int64]chan proto.RPCMessage    // guarded by mu: our requests
	handling map[string]context.CancelCauseFunc // guarded by mu: theirs, by id as written
}

var errDone = errors.New("the run has ended")

// newLink makes an end; in is where to read, which may hold bytes that conn has
// given already.
func newLink(conn io.ReadWriteCloser, in *bufio.Reader) *link {
	l := &link{
		conn: conn, in: in, log: slog.New(slog.DiscardHandler), requests: map[string]func(context.Context, json.RawMessage) (any, error){},
		notifications: map[string]func(json.RawMessage){}, pending: map[int64]chan proto.RPCMessage{},
		handling: map[string]context.CancelCauseFunc{},
	}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

// close ends the connection with that reason; the first reason stays.
func (l *link) close(why error) {
	l.end(why)
	_ = l.conn.Close() // a second close does nothing
}

// serve reads until the connection ends and returns when every handler has.
func (l *link) serve() {
	for {
		line, err := l.line()
		if err == nil {
			var m proto.RPCMessage
			if err = json.Unmarshal(line, &m); err == nil {
				l.take(m)
				continue
			}
		}
		l.close(err)
		l.work.Wait()
		return
	}
}

// line reads one message.
func (l *link) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(whole)+len(part) > maxMessage {
			return nil, fmt.Errorf("a message is longer than %d bytes", maxMessage)
		}
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

func (l *link) take(m proto.RPCMessage) {
	switch {
	case m.Method == proto.MethodCancelRequest:
		var c proto.CancelRequest
		if json.Unmarshal(m.Params, &c) == nil {
			l.mu.Lock()
			cancel := l.handling[string(c.ID)]
			l.mu.Unlock()
			if cancel != nil {
				cancel(fault.New(fault.Cancelled, "%s", orElse(c.Reason, "cancelled")))
			}
		}
	case m.Method != "" && m.ID == nil:
		if f := l.notifications[m.Method]; f != nil {
			_, _ = l.survive(m.Method, func() (any, error) { f(m.Params); return nil, nil }) // nobody waits for an answer
		}
	case m.Method != "":
		l.start(m)
	default:
		l.settle(m)
	}
}

// start handles a request in a goroutine of its own.
func (l *link) start(m proto.RPCMessage) {
	f := l.requests[m.Method]
	if f == nil {
		l.answer(m.ID, nil, fault.New(fault.UsageError, "there is no method %q", m.Method))
		return
	}
	ctx, cancel := context.WithCancelCause(l.life)
	id := string(m.ID)
	l.mu.Lock()
	var refusal *fault.Error
	switch {
	case l.handling[id] != nil: // it would be counted as one, and cancelled as one
		refusal = fault.New(fault.UsageError, "a request with the id %s is still being handled", id)
	case len(l.handling) >= maxRequests:
		refusal = fault.New(fault.UsageError, "more than %d requests at a time", maxRequests)
	default:
		l.handling[id] = cancel
	}
	l.mu.Unlock()
	if refusal != nil {
		cancel(nil)
		l.answer(m.ID, nil, refusal)
		return
	}
	l.work.Go(func() {
		result, err := l.survive(m.Method, func() (any, error) { return f(ctx, m.Params) })
		l.mu.Lock()
		delete(l.handling, id)
		l.mu.Unlock()
		cancel(nil)
		l.answer(m.ID, result, err)
		if m.Method == l.last {
			l.close(errDone)
		}
	})
}

// survive makes a panic of a handler its failure, and not the end of the process.
func (l *link) survive(method string, f func() (any, error)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
			err = fault.New(fault.InternalError, "internal error").WithHint("the daemon's log has the cause: tenon daemon logs")
		}
	}()
	return f()
}

func (l *link) answer(id json.RawMessage, result any, err error) {
	m := proto.RPCMessage{JSONRPC: proto.RPCVersion, ID: id}
	if err == nil {
		m.Result, err = proto.Marshal(result)
	}
	if err != nil {
		e := fault.From(err)
		m.Result, m.Error = nil, &proto.RPCError{Code: proto.CodeFault, Message: e.Message, Data: e.Wire()}
	}
	_ = l.send(m) // an end that cannot be written to ends the link
}

// settle hands an answer to who waits for it.
func (l *link) settle(m proto.RPCMessage) {
	n, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	l.mu.Lock()
	waiting := l.pending[n]
	delete(l.pending, n)
	l.mu.Unlock()
	if waiting != nil {
		waiting <- m
	}
}

// call makes a request. The end of ctx takes it back at the other end, and is
// the error; so is the end of the link.
func (l *link) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return l.ask(ctx, method, params, nil)
}

// ask is call; named, when not nil, gets the request's id once it is made.
func (l *link) ask(ctx context.Context, method string, params any, named chan<- json.RawMessage) (json.RawMessage, error) {
	id, answer := l.register()
	if named != nil {
		defer func() { // also when it was never sent
			select {
			case named <- number(id):
			default:
			}
		}()
	}
	defer func() {
		l.mu.Lock()
		delete(l.pending, id)
		l.mu.Unlock()
	}()
	raw, err := proto.Marshal(params)
	if err == nil {
		err = l.send(proto.RPCMessage{JSONRPC: proto.RPCVersion, ID: number(id), Method: method, Params: raw})
	}
	if err != nil {
		return nil, err
	}
	if named != nil {
		named <- number(id)
	}
	select {
	case m := <-answer:
		return m.Result, failureOf(m)
	case <-ctx.Done():
		why := fault.From(context.Cause(ctx))
		_ = l.tell(proto.MethodCancelRequest, proto.CancelRequest{ID: number(id), Reason: why.Message}) // what is gone needs no word
		return nil, context.Cause(ctx)
	case <-l.life.Done():
		select {
		case m := <-answer: // it came last
			return m.Result, failureOf(m)
		default:
			return nil, &lostError{context.Cause(l.life)}
		}
	}
}

// lostError is the end of the connection, as the end of a request.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the connection was lost: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func isLost(err error) bool {
	var lost *lostError
	return errors.As(err, &lost)
}

func (l *link) register() (int64, chan proto.RPCMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	answer := make(chan proto.RPCMessage, 1)
	l.pending[l.next] = answer
	return l.next, answer
}

func failureOf(m proto.RPCMessage) error {
	switch {
	case m.Error == nil:
		return nil
	case m.Error.Data != nil:
		return fault.FromWire(m.Error.Data)
	}
	return fault.New(fault.InternalError, "%s", orElse(m.Error.Message, "the other end refused without a word"))
}

// tell sends a notification.
func (l *link) tell(method string, params any) error {
	raw, err := proto.Marshal(params)
	if err != nil {
		return err
	}
	return l.send(proto.RPCMessage{JSONRPC: proto.RPCVersion, Method: method, Params: raw})
}

// deadliner is a connection on which writing can be bounded.
type deadliner interface{ SetWriteDeadline(time.Time) error }

// send writes one message; a failure ends the link.
func (l *link) send(m proto.RPCMessage) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if d, ok := l.conn.(deadliner); ok {
		_ = d.SetWriteDeadline(time.Now().Add(writeWait)) // one that cannot be set is none
	}
	if _, err := l.conn.Write(append(raw, '\n')); err != nil {
		l.close(err)
		return &lostError{err}
	}
	return nil
}

func number(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
