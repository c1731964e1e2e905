package session

import (
	"context"
	"log/slog"
	"sort"
	"strings"
	"time"

	"tenon/proto"
)

// End ends a session and its children at once: children first, each told to
// the OnEnd callbacks before End returns. NotFound when there is no such session.
func (m *Manager) End(id, reason string) error {
	m.mu.Lock()
	s := m.sessions[id]
	if s == nil {
		m.mu.Unlock()
		return unknown(id)
	}
	all := m.familyLocked(s, 0)
	m.mu.Unlock()
	for _, s := range all {
		m.end(s, reason, nil)
	}
	return nil
}

// familyLocked is a session and all below it, deepest first.
func (m *Manager) familyLocked(s *Session, depth int) []*Session {
	var out []*Session
	if depth < maxDepth {
		for _, c := range m.sessions {
			if c.Parent() == s.ID && c != s {
				out = append(out, m.familyLocked(c, depth+1)...)
			}
		}
	}
	return append(out, s)
}

// Contains reports whether id is the session itself or below it.
func (s *Session) Contains(id string) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.m.belowLocked(id, s.ID)
}

// end takes a session out and tells of it, exactly once. still, where given, is
// asked with Manager.mu held whether it is to end even now.
func (m *Manager) end(s *Session, reason string, still func() bool) {
	m.mu.Lock()
	if m.sessions[s.ID] != s || still != nil && !still() {
		m.mu.Unlock()
		return
	}
	delete(m.sessions, s.ID)
	passing := s.State() == Ephemeral
	s.update(func(f *facts) { f.state = Ending; f.note = reason })
	s.bridges = nil
	close(s.ended)
	tell := m.onEnd
	m.mu.Unlock()

	m.revoke(s)
	level := slog.LevelInfo
	if passing && (m.holds == nil || !m.holds(s.ID)) {
		level = slog.LevelDebug // one look at the daemon is no news
	}
	m.log.Log(context.Background(), level, "session ended", "session", s.ID, "reason", reason)
	for _, f := range tell {
		f(s.ID, reason)
	}
}

// revoke makes the tickets of an ended session worthless. A directory's stay:
// its terminals outlive its idle limit, and its next use makes it anew.
func (m *Manager) revoke(s *Session) {
	if strings.HasPrefix(s.ID, directoryPrefix) {
		return
	}
	if err := m.tickets.revoke(s.ID); err != nil {
		m.log.Warn("an ended session's tickets are refused only until the daemon restarts", "session", s.ID, "error", err)
	}
}

// sweeper ends sessions whose time has come.
func (m *Manager) sweeper(every time.Duration) {
	defer close(m.done)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-t.C:
			m.Sweep()
		}
	}
}

// Sweep ends sessions that are past their grace or idle limit. The manager
// calls it by itself.
func (m *Manager) Sweep() {
	type ending struct {
		s       *Session
		why     string
		used    time.Time
		bridges int
	}
	var over []ending
	m.mu.Lock()
	now := m.now()
	children := m.childrenLocked()
	for _, s := range m.sessions {
		at, why := m.endsLocked(s, children)
		if !at.IsZero() && !now.Before(at) {
			over = append(over, ending{s, why, s.lastUsed, len(s.bridges)})
		}
	}
	for _, s := range m.surplusLocked(now, children) {
		over = append(over, ending{s, "there were too many sessions, and it was idle longest", s.lastUsed, len(s.bridges)})
	}
	m.mu.Unlock()
	for _, e := range over {
		// Ending those before it took time, in which somebody may have come.
		m.end(e.s, e.why, func() bool {
			return e.s.refs == 0 && e.s.lastUsed.Equal(e.used) && len(e.s.bridges) == e.bridges && !m.parentLocked(e.s.ID)
		})
	}
}

// surplusLocked picks attached sessions to end when there are so many that
// soon no more could be made: a host that runs for weeks attaches each of its
// sub-agents. Only those idle for longer than the limit count, oldest first.
func (m *Manager) surplusLocked(now time.Time, children map[string][]string) []*Session {
	n := len(m.sessions) - crowded
	if n <= 0 {
		return nil
	}
	var idle []*Session
	for _, s := range m.sessions {
		if s.refs == 0 && len(s.bridges) > 0 && len(children[s.ID]) == 0 && now.Sub(s.lastUsed) >= m.opts.Idle {
			idle = append(idle, s)
		}
	}
	sort.Slice(idle, func(i, j int) bool { return idle[i].lastUsed.Before(idle[j].lastUsed) })
	return idle[:min(n, len(idle))]
}

// parentLocked tells whether a live session is a child of that one.
func (m *Manager) parentLocked(id string) bool {
	for _, s := range m.sessions {
		if s.Parent() == id {
			return true
		}
	}
	return false
}

// childrenLocked are the ids of the live children, by parent.
func (m *Manager) childrenLocked() map[string][]string {
	out := map[string][]string{}
	for _, s := range m.sessions {
		if p := s.Parent(); p != "" {
			out[p] = append(out[p], s.ID)
		}
	}
	return out
}

// endsLocked is when and why a session ends as things are; zero: it does not,
// because something refers to it or a child lives.
func (m *Manager) endsLocked(s *Session, children map[string][]string) (at time.Time, why string) {
	if s.refs > 0 || len(s.bridges) > 0 || len(children[s.ID]) > 0 {
		return time.Time{}, ""
	}
	switch s.State() {
	case Named, Directory:
		return s.lastUsed.Add(m.opts.Idle), "it was idle for " + m.opts.Idle.String()
	case Ephemeral:
		if s.everRef && s.Host() != "mcp" {
			return s.freeSince, "its command has ended"
		}
	}
	free := s.freeSince
	if s.lastUsed.After(free) {
		free = s.lastUsed
	}
	return free.Add(m.opts.Grace), "nothing has referred to it for " + m.opts.Grace.String()
}

// List shows all live sessions, oldest first.
func (m *Manager) List() []proto.Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool {
		if !all[i].since.Equal(all[j].since) {
			return all[i].since.Before(all[j].since)
		}
		return all[i].ID < all[j].ID
	})
	out := make([]proto.Session, len(all))
	children := m.childrenLocked()
	for n, s := range all {
		out[n] = m.rowLocked(s, children)
	}
	return out
}

// rowLocked is what is shown of a session; children is from childrenLocked.
func (m *Manager) rowLocked(s *Session, children map[string][]string) proto.Session {
	f := s.facts.Load()
	out := proto.Session{
		ID:        s.ID,
		Root:      f.root,
		Parent:    f.parent,
		Host:      f.host,
		State:     string(f.state),
		Directory: f.dir,
		Agent:     f.agent,
		Title:     f.title,
		Since:     stamp(s.since),
		LastUsed:  stamp(s.lastUsed),
		Note:      f.note,
		Children:  children[s.ID],
	}
	sort.Strings(out.Children)
	if at, _ := m.endsLocked(s, children); !at.IsZero() {
		out.EndsAt = stamp(at)
	}
	return out
}
