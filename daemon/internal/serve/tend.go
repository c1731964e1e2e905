package serve

import (
	"slices"
	"sync"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/session"
)

// gatherTime gathers changes of tools that come in quick succession into one
// event.
const gatherTime = 250 * time.Millisecond

// followPool keeps the catalogue in step with the instances, and tells
// listeners of both. It ends when the pool is closed.
func (d *daemon) followPool() {
	told := &gathered{tell: func(servers []string) {
		d.hub.Publish("catalog", map[string][]string{"servers": servers})
		d.bridge.CatalogChanged()
	}}
	d.catalog.OnChange(func(definition string) {
		d.numbers.catalogues.Inc()
		if name := d.serverOf(definition); name != "" {
			told.add(name)
		}
	})
	events := d.pool.Events()
	d.tending.Add(1)
	go func() {
		defer d.tending.Done()
		defer told.stop()
		for ev := range events {
			d.numbers.instance(ev)
			switch ev.Kind {
			case pool.Ready:
				d.calls.Meet(ev.Definition, ev.Instance.Conn())
				fallthrough
			case pool.ToolsChanged:
				if tools, revision, _ := ev.Instance.Tools(); tools != nil {
					d.catalog.Learn(ev.Definition, ev.Instance.ID(), revision, tools)
				}
			case pool.Crashed:
				d.calls.Gone(ev.Instance.ID(), true)
			case pool.Freed:
				d.catalog.Forget(ev.Instance.ID())
				d.calls.Gone(ev.Instance.ID(), false)
			}
			d.hub.Publish("instance", map[string]string{
				"id": ev.Instance.ID(), "server": ev.Server, "state": string(ev.Kind), "reason": ev.Reason,
			})
		}
	}()
}

// followNotices passes on what servers say beside their answers. It ends when the
// pool is closed.
func (d *daemon) followNotices() {
	notices := d.pool.Notices()
	d.tending.Go(func() {
		for n := range notices {
			d.calls.Noticed(n.Instance.ID(), n.Notice)
		}
	})
}

// serverOf is the name of a server that runs, by its definition.
func (d *daemon) serverOf(definition string) string {
	for _, i := range d.pool.Instances() {
		if i.Definition().ID == definition {
			return i.Definition().Server.Name
		}
	}
	return ""
}

// gathered tells of names once nothing was added for gatherTime.
type gathered struct {
	tell func([]string)

	mu      sync.Mutex
	names   []string    // guarded by mu
	timer   *time.Timer // guarded by mu
	stopped bool        // guarded by mu
}

func (g *gathered) add(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return
	}
	if !slices.Contains(g.names, name) {
		g.names = append(g.names, name)
	}
	if g.timer == nil {
		g.timer = time.AfterFunc(gatherTime, g.flush)
		return
	}
	g.timer.Reset(gatherTime)
}

func (g *gathered) flush() {
	g.mu.Lock()
	names := g.names
	g.names = nil
	g.mu.Unlock()
	if len(names) > 0 {
		g.tell(names)
	}
}

func (g *gathered) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	if g.timer != nil {
		g.timer.Stop()
	}
}

// sessionAttached starts the spares of a session's servers, in the background.
func (d *daemon) sessionAttached(s *session.Session) {
	leave, err := d.gate.Enter()
	if err != nil {
		return // stopping
	}
	d.tending.Add(1)
	go func() {
		defer d.tending.Done()
		defer leave()
		d.warm(s)
	}()
}

// warmAll does for every session with a host what its attach did: the
// configuration may ask for other spares now.
func (d *daemon) warmAll() {
	for _, row := range d.sessions.List() {
		if s, ok := d.sessions.Get(row.ID); ok && s.State() == session.Attached {
			d.sessionAttached(s)
		}
	}
}

// warm asks for the spares of every server that the session's directory wants
// some of. What it cannot expand is no news: the call itself will say why.
func (d *daemon) warm(s *session.Session) {
	c := &peer.Caller{Class: peer.Agent, Session: s, Dir: s.Dir(), Env: s.Env()}
	view, err := d.view(c, "")
	if err != nil {
		return
	}
	for name, server := range view.Servers {
		if server.Warm <= 0 || !call.Usable(server) {
			continue
		}
		var def *config.Definition
		if def, err = (servers{d}).define(c, view, name); err == nil && !def.Personal {
			d.pool.Warm(def)
		}
	}
}
