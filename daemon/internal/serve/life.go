package serve

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// stopping is a request to end the daemon.
type stopping struct {
	reason string
	force  bool // do not wait for what runs
}

// lookEvery is how often an idle daemon looks whether it may end; a shorter
// idle limit shortens it.
const lookEvery = 15 * time.Second

// untilStopped waits for the reason to end, keeping the house meanwhile.
func (d *daemon) untilStopped(ctx context.Context) string {
	changes := d.config.Watch(ctx)
	look := time.NewTimer(d.lookIn())
	defer look.Stop()
	touch := time.NewTicker(6 * time.Hour) // see local.Paths.Touch
	defer touch.Stop()
	for {
		select {
		case s := <-d.stop:
			d.gate.Close()
			d.drain(s)
			return s.reason
		case sig := <-d.o.Signals:
			d.gate.Close()
			d.drain(stopping{reason: "signal " + sig.String()})
			return "signal " + sig.String()
		case <-ctx.Done():
			d.gate.Close()
			d.drain(stopping{force: true})
			return "its context ended"
		case change, ok := <-changes:
			if ok {
				d.reload(change.Files)
				continue
			}
			changes = nil
		case <-d.asked:
			look.Reset(0)
		case <-touch.C:
			d.o.Paths.Touch(time.Now())
		case <-look.C:
			if d.unfindable() {
				d.gate.Close()
				reason := fmt.Sprintf("its socket %s is gone", d.o.Paths.Socket)
				d.drain(stopping{reason: reason})
				return reason
			}
			if reason, over := d.mayEnd(); over {
				return reason
			}
			d.trim.look(time.Now(), d.live() > 0)
			look.Reset(d.lookIn())
		}
	}
}

// unfindable reports whether the socket's name is gone, or another's: somebody
// has cleaned up its directory. Whoever looks for a daemon starts a second one
// then, which would hold the same servers, so this one ends.
func (d *daemon) unfindable() bool {
	return slices.ContainsFunc(d.servers, func(s *server) bool { return s.unix != nil && s.unix.Gone() })
}

// lookAtOnce ends the wait for the next look.
func (d *daemon) lookAtOnce() {
	select {
	case d.asked <- struct{}{}:
	default: // it is on its way
	}
}

// lookIn is when to look again whether the daemon may end.
func (d *daemon) lookIn() time.Duration {
	if d.newer.Load() != nil {
		return 250 * time.Millisecond
	}
	if limit := d.idleExit(); limit > 0 {
		return min(lookEvery, limit/4+time.Millisecond)
	}
	return lookEvery
}

func (d *daemon) idleExit() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.o.Supervised {
		return 0
	}
	return d.settings.IdleExit
}

// mayEnd closes the gate when the daemon is idle for long enough, or idle at
// all while a later build waits to take its place. Closing excludes work that
// would begin at the same moment.
func (d *daemon) mayEnd() (reason string, over bool) {
	if s := d.newer.Load(); s != nil && d.gate.TryClose(d.replaceable) {
		return fmt.Sprintf("build %s takes over", local.FormatBuild(s.Build)), true
	}
	limit := d.idleExit()
	if limit <= 0 {
		return "", false
	}
	if d.gate.TryClose(func(quiet time.Duration) bool { return min(quiet, d.idleFor()) >= limit }) {
		return fmt.Sprintf("nothing to do for %s", limit), true
	}
	return "", false
}

// idleFor is how long nobody has needed the daemon: no session (attached,
// named or otherwise alive), no bridge, no run, no question. Requests that
// work are the gate's to count.
func (d *daemon) idleFor() time.Duration {
	busy := d.sessionsLive() || len(d.sessions.Bridges()) > 0 || d.live() > 0 || len(d.consent.List()) > 0
	d.mu.Lock()
	defer d.mu.Unlock()
	if busy {
		d.lastWork = time.Now()
	}
	return time.Since(d.lastWork)
}

// sessionsLive reports whether a session needs the daemon. That of a
// directory's terminals is only a name until it holds something.
func (d *daemon) sessionsLive() bool {
	holding := map[string]bool{}
	for _, l := range d.leases.List() {
		holding[l.Session] = true
	}
	return slices.ContainsFunc(d.sessions.List(), func(s proto.Session) bool {
		return s.State != string(session.Directory) || holding[s.ID]
	})
}

// replaceable reports whether nothing is alive that a restart would lose: no
// run, no question, no state in an instance that a live session relies on.
func (d *daemon) replaceable(time.Duration) bool {
	if d.live() > 0 || len(d.consent.List()) > 0 {
		return false
	}
	alive := d.sessionsLive()
	for _, l := range d.leases.List() {
		if l.State != "held" || alive || l.Scope == string(config.Session) {
			return false
		}
	}
	return true
}

// drain waits for what runs, at most drainTimeout; a second request or signal
// ends the wait.
func (d *daemon) drain(s stopping) {
	d.hub.Publish("daemon", map[string]string{"state": "draining", "reason": s.reason})
	cause := fault.New(fault.Cancelled, "the daemon is stopping: %s", s.reason)
	if s.force {
		d.cancelRuns(cause)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	go func() {
		for {
			select {
			case s := <-d.stop:
				if s.force {
					cancel()
				}
			case <-d.o.Signals:
				cancel()
			case <-ctx.Done():
				return
			}
		}
	}()
	if d.gate.Wait(ctx) != nil {
		d.log.Warn("ending what still runs", "runs", d.live())
	}
	d.cancelRuns(cause)
}

// shutdown ends the rooms from the highest down. The gate is closed.
func (d *daemon) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	go func() { // a signal now means: at once
		select {
		case <-d.o.Signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	d.hub.Close()
	if err := d.bridge.Close(ctx, "the daemon is stopping"); err != nil {
		d.log.Warn("bridges did not close", "error", err)
	}
	if err := d.mcp.Close(ctx); err != nil {
		d.log.Warn("MCP connections did not close", "error", err)
	}
	d.shutdownListeners(ctx)
	d.close(ctx)
}

// close ends what open opened.
func (d *daemon) close(ctx context.Context) {
	_ = d.mcp.Close(ctx) // once more where nothing was served
	if err := d.runs.Close(ctx, fault.New(fault.Cancelled, "the daemon is stopping")); err != nil {
		d.log.Warn("runs did not all end", "error", err)
	}
	d.leases.Close()
	if err := d.pool.Close(ctx); err != nil {
		d.log.Warn("servers did not all end", "error", err)
	}
	d.tending.Wait()
	d.logins.Close()
	d.network.Close()
	if err := d.engine.Close(); err != nil {
		d.log.Warn("engine did not close", "error", err)
	}
	d.sessions.Close()
	d.catalog.Close()
	if err := d.history.Close(); err != nil {
		d.log.Warn("history did not close", "error", err)
	}
	if err := d.record.Close(); err != nil {
		d.log.Warn("record of processes did not close", "error", err)
	}
}

// life serves the routes about the daemon itself.
type life struct{ d *daemon }

func (l life) Health() proto.Health {
	return proto.Health{
		Protocol: proto.Protocol, Build: local.Build(), PID: os.Getpid(), UID: os.Getuid(),
		Started: l.d.started.UTC().Format(time.RFC3339), Draining: l.d.gate.Closed(),
	}
}

// Newer remembers that a later build should take over.
func (l life) Newer(s local.Stamp) {
	if l.d.newer.Swap(&s) == nil {
		l.d.lookAtOnce()
		l.d.log.Info("a later build has called; ending once nothing is lost by it", "build", local.FormatBuild(s.Build))
	}
}

// Stop says what the stop ends, and begins it: once it is answered, no new work
// is taken.
func (l life) Stop(_ context.Context, r proto.StopRequest) (*proto.StopResult, error) {
	d := l.d
	res := &proto.StopResult{PID: os.Getpid(), Runs: d.live(), Leases: len(d.leases.List()), Sessions: len(d.sessions.List())}
	if r.WhenIdle {
		own := local.OwnStamp()
		if d.newer.CompareAndSwap(nil, &own) {
			d.log.Info("asked to end once nothing is lost by it", "reason", r.Reason)
			d.lookAtOnce()
		}
		return res, nil
	}
	res.Stopping = true
	reason := r.Reason
	if reason == "" {
		reason = "asked to"
	}
	d.gate.Close() // before the answer: who has read it finds no way in any more
	select {
	case d.stop <- stopping{reason: reason, force: r.Force}:
	default: // it is stopping already
	}
	return res, nil
}

// Trust trusts a project, or the user's own looser permissions; with look it
// only says what of a project would be trusted.
func (l life) Trust(_ context.Context, r proto.TrustRequest) (*proto.TrustResult, error) {
	if r.Config {
		changed := false
		err := l.d.dials.by(l.d, "user", "by tenon trust --config", func() (err error) {
			changed, err = l.d.config.TrustConfig()
			return err
		})
		if err != nil {
			return nil, err
		}
		return &proto.TrustResult{Path: l.d.userFile(), Trusted: true, Changed: changed}, nil
	}
	var t *config.TrustResult
	var err error
	if r.Look {
		t, err = l.d.config.Status(r.Directory)
	} else {
		t, err = l.d.config.TrustSeen(r.Directory, r.Digest)
	}
	if err != nil {
		return nil, err
	}
	out := &proto.TrustResult{Path: t.Root, Trusted: t.Trusted, Changed: t.Changed, Digest: t.Digest}
	seen := map[string]bool{}
	for _, item := range t.Items {
		if !seen[item.File] {
			seen[item.File] = true
			out.Files = append(out.Files, item.File)
		}
		out.Servers = append(out.Servers, proto.Server{Name: item.Name, Status: item.Kind, Origin: item.File, Command: []string{item.Shown}})
	}
	return out, nil
}

// Status is the state of the whole daemon, with the problems of the caller's
// configuration.
func (l life) Status(ctx context.Context, c *peer.Caller) (*proto.Status, error) {
	d := l.d
	s := &proto.Status{
		Health: l.Health(), Socket: d.o.Paths.Socket, Sessions: len(d.sessions.List()), Instances: len(d.pool.Instances()),
		Runs: d.live(), Approvals: len(d.consent.List()), Bridges: d.bridge.Bridges(),
		Sandbox: d.sandboxes(), RSSBytes: residentBytes(),
	}
	if why := d.history.Trouble(); why != "" {
		s.Problems = append(s.Problems, fault.New(fault.InternalError, "history is not being kept: %s", why).
			WithHint("calls go on, and what waits is written once %s can be written; %d records are lost so far", d.o.Paths.State, d.history.Dropped()).Problem())
	}
	for _, n := range d.history.Notes() {
		s.Problems = append(s.Problems, fault.New(fault.InternalError, "history: %s", n.Text).WithHint("%s", n.Hint).Problem())
	}
	view, err := d.view(c, "")
	s.Engines = d.engines(ctx, view, c.Env)
	if err != nil {
		s.Problems = append(s.Problems, fault.From(err).Problem())
		return s, nil
	}
	s.Config = view.Files
	for _, n := range view.Notes {
		e := fault.New(fault.ConfigError, "%s", n.Message)
		e.Server = n.Server
		switch {
		case n.File != "" && n.Line == 0: // the file as a whole
			e.Message = n.File + ": " + n.Message
		case n.File != "" && n.Column == 0:
			e.Message = fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Message)
		case n.File != "":
			e.Message = fmt.Sprintf("%s:%d:%d: %s", n.File, n.Line, n.Column, n.Message)
		}
		if !n.Error {
			e.WithHint("a note, not an error")
		}
		s.Problems = append(s.Problems, e.Problem())
	}
	seen, release := servers{d}.seeing(c)
	defer release()
	for _, shared := range d.calls.Collisions(ctx, call.Request{Caller: seen, Session: seen.Session, View: view}) {
		e := fault.New(fault.ConfigError, "the permission key %s means %s: a rule over it holds for all of them", shared.Key, strings.Join(shared.Tools, " and "))
		s.Problems = append(s.Problems, e.WithHint("a note, not an error; a rule for %q names one exactly", shared.Tools[0]).Problem())
	}
	return s, nil
}
