package serve

import (
	"sync"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
)

// views remembers for which place each view was made, so that a call can ask
// for the newest view of its run's place, at the price of one comparison
// while no file has changed.
type views struct {
	store *config.Store
	epoch atomic.Int64 // grows with every change of a file

	mu    sync.Mutex
	known map[*config.View]place // guarded by mu
}

type place struct {
	dir, file string
	env       config.Env
	owner     bool // the user in person: see config.Store.OwnerView
	epoch     int64
	newest    *config.View
}

// maxViews bounds the memory; what is forgotten is merely not tightened.
const maxViews = 512

func newViews(s *config.Store) *views { return &views{store: s, known: map[*config.View]place{}} }

// read is the view of a place as its files are now.
func (v *views) read(p place) (*config.View, error) {
	if p.owner {
		return v.store.OwnerView(p.dir, p.file, p.env)
	}
	return v.store.View(p.dir, p.file, p.env)
}

// of is the view of a place.
func (v *views) of(p place) (*config.View, error) {
	p.epoch = v.epoch.Load()
	view, err := v.read(p)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.known[view]; !ok {
		if len(v.known) >= maxViews {
			clear(v.known)
		}
		p.newest = view
		v.known[view] = p
	}
	return view, nil
}

// current is the newest view of the place that v was made for.
func (v *views) current(view *config.View) *config.View {
	epoch := v.epoch.Load()
	v.mu.Lock()
	p, ok := v.known[view]
	v.mu.Unlock()
	if !ok {
		return view
	}
	if p.epoch == epoch {
		return p.newest
	}
	now, err := v.read(p)
	if err != nil {
		return view // the last good configuration
	}
	p.epoch, p.newest = epoch, now
	v.mu.Lock()
	v.known[view] = p
	v.mu.Unlock()
	return now
}

// view is the configuration that a caller sees: that of its session's
// directory, to which a session is bound, else of where it stands.
func (d *daemon) view(c *peer.Caller, cwd string) (*config.View, error) {
	dir, env := cwd, c.Env
	if dir == "" {
		dir = c.Dir
	}
	if s := c.Session; s != nil {
		if s.Dir() != "" && boundToView(s) {
			dir = s.Dir()
		}
		if s.Env() != nil {
			env = s.Env()
		}
	}
	if dir == "" {
		return nil, fault.New(fault.UsageError, "no directory is given").
			WithHint("send the header Tenon-Dir or the parameter dir")
	}
	file, err := configOf(c)
	if err != nil {
		return nil, err
	}
	return d.views.of(place{dir: dir, file: file, env: env, owner: c.Class == peer.User})
}

// configOf is the file that takes the place of the user's own for a caller. An
// agent has the one that its host named: with another, the servers that rules
// name could be started under other names.
func configOf(c *peer.Caller) (string, error) {
	if c.Class == peer.User || c.Surface == "bridge" {
		return c.Config, nil
	}
	own := ""
	if c.Session != nil {
		own = c.Session.Config()
	}
	if c.Config != "" && c.Config != own {
		return "", fault.New(fault.PermissionDenied, "an agent cannot choose the configuration %s", c.Config).
			WithHint("the user names it: option \"config\" of the plugin, or tenon daemon run --config")
	}
	return own, nil
}

// boundToView is whether a session's own directory decides which servers it
// has. A named session of a user is used from many places.
func boundToView(s *session.Session) bool {
	return s.State() != session.Named && s.State() != session.Directory
}

// defaultIdleExit is daemon.idleExit's, for when no configuration can be read.
const defaultIdleExit = 10 * time.Minute

// readSettings reads the daemon-wide settings: those of the user's own file.
func (d *daemon) readSettings() {
	settings := config.Daemon{IdleExit: defaultIdleExit, Learn: true} // zero means the room's own default for the rest
	view, err := d.config.View(d.o.Paths.Home, "", config.EnvFrom(d.o.Environ))
	if err != nil {
		d.log.Error("the configuration cannot be read; defaults are in effect until it can", "error", err)
	} else {
		settings = view.Daemon
	}
	d.setLevel(settings.LogLevel)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settings = settings
}

// reload takes in a change of configuration files, which are named as far as
// they are known.
func (d *daemon) reload(files []string) {
	d.views.epoch.Add(1)
	d.mu.Lock()
	before := d.settings
	d.mu.Unlock()
	d.readSettings()
	d.dials.note(d, "file", "by an edit of "+d.userFile())
	d.mu.Lock()
	now := d.settings
	d.mu.Unlock()
	if now.SessionIdle != before.SessionIdle || now.SessionGrace != before.SessionGrace || now.TicketTTL != before.TicketTTL {
		d.sessions.SetLimits(now.SessionIdle, now.SessionGrace, now.TicketTTL)
	}
	if now.HistoryRetention != before.HistoryRetention {
		d.history.SetRetention(now.HistoryRetention)
	}
	if now.HistoryDatabase != before.HistoryDatabase || now.HistoryArtifacts != before.HistoryArtifacts {
		d.history.SetBounds(now.HistoryDatabase, now.HistoryArtifacts)
	}
	if now.Learn != before.Learn {
		d.catalog.SetLearning(now.Learn)
	}
	d.warmAll()
	d.mcp.Changed()
	d.log.Info("configuration files changed", "files", files)
	d.hub.Publish("config", map[string]string{"state": "changed"})
	d.bridge.CatalogChanged() // servers may have come or gone
}

// userFile is the user's configuration file, for messages.
func (d *daemon) userFile() string {
	if d.o.UserFile != "" {
		return d.o.UserFile
	}
	return d.o.Paths.ConfigFile()
}
