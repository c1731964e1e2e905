package call

import (
	"context"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
)

// Tools is the list of one server's tools that a caller sees. A server that was
// never listed is started for that, once per definition. Errors are *fault.Error
// that name the server: unlike Listed it says why there is no list.
func (p *Path) Tools(ctx context.Context, req Request) (*catalog.List, error) {
	c := &call{p: p, req: &req}
	if c.server = req.View.Servers[req.Server]; c.server == nil {
		return nil, unknownServer(req.View, req.Server)
	}
	switch s := c.server; {
	case s.Problem != "":
		return nil, fault.New(fault.ConfigError, "server %s cannot be used: %s", s.Name, s.Problem).At(s.Name, "")
	case s.Untrusted:
		return nil, fault.New(fault.ConfigError, "server %s is not trusted", s.Name).At(s.Name, "").WithHint("tenon trust shows what it would start")
	case !s.Enabled:
		return nil, fault.New(fault.ConfigError, "server %s is disabled", s.Name).At(s.Name, "").WithHint("set enabled to true in its configuration")
	}
	if err := c.place(ctx); err != nil {
		return nil, c.explain(ctx, err)
	}
	if list := p.o.Catalog.For(c.def.ID, p.o.Leases.Bound(c.def.ID, c.key)); list != nil {
		return list, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, firstLook,
		fault.New(fault.TimeoutExceeded, "server %s was not listed within %s", c.server.Name, firstLook))
	defer cancel()
	held, use, err := p.o.Leases.Take(ctx, lease.Request{
		Def: c.def, Scope: c.server.Scope, Key: c.key, Looks: true,
		Holder: lease.Holder{Session: c.session, Root: c.root, Dir: c.cwd},
	})
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	defer use.Done()
	if err := c.ended(); err != nil {
		p.o.Leases.EndSession(c.session, err.Message)
		return nil, err
	}
	tools, revision, err := use.Tools(held)
	if err != nil && tools == nil {
		return nil, c.explain(held, err)
	}
	return p.o.Catalog.Learn(c.def.ID, use.Instance(), revision, tools), nil
}
