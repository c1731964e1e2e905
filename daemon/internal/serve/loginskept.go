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

// orphan is a login on disk that no server of the view has, by the name under which a
// logout finds it.
type orphan struct {
	name string
	auth.Kept
}

// orphans are the logins of servers that were renamed, moved or removed, or belong
// to other projects. A name that is not the login's alone gives way to its id.
func (l logins) orphans(c *peer.Caller, view *config.View) ([]orphan, error) {
	var targets []auth.Target
	taken := map[string]int{}
	for _, n := range catalog.Namespaces(view) {
		taken[n.Server]++
		if n.Namespace != n.Server {
			taken[n.Namespace]++
		}
		def, err := servers(l).define(c, view, n.Server)
		if err != nil {
			continue // it cannot be told which file is its own
		}
		if t, ok := loginOf(def); ok {
			targets = append(targets, t)
		}
	}
	kept, err := l.d.logins.Kept(targets)
	if err != nil {
		return nil, fault.New(fault.InternalError, "the logins on disk cannot be listed: %w", err)
	}
	for _, k := range kept {
		taken[k.Server]++
	}
	out := make([]orphan, len(kept))
	for i, k := range kept {
		out[i] = orphan{k.Server, k}
		// No request is about the name of a step in a path.
		if k.Server == "" || k.Server == "." || k.Server == ".." || taken[k.Server] > 1 {
			out[i].name = k.ID
		}
	}
	return out, nil
}

// row says of a login what can be told without a server.
func (o orphan) row() proto.Login {
	row := proto.Login{
		Server: o.name, URL: o.Origin, State: "unconfigured", Issuer: o.Issuer, Scopes: o.Scopes, Refreshes: o.Refreshes,
		Detail: "no server here has this login: it was renamed, moved or removed, or is another project's",
	}
	switch {
	case o.Server == "":
		row.Detail = "this file makes no sense"
	case o.Server != o.name:
		row.Detail = "once of " + o.Server + "; " + row.Detail
	}
	if !o.Expires.IsZero() {
		row.Expires = o.Expires.UTC().Format(time.RFC3339)
	}
	return row
}

// endOrphan logs out of what no server has; found is false where there is no login of
// that name, or beginning of an id.
func (l logins) endOrphan(ctx context.Context, c *peer.Caller, name string) (out *proto.LoginEnded, found bool, err error) {
	view, err := l.d.view(c, "")
	if err != nil {
		return nil, false, err
	}
	all, err := l.orphans(c, view)
	if err != nil {
		return nil, false, err
	}
	var meant []orphan
	for _, o := range all {
		if o.name == name || o.Server == name || len(name) >= 6 && strings.HasPrefix(o.ID, name) {
			meant = append(meant, o)
		}
	}
	switch len(meant) {
	case 0:
		return nil, false, nil
	case 1:
	default:
		return nil, true, fault.New(fault.UsageError, "%d logins are called %q", len(meant), name).
			WithHint("tenon auth status names each by its id")
	}
	ended, err := l.d.logins.Forget(ctx, meant[0].Kept)
	if err != nil {
		return nil, true, err
	}
	row := meant[0].row()
	row.Expires, row.Refreshes, row.Detail = "", false, ""
	return &proto.LoginEnded{Ended: ended, Login: row}, true, nil
}
