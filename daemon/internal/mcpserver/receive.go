//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// exchange is one request in work, with everything its handler needs.
type exchange struct {
	c      *conn
	r      *request
	ss     *mcp.ServerSession
	ctx    context.Context // that of the work
	caller *peer.Caller    // in its session
	view   *config.View

	onFrame func(proto.Frame) // hears the run; may be nil
	mute    atomic.Bool       // the client answered a form of ours with an error
}

// receive answers the methods that are tenon's; the SDK does the rest. It works
// on raw JSON where the SDK's types would lose or check what is not ours.
func (c *conn) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				c.s.log.Error("MCP handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
				res, err = nil, refusal(fault.New(fault.InternalError, "internal error"))
			}
		}()
		ss, _ := req.GetSession().(*mcp.ServerSession)
		switch p := req.GetParams().(type) {
		case *mcp.CallToolParamsRaw:
			return c.work(ctx, ss, req, p.Meta, func(x *exchange) (mcp.Result, error) { return x.call(p) })
		case *mcp.ListToolsParams:
			cursor := ""
			if p != nil {
				cursor = p.Cursor
			}
			return c.work(ctx, ss, req, metaOf(p), func(x *exchange) (mcp.Result, error) { return x.tools(cursor) })
		case *mcp.SetLoggingLevelParams:
			c.log.Store(true)
			if !c.mode.code() {
				_, err := c.work(ctx, ss, req, p.Meta, func(x *exchange) (mcp.Result, error) { return nil, x.setLevel(p.Level) })
				if err != nil {
					return nil, err
				}
			}
		case *mcp.InitializeParams:
			return c.greet(ctx, ss, method, req, next)
		}
		if handled, res, err := c.receiveOffers(ctx, ss, req); handled {
			return res, err
		}
		return next(ctx, method, req)
	}
}

// receiveOffers answers what is not about tools.
func (c *conn) receiveOffers(ctx context.Context, ss *mcp.ServerSession, req mcp.Request) (handled bool, res mcp.Result, err error) {
	var meta map[string]any
	var do func(*exchange) (mcp.Result, error)
	code := c.mode.code()
	switch p := req.GetParams().(type) {
	case *mcp.ListResourcesParams:
		meta, do = metaOf(p), func(x *exchange) (mcp.Result, error) { return x.offered(catalog.Resources, cursorOf(p)) }
		if code {
			do = (*exchange).resources
		}
	case *mcp.ListResourceTemplatesParams:
		if code {
			res, err = templates()
			return true, res, err
		}
		meta, do = metaOf(p), func(x *exchange) (mcp.Result, error) { return x.offered(catalog.Templates, cursorOf(p)) }
	case *mcp.ReadResourceParams:
		meta, do = p.Meta, func(x *exchange) (mcp.Result, error) { return x.readOf(p.URI, p.GetProgressToken()) }
		if code {
			do = func(x *exchange) (mcp.Result, error) { return x.read(p.URI) }
		}
	case *mcp.SubscribeParams, *mcp.UnsubscribeParams:
		if code {
			return false, nil, nil
		}
		uri, on := "", true
		if s, ok := p.(*mcp.SubscribeParams); ok {
			meta, uri = s.Meta, s.URI
		} else if u, ok := p.(*mcp.UnsubscribeParams); ok {
			meta, uri, on = u.Meta, u.URI, false
		}
		_, err := c.work(ctx, ss, req, meta, func(x *exchange) (mcp.Result, error) { return nil, x.subscribe(uri, on) })
		return err != nil, nil, err // the SDK keeps whom to tell
	case *mcp.ListPromptsParams:
		if !code {
			meta, do = metaOf(p), func(x *exchange) (mcp.Result, error) { return x.offered(catalog.Prompts, cursorOf(p)) }
		}
	case *mcp.GetPromptParams:
		if !code {
			meta, do = p.Meta, func(x *exchange) (mcp.Result, error) { return x.promptGet(p.Name, p.Arguments, p.GetProgressToken()) }
		}
	case *mcp.CompleteParams:
		if !code {
			meta, do = p.Meta, func(x *exchange) (mcp.Result, error) { return x.complete(p) }
		}
	}
	if do == nil {
		return false, nil, nil
	}
	res, err = c.work(ctx, ss, req, meta, do)
	return true, res, err
}

// cursorOf is the cursor of parameters that may be missing altogether.
func cursorOf[P interface {
	*T
	mcp.Params
}, T any](p P) string {
	if p == nil {
		return ""
	}
	switch p := any(p).(type) {
	case *mcp.ListResourcesParams:
		return p.Cursor
	case *mcp.ListResourceTemplatesParams:
		return p.Cursor
	case *mcp.ListPromptsParams:
		return p.Cursor
	}
	return ""
}

// greet answers initialize: for a server that is passed through with what that
// says of itself.
func (c *conn) greet(ctx context.Context, ss *mcp.ServerSession, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	res, err := next(ctx, method, req)
	answer, ok := res.(*mcp.InitializeResult)
	if err != nil || !ok || c.mode.server == "" {
		return res, err
	}
	// What cannot be found out now leaves the answer as it is.
	_, _ = c.work(ctx, ss, req, nil, func(x *exchange) (mcp.Result, error) { x.introduce(answer); return nil, nil })
	return answer, nil
}

// metaOf is the _meta of parameters that may be missing altogether.
func metaOf[P interface {
	*T
	mcp.Params
}, T any](p P) map[string]any {
	if p == nil {
		return nil
	}
	return p.GetMeta()
}

// work finds out who asks, and from where, and does what is asked within the
// daemon's gate. Failures become errors of JSON-RPC; those that a model should
// see are results already.
func (c *conn) work(ctx context.Context, ss *mcp.ServerSession, req mcp.Request, meta map[string]any, do func(*exchange) (mcp.Result, error)) (mcp.Result, error) {
	r := c.of(req.GetExtra())
	if r == nil || ss == nil {
		return nil, refusal(fault.New(fault.Cancelled, "the request is over"))
	}
	leave, err := c.s.o.Enter()
	if err != nil {
		return nil, refusal(err)
	}
	defer leave()
	work, done := c.tie(ctx, r)
	defer done()
	caller := c.speaker(work, ss, r, meta)
	release := c.s.o.Sessions.Ref(caller.Session.ID)
	defer release()
	view, err := c.s.o.View(caller)
	if err != nil {
		return nil, refusal(err)
	}
	x := &exchange{c: c, r: r, ss: ss, ctx: work, caller: caller, view: view}
	res, err := do(x)
	if err != nil {
		return nil, refusal(err)
	}
	return res, nil
}

// codes of JSON-RPC for failures: what the client can mend is its parameters'.
func refusal(err error) error {
	var own *jsonrpc.Error
	if errors.As(err, &own) {
		return own
	}
	e := fault.From(err)
	code := int64(jsonrpc.CodeInternalError)
	switch e.Kind {
	case fault.UsageError, fault.InvalidToolInput, fault.NotFound, fault.UnknownTool:
		code = jsonrpc.CodeInvalidParams
	}
	message := fmt.Sprintf("%s: %s", e.Kind, e.Message)
	if e.Hint != "" {
		message += "; " + e.Hint
	}
	return &jsonrpc.Error{Code: code, Message: message}
}
