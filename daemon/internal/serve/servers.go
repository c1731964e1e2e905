package serve

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/upstream/auth"
	"tenon/proto"
)

// servers serves the routes about the servers of a caller's view.
type servers struct{ d *daemon }

func (s servers) List(ctx context.Context, c *peer.Caller) ([]proto.Server, error) {
	view, err := s.d.view(c, "")
	if err != nil {
		return nil, err
	}
	c, release := s.seeing(c)
	defer release()
	var out []proto.Server
	for _, n := range catalog.Namespaces(view) {
		row, _ := s.row(ctx, c, view, n)
		out = append(out, row)
	}
	return out, nil
}

func (s servers) Get(ctx context.Context, c *peer.Caller, name string, learn bool) (*proto.Server, error) {
	view, n, err := s.find(c, name)
	if err != nil {
		return nil, err
	}
	c, release := s.seeing(c)
	defer release()
	if learn {
		leave, err := s.d.gate.Enter()
		if err != nil {
			return nil, err
		}
		s.d.calls.Listed(ctx, call.Request{Caller: c, Session: c.Session, View: view, Server: n.Server})
		leave()
	}
	row, list := s.row(ctx, c, view, n)
	if list != nil {
		for _, t := range list.Tools {
			row.Tools = append(row.Tools, describe(n.Namespace, t))
		}
	}
	return &row, nil
}

// describe is a tool with what is known of its results.
func describe(namespace string, t *catalog.Tool) proto.Tool {
	out := proto.Tool{
		Name: t.Name, Path: catalog.Path(namespace, t.Ident), Title: t.Title, Description: t.Description,
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
	}
	returns := t.Returns()
	out.Returns, out.Results = string(returns.From), returns.Results
	if returns.From != catalog.Unknown {
		out.ResultType = t.ResultType()
	}
	return out
}

func (s servers) Restart(ctx context.Context, c *peer.Caller, name string) (*proto.Server, error) {
	view, n, err := s.find(c, name)
	if err != nil {
		return nil, err
	}
	ended := s.d.pool.Restart(n.Server)
	s.d.log.Info("server restarted by the user", "server", n.Server, "instances", ended)
	row, _ := s.row(ctx, c, view, n)
	return &row, nil
}

// seeing is the caller in a session: lists of tools hang on what a call of its
// would use, so somebody without a session gets one for the look.
func (s servers) seeing(c *peer.Caller) (*peer.Caller, func()) {
	session, release := s.d.sessionOf(c, "")
	in := *c
	in.Session = session
	return &in, release
}

// find resolves a server's own name, or its namespace.
func (s servers) find(c *peer.Caller, name string) (*config.View, catalog.Named, error) {
	view, err := s.d.view(c, "")
	if err != nil {
		return nil, catalog.Named{}, err
	}
	named := catalog.Namespaces(view)
	for _, by := range []func(catalog.Named) bool{
		func(n catalog.Named) bool { return n.Server == name },
		func(n catalog.Named) bool { return n.Namespace == name },
	} {
		if i := slices.IndexFunc(named, by); i >= 0 {
			return view, named[i], nil
		}
	}
	e := fault.New(fault.NotFound, "no server is called %q here", name)
	if near := catalog.Nearest(name, view.Names(), 1); len(near) == 1 {
		return nil, catalog.Named{}, e.WithHint("did you mean %q?", near[0])
	}
	return nil, catalog.Named{}, e.WithHint("tenon ls lists the servers of this directory")
}

// row describes one server without starting or making anything.
func (s servers) row(ctx context.Context, c *peer.Caller, view *config.View, n catalog.Named) (proto.Server, *catalog.List) {
	srv := view.Servers[n.Server]
	row := proto.Server{
		Name: srv.Name, Namespace: n.Namespace, Status: "idle", Scope: string(srv.Scope), Kind: srv.Kind,
		Origin: fmt.Sprintf("%s:%d", srv.Origin.File, srv.Origin.Line), Command: srv.ShownCommand(), URL: srv.ShownURL(),
		MaxInstances: srv.MaxInstances, Warnings: slices.Clone(srv.Notes), Instances: []proto.Instance{},
	}
	if srv.Origin.Format != "" && srv.Origin.Format != config.FormatTenon {
		row.Origin += " (" + srv.Origin.Format + ")"
	}
	switch {
	case !srv.Enabled:
		row.Status = "disabled"
		return row, nil
	case srv.Untrusted:
		row.Status, row.Detail = "untrusted", "it is not started until you run tenon trust"
		return row, nil
	case srv.Problem != "":
		row.Status, row.Detail = "invalid", srv.Problem
		return row, nil
	}
	def, err := s.define(c, view, srv.Name)
	if err != nil {
		row.Status, row.Detail = "invalid", fault.From(err).Message
		return row, nil
	}
	st := s.d.pool.StatusOf(def.Template)
	row.Status, row.Restarts = st.State, st.Restarts
	switch {
	case st.Detail != "":
		row.Detail = st.Detail
	case s.d.waitsForAnswer(proto.Lease{Server: srv.Name}):
		row.Detail = "waits for an answer"
	}
	if t, ok := loginOf(def); ok {
		switch st := s.d.logins.Source(t).Status(); st.State {
		case auth.Needed:
			row.Status, row.Detail = "needs-auth", st.Detail+"; log in with: tenon auth "+srv.Name
		case auth.Limited:
			row.Warnings = append(row.Warnings, st.Detail+"; log in again with: tenon auth "+srv.Name)
		}
	}
	for _, i := range s.d.pool.Instances() {
		if i.Definition().Template == def.Template {
			row.Instances = append(row.Instances, i.Info())
			if _, revision, err := i.Tools(); err != nil && revision > 0 { // without any list it is said below
				row.Warnings = append(row.Warnings, "its newest list of tools cannot be used, the one before stays: "+fault.From(err).Message)
			}
			if problem := config.KindProblemIn(i.Records().Stderr); srv.Served != nil && problem != "" {
				row.Warnings = append(row.Warnings, "the last change is not in use: "+problem)
			}
		}
	}
	list := s.d.calls.Seen(ctx, call.Request{Caller: c, Session: c.Session, View: view, Server: srv.Name})
	if list == nil {
		return row, nil
	}
	row.ToolCount = len(list.Tools)
	row.Warnings = append(row.Warnings, list.Warnings...)
	if list.Problem != "" {
		row.Warnings = append(row.Warnings, list.Problem)
	}
	return row, list
}

// define expands a server for its template and for what is wrong with it. The
// private directory of a session is not made for that, so the definition is
// good for nothing else.
func (s servers) define(c *peer.Caller, view *config.View, name string) (*config.Definition, error) {
	env := c.Env
	if c.Session != nil && c.Session.Env() != nil {
		env = c.Session.Env()
	}
	return view.Define(name, env, config.Placeholders{
		Workspace:  c.Dir,
		SessionDir: func() (string, error) { return filepath.Join(s.d.o.Paths.Runtime, "sessions"), nil },
	})
}

// Search looks through the tools of every usable server; one that was never
// listed is started for that, once.
func (s servers) Search(ctx context.Context, c *peer.Caller, q proto.Search) (*proto.SearchResult, error) {
	req, release, err := s.look(c, q.Directory)
	if err != nil {
		return nil, err
	}
	defer release()
	found := s.d.calls.Search(ctx, req, q)
	return &found, nil
}

// Catalog is the budgeted text of what there is to call.
func (s servers) Catalog(ctx context.Context, c *peer.Caller, q proto.CatalogQuery) (*proto.Catalog, error) {
	req, release, err := s.look(c, q.Directory)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.d.calls.Catalog(ctx, req, q)
}

// Resources lists resources of one server or of all.
func (s servers) Resources(ctx context.Context, c *peer.Caller, q proto.OfferQuery) (*proto.Resources, error) {
	req, release, err := s.look(c, "")
	if err != nil {
		return nil, err
	}
	defer release()
	return s.d.calls.Resources(ctx, req, q)
}

// Templates lists templates of resources.
func (s servers) Templates(ctx context.Context, c *peer.Caller, q proto.OfferQuery) (*proto.ResourceTemplates, error) {
	req, release, err := s.look(c, "")
	if err != nil {
		return nil, err
	}
	defer release()
	return s.d.calls.Templates(ctx, req, q)
}

// Prompts lists prompts.
func (s servers) Prompts(ctx context.Context, c *peer.Caller, q proto.OfferQuery) (*proto.Prompts, error) {
	req, release, err := s.look(c, "")
	if err != nil {
		return nil, err
	}
	defer release()
	return s.d.calls.Prompts(ctx, req, q)
}

// Types declares tools in TypeScript.
func (s servers) Types(ctx context.Context, c *peer.Caller, q proto.TypesQuery) (*proto.Types, error) {
	req, release, err := s.look(c, q.Directory)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.d.calls.Types(ctx, req, q)
}

// look is the request of somebody who looks at the tools of a directory's view.
func (s servers) look(c *peer.Caller, dir string) (call.Request, func(), error) {
	view, err := s.d.view(c, dir)
	if err != nil {
		return call.Request{}, nil, err
	}
	c, release := s.seeing(c)
	return call.Request{Caller: c, Session: c.Session, View: view, Cwd: dir}, release, nil
}
