package serve

import (
	"context"
	"strings"
	"time"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/upstream/auth"
	"tenon/proto"
)

// logins serves the routes about logins to remote servers.
type logins struct{ d *daemon }

// loginOf is what a server is logged in to with; false where its requests carry
// no token of ours: it is a process, its entry says so, or its headers hold the
// credentials already.
func loginOf(def *config.Definition) (auth.Target, bool) {
	if def.URL == "" {
		return auth.Target{}, false
	}
	for name := range def.Headers {
		if strings.EqualFold(name, "Authorization") {
			return auth.Target{}, false
		}
	}
	t := auth.Target{Server: def.Server.Name, URL: def.URL, Header: def.Headers}
	if o := def.OAuth; o != nil {
		if o.Off {
			return auth.Target{}, false
		}
		t.ClientID, t.ClientSecret, t.Document = o.ClientID, o.ClientSecret, o.Document
		t.Scope, t.Redirect, t.Metadata = o.Scope, o.Redirect, o.Metadata
	}
	return t, true
}

// List tells of each remote server of the caller's view, and whoever may log out of
// the logins that are left of others.
func (l logins) List(_ context.Context, c *peer.Caller) ([]proto.Login, error) {
	view, err := l.d.view(c, "")
	if err != nil {
		return nil, err
	}
	var out []proto.Login
	for _, n := range catalog.Namespaces(view) {
		if view.Servers[n.Server].URL != "" {
			out = append(out, l.row(c, view, n.Server))
		}
	}
	if c.May(peer.Auth) != nil {
		return out, nil
	}
	orphans, err := l.orphans(c, view)
	for _, o := range orphans {
		out = append(out, o.row())
	}
	return out, err
}

// row is how one server's login stands.
func (l logins) row(c *peer.Caller, view *config.View, name string) proto.Login {
	row := proto.Login{Server: name, URL: view.Servers[name].ShownURL(), State: "off"}
	def, err := servers(l).define(c, view, name)
	if err != nil {
		row.Detail = fault.From(err).Message
		return row
	}
	t, ok := loginOf(def)
	if !ok {
		row.Detail = "its entry has its own credentials, or oauth: false"
		return row
	}
	st := l.d.logins.Source(t).Status()
	row.State, row.Issuer, row.Client, row.Scopes = string(st.State), st.Issuer, st.Client, st.Scopes
	row.Refreshes, row.Detail = st.Refreshes, st.Detail
	if !st.Expires.IsZero() {
		row.Expires = st.Expires.UTC().Format(time.RFC3339)
	}
	return row
}

// find is the login of a server that the caller's view names.
func (l logins) find(c *peer.Caller, name string) (*config.View, string, *auth.Source, error) {
	view, n, err := servers(l).find(c, name)
	if err != nil {
		return nil, "", nil, err
	}
	def, err := servers(l).define(c, view, n.Server)
	if err != nil {
		return nil, "", nil, err
	}
	l.d.history.Redactor().Add(def.Secrets...)
	t, ok := loginOf(def)
	if !ok {
		e := fault.New(fault.ConfigError, "server %s takes no login", n.Server).At(n.Server, "")
		switch {
		case def.URL == "":
			return nil, "", nil, e.WithHint("only servers with a url do: this one is a process")
		case def.OAuth != nil && def.OAuth.Off:
			return nil, "", nil, e.WithHint("its entry says oauth: false")
		}
		return nil, "", nil, e.WithHint("its entry has an Authorization header of its own")
	}
	return view, n.Server, l.d.logins.Source(t), nil
}

// Start logs in.
func (l logins) Start(ctx context.Context, c *peer.Caller, name string, r proto.LoginStart, told func(proto.LoginPrompt)) (*proto.Login, error) {
	view, server, source, err := l.find(c, name)
	if err != nil {
		return nil, err
	}
	_, err = source.Login(ctx, auth.Flow(r.Flow), func(p auth.Prompt) {
		told(proto.LoginPrompt{
			Flow: string(p.Flow), URL: p.URL, Code: p.Code, Complete: p.Complete, Expires: p.Expires.UTC().Format(time.RFC3339),
		})
	})
	if err != nil {
		return nil, err
	}
	row := l.row(c, view, server)
	return &row, nil
}

// End logs out: of a server of the view that takes a login, else of what is left of
// another.
func (l logins) End(ctx context.Context, c *peer.Caller, name string) (*proto.LoginEnded, error) {
	view, server, source, err := l.find(c, name)
	if err != nil {
		if ended, found, orphanErr := l.endOrphan(ctx, c, name); found {
			return ended, orphanErr
		}
		return nil, err
	}
	ended, err := source.Logout(ctx)
	if err != nil {
		return nil, err
	}
	return &proto.LoginEnded{Ended: ended, Login: l.row(c, view, server)}, nil
}
