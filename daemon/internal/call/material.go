package call

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/upstream"
)

// What a Request.Method can be. Each takes the way of a tool's call, with its
// own name in the place of the tool's: permission keys are
// <server>_resources_read and <server>_prompts_get.
const (
	ReadResource = "resources/read" // arguments {uri}
	GetPrompt    = "prompts/get"    // arguments {name, arguments}
)

// methodApproved stands for a tool's fingerprint in a remembered approval: no
// tool has it, so that none of such a name is approved with it.
const methodApproved = "method"

// Bounds of one list of what a server offers.
const (
	MaxOffered      = 10_000  // entries
	maxOfferedBytes = 8 << 20 // of their JSON
	maxOfferedPages = 1_000
)

// listMethods are the requests that list each kind, and the member of the
// answer that holds the list.
var listMethods = map[catalog.Kind]struct{ method, member, key string }{
	catalog.Resources: {"resources/list", "resources", "uri"},
	catalog.Templates: {"resources/templates/list", "resourceTemplates", "uriTemplate"},
	catalog.Prompts:   {"prompts/list", "prompts", "name"},
}

// hello is what the server of a connection says of itself.
func hello(i upstream.Info) catalog.Hello {
	return catalog.Hello{Name: i.ServerName, Version: i.ServerVer, Instructions: i.Instructions, Capabilities: i.Capabilities}
}

// Meet takes in what the server of a connection says of itself.
func (p *Path) Meet(definition string, conn upstream.Conn) {
	if conn != nil {
		p.o.Catalog.Meet(definition, hello(conn.Info()))
	}
}

// Hello is what is known of a server from its starts; nil: it was never started.
func (p *Path) Hello(ctx context.Context, req Request) (*catalog.Hello, error) {
	c, err := p.located(ctx, req)
	if err != nil {
		return nil, err
	}
	if o := p.o.Catalog.Offer(c.def.ID); o != nil {
		return &o.Hello, nil
	}
	return nil, nil
}

// located is a call that has found its server and its place.
func (p *Path) located(ctx context.Context, req Request) (*call, error) {
	c := &call{p: p, req: &req}
	c.toolName = req.Method
	if c.server = p.serverOf(req); c.server == nil {
		return nil, unknownServer(req.View, req.Server)
	}
	if err := c.place(ctx); err != nil {
		return nil, c.explain(ctx, err)
	}
	return c, nil
}

// OfferedSeen is the newest list of a kind that is known of a server, which is
// not started; nil: it was never read. A server that offers nothing of the kind
// has an empty list.
func (p *Path) OfferedSeen(ctx context.Context, req Request, kind catalog.Kind) *catalog.OfferedList {
	c, err := p.located(ctx, req)
	if err != nil {
		return nil
	}
	return p.seenOffered(c, kind)
}

func (p *Path) seenOffered(c *call, kind catalog.Kind) *catalog.OfferedList {
	o := p.o.Catalog.Offer(c.def.ID)
	if o == nil {
		return nil
	}
	if !o.Hello.Offers(kind) {
		return catalog.NewOfferedList(nil, "")
	}
	return o.List(kind)
}

// Offered is a server's list of one kind. It is read from the server's instance
// where the caller has one, or if fresh is set; else what is known is enough, and
// a server is started only when nothing is. All pages are followed, within
// bounds: Cut says what stopped it. Errors are *fault.Error; a server that has
// nothing of the kind is none.
func (p *Path) Offered(ctx context.Context, req Request, kind catalog.Kind, fresh bool) (*catalog.OfferedList, error) {
	req.Method = listMethods[kind].method
	c, err := p.located(ctx, req)
	if err != nil {
		return nil, err
	}
	if !fresh && p.o.Leases.Bound(c.def.ID, c.key) == "" {
		if list := p.seenOffered(c, kind); list != nil {
			return list, nil
		}
	}
	var list *catalog.OfferedList
	err = c.holding(ctx, func(ctx context.Context, use Use) (err error) {
		if !hello(use.Conn().Info()).Offers(kind) {
			list = catalog.NewOfferedList(nil, "")
			return nil
		}
		list, err = c.pages(ctx, use, kind)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.o.Catalog.LearnOffered(c.def.ID, kind, list)
	return list, nil
}

// holding does something with an instance that is not a call: a list, for which
// there is no permission to ask and nothing to record.
func (c *call) holding(ctx context.Context, do func(ctx context.Context, use Use) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, firstLook,
		fault.New(fault.TimeoutExceeded, "server %s did not answer %s within %s", c.server.Name, c.toolName, firstLook))
	defer cancel()
	held, use, err := c.p.o.Leases.Take(ctx, lease.Request{
		Def: c.def, Scope: c.server.Scope, Key: c.key, Looks: true,
		Holder: lease.Holder{Session: c.session, Root: c.root, Run: c.req.Run, Dir: c.cwd},
	})
	if err != nil {
		return c.explain(ctx, err)
	}
	defer use.Done()
	if err := c.ended(); err != nil {
		c.p.o.Leases.EndSession(c.session, err.Message)
		return err
	}
	if use.Conn() == nil {
		return fault.New(fault.ServerUnavailable, "server %s went away", c.server.Name).At(c.server.Name, "").WithHint("it can be tried again")
	}
	c.p.Meet(c.def.ID, use.Conn())
	c.p.listening.join(held, c, use)
	if err := do(held, use); err != nil {
		return c.explain(held, err)
	}
	return nil
}

// request makes one request of a connection, under the limits of a call.
func (c *call) request(ctx context.Context, use Use, method string, params any) (json.RawMessage, error) {
	data, err := json.Marshal(params)
	if err != nil {
		return nil, fault.New(fault.InternalError, "%s cannot be written: %w", method, err)
	}
	return use.Conn().Call(ctx, upstream.Call{
		Tool: method, Method: method, Arguments: data, Timeout: c.limit(), Wall: c.server.CallWall, Owner: c.owner(),
	})
}

// owner is whom what the server logs meanwhile belongs to.
func (c *call) owner() string {
	if c.root != "" {
		return c.root
	}
	return c.session
}

// pages reads a list, page by page.
func (c *call) pages(ctx context.Context, use Use, kind catalog.Kind) (*catalog.OfferedList, error) {
	how := listMethods[kind]
	var list []catalog.Offered
	keys, cursors := map[string]bool{}, map[string]bool{}
	cursor, size := "", 0
	for page := 0; ; page++ {
		params := map[string]string{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, err := c.request(ctx, use, how.method, params)
		if err != nil {
			if page > 0 && ctx.Err() != nil {
				return catalog.NewOfferedList(list, fmt.Sprintf("the rest of %s did not come within %s", how.method, firstLook)), nil
			}
			if kind == catalog.Templates && page == 0 && fault.KindOf(err) == fault.NotFound {
				return catalog.NewOfferedList(nil, ""), nil // many servers with resources have no such method
			}
			return nil, err
		}
		var answer map[string]json.RawMessage
		var entries []json.RawMessage
		err = json.Unmarshal(raw, &answer)
		if err == nil && answer[how.member] != nil {
			err = json.Unmarshal(answer[how.member], &entries)
		}
		if err != nil {
			return nil, fault.New(fault.InvalidToolOutput, "server %s answered %s with something that is no list", c.server.Name, how.method).
				At(c.server.Name, "").Because(err)
		}
		for _, e := range entries {
			var named map[string]json.RawMessage
			var key string
			if json.Unmarshal(e, &named) != nil || json.Unmarshal(named[how.key], &key) != nil || key == "" || keys[key] {
				continue // nothing that could be asked for, or once more
			}
			if size += len(e); len(list) == MaxOffered || size > maxOfferedBytes {
				return catalog.NewOfferedList(list, fmt.Sprintf("only the first %d are listed: a list has at most %d entries and %d MiB", len(list), MaxOffered, maxOfferedBytes>>20)), nil
			}
			keys[key] = true
			list = append(list, catalog.Offered{Key: key, Raw: e})
		}
		next := ""
		_ = json.Unmarshal(answer["nextCursor"], &next) // one that is no string leads nowhere
		switch {
		case next == "":
			return catalog.NewOfferedList(list, ""), nil
		case cursors[next]:
			return catalog.NewOfferedList(list, fmt.Sprintf("%s gives the cursor %.40q again and again", how.method, next)), nil
		case page+1 == maxOfferedPages:
			return catalog.NewOfferedList(list, fmt.Sprintf("%s has more than %d pages", how.method, maxOfferedPages)), nil
		}
		cursors[next], cursor = true, next
	}
}

// OfferedBy is one server's part of a list over several.
type OfferedBy struct {
	Server, Namespace string
	List              *catalog.OfferedList // nil: Err says why
	Err               *fault.Error
}

// maxListed is how many servers are listed at once.
const maxListed = 8

// OfferedAll is Offered of every usable server of the view, ordered by name. One
// that cannot be listed says why, and does not take the others with it.
func (p *Path) OfferedAll(ctx context.Context, req Request, kind catalog.Kind) []OfferedBy {
	var out []OfferedBy
	for _, n := range catalog.Namespaces(req.View) {
		if Usable(req.View.Servers[n.Server]) {
			out = append(out, OfferedBy{Server: n.Server, Namespace: n.Namespace})
		}
	}
	places := make(chan struct{}, maxListed)
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			one := req
			one.Server = out[i].Server
			list, err := p.Offered(ctx, one, kind, false)
			out[i].List, out[i].Err = list, fault.From(err)
		})
	}
	all.Wait()
	return out
}

// whose finds the server that a URI or a prompt's name belongs to: the only one
// that lists it, else the only one with a template for it, else the only one
// that offers such things at all.
func (p *Path) whose(ctx context.Context, req Request, key string) (string, error) {
	kind, what := catalog.Resources, "resource"
	if req.Method == GetPrompt {
		kind, what = catalog.Prompts, "prompt"
	}
	pick := func(lists []OfferedBy, has func(l *catalog.OfferedList) bool) (found []string) {
		for _, l := range lists {
			if l.List != nil && has(l.List) {
				found = append(found, l.Server)
			}
		}
		return found
	}
	lists := p.OfferedAll(ctx, req, kind)
	found := pick(lists, func(l *catalog.OfferedList) bool { return l.Has(key) })
	if len(found) == 0 && kind == catalog.Resources {
		found = pick(p.OfferedAll(ctx, req, catalog.Templates), func(l *catalog.OfferedList) bool { return l.Fits(key) })
	}
	if len(found) == 0 && kind == catalog.Resources {
		for _, l := range lists {
			one := req
			one.Server = l.Server
			if h, err := p.Hello(ctx, one); err == nil && h != nil && h.Offers(kind) {
				found = append(found, l.Server)
			}
		}
		if len(found) > 1 {
			return "", fault.New(fault.NotFound, "no server lists the resource %q", clip(key, 200)).
				WithHint("name the server, one of %s: it may have it nevertheless", strings.Join(found, ", "))
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		e := fault.New(fault.NotFound, "no server here has the %s %q", what, clip(key, 200))
		var failed, known []string
		for _, l := range lists {
			if l.Err != nil {
				failed = append(failed, l.Server+": "+l.Err.Message)
				continue
			}
			for _, o := range l.List.List {
				known = append(known, o.Key)
			}
		}
		if near := catalog.Nearest(key, known, 3); len(near) > 0 {
			return "", e.WithHint("did you mean %s?", strings.Join(near, ", "))
		}
		if len(failed) > 0 {
			return "", e.WithHint("not all servers could be listed: %s", clip(strings.Join(failed, "; "), 400))
		}
		return "", e.WithHint("%ss.list() shows what there is", what)
	}
	slices.Sort(found)
	return "", fault.New(fault.InvalidToolInput, "the %s %q is offered by several servers: %s", what, clip(key, 200), strings.Join(found, ", ")).
		WithHint("name the one that is meant, for example {server: %q}", found[0])
}
