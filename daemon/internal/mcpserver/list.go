package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// entry is one tool of a list.
type entry struct {
	name string // as the client calls it
	at   catalog.Named
	tool *catalog.Tool
}

// tools answers tools/list, a page of it.
func (x *exchange) tools(cursor string) (mcp.Result, error) {
	if x.c.mode.code() {
		if cursor != "" {
			return nil, stale()
		}
		return page(codeTools(), "")
	}
	list, err := x.entries()
	if err != nil {
		return nil, err
	}
	x.remember()
	from := 0
	if cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return nil, stale()
		}
		at := slices.IndexFunc(list, func(e entry) bool { return e.name == string(after) })
		if at < 0 {
			return nil, stale()
		}
		from = at + 1
	}
	to := min(from+PageSize, len(list))
	next := ""
	if to < len(list) {
		next = base64.RawURLEncoding.EncodeToString([]byte(list[to-1].name))
	}
	out := make([]upstream.Tool, 0, to-from)
	for _, e := range list[from:to] {
		t := e.tool.Tool // its schemas stay byte for byte
		t.Name = e.name
		if len(t.InputSchema) == 0 || !json.Valid(t.InputSchema) {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		t.OutputSchema = objectSchema(t.OutputSchema)
		if !json.Valid(t.Annotations) {
			t.Annotations = nil
		}
		out = append(out, t)
	}
	return page(out, next)
}

func stale() error {
	return fault.New(fault.UsageError, "the cursor is not one of this list as it is now").WithHint("list from the beginning")
}

// page is a result of tools/list.
func page(tools any, next string) (mcp.Result, error) {
	return written(struct {
		Tools any    `json:"tools"`
		Next  string `json:"nextCursor,omitempty"`
	}{tools, next})
}

// written is a result that has the fields of v and no others.
func written(v any) (mcp.Result, error) {
	data, err := proto.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.InternalError, "cannot write the answer: %w", err)
	}
	return &raw{json: data}, nil
}

// request is what is common to all that is asked of the path.
func (x *exchange) request(server string) call.Request {
	return call.Request{Caller: x.caller, Session: x.caller.Session, View: x.view, Server: server, Listener: x.c.ear}
}

// entries are the tools of the connection's mode. A server that cannot be listed
// fails the whole list: one that lacks some tools would pass for complete.
func (x *exchange) entries() ([]entry, error) {
	servers := listable(x.view)
	if m := x.c.mode; m.server != "" {
		name := serverOf(x.view, m.server)
		if name == "" {
			return nil, x.c.s.check(x.caller, m)
		}
		servers = []catalog.Named{{Server: name}}
	}
	lists := make([]*catalog.List, len(servers))
	failed := make([]error, len(servers))
	var all sync.WaitGroup
	for i, at := range servers {
		all.Go(func() { lists[i], failed[i] = x.c.s.o.Path.Tools(x.ctx, x.request(at.Server)) })
	}
	all.Wait()
	for i, err := range failed {
		if err == nil {
			continue
		}
		e := *fault.From(err)
		e.Message = "the tools of server " + servers[i].Server + " cannot be listed: " + e.Message
		return nil, &e
	}
	if x.c.mode.server != "" {
		var out []entry
		for _, t := range lists[0].Tools {
			out = append(out, entry{t.Name, servers[0], t})
		}
		return out, nil
	}
	return flatten(servers, lists), nil
}

// flatten names the tools of all servers in one list, ordered by name. A name
// hangs on its server's namespace and its own alone; two that would be the same
// are told apart by their digests.
func flatten(servers []catalog.Named, lists []*catalog.List) []entry {
	var out []entry
	count := map[string]int{}
	for i, at := range servers {
		if lists[i] == nil {
			continue
		}
		for _, t := range lists[i].Tools {
			e := entry{catalog.FlatName(at.Namespace, t.Name), at, t}
			count[e.name]++
			out = append(out, e)
		}
	}
	for i, e := range out {
		if count[e.name] > 1 {
			out[i].name = catalog.FlatNameDigest(e.at.Namespace, e.tool.Name)
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return out
}

// remember notes what the client has listed, so that it can be told of a change.
func (x *exchange) remember() {
	now := x.digest()
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	x.c.shown, x.c.lister = now, x.caller
}

// digest is that of the lists which the client sees, without starting a server.
func (x *exchange) digest() string {
	sum := sha256.New()
	for _, at := range listable(x.view) {
		if m := x.c.mode; m.server != "" && at.Server != serverOf(x.view, m.server) {
			continue
		}
		sum.Write([]byte(at.Server + "\x00" + at.Namespace + "\x00"))
		if list := x.c.s.o.Path.Seen(x.ctx, x.request(at.Server)); list != nil {
			sum.Write([]byte(list.Fingerprint))
		}
		sum.Write([]byte{'\n'})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// announceSoon announces beside whatever else the server does: a client that does
// not read holds up its own news only.
func (c *conn) announceSoon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.telling {
		c.news = true
		return
	}
	c.telling = true
	c.s.work.Go(func() {
		for {
			c.announce()
			c.mu.Lock()
			if !c.news {
				c.telling = false
				c.mu.Unlock()
				return
			}
			c.news = false
			c.mu.Unlock()
		}
	})
}

// announce tells the client if what it has listed is another list now.
func (c *conn) announce() {
	c.mu.Lock()
	shown, lister, offers := c.shown, c.lister, maps.Clone(c.offers)
	c.mu.Unlock()
	if lister == nil || c.life.Err() != nil {
		return // it has listed nothing yet
	}
	ctx, cancel := context.WithTimeout(c.life, rootsWait)
	defer cancel()
	if view, err := c.s.o.View(lister); err == nil {
		x := &exchange{c: c, ctx: ctx, caller: lister, view: view}
		for kind, digest := range offers {
			if now := x.offersDigest(kind); now != digest {
				c.mu.Lock()
				c.offers[kind] = now
				c.mu.Unlock()
				c.tellOffers(kind)
			}
		}
		if shown == "" || x.digest() == shown {
			return
		}
	}
	c.tell()
}

// tell sends the notifications of a changed list. The SDK sends one whenever
// something is entered; what it has entered is never shown.
func (c *conn) tell() {
	if !c.mode.code() {
		c.sdk.AddTool(&mcp.Tool{Name: "tenon", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		return
	}
	c.sdk.AddResource(&mcp.Resource{URI: catalogURI, Name: "catalog"}, nil)
	c.mu.Lock()
	var watched []string
	for uri := range c.watched {
		watched = append(watched, uri)
	}
	c.mu.Unlock()
	for _, uri := range watched {
		ctx, cancel := context.WithTimeout(c.life, rootsWait)
		_ = c.sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // the client may be gone
		cancel()
	}
}
