package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tenon/proto"
)

// get reads one document.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	err := c.Do(ctx, "GET", path, nil, &out)
	return out, err
}

// Health is the daemon's hello; it starts a daemon like every other request.
func (c *Client) Health(ctx context.Context) (proto.Health, error) {
	return get[proto.Health](ctx, c, "/v1/health")
}

// Status is the state of the whole daemon.
func (c *Client) Status(ctx context.Context) (proto.Status, error) {
	return get[proto.Status](ctx, c, "/v1/status")
}

// Caller is who the daemon takes us for.
func (c *Client) Caller(ctx context.Context) (proto.CallerInfo, error) {
	return get[proto.CallerInfo](ctx, c, "/v1/caller")
}

// Servers lists the servers of our directory.
func (c *Client) Servers(ctx context.Context) ([]proto.Server, error) {
	return get[[]proto.Server](ctx, c, "/v1/servers")
}

// Server is one server with its tools, as far as they are known.
func (c *Client) Server(ctx context.Context, name string) (proto.Server, error) {
	return get[proto.Server](ctx, c, "/v1/servers/"+url.PathEscape(name))
}

// LearntServer is Server after one that was never listed was started for that.
func (c *Client) LearntServer(ctx context.Context, name string) (proto.Server, error) {
	return get[proto.Server](ctx, c, "/v1/servers/"+url.PathEscape(name)+"?learn=true")
}

// RestartServer ends the instances of a server and clears its crash loop.
func (c *Client) RestartServer(ctx context.Context, name string) (proto.Server, error) {
	var out proto.Server
	err := c.Do(ctx, "POST", "/v1/servers/"+url.PathEscape(name)+"/restart", nil, &out)
	return out, err
}

// Catalog is the catalogue of our directory within a budget of tokens, or what
// changed since the one with the fingerprint since.
func (c *Client) Catalog(ctx context.Context, q proto.CatalogQuery) (proto.Catalog, error) {
	v := url.Values{}
	if q.Budget > 0 {
		v.Set("budget", strconv.Itoa(q.Budget))
	}
	if q.Since != "" {
		v.Set("since", q.Since)
	}
	if q.NoStart {
		v.Set("noStart", "true")
	}
	return get[proto.Catalog](ctx, c, "/v1/catalog?"+v.Encode())
}

// Types declares the tools at the paths in TypeScript; none mean all.
func (c *Client) Types(ctx context.Context, paths []string) (proto.Types, error) {
	return get[proto.Types](ctx, c, "/v1/types?"+url.Values{"path": paths}.Encode())
}

// Search finds tools.
func (c *Client) Search(ctx context.Context, s proto.Search) (proto.SearchResult, error) {
	q := url.Values{"query": {s.Query}}
	if s.Namespace != "" {
		q.Set("namespace", s.Namespace)
	}
	if s.Limit > 0 {
		q.Set("limit", strconv.Itoa(s.Limit))
	}
	if s.Offset > 0 {
		q.Set("offset", strconv.Itoa(s.Offset))
	}
	return get[proto.SearchResult](ctx, c, "/v1/search?"+q.Encode())
}

// Sessions lists live sessions.
func (c *Client) Sessions(ctx context.Context) ([]proto.Session, error) {
	return get[[]proto.Session](ctx, c, "/v1/sessions")
}

// CreateSession makes or joins a named session.
func (c *Client) CreateSession(ctx context.Context, r proto.SessionCreate) (proto.SessionTicket, error) {
	var out proto.SessionTicket
	err := c.Do(ctx, "POST", "/v1/sessions", r, &out)
	return out, err
}

// EndSession ends a session and what it holds.
func (c *Client) EndSession(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", "/v1/sessions/"+url.PathEscape(id), nil, nil)
}

// Leases lists bindings and those who wait for one.
func (c *Client) Leases(ctx context.Context) ([]proto.Lease, error) {
	return get[[]proto.Lease](ctx, c, "/v1/leases")
}

// Release ends a binding and its instance.
func (c *Client) Release(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", "/v1/leases/"+url.PathEscape(id), nil, nil)
}

// RunFilter selects runs.
type RunFilter struct {
	Session string
	Live    bool
	Status  string    // running, ok, failed, cancelled, lost
	Since   time.Time // begun then or later
	Server  string    // that called it
	Tool    string    // that called a tool of that name
	Limit   int       // 0: the daemon's default
}

// Runs lists runs, newest first.
func (c *Client) Runs(ctx context.Context, f RunFilter) ([]proto.Run, error) {
	q := url.Values{}
	if f.Session != "" {
		q.Set("session", f.Session)
	}
	if f.Live {
		q.Set("live", "true")
	}
	for name, text := range map[string]string{"status": f.Status, "server": f.Server, "tool": f.Tool, "since": moment(f.Since)} {
		if text != "" {
			q.Set(name, text)
		}
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return get[[]proto.Run](ctx, c, "/v1/runs?"+q.Encode())
}

// moment is a time as the daemon reads it; the zero time is empty.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// RunStats counts what came of calls and runs, by tool, server, script or kind
// of failure (empty: tool); of those begun since then, or of all.
func (c *Client) RunStats(ctx context.Context, by string, since time.Time) (proto.RunStats, error) {
	q := url.Values{}
	if by != "" {
		q.Set("by", by)
	}
	if text := moment(since); text != "" {
		q.Set("since", text)
	}
	return get[proto.RunStats](ctx, c, "/v1/runs/stats?"+q.Encode())
}

// Run is one run with its result.
func (c *Client) Run(ctx context.Context, id string) (proto.Run, error) {
	return get[proto.Run](ctx, c, "/v1/runs/"+url.PathEscape(id))
}

// Output gives a run's whole output, or one artifact of it, and its media
// type. The caller closes it.
func (c *Client) Output(ctx context.Context, id, artifact string) (io.ReadCloser, string, error) {
	path := "/v1/runs/" + url.PathEscape(id) + "/output"
	if artifact != "" {
		path += "?artifact=" + url.QueryEscape(artifact)
	}
	res, err := c.Open(ctx, http.MethodGet, path, nil, "*/*")
	if err != nil {
		return nil, "", err
	}
	return res.Body, res.Header.Get("Content-Type"), nil
}

// CancelRun ends a run.
func (c *Client) CancelRun(ctx context.Context, id string) error {
	return c.Do(ctx, "POST", "/v1/runs/"+url.PathEscape(id)+"/cancel", nil, nil)
}

// Approvals lists the questions that wait for a human.
func (c *Client) Approvals(ctx context.Context) ([]proto.Approval, error) {
	return get[[]proto.Approval](ctx, c, "/v1/approvals")
}

// Answer settles a question.
func (c *Client) Answer(ctx context.Context, id string, r proto.ApprovalReply) error {
	return c.Do(ctx, "POST", "/v1/approvals/"+url.PathEscape(id), r, nil)
}

// Reply answers what a server asks in the middle of a call.
func (c *Client) Reply(ctx context.Context, id string, a proto.Answer) error {
	return c.Do(ctx, "POST", "/v1/questions/"+url.PathEscape(id), a, nil)
}

// Trust trusts a directory's project files, or the user's own looser permissions.
func (c *Client) Trust(ctx context.Context, r proto.TrustRequest) (proto.TrustResult, error) {
	var out proto.TrustResult
	err := c.Do(ctx, "POST", "/v1/trust", r, &out)
	return out, err
}

// Presets are the dials in effect and the names for combinations of them.
func (c *Client) Presets(ctx context.Context) (proto.Presets, error) {
	return get[proto.Presets](ctx, c, "/v1/presets")
}

// UsePreset writes a preset's dials into the user's configuration.
func (c *Client) UsePreset(ctx context.Context, r proto.PresetUse) (proto.PresetUsed, error) {
	var out proto.PresetUsed
	err := c.Do(ctx, "POST", "/v1/presets", r, &out)
	return out, err
}

// Stop asks the daemon to end; WaitGone returns when it has.
func (c *Client) Stop(ctx context.Context, r proto.StopRequest) (proto.StopResult, error) {
	var out proto.StopResult
	err := c.Do(ctx, "POST", "/v1/stop", r, &out)
	return out, err
}
