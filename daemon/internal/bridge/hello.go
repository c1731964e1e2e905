package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/coder/websocket"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// hello reads the first message, which must be bridge/hello, and answers it.
// Nothing else is served before; an error closes the connection.
func (c *conn) hello() error {
	ctx, cancel := context.WithTimeoutCause(c.life, helloTimeout,
		fault.New(fault.UsageError, "no %s within %s", proto.MethodHello, helloTimeout))
	defer cancel()
	m, err := c.receive(ctx)
	var bad *proto.FieldError
	if errors.As(err, &bad) {
		err = fault.New(fault.UsageError, "message not understood: %v", bad)
	}
	if err == nil && m.Method != proto.MethodHello {
		err = fault.New(fault.UsageError, "the first message must be %s, not %q", proto.MethodHello, m.Method)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return c.refuse(m, err)
	}
	// Only the number is read before the rest: a newer plugin may have fields
	// that this build does not know, and should be told so.
	var h proto.Hello
	if theirs := protocolOf(m.Params); theirs != 0 && theirs != proto.Protocol {
		return c.refuse(m, local.Mismatch(proto.Protocol, c.server.o.Build, theirs, buildOf(m.Params)))
	}
	if err := proto.Decode(m.Params, &h); err != nil {
		return c.refuse(m, fault.New(fault.UsageError, "%s: %w", proto.MethodHello, err))
	}
	answer, err := c.welcome(&h)
	if err != nil {
		return c.refuse(m, err)
	}
	c.respond(m.ID, answer, nil)
	c.log.Info("bridge opened", "host", h.Host, "version", h.HostVersion, "pid", c.PID(), "directory", h.Directory)
	return nil
}

func (c *conn) welcome(h *proto.Hello) (*proto.HelloResult, error) {
	o := c.server.o
	dir, ticket, err := o.Sessions.Directory(h.Directory, config.Env(h.Env))
	if err != nil {
		return nil, err
	}
	c.greeted.Store(h)
	host, err := o.Sessions.AddBridge(c) // removed by serve
	if err != nil {
		c.greeted.Store(nil)
		return nil, err
	}
	return &proto.HelloResult{
		Protocol: proto.Protocol, Build: o.Build, PID: o.PID, Connection: c.id, Socket: o.Socket, HostTicket: host,
		Wants: o.Work.Wants(h.Directory, h.Config), Session: dir.ID, Ticket: ticket,
	}, nil
}

// refuse answers and closes. The answer is written here, not by the queue, so
// that it is out before the connection ends.
func (c *conn) refuse(m proto.RPCMessage, err error) error {
	e := fault.From(err)
	if m.ID != nil {
		if data, encodeErr := encode(proto.RPCMessage{ID: m.ID, Error: rpcError(e)}); encodeErr == nil {
			_ = c.writeOne(data) // the peer has gone: the close says the same
		}
	}
	c.ws.Close(websocket.StatusPolicyViolation, clip(e.Message))
	return fmt.Errorf("hello refused: %w", e)
}

// clip shortens a close reason to what a close frame holds (RFC 6455 §5.5).
func clip(s string) string { return s[:min(len(s), 120)] }
