package lease

import (
	"fmt"

	"tenon/daemon/internal/fault"
)

// run is a live run as leases see it. Guarded by Manager.mu.
type run struct {
	pins map[bindingKey]uint64 // generation at first use
	uses int                   // calls in flight
}

// RunStarted announces a run; pair it with RunEnded. In between, the bindings
// the run has used are not idle, and their generations are pinned. A call that
// names a run nobody announced is treated as a lone call.
func (m *Manager) RunStarted(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[id] == nil && id != "" {
		m.runs[id] = &run{pins: map[bindingKey]uint64{}}
	}
}

// RunEnded is the end that pairs with RunStarted; the run's bindings become idle.
func (m *Manager) RunEnded(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[id]
	if r == nil {
		return
	}
	delete(m.runs, id)
	for key := range r.pins {
		b := m.bindings[key]
		if b == nil {
			continue
		}
		delete(b.runs, id)
		b.idleFrom = m.now()
		if len(m.queues[b.slot]) > 0 {
			m.pumpLocked(b.slot)
		}
	}
}

// checkPinLocked refuses a run whose instance is not the one it began with.
func (m *Manager) checkPinLocked(b *binding, key bindingKey, r *Request) error {
	if r.Holder.Run == "" {
		return nil
	}
	run := m.runs[r.Holder.Run]
	if run == nil {
		return nil
	}
	gen, pinned := run.pins[key]
	if !pinned || stateless(r.Def, r.Scope) {
		return nil
	}
	if b != nil && b.inst != nil && b.inst.Generation() == gen && b.inst.Usable() {
		return nil
	}
	name := r.Def.Server.Name
	e := fault.New(fault.ServerUnavailable, "server %q was replaced while this run was using it: its state is lost", name).
		At(name, "").
		WithHint("nothing was sent; start the program again, it will get a fresh instance")
	e.Data = []byte(`{"fate":"not-sent","reason":"state-lost"}`)
	return e
}

// breakDeadlockLocked finds runs that only wait for slots held by each other
// and refuses the newest waiter among them.
//
// A run is stuck when it waits, has no call in flight, and each slot it waits
// for is held by stuck runs. The set is found by starting with all waiting
// runs and taking out those with hope until nothing changes.
func (m *Manager) breakDeadlockLocked() {
	waits := map[string][]*waiter{}
	for _, q := range m.queues {
		for _, w := range q {
			if r := m.runs[w.req.Holder.Run]; r != nil && r.uses == 0 {
				waits[w.req.Holder.Run] = append(waits[w.req.Holder.Run], w)
			}
		}
	}
	for again := true; again; {
		again = false
		for id, ws := range waits {
			if m.anyHopeLocked(ws, waits) {
				delete(waits, id)
				again = true
			}
		}
	}
	var newest *waiter
	for _, ws := range waits {
		for _, w := range ws {
			if newest == nil || w.seq > newest.seq {
				newest = w
			}
		}
	}
	if newest == nil {
		return
	}
	why := "the run itself holds them all"
	if len(waits) > 1 {
		why = fmt.Sprintf("%d runs hold and want each other's servers, and this one came last", len(waits))
	}
	m.settleLocked(newest, m.exhaustedLocked(newest, why))
}

// anyHopeLocked reports whether one of the waiters may get a slot without a
// run of the stuck set ending.
func (m *Manager) anyHopeLocked(ws []*waiter, stuck map[string][]*waiter) bool {
	for _, w := range ws {
		if m.hopeLocked(template(w.req.Def), stuck) {
			return true
		}
	}
	return false
}

func (m *Manager) hopeLocked(queue string, stuck map[string][]*waiter) bool {
	taken, ending := m.pool.Counts(queue)
	// A slot that has become free since the queue was looked at is the waiter's next.
	if ending > 0 || m.pool.Room(queue) {
		return true
	}
	held := 0
	for _, b := range m.bindings {
		if !b.alive() || b.slot != queue {
			continue
		}
		held++
		free := true
		for id := range b.runs {
			if _, is := stuck[id]; is {
				free = false
			}
		}
		if free {
			return true
		}
	}
	return held < taken // a spare, or an instance nobody is bound to
}
