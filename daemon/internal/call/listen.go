package call

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

// Listener is one client that hears what servers say beside their answers: that
// a list or a resource changed, and what they log. It hears of an instance from
// its first use of it on. Each client has levels and subscriptions of its own; a
// server is told what all of them want together.
type Listener struct {
	at   *listening
	hear func(server string, n upstream.Notice)

	level string                     // guarded by at.mu; what it wants to be logged; empty: it never said
	uris  map[string]map[string]bool // guarded by at.mu; by server: what it subscribed to
	gone  bool                       // guarded by at.mu
}

// MaxSubscribed bounds what one client subscribes to.
const MaxSubscribed = 256

// listening are the listeners of all instances. No server is asked under mu.
type listening struct {
	mu       sync.Mutex
	stations map[string]*station // guarded by mu; by instance id
}

// station is one instance, as far as anybody listens to it.
type station struct {
	server string
	own    bool                          // its scope is a session: nobody else's calls come here
	ears   map[*Listener]string          // and the session of each
	uris   map[string]map[*Listener]bool // who subscribed to what
	wants  chan struct{}                 // one place: who tells the server what is wanted
	level  string                        // told to the server; guarded by wants
	told   map[string]bool               // subscribed to; guarded by wants
}

// Listen makes a listener; pair with Close. hear must not block.
func (p *Path) Listen(hear func(server string, n upstream.Notice)) *Listener {
	return &Listener{at: &p.listening, hear: hear, uris: map[string]map[string]bool{}}
}

// join makes a caller's listener hear the instance that it uses, and tells the
// server what is wanted of it now.
func (l *listening) join(ctx context.Context, c *call, use Use) {
	ear := c.req.Listener
	if ear == nil {
		return
	}
	if conn := use.Conn(); conn == nil || isDone(conn.Done()) {
		return // Gone may have been told already
	}
	l.mu.Lock()
	st := l.stations[use.Instance()]
	if st == nil {
		st = &station{
			server: c.server.Name, own: c.server.Scope == config.Session, ears: map[*Listener]string{},
			uris: map[string]map[*Listener]bool{}, wants: make(chan struct{}, 1), told: map[string]bool{},
		}
		if l.stations == nil {
			l.stations = map[string]*station{}
		}
		l.stations[use.Instance()] = st
	}
	_, known := st.ears[ear]
	if ear.gone {
		l.mu.Unlock()
		return
	}
	st.ears[ear] = c.owner()
	var again []string
	for uri := range ear.uris[st.server] {
		if st.uris[uri] == nil {
			st.uris[uri] = map[*Listener]bool{}
		}
		if !st.uris[uri][ear] {
			st.uris[uri][ear] = true
			if !known {
				again = append(again, uri)
			}
		}
	}
	l.mu.Unlock()
	if l.settle(ctx, c, st, use) != nil {
		return // the next use tries again
	}
	for _, uri := range again { // another instance than the one it subscribed at: what it knows may be old
		ear.hear(st.server, updated(uri))
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func updated(uri string) upstream.Notice {
	params, _ := json.Marshal(map[string]string{"uri": uri}) // a text always marshals
	return upstream.Notice{Method: upstream.NoticeResourceUpdated, Params: params}
}

// levels of log messages, the least first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wanted is what all listeners of a station want together.
func (l *listening) wanted(st *station) (level string, uris map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ear := range st.ears {
		if ear.level != "" && (level == "" || slices.Index(levels, ear.level) < slices.Index(levels, level)) {
			level = ear.level
		}
	}
	uris = map[string]bool{}
	for uri, ears := range st.uris {
		uris[uri] = len(ears) > 0
	}
	return level, uris
}

// settle tells the server what is wanted, where that is not what it was told
// last. The first failure is returned, after everything was tried.
func (l *listening) settle(ctx context.Context, c *call, st *station, use Use) (failed error) {
	select {
	case st.wants <- struct{}{}:
		defer func() { <-st.wants }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	level, uris := l.wanted(st)
	can := hello(use.Conn().Info()).Can
	note := func(err error) bool {
		if err != nil && failed == nil {
			failed = err
		}
		return err == nil
	}
	if level != "" && level != st.level && can("logging") {
		_, err := c.request(ctx, use, "logging/setLevel", map[string]string{"level": level})
		if note(err) {
			st.level = level
		}
	}
	for uri, on := range uris {
		if on == st.told[uri] {
			continue
		}
		method := "resources/subscribe"
		if !on {
			method = "resources/unsubscribe"
		}
		if _, err := c.request(ctx, use, method, map[string]string{"uri": uri}); note(err) {
			if st.told[uri] = on; !on {
				l.drop(st, uri)
			}
		}
	}
	return failed
}

// drop forgets a URI that nobody wants any more; the caller holds st.wants.
func (l *listening) drop(st *station, uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(st.uris[uri]) == 0 {
		delete(st.uris, uri)
		delete(st.told, uri)
	}
}

// Noticed passes on what an instance said beside its answers, to those whom it
// concerns. It does not block.
func (p *Path) Noticed(instance string, n upstream.Notice) {
	l := &p.listening
	l.mu.Lock()
	st := l.stations[instance]
	ears := map[*Listener]upstream.Notice{}
	if st != nil {
		var params struct {
			URI string `json:"uri"`
		}
		if n.Method == upstream.NoticeResourceUpdated {
			_ = json.Unmarshal(n.Params, &params) // without a URI it concerns nobody
		}
		for ear, owner := range st.ears {
			told := n
			switch n.Method {
			case upstream.NoticeResourceUpdated:
				whole := subscribed(st, ear, params.URI)
				if whole == "" {
					continue
				}
				if whole != params.URI {
					told = updated(whole)
				}
			case upstream.NoticeLog:
				// What it logs during a call is the caller's; what it logs besides,
				// of an instance that serves several sessions, could be anybody's.
				if n.Owner != owner && (n.Owner != "" || !st.own) {
					continue
				}
			}
			ears[ear] = told
		}
	}
	l.mu.Unlock()
	for ear, told := range ears {
		ear.hear(st.server, told)
	}
}

// subscribed is the URI to which a listener subscribed and that an update of uri
// concerns: itself, or one of which it is a part. Empty: there is none.
func subscribed(st *station, ear *Listener, uri string) string {
	if uri == "" {
		return ""
	}
	if st.uris[uri][ear] {
		return uri
	}
	for whole, ears := range st.uris {
		rest, part := strings.CutPrefix(uri, whole)
		if part && ears[ear] && rest != "" && (strings.HasSuffix(whole, "/") || strings.IndexByte("/#?", rest[0]) >= 0) {
			return whole
		}
	}
	return ""
}

// Gone forgets an instance. Whoever subscribed to something of one that crashed
// is told that it changed: reading it again starts the server, and subscribes
// anew.
func (p *Path) Gone(instance string, crashed bool) {
	l := &p.listening
	l.mu.Lock()
	st := l.stations[instance]
	delete(l.stations, instance)
	l.mu.Unlock()
	if st == nil || !crashed {
		return
	}
	for uri, ears := range st.uris {
		for ear := range ears {
			ear.hear(st.server, updated(uri))
		}
	}
}

// Subscribe makes the request's listener hear that a resource changed, or not
// any more. It needs the permission to read it.
func (p *Path) Subscribe(ctx context.Context, req Request, uri string, on bool) error {
	args, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil { // a text always marshals
		return fault.New(fault.InternalError, "%w", err)
	}
	req.Method, req.Args = ReadResource, args
	c := &call{p: p, req: &req, began: time.Now()}
	if err := c.arguments(); err != nil {
		return err
	}
	if err := c.resolveMethod(ctx); err != nil {
		return c.explain(ctx, err)
	}
	ear, l := req.Listener, &p.listening
	if !on {
		l.unsubscribe(ear, c.server.Name, uri)
		if p.o.Leases.Bound(c.def.ID, c.key) == "" {
			return nil
		}
		return c.holding(ctx, func(context.Context, Use) error { return nil }) // join has told the server
	}
	if err := c.permit(ctx); err != nil {
		return err
	}
	return c.holding(ctx, func(ctx context.Context, use Use) error {
		if !hello(use.Conn().Info()).Can("resources.subscribe") {
			return lacks(c.server.Name, "subscriptions to resources")
		}
		st, err := l.subscribe(ear, c.server.Name, use.Instance(), uri)
		if err == nil {
			err = l.settle(ctx, c, st, use)
		}
		if err != nil {
			l.unsubscribe(ear, c.server.Name, uri)
		}
		return err
	})
}

func (l *listening) subscribe(ear *Listener, server, instance, uri string) (*station, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, uris := range ear.uris {
		n += len(uris)
	}
	st := l.stations[instance]
	switch {
	case ear.gone || st == nil:
		return nil, fault.New(fault.Cancelled, "the client is gone, or the server")
	case n >= MaxSubscribed && !ear.uris[server][uri]:
		return nil, fault.New(fault.UsageError, "a client subscribes to at most %d resources", MaxSubscribed)
	}
	if ear.uris[server] == nil {
		ear.uris[server] = map[string]bool{}
	}
	if st.uris[uri] == nil {
		st.uris[uri] = map[*Listener]bool{}
	}
	ear.uris[server][uri], st.uris[uri][ear] = true, true
	return st, nil
}

func (l *listening) unsubscribe(ear *Listener, server, uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(ear.uris[server], uri)
	for _, st := range l.stations {
		if st.server == server {
			delete(st.uris[uri], ear)
		}
	}
}

// SetLevel says from what level on the request's listener wants to hear what
// servers log. The request's server is told at once if it runs; the others, and
// one that does not run, with their next use.
func (p *Path) SetLevel(ctx context.Context, req Request, level string) error {
	if !slices.Contains(levels, level) {
		return fault.New(fault.InvalidToolInput, "there is no log level %q", clip(level, 50)).WithHint("levels are debug, info, notice, warning, error, critical, alert and emergency")
	}
	l := &p.listening
	l.mu.Lock()
	req.Listener.level = level
	l.mu.Unlock()
	if req.Server == "" {
		return nil
	}
	req.Method = "logging/setLevel"
	c, err := p.located(ctx, req)
	if err != nil || p.o.Leases.Bound(c.def.ID, c.key) == "" {
		return err
	}
	return c.holding(ctx, func(context.Context, Use) error { return nil }) // join has told it
}

// Close ends the listening. What only this client wanted, servers are told with
// their next use by another.
func (e *Listener) Close() {
	e.at.mu.Lock()
	defer e.at.mu.Unlock()
	e.gone = true
	for _, st := range e.at.stations {
		delete(st.ears, e)
		for _, ears := range st.uris {
			delete(ears, e)
		}
	}
}
