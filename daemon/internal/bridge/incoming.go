package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// start begins one request or notification of the plugin in a goroutine of its
// own. It is entered into the table before, so that a cancel right behind the
// request finds it.
func (c *conn) start(m proto.RPCMessage) {
	handler, ok := handlers[m.Method]
	if !ok {
		c.respond(m.ID, nil, &proto.RPCError{Code: proto.CodeMethodNotFound,
			Message: fmt.Sprintf("no method %q", m.Method),
			Data:    fault.New(fault.UsageError, "no method %q", m.Method).Wire()})
		return
	}
	ctx, cancel := context.WithCancelCause(c.life)
	if err := c.enter(m.ID, cancel); err != nil {
		cancel(nil)
		c.respond(m.ID, nil, rpcError(err))
		return
	}
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		defer cancel(nil)
		result, err := c.handle(ctx, handler, m)
		c.leave(m.ID)
		if m.ID == nil {
			if err != nil {
				c.log.Warn("notification refused", "method", m.Method, "error", err)
			}
			return
		}
		defer c.paid()
		if err != nil {
			c.respond(m.ID, nil, rpcError(fault.From(err)))
			return
		}
		c.respond(m.ID, result, nil)
	}()
}

// handle runs a handler; a panic in one request must not take the daemon along.
func (c *conn) handle(ctx context.Context, handler handler, m proto.RPCMessage) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic in a handler", "method", m.Method, "panic", p, "stack", string(debug.Stack()))
			err = fault.New(fault.InternalError, "%s failed inside the daemon", m.Method).
				WithHint("the daemon's log has the cause: tenon daemon logs")
		}
	}()
	return handler(ctx, c, m.Params)
}

func (c *conn) enter(id json.RawMessage, cancel context.CancelCauseFunc) *fault.Error {
	if id == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.handling[string(id)]; ok {
		return fault.New(fault.UsageError, "request id %s is in use", id)
	}
	if len(c.handling) >= MaxRequests {
		return fault.New(fault.PoolExhausted, "%d requests of this plugin are in work", MaxRequests).
			WithHint("wait for some to end")
	}
	c.handling[string(id)] = cancel
	c.owed++
	return nil
}

// paid notes that a request that entered has its answer in the queue.
func (c *conn) paid() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed--
	if c.owed == 0 && c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
}

func (c *conn) leave(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.handling, string(id))
}

// cancelled is $/cancelRequest. A request that has ended is none of its
// business: v1 aborts the signal of every successful call too.
func (c *conn) cancelled(params json.RawMessage) {
	var p proto.CancelRequest
	if err := proto.Decode(params, &p); err != nil {
		c.log.Warn("cancel not understood", "error", err)
		return
	}
	c.mu.Lock()
	cancel := c.handling[string(p.ID)]
	c.mu.Unlock()
	if cancel == nil {
		return
	}
	reason := p.Reason
	if reason == "" {
		reason = "user"
	}
	cancel(fault.New(fault.Cancelled, "%s", reason))
}

// respond answers a request; id nil answers something unreadable.
func (c *conn) respond(id json.RawMessage, result any, failure *proto.RPCError) {
	m := proto.RPCMessage{ID: id, Error: failure}
	if failure == nil {
		raw, err := proto.Marshal(result)
		if err != nil {
			m.Error = rpcError(fault.New(fault.InternalError, "the answer cannot be written: %w", err))
		}
		m.Result = raw
	}
	err := c.send(m)
	if errors.Is(err, errTooLarge) {
		e := fault.New(fault.InvalidToolOutput, "the answer is larger than %d bytes", MaxFrame).
			WithHint("return less from the program, or keep it as an artifact")
		err = c.send(proto.RPCMessage{ID: id, Error: rpcError(e)})
	}
	if err != nil {
		c.log.Debug("answer not sent", "error", err)
	}
}

func rpcError(e *fault.Error) *proto.RPCError {
	code := proto.CodeFault
	if e.Kind == fault.UsageError {
		code = proto.CodeInvalidParams
	}
	return &proto.RPCError{Code: code, Message: e.Message, Data: e.Wire()}
}

// protocolOf reads the number of a hello that may not be readable otherwise; 0
// when it has none.
func protocolOf(params json.RawMessage) int {
	var p struct {
		Protocol int `json:"protocol"`
	}
	if json.Unmarshal(params, &p) != nil {
		return 0
	}
	return p.Protocol
}

func buildOf(params json.RawMessage) proto.Build {
	var p struct {
		Build proto.Build `json:"build"`
	}
	if json.Unmarshal(params, &p) != nil {
		return proto.Build{}
	}
	return p.Build
}
