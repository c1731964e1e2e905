package lease

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
)

// bindingKey is what an instance is bound to: one expanded definition for one
// scope key.
type bindingKey struct{ def, scope string }

// binding ties a scope key to an instance. It outlives its instance, so that
// the next use can be told that state was lost. Guarded by Manager.mu, except
// where noted.
type binding struct {
	id       string
	key      bindingKey
	def      *config.Definition
	scope    config.Scope
	inst     *pool.Instance  // nil: none now
	slot     string          // template the instance's slot is counted under
	since    time.Time       // of the instance
	lastUsed time.Time       // last call: what eviction counts from
	idleFrom time.Time       // last call or end of a run: what IdleTimeout counts from
	last     Holder          // who used it last
	uses     int             // calls in flight, and turns given but not taken up yet
	open     []*Use          // calls in flight
	starting int             // callers that wait for the instance to be ready or checked
	waiting  []*waiter       // for a turn, under the concurrency cap
	runs     map[string]bool // live runs that used it
	seen     map[string]seen // by leaf session

	rootsMu sync.Mutex     // serialises SetRoots; taken before Manager.mu
	told    []string       // guarded by rootsMu: the roots last set
	toldTo  *pool.Instance // guarded by rootsMu
}

// seen is what a session last saw of a binding.
type seen struct {
	gen  uint64
	dir  string
	lost bool // another instance before, which its user was not told of yet
}

// alive reports whether the binding has an instance that serves or will.
func (b *binding) alive() bool {
	return b.inst != nil && b.inst.Alive()
}

// idle reports whether nothing holds the binding but its key.
func (b *binding) idle() bool {
	return b.uses == 0 && b.starting == 0 && len(b.waiting) == 0 && len(b.runs) == 0
}

// hasTurn reports whether a newcomer may use the instance at once.
func (b *binding) hasTurn() bool {
	limit := b.def.Server.Concurrency
	return limit <= 0 || b.uses < limit && len(b.waiting) == 0
}

// stateless reports whether a replaced instance loses nothing.
func stateless(d *config.Definition, scope config.Scope) bool {
	return scope == config.Shared && d.Server.Stateless
}

// Use is one call in flight on an instance.
type Use struct {
	// Replaced says that the caller's session had used another instance under
	// this key before, whose state is lost.
	Replaced bool
	// Queued is how long Take waited for a slot or a turn. The time an
	// instance took to start does not count.
	Queued time.Duration

	m       *Manager
	b       *binding
	inst    *pool.Instance
	holder  Holder
	began   time.Time
	expires time.Time
	cancel  context.CancelCauseFunc
	index   int // in binding.open; guarded by Manager.mu
	over    atomic.Bool
}

// Instance is what the call goes to.
func (u *Use) Instance() *pool.Instance { return u.inst }

// Generation is the instance's.
func (u *Use) Generation() uint64 { return u.inst.Generation() }

// Alone reports whether this is the only use of the instance's binding now: a
// question of the server can then only belong to its call.
func (u *Use) Alone() bool {
	u.m.mu.Lock()
	defer u.m.mu.Unlock()
	return len(u.b.open) == 1
}

// Done ends the use. Calling it twice is harmless.
func (u *Use) Done() { u.end(nil) }

// end takes the use back; cause is what its context ends with.
func (u *Use) end(cause error) {
	if u.over.Swap(true) {
		return
	}
	u.cancel(cause)
	u.m.mu.Lock()
	defer u.m.mu.Unlock()
	b := u.b
	last := len(b.open) - 1
	b.open[u.index] = b.open[last]
	b.open[u.index].index = u.index
	b.open[last] = nil
	b.open = b.open[:last]
	if r := u.m.runs[u.holder.Run]; r != nil {
		r.uses--
	}
	b.lastUsed = u.m.now()
	b.idleFrom = b.lastUsed
	u.m.giveTurnBackLocked(b)
}

// giveTurnBackLocked ends one of b's turns: the longest waiter gets it.
func (m *Manager) giveTurnBackLocked(b *binding) {
	b.uses--
	for len(b.waiting) > 0 && (b.def.Server.Concurrency <= 0 || b.uses < b.def.Server.Concurrency) {
		w := b.waiting[0]
		b.uses++ // for w, which takes it up or gives it back
		w.turn = true
		m.settleLocked(w, nil)
	}
	if len(m.queues[b.slot]) > 0 {
		m.pumpLocked(b.slot)
	}
}

// useLocked makes a use of b's instance. turned says that b.uses counts it already.
func (m *Manager) useLocked(ctx context.Context, b *binding, r *Request, turned bool) (context.Context, *Use) {
	now := m.now()
	if !turned {
		b.uses++
	}
	gen := b.inst.Generation()
	u := &Use{m: m, b: b, inst: b.inst, holder: r.Holder, began: now, expires: now.Add(expiry(r)), index: len(b.open)}
	b.open = append(b.open, u)
	b.lastUsed, b.idleFrom = now, now
	b.last = r.Holder
	b.def = r.Def // the same process, perhaps with newer limits
	before, known := b.seen[r.Holder.Session]
	if !known {
		before.dir = r.Holder.Dir
	}
	lost := before.lost || known && before.gen != gen && !stateless(r.Def, r.Scope)
	u.Replaced = lost && !r.Looks
	if now := (seen{gen, before.dir, lost && r.Looks}); !known || now != before {
		b.seen[r.Holder.Session] = now
	}
	if run := m.runs[r.Holder.Run]; run != nil {
		run.uses++
		if _, pinned := run.pins[b.key]; !pinned {
			run.pins[b.key] = gen
			b.runs[r.Holder.Run] = true
		}
	}
	ctx, u.cancel = context.WithCancelCause(ctx)
	return ctx, u
}

// expiry is how long a use may last before it is taken back.
func expiry(r *Request) time.Duration {
	longest := max(r.Timeout, r.Def.Server.CallWall)
	if longest <= 0 {
		longest = defaultUse
	}
	return longest + useSlack
}

// endInstanceLocked ends b's instance; the key remembers.
func (m *Manager) endInstanceLocked(b *binding, reason string) {
	if b.inst == nil {
		return
	}
	m.pool.End(b.inst, reason)
	b.inst = nil
}

// takenBack is what the context of an expired use ends with.
func takenBack(server string) error {
	return fault.New(fault.TimeoutExceeded, "the lease of server %q was taken back: its call should have ended long ago", server).At(server, "")
}

func template(d *config.Definition) string {
	if d.Template != "" {
		return d.Template
	}
	return d.ID
}
