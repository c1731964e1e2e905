package bridge

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

var _ session.Bridge = (*conn)(nil)

// ID names the connection in logs, `tenon status` and approvals.
func (c *conn) ID() string { return c.id }

// PID is the host's process, by the socket's credentials; where there are none
// (TCP) by its own word.
func (c *conn) PID() int {
	if c.caller.PID != 0 {
		return c.caller.PID
	}
	if h := c.greeted.Load(); h != nil {
		return h.PID
	}
	return 0
}

// Host is opencode-v1 or opencode-v2.
func (c *conn) Host() string { return c.greeted.Load().Host }

// Interactive reports whether somebody sees questions there.
func (c *conn) Interactive() bool { return c.greeted.Load().Interactive }

// Env is the host's own environment, as its hello gave it: that of sessions
// which it tells of when asked, without an environment of theirs.
func (c *conn) Env() map[string]string { return c.greeted.Load().Env }

// Config is the file that stands in for the user's configuration, or empty.
func (c *conn) Config() string { return c.greeted.Load().Config }

// Directory is the directory that this instance of the plugin serves.
func (c *conn) Directory() string { return c.greeted.Load().Directory }

// Ask puts a question to the host's user and waits for the answer. The end of
// ctx withdraws it; so does a host that does not show it in time, with
// ApprovalRequired, so that somebody else can be asked.
func (c *conn) Ask(ctx context.Context, a proto.Ask) (proto.AskReply, error) {
	var reply proto.AskReply
	err := c.ask(ctx, a.ID, proto.MethodAsk, a, &reply)
	return reply, err
}

// Question puts a server's question to the host and waits for the answer, with
// the same bounds as Ask.
func (c *conn) Question(ctx context.Context, q proto.Question) (proto.Answer, error) {
	var answer proto.Answer
	err := c.ask(ctx, q.ID, proto.MethodQuestion, q, &answer)
	return answer, err
}

// ask sends a question, waits until it is shown and then for its answer, and
// takes it back when nobody waits any more.
func (c *conn) ask(ctx context.Context, id, method string, params, answer any) error {
	shown := make(chan struct{})
	c.mu.Lock()
	c.shown[id] = shown
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.shown, id)
		c.mu.Unlock()
	}()

	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	late := time.AfterFunc(shownTimeout, func() {
		select {
		case <-shown:
		default:
			giveUp(fault.New(fault.ApprovalRequired, "%s did not show the question within %s", c.Host(), shownTimeout))
		}
	})
	defer late.Stop()

	err := c.request(ctx, method, params, answer)
	if err != nil && context.Cause(ctx) != nil {
		c.withdraw(proto.Withdraw{ID: id, Reason: context.Cause(ctx).Error()})
	}
	return err
}

// withdraw takes a question back; nobody waits for the answer.
func (c *conn) withdraw(w proto.Withdraw) {
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		ctx, cancel := context.WithTimeout(c.life, stallTimeout)
		defer cancel()
		if err := c.request(ctx, proto.MethodWithdraw, w, &proto.Done{}); err != nil {
			c.log.Debug("question not withdrawn", "ask", w.ID, "error", err)
		}
	}()
}

// markShown is permission/shown.
func (c *conn) markShown(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if shown, ok := c.shown[id]; ok {
		close(shown)
		delete(c.shown, id)
	}
}

// Resolve asks the host who a session is. The caller bounds ctx.
func (c *conn) Resolve(ctx context.Context, id string) (proto.Resolved, error) {
	var r proto.Resolved
	err := c.request(ctx, proto.MethodResolve, proto.Resolve{Session: id}, &r)
	return r, err
}

// Notice shows a short message to the host's user.
func (c *conn) Notice(ctx context.Context, n proto.Notice) error {
	return c.request(ctx, proto.MethodNotice, n, &proto.Done{})
}

// Event passes a frame on if the plugin wants them. It never blocks: while half
// of the queue is taken, frames are dropped, and the Seq of later ones shows the
// gap.
func (c *conn) Event(f proto.Frame) {
	if h := c.greeted.Load(); h == nil || !h.Events {
		return
	}
	params, err := proto.Marshal(f)
	if err != nil {
		c.log.Error("event not sent", "run", f.Run, "error", err)
		return
	}
	c.tell(proto.MethodRunEvent, params)
}

// catalogChanged tells the plugin, once it has said hello.
func (c *conn) catalogChanged() {
	if c.greeted.Load() != nil {
		c.tell(proto.MethodCatalogChanged, json.RawMessage("{}"))
	}
}

// tell sends a notification that may be lost: while half of the queue is taken
// it is dropped.
func (c *conn) tell(method string, params json.RawMessage) {
	data, err := encode(proto.RPCMessage{Method: method, Params: params})
	if err != nil || len(c.out) > queueLength/2 {
		return
	}
	select {
	case c.out <- data:
	default:
	}
}

// request sends one request and waits for its answer or the end of ctx, which
// tells the plugin with $/cancelRequest. result is a pointer to a proto type.
func (c *conn) request(ctx context.Context, method string, params, result any) error {
	raw, err := proto.Marshal(params)
	if err != nil {
		return fault.New(fault.InternalError, "encode %s: %w", method, err)
	}
	answer := make(chan proto.RPCMessage, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.pending[id] = answer // deleted by settle, or below
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}()

	number := json.RawMessage(strconv.FormatInt(id, 10))
	if err := c.send(proto.RPCMessage{ID: number, Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		return read(m, method, result)
	case <-c.life.Done():
		return context.Cause(c.life)
	case <-ctx.Done():
		reason := context.Cause(ctx).Error()
		cancel, _ := proto.Marshal(proto.CancelRequest{ID: number, Reason: reason}) // strings: cannot fail
		if err := c.send(proto.RPCMessage{Method: proto.MethodCancelRequest, Params: cancel}); err != nil {
			c.log.Debug("cancel not sent", "method", method, "error", err)
		}
		return context.Cause(ctx)
	}
}

func read(m proto.RPCMessage, method string, result any) error {
	if m.Error != nil {
		if m.Error.Data != nil {
			return fault.FromWire(m.Error.Data)
		}
		return fault.New(fault.InternalError, "the plugin failed at %s: %s", method, m.Error.Message)
	}
	if err := proto.Decode(m.Result, result); err != nil {
		return fault.New(fault.InternalError, "the plugin's answer to %s: %w", method, err)
	}
	return nil
}
