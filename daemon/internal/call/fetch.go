package call

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/outbound"
	"tenon/proto"
)

// WebFetch is the permission key of requests that programs make with fetch: the
// one that opencode has for its own tool of that kind. They stand under this name
// where a call has that of its server.
const WebFetch = "webfetch"

// fetchLine says in the catalogue that a program has fetch, and for what.
func fetchLine(v *config.View) string {
	hosts := v.Permissions.Net.Allow
	if len(hosts) == 0 {
		return ""
	}
	const most = 20
	text := strings.Join(hosts[:min(len(hosts), most)], ", ")
	if len(hosts) > most {
		text += fmt.Sprintf(" and %d more", len(hosts)-most)
	}
	return "\nfetch(url, init) reaches " + text + ".\n"
}

// fetchIdle is how long a request may get nothing, where nothing is said.
const fetchIdle = time.Minute

// Fetch makes one HTTP request of a program, on the same path as a call as far as
// there is one: permission, consent where it says ask, intent, request, outcome.
// Each redirect to another host is asked for anew. Of the request, Server, Tool
// and Args are not used; OnStart hears "webfetch" and "METHOD host". Errors are
// those of [outbound.Network.Do] and of permissions, as *fault.Error.
func (p *Path) Fetch(ctx context.Context, req Request, r outbound.Request) (*outbound.Response, error) {
	c := &call{p: p, req: &req, began: time.Now()}
	name, shown := outbound.Describe(r)
	c.name(name, shown)
	res, err := c.fetch(ctx, r)
	failure := fault.From(err)
	if failure != nil && failure.Server == "" {
		named := *failure
		named.Server, named.Tool = WebFetch, c.toolName
		failure = &named
	}
	status, size := 0, 0
	if res != nil {
		status, size = res.Status, len(res.Body)
	}
	c.args = fetchRecord(r.Method, shown, status, size)
	for _, w := range c.warnings {
		if req.OnWarn != nil {
			req.OnWarn(w)
		}
	}
	c.finish(failure)
	if failure != nil {
		return nil, failure
	}
	return res, nil
}

// name says what the request is called, as far as it stands in the place of a
// call of a tool.
func (c *call) name(tool, url string) {
	c.server, c.def, c.toolName, c.web = &config.Server{Name: WebFetch}, &config.Definition{}, tool, url
	if s := c.req.Session; s != nil {
		c.session, c.root = s.ID, s.Root()
	}
}

func (c *call) fetch(ctx context.Context, r outbound.Request) (res *outbound.Response, err error) {
	net := c.req.View.Permissions.Net
	allow, err := outbound.ParseAllow(net.Allow, net.Private)
	if err != nil {
		return nil, err
	}
	if c.p.o.Network == nil || allow.Empty() {
		return nil, fault.New(fault.PermissionDenied, "fetch may reach no host").WithHint("the user names hosts in net.allow of their own configuration")
	}
	terms := outbound.Terms{Allow: allow, Limit: net.MaxResponse, Idle: c.req.Timeout, Before: func(ctx context.Context, s outbound.Step) error {
		return c.step(ctx, s, r.Body)
	}}
	if terms.Idle <= 0 {
		terms.Idle = fetchIdle
	}
	c.wait(WaitTool, &c.times.Tool, func() { res, err = c.p.o.Network.Do(ctx, r, terms) })
	return res, err
}

// step decides about one request that is about to go out: the first, and each
// that a redirect sends somewhere else.
func (c *call) step(ctx context.Context, s outbound.Step, body []byte) error {
	if err := c.ended(); err != nil {
		return err
	}
	if now := c.p.o.Current(c.req.View); now != nil && now.Hash != c.req.View.Hash {
		newest, err := outbound.ParseAllow(now.Permissions.Net.Allow, now.Permissions.Net.Private)
		if err != nil {
			return err
		}
		if err := newest.Check(s.URL); err != nil {
			return err // the user has taken the host away since
		}
	}
	c.name(s.Method+" "+s.Place, s.URL.String())
	c.granted = nil // it was for another host
	c.args = fetchShown(s, body)
	if c.req.OnStart != nil {
		c.req.OnStart(WebFetch, c.toolName)
	}
	if err := c.permit(ctx); err != nil {
		return err
	}
	if c.intentID == 0 {
		c.begin("")
	}
	return nil
}

// shownBody is how much of a body a question shows, in bytes.
const shownBody = 1 << 10

// fetchShown is what a person is asked about.
func fetchShown(s outbound.Step, body []byte) json.RawMessage {
	about := map[string]any{"method": s.Method, "url": s.URL.String()}
	switch {
	case len(body) == 0 || s.Method == http.MethodGet || s.Method == http.MethodHead:
	case utf8.Valid(body):
		about["body"] = clip(string(body), shownBody)
	default:
		about["body"] = fmt.Sprintf("%d bytes", len(body))
	}
	return marshalled(about)
}

// fetchRecord is what history keeps of a request in the place of arguments.
func fetchRecord(method, url string, status, size int) json.RawMessage {
	about := map[string]any{"method": method, "url": url}
	if status != 0 {
		about["status"], about["bytes"] = status, size
	}
	return marshalled(about)
}

func marshalled(v map[string]any) json.RawMessage {
	text, err := proto.Marshal(v)
	if err != nil { // strings and numbers always marshal
		return json.RawMessage("{}")
	}
	return text
}
