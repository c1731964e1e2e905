package bridge

import (
	"context"
	"encoding/json"
	"maps"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// handler serves one method: parameters in, result or error out.
type handler func(ctx context.Context, c *conn, params json.RawMessage) (any, error)

// handlers is the table of contents of the plugin's side of the bridge.
var handlers = map[string]handler{
	proto.MethodAttach:        on((*conn).attach),
	proto.MethodDetach:        on((*conn).detach),
	proto.MethodRunStart:      on((*conn).runStart),
	proto.MethodRunCancel:     on((*conn).runCancel),
	proto.MethodCallStart:     on((*conn).callStart),
	proto.MethodStatusGet:     on((*conn).statusGet),
	proto.MethodCatalogSearch: on((*conn).catalogSearch),
	proto.MethodCatalogGet:    on((*conn).catalogGet),
	proto.MethodCatalogTypes:  on((*conn).catalogTypes),
	proto.MethodRulesChanged:  on((*conn).rulesChanged),
	proto.MethodToolOutcome:   on((*conn).toolOutcome),
	proto.MethodAskShown:      on((*conn).askShown),
}

// on reads the parameters of a method strictly before it is served.
func on[P, R any](serve func(*conn, context.Context, P) (R, error)) handler {
	return func(ctx context.Context, c *conn, params json.RawMessage) (any, error) {
		var p P
		if err := proto.Decode(params, &p); err != nil {
			return nil, fault.New(fault.UsageError, "parameters: %w", err)
		}
		return serve(c, ctx, p)
	}
}

func (c *conn) attach(ctx context.Context, p proto.Attach) (*proto.AttachResult, error) {
	p.Env = c.environment(p.Env)
	s, ticket, err := c.server.o.Sessions.Attach(ctx, c, p)
	if err != nil {
		return nil, err
	}
	return &proto.AttachResult{Session: s.ID, Root: s.Root(), Ticket: ticket, Socket: c.server.o.Socket}, nil
}

func (c *conn) detach(_ context.Context, p proto.Detach) (proto.Done, error) {
	return proto.Done{}, c.server.o.Sessions.Detach(c, p)
}

func (c *conn) rulesChanged(_ context.Context, p proto.RulesChanged) (proto.Done, error) {
	return proto.Done{}, c.server.o.Sessions.SetRules(c, p.Session, p.Rules)
}

func (c *conn) runStart(ctx context.Context, p proto.RunStart) (*proto.RunDone, error) {
	caller, release, err := c.act(p.Origin.Session, p.Directory, p.Rules)
	if err != nil {
		return nil, err
	}
	defer release()
	r := RunRequest{Caller: caller, Bridge: c, Start: p}
	if c.greeted.Load().Events {
		r.OnFrame = func(f proto.Frame) {
			f.Call = p.Origin.Call // the host shows progress at its own tool call
			c.Event(f)
		}
	}
	return c.server.o.Work.Run(ctx, r)
}

func (c *conn) runCancel(ctx context.Context, p proto.RunCancel) (proto.Done, error) {
	return proto.Done{}, c.server.o.Work.CancelRun(ctx, c.speaker(nil, ""), p.Run, p.Reason)
}

func (c *conn) callStart(ctx context.Context, p proto.CallStart) (*proto.CallResult, error) {
	caller, release, err := c.act(p.Origin.Session, p.Directory, p.Rules)
	if err != nil {
		return nil, err
	}
	defer release()
	result, err := c.server.o.Work.Call(ctx, CallRequest{Caller: caller, Bridge: c, Start: p})
	if err != nil {
		return nil, err
	}
	// A plugin shows the text; the server's own bytes would cross for nothing.
	answer := *result
	answer.Raw = nil
	return &answer, nil
}

func (c *conn) statusGet(ctx context.Context, p proto.StatusGet) (*proto.SessionStatus, error) {
	caller, release, err := c.act(p.Session, "", nil)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.server.o.Work.Status(ctx, caller)
}

func (c *conn) catalogSearch(ctx context.Context, p proto.Search) (*proto.SearchResult, error) {
	caller, release, err := c.look(p.Session, p.Directory)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.server.o.Work.Search(ctx, caller, p)
}

func (c *conn) catalogGet(ctx context.Context, p proto.CatalogQuery) (*proto.Catalog, error) {
	caller, release, err := c.look(p.Session, p.Directory)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.server.o.Work.Catalog(ctx, caller, p)
}

func (c *conn) catalogTypes(ctx context.Context, p proto.TypesQuery) (*proto.Types, error) {
	caller, release, err := c.look(p.Session, p.Directory)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.server.o.Work.Types(ctx, caller, p)
}

// look is the caller for a look at the tools, which needs no session.
func (c *conn) look(session, dir string) (caller *peer.Caller, release func(), err error) {
	if session == "" {
		return c.speaker(nil, dir), func() {}, nil
	}
	return c.act(session, dir, nil)
}

func (c *conn) toolOutcome(_ context.Context, p proto.ToolOutcome) (proto.Done, error) {
	caller, release, err := c.act(p.Origin.Session, "", nil)
	if err != nil {
		return proto.Done{}, err
	}
	defer release()
	c.server.o.Work.Outcome(caller, p)
	return proto.Done{}, nil
}

func (c *conn) askShown(_ context.Context, p proto.AskShown) (proto.Done, error) {
	c.markShown(p.ID)
	return proto.Done{}, nil
}

// act is the caller for something done in the name of a session, which must
// have been attached by this bridge. The session is held until release.
func (c *conn) act(id, dir string, rules *proto.RuleList) (caller *peer.Caller, release func(), err error) {
	sessions := c.server.o.Sessions
	s, ok := sessions.Get(id)
	if !ok || !attachedBy(s, c) {
		return nil, nil, fault.New(fault.NotFound, "session %q is not attached by this bridge", id).
			WithHint("send %s first", proto.MethodAttach)
	}
	if rules != nil {
		if err := sessions.SetRules(c, id, *rules); err != nil {
			return nil, nil, err
		}
	}
	return c.speaker(s, dir), sessions.Ref(id), nil
}

func attachedBy(s *session.Session, c *conn) bool {
	for _, b := range s.Bridges() {
		if b == session.Bridge(c) {
			return true
		}
	}
	return false
}

// speaker is the caller of one request: the connection's process, speaking for
// a session, or for none.
func (c *conn) speaker(s *session.Session, dir string) *peer.Caller {
	h := c.greeted.Load()
	if dir == "" {
		dir = h.Directory
	}
	caller := *c.caller
	caller.Class, caller.Session, caller.Dir, caller.Config = peer.Agent, s, dir, h.Config
	caller.Env, caller.Surface, caller.Interactive = c.environment(nil), "bridge", h.Interactive
	if s != nil && s.Env() != nil {
		caller.Env = s.Env()
	}
	return &caller
}

// environment is the host's, with what a session adds.
func (c *conn) environment(more map[string]string) config.Env {
	env := config.Env{}
	maps.Copy(env, c.greeted.Load().Env)
	maps.Copy(env, more)
	return env
}
