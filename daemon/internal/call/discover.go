package call

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/policy"
	"tenon/proto"
)

// firstLook bounds how long a search waits for servers that were never listed
// before; it happens once per definition.
const firstLook = 20 * time.Second

// Entries is what a caller sees of each usable server of the view, ordered by
// name. Servers that were never listed have no List, unless learn says to start
// and list them now. Request needs View, Session and Caller.
func (p *Path) Entries(ctx context.Context, req Request, learn bool) []catalog.Entry {
	return p.entries(ctx, req, func(catalog.Entry) bool { return learn })
}

// entries is Entries that starts and lists only the servers that learn picks.
func (p *Path) entries(ctx context.Context, req Request, learn func(catalog.Entry) bool) []catalog.Entry {
	var out []catalog.Entry
	for _, n := range catalog.Namespaces(req.View) {
		if Usable(req.View.Servers[n.Server]) {
			out = append(out, catalog.Entry{Server: n.Server, Namespace: n.Namespace, Pinned: req.View.Servers[n.Server].Pinned})
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, firstLook, fault.New(fault.TimeoutExceeded, "not listed within %s", firstLook))
	defer cancel()
	var listing sync.WaitGroup
	for i := range out {
		one := req
		one.Server = out[i].Server
		c := &call{p: p, req: &one}
		c.server = one.View.Servers[one.Server]
		if err := c.place(ctx); err != nil {
			continue // the call itself will say why
		}
		out[i].Also = catalog.Also(one.Server, p.o.Catalog.Offer(c.def.ID))
		out[i].List = p.akin.of(c.def, p.o.Catalog.For(c.def.ID, p.o.Leases.Bound(c.def.ID, c.key)))
		if out[i].List != nil || !learn(out[i]) {
			continue
		}
		listing.Add(1)
		go func() {
			defer listing.Done()
			out[i].List = p.akin.of(c.def, c.list(ctx))
			out[i].Also = catalog.Also(one.Server, p.o.Catalog.Offer(c.def.ID)) // it has said so by now
		}()
	}
	listing.Wait()
	return out
}

// list starts the server if it must and learns its tools; nil on failure.
func (c *call) list(ctx context.Context) *catalog.List {
	held, use, err := c.p.o.Leases.Take(ctx, lease.Request{
		Def: c.def, Scope: c.server.Scope, Key: c.key, Looks: true,
		Holder: lease.Holder{Session: c.session, Root: c.root, Run: c.req.Run, Dir: c.cwd},
	})
	if err != nil {
		c.p.log.Debug("server not listed", "server", c.server.Name, "error", err)
		return nil
	}
	defer use.Done()
	if err := c.ended(); err != nil {
		c.p.o.Leases.EndSession(c.session, err.Message)
		return nil
	}
	tools, revision, err := use.Tools(held)
	if err != nil && tools == nil {
		return nil
	}
	return c.p.o.Catalog.Learn(c.def.ID, use.Instance(), revision, tools)
}

// indexes keeps the search indexes of the newest sets of lists.
type indexes struct {
	mu    sync.Mutex
	known map[string]*catalog.Index
}

func (x *indexes) of(entries []catalog.Entry, scripts []catalog.Script) *catalog.Index {
	var key strings.Builder
	for _, s := range scripts {
		fmt.Fprintf(&key, "%q\n", s)
	}
	for _, e := range entries {
		key.WriteString(e.Server + "\x00" + e.Namespace + "\x00")
		if e.List != nil {
			key.WriteString(e.List.Fingerprint)
		}
		key.WriteByte('\n')
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if index := x.known[key.String()]; index != nil {
		return index
	}
	if x.known == nil || len(x.known) >= 64 {
		x.known = map[string]*catalog.Index{}
	}
	index := catalog.NewIndex(entries, scripts...)
	x.known[key.String()] = index
	return index
}

// Search finds tools of the view and saved scripts by words; see
// catalog.Index.Search. Only servers that can be in the answer are started:
// those of the namespace, or the one that an exact path names.
func (p *Path) Search(ctx context.Context, req Request, q proto.Search) proto.SearchResult {
	path, scripts := strings.TrimSpace(q.Query), p.scripts(ctx, req)
	index := p.indexes.of(p.entries(ctx, req, func(e catalog.Entry) bool {
		return inNamespace(e, q.Namespace) && names(path, e)
	}), scripts)
	if !index.Has(path) {
		index = p.indexes.of(p.entries(ctx, req, func(e catalog.Entry) bool { return inNamespace(e, q.Namespace) }), scripts)
	}
	return index.Search(q.Query, q.Namespace, q.Limit, q.Offset)
}

// scripts are the saved scripts that the caller may run.
func (p *Path) scripts(ctx context.Context, req Request) []catalog.Script {
	if p.o.Scripts == nil {
		return nil
	}
	return p.o.Scripts(ctx, req)
}

// inNamespace is whether a search narrowed to namespace looks into a server; an
// empty one looks into all.
func inNamespace(e catalog.Entry, namespace string) bool {
	return namespace == "" || namespace == e.Namespace || namespace == e.Server
}

// names is whether a path such as ns.tool, server/tool, ns["tool"] or a host's
// mcp__server__tool is one of this server's.
func names(path string, e catalog.Entry) bool {
	path = strings.TrimPrefix(path, "tools.")
	for _, name := range []string{e.Namespace, e.Server} {
		if rest, ok := strings.CutPrefix(path, name); ok && rest != "" && strings.ContainsRune("./[", rune(rest[0])) {
			return true
		}
	}
	return strings.HasPrefix(path, "mcp__"+e.Server+"__")
}

// Collisions finds the tools of a view that share a permission key, as far as
// their servers were listed; for tenon doctor.
func (p *Path) Collisions(ctx context.Context, req Request) []policy.Collision {
	var pairs [][2]string
	for _, e := range p.Entries(ctx, req, false) {
		if e.List == nil {
			continue
		}
		for _, t := range e.List.Tools {
			pairs = append(pairs, [2]string{e.Server, t.Name})
		}
	}
	return policy.Collisions(pairs)
}

// Listed is the list that a caller of one server sees; one that was never listed
// is started for that. Nil: it could not be started, which a call will explain.
func (p *Path) Listed(ctx context.Context, req Request) *catalog.List {
	if list := p.Seen(ctx, req); list != nil {
		return list
	}
	c := &call{p: p, req: &req}
	if c.server = req.View.Servers[req.Server]; c.server == nil || !Usable(c.server) {
		return nil
	}
	if err := c.place(ctx); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, firstLook, fault.New(fault.TimeoutExceeded, "not listed within %s", firstLook))
	defer cancel()
	return c.list(ctx)
}

// Seen is the list that a caller of one server sees now, without starting it;
// nil when it was never listed.
func (p *Path) Seen(ctx context.Context, req Request) *catalog.List {
	c := &call{p: p, req: &req}
	if c.server = req.View.Servers[req.Server]; c.server == nil {
		return nil
	}
	if err := c.place(ctx); err != nil {
		return nil
	}
	return p.o.Catalog.For(c.def.ID, p.o.Leases.Bound(c.def.ID, c.key))
}

// Usable reports whether a server of a view may be started at all.
func Usable(s *config.Server) bool { return s.Enabled && !s.Untrusted && s.Problem == "" }
