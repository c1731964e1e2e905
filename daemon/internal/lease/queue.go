package lease

import (
	"errors"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/pool"
)

// waiter is one Take in a queue: for a slot, or for a turn at a binding.
// Guarded by Manager.mu.
type waiter struct {
	id      string
	seq     uint64 // grows: newest waits last
	req     *Request
	key     bindingKey
	since   time.Time
	at      *binding      // it waits for a turn here; nil: for a slot
	settled chan struct{} // closed with over
	over    bool
	turn    bool  // a turn at `at` was given to it
	err     error // why it was refused
}

func (m *Manager) newWaiterLocked(r *Request, key bindingKey) *waiter {
	id := m.nextIDLocked("w")
	select {
	case m.wake <- struct{}{}:
	default: // the sweeper is awake already
	}
	return &waiter{id: id, seq: m.lastID, req: r, key: key, since: m.now(), settled: make(chan struct{})}
}

// settleLocked takes w out of its queue and lets it go on, or refuses it.
func (m *Manager) settleLocked(w *waiter, err error) {
	if w.over {
		return
	}
	w.over, w.err = true, err
	if w.at != nil {
		w.at.waiting = without(w.at.waiting, w)
	} else {
		queue := template(w.req.Def)
		m.queues[queue] = without(m.queues[queue], w)
		if len(m.queues[queue]) == 0 {
			delete(m.queues, queue)
		}
	}
	close(w.settled)
}

func without(list []*waiter, w *waiter) []*waiter {
	for n := range list {
		if list[n] == w {
			return append(list[:n:n], list[n+1:]...)
		}
	}
	return list
}

// waitersLocked lists all waiters, those for slots first.
func (m *Manager) waitersLocked() []*waiter {
	var all []*waiter
	for _, q := range m.queues {
		all = append(all, q...)
	}
	for _, b := range m.bindings {
		all = append(all, b.waiting...)
	}
	return all
}

// pumpLocked serves the queue of a template: who waits longest gets the next
// slot, together with everyone who waits for the same key. When there is none,
// victims are chosen.
func (m *Manager) pumpLocked(queue string) {
	for len(m.queues[queue]) > 0 {
		w := m.queues[queue][0]
		if b := m.bindings[w.key]; b == nil || !b.alive() {
			err := m.bindLocked(w.req, w.key)
			if errors.Is(err, pool.ErrFull) {
				m.evictLocked(queue)
				return
			}
			if err != nil {
				m.settleLocked(w, err)
				continue
			}
		}
		for _, same := range append([]*waiter(nil), m.queues[queue]...) {
			if same.key == w.key {
				m.settleLocked(same, nil)
			}
		}
	}
}

// evictLocked ends as many spares and idle bindings of a template as its queue
// has keys waiting, those slots not counted that are about to be free anyway.
func (m *Manager) evictLocked(queue string) {
	keys := map[bindingKey]bool{}
	for _, w := range m.queues[queue] {
		keys[w.key] = true
	}
	_, ending := m.pool.Counts(queue)
	for n := len(keys) - ending; n > 0; n-- {
		if m.pool.EndSpare(queue) {
			continue
		}
		b := m.victimLocked(queue)
		if b == nil {
			return
		}
		m.log.Info("evicting an idle lease", "lease", b.id, "server", b.def.Server.Name, "session", b.session(), "instance", b.inst.ID(), "key", b.key.scope)
		m.endInstanceLocked(b, "made room for another lease, after being idle for "+m.now().Sub(b.lastUsed).Round(time.Second).String())
	}
}

// victimLocked is the least recently used binding that may be evicted: no use,
// no live run, and none for EvictAfter.
func (m *Manager) victimLocked(queue string) *binding {
	var oldest *binding
	now := m.now()
	for _, b := range m.bindings {
		if !b.alive() || b.slot != queue || !b.idle() || now.Sub(b.lastUsed) < b.def.Server.EvictAfter {
			continue
		}
		if oldest == nil || b.lastUsed.Before(oldest.lastUsed) {
			oldest = b
		}
	}
	return oldest
}

// supersedeLocked ends idle bindings that a change of the config left behind:
// the same session's binding to the same entry as it was written before. Busy
// ones follow when their run ends and they come to their idle limit.
func (m *Manager) supersedeLocked(b *binding) {
	if b.scope != config.Session {
		return // other keys are shared by views that may differ for good
	}
	for _, old := range m.bindings {
		if old == b || old.key.scope != b.key.scope || !old.alive() || !old.idle() {
			continue
		}
		s, t := old.def.Server, b.def.Server
		if s.Name == t.Name && s.Origin.File == t.Origin.File && old.slot != b.slot {
			m.endInstanceLocked(old, "its configuration has changed")
		}
	}
}
