package lease

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// List shows bindings that have an instance, oldest first, then waiters.
func (m *Manager) List() []proto.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	var held []*binding
	for _, b := range m.bindings {
		if b.alive() {
			held = append(held, b)
		}
	}
	sort.Slice(held, func(i, j int) bool { return held[i].inst.Generation() < held[j].inst.Generation() })
	out := make([]proto.Lease, 0, len(held))
	for _, b := range held {
		out = append(out, b.row())
	}
	waiters := m.waitersLocked()
	sort.Slice(waiters, func(i, j int) bool { return waiters[i].seq < waiters[j].seq })
	for _, w := range waiters {
		out = append(out, w.row())
	}
	return out
}

// Owner names the session a lease or waiter belongs to, and its server. A
// binding of another scope than session belongs to nobody in particular: "".
func (m *Manager) Owner(id string) (session, server string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.bindings {
		if b.id == id && b.scope == config.Session {
			return b.session(), b.def.Server.Name, true
		}
		if b.id == id {
			return "", b.def.Server.Name, true
		}
	}
	for _, w := range m.waitersLocked() {
		if w.id == id {
			return w.req.Holder.Session, w.req.Def.Server.Name, true
		}
	}
	return "", "", false
}

// session is whose binding it is.
func (b *binding) session() string {
	if b.scope == config.Session {
		return strings.TrimPrefix(b.key.scope, string(config.Session)+":")
	}
	return b.last.Session
}

func (b *binding) row() proto.Lease {
	out := proto.Lease{
		ID:       b.id,
		Server:   b.def.Server.Name,
		Scope:    string(b.scope),
		Key:      b.key.scope,
		Session:  b.session(),
		Instance: b.inst.ID(),
		State:    "held",
		Uses:     len(b.open),
		Since:    stamp(b.since),
		LastUsed: stamp(b.lastUsed),
	}
	switch {
	case b.uses > 0:
		out.State = "in-use"
		out.Reason = fmt.Sprintf("%d in flight", len(b.open))
		if len(b.waiting) > 0 {
			out.Reason += fmt.Sprintf(", %d waiting for a turn (concurrency %d)", len(b.waiting), b.def.Server.Concurrency)
		}
	case b.starting > 0:
		out.Reason = "its instance is being started or checked"
	case len(b.runs) > 0:
		out.Reason = "run " + strings.Join(sortedKeys(b.runs), ", ") + " is alive"
	default:
		out.Ends = stamp(b.lastUsed.Add(b.def.Server.EvictAfter))
		out.Reason = "idle"
		if idle := b.def.Server.IdleTimeout; idle > 0 {
			out.Reason += "; its instance ends at " + stamp(b.idleFrom.Add(idle))
		}
	}
	return out
}

func (w *waiter) row() proto.Lease {
	out := proto.Lease{
		ID:      w.id,
		Server:  w.req.Def.Server.Name,
		Scope:   string(w.req.Scope),
		Key:     w.req.Key,
		Session: w.req.Holder.Session,
		State:   "waiting",
		Since:   stamp(w.since),
		Reason:  "every instance is held",
	}
	if w.at != nil {
		out.Reason = fmt.Sprintf("waits for a turn: concurrency %d", w.req.Def.Server.Concurrency)
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func sortedKeys[V any](set map[string]V) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Held is one holder in the Data of a PoolExhausted error.
type Held struct {
	Session string `json:"session"`
	Server  string `json:"server"`
	Lease   string `json:"lease"`
	Since   string `json:"since"` // RFC 3339
	Uses    int    `json:"uses"`
}

// exhaustedLocked says why w gets nothing, naming those who hold what it wants.
func (m *Manager) exhaustedLocked(w *waiter, why string) error {
	var holders []Held
	name := w.req.Def.Server.Name
	if w.at != nil {
		for _, u := range w.at.open {
			holders = append(holders, Held{u.holder.Session, name, w.at.id, stamp(u.began), 1})
		}
	} else {
		for _, b := range m.bindings {
			if b.alive() && b.slot == template(w.req.Def) {
				holders = append(holders, Held{b.session(), b.def.Server.Name, b.id, stamp(b.since), len(b.open)})
			}
		}
	}
	sort.Slice(holders, func(i, j int) bool {
		return holders[i].Since < holders[j].Since || holders[i].Since == holders[j].Since && holders[i].Lease < holders[j].Lease
	})
	names := make([]string, len(holders))
	for n, h := range holders {
		names[n] = fmt.Sprintf("%s (since %s)", h.Session, h.Since)
	}
	what := "every instance"
	if w.at != nil {
		what = "every turn"
	}
	text := fmt.Sprintf("server %q: %s is taken, by %s", name, what, strings.Join(names, ", "))
	if why != "" {
		text += "; " + why
	} else {
		text += fmt.Sprintf("; waited %s", m.now().Sub(w.since).Round(time.Millisecond))
	}
	e := fault.New(fault.PoolExhausted, "%s", text).At(name, "").
		WithHint("wait for a holder, or free one: tenon leases, tenon release ID; or raise maxInstances of %q", name)
	if w.at != nil {
		e.WithHint("call again later, or raise concurrency of %q", name)
	}
	if data, err := json.Marshal(map[string]any{"holders": holders}); err == nil {
		e.Data = data
	}
	return e
}
