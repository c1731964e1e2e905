package lease

import (
	"context"
	"strings"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
)

// The sweeper's periods: with waiters, with bindings, with neither.
const (
	sweepWaiting = 100 * time.Millisecond
	sweepHeld    = 500 * time.Millisecond
	sweepIdle    = 5 * time.Second
)

// sweeper enforces all limits that come with time, so that Take needs no timer.
func (m *Manager) sweeper(ctx context.Context) {
	defer m.done.Done()
	t := time.NewTimer(sweepIdle)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-m.wake:
		}
		t.Reset(m.Sweep())
	}
}

// Sweep applies idle limits, takes back expired uses, serves queues whose
// victims have come of age, and looks for deadlocks. It returns when it wants
// to be called next. The manager calls it by itself.
func (m *Manager) Sweep() (next time.Duration) {
	var expired []*Use
	m.mu.Lock()
	now := m.now()
	for key, b := range m.bindings {
		for _, u := range b.open {
			if now.After(u.expires) {
				expired = append(expired, u)
			}
		}
		m.ageLocked(b, now)
		if b.inst == nil && b.idle() && (len(b.seen) == 0 || now.Sub(b.lastUsed) > rememberLost) {
			delete(m.bindings, key)
		}
	}
	for queue := range m.queues {
		m.pumpLocked(queue)
	}
	m.breakDeadlockLocked()
	switch {
	case len(m.queues) > 0:
		next = sweepWaiting
	case len(m.bindings) > 0:
		next = sweepHeld
	default:
		next = sweepIdle
	}
	m.mu.Unlock()

	for _, u := range expired {
		m.log.Warn("a use was never ended; taking it back", "lease", u.b.id, "server", u.inst.Definition().Server.Name, "instance", u.inst.ID(), "run", u.holder.Run, "session", u.holder.Session)
		u.end(takenBack(u.inst.Definition().Server.Name))
	}
	m.pool.Sweep()
	return next
}

// ageLocked ends the instance of a binding that is idle for too long, and
// forgets one that died.
func (m *Manager) ageLocked(b *binding, now time.Time) {
	if b.inst == nil {
		return
	}
	if !b.alive() && b.starting == 0 {
		b.inst = nil
		return
	}
	limit := b.def.Server.IdleTimeout
	if limit > 0 && b.idle() && now.Sub(b.idleFrom) >= limit {
		m.log.Info("ending an idle lease's instance", "lease", b.id, "server", b.def.Server.Name, "session", b.session(), "instance", b.inst.ID(), "key", b.key.scope)
		m.endInstanceLocked(b, "idle for "+limit.String())
	}
}

// Release ends the instance of the binding with that id, whatever it does, or
// refuses the waiter with that id; NotFound when there is neither. The key's
// next use gets a fresh instance and is told so.
func (m *Manager) Release(id, reason string) error {
	if reason == "" {
		reason = "released"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.bindings {
		if b.id == id && b.alive() {
			m.endInstanceLocked(b, reason)
			return nil
		}
	}
	for _, w := range m.waitersLocked() {
		if w.id == id {
			m.settleLocked(w, cancelled(w, reason))
			return nil
		}
	}
	return fault.New(fault.NotFound, "there is no lease %q", id).WithHint("tenon leases lists them")
}

func cancelled(w *waiter, reason string) error {
	name := w.req.Def.Server.Name
	return fault.New(fault.Cancelled, "gave up waiting for server %q: %s", name, reason).At(name, "")
}

// EndSession ends every binding of a session (leaf or root), refuses its
// waiters and forgets what it has seen. Instances of other scopes live on.
func (m *Manager) EndSession(session, reason string) {
	own := string(config.Session) + ":" + session
	var roots []*binding
	m.mu.Lock()
	for _, w := range m.waitersLocked() {
		if w.req.Holder.Session == session || w.req.Holder.Root == session || w.req.Key == own {
			m.settleLocked(w, cancelled(w, "its session has ended: "+reason))
		}
	}
	for key, b := range m.bindings {
		if _, known := b.seen[session]; known {
			delete(b.seen, session)
			if len(b.seen) > 0 { // whom nobody uses is told of the next one's, if they are others
				roots = append(roots, b)
			}
		}
		if key.scope == own {
			m.endInstanceLocked(b, "its session has ended: "+reason)
			delete(m.bindings, key)
		}
	}
	m.mu.Unlock()
	for _, b := range roots {
		m.syncRoots(b)
	}
}

// ReleaseKey ends the instances bound to a scope key and says how many.
func (m *Manager) ReleaseKey(key, reason string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for k, b := range m.bindings {
		if k.scope == key && b.alive() {
			m.endInstanceLocked(b, reason)
			n++
		}
	}
	return n
}

// Bound is the instance bound to a key now, or nil; for showing what a caller
// sees of a server.
func (m *Manager) Bound(definition, key string) *pool.Instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.bindings[bindingKey{definition, key}]; b != nil && b.alive() {
		return b.inst
	}
	return nil
}

// syncRoots tells an instance the directories of its holders. Called without
// locks.
func (m *Manager) syncRoots(b *binding) {
	b.rootsMu.Lock()
	defer b.rootsMu.Unlock()
	m.mu.Lock()
	inst, dirs := b.inst, rootsOf(b.scope, b.key, b, "")
	m.mu.Unlock()
	if inst == nil || !inst.Usable() || inst == b.toldTo && equal(dirs, b.told) {
		return
	}
	b.told, b.toldTo = dirs, inst
	inst.Conn().SetRoots(dirs)
}

// rootsOf are the directories that an instance is told: the key's own for repo
// and directory, for session and shared those of all sessions that used it,
// and that of one which is about to. b may be nil; Manager.mu is held.
func rootsOf(scope config.Scope, key bindingKey, b *binding, next string) []string {
	if scope == config.Repo || scope == config.Directory {
		_, dir, _ := strings.Cut(key.scope, ":")
		return []string{dir}
	}
	dirs := map[string]bool{}
	if b != nil {
		for _, s := range b.seen {
			dirs[s.dir] = true
		}
	}
	dirs[next] = true
	delete(dirs, "") // a session without a directory
	return sortedKeys(dirs)
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for n := range a {
		if a[n] != b[n] {
			return false
		}
	}
	return true
}
