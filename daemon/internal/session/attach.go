package session

import (
	"context"
	"slices"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// AddBridge registers a connected plugin and gives it its host ticket. Pair
// with RemoveBridge.
func (m *Manager) AddBridge(b Bridge) (hostTicket string, err error) {
	p := m.process(b.PID())
	m.mu.Lock()
	m.bridges[b] = p
	m.mu.Unlock()
	return m.Issue(HostTicket, b.ID(), 0), nil
}

func (m *Manager) process(pid int) process {
	p := process{pid: pid}
	if m.opts.StartTime != nil {
		if start, err := m.opts.StartTime(pid); err == nil {
			p.start = start
		}
	}
	return p
}

// alive reports whether p still runs.
func (m *Manager) alive(p process) bool {
	if p.pid == 0 || m.opts.StartTime == nil {
		return false
	}
	start, err := m.opts.StartTime(p.pid)
	return err == nil && start == p.start
}

// RemoveBridge forgets a lost or closed bridge. Its sessions keep their grace,
// in which they can be attached again; their rules are no longer confirmed.
func (m *Manager) RemoveBridge(b Bridge, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bridges, b)
	for _, s := range m.sessions {
		if s.hasBridge(b) {
			m.letGoLocked(s, b, reason)
		}
	}
}

// letGoLocked ends b's claim on s.
func (m *Manager) letGoLocked(s *Session, b Bridge, reason string) {
	s.bridges = slices.DeleteFunc(s.bridges, func(o Bridge) bool { return o == b })
	if len(s.bridges) > 0 {
		return
	}
	if rules := s.rules.Load(); rules != nil && rules.Confirmed {
		stale := *rules
		stale.Confirmed = false
		s.rules.Store(&stale)
	}
	s.update(func(f *facts) { f.note = reason })
	if s.refs == 0 {
		s.freeSince = m.now()
	}
}

func (s *Session) hasBridge(b Bridge) bool { return slices.Contains(s.bridges, b) }

// Bridges lists the live bridges.
func (m *Manager) Bridges() []Bridge {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bridgesLocked()
}

func (m *Manager) bridgesLocked() []Bridge {
	out := make([]Bridge, 0, len(m.bridges))
	for b := range m.bridges {
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Bridge) int {
		if a.ID() < b.ID() {
			return -1
		}
		return 1
	})
	return out
}

// Holds reports whether that process holds a bridge: what runs below it is
// inside an agent's shell.
func (m *Manager) Holds(pid int, start string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.bridges {
		if p.pid == pid && (p.start == "" || start == "" || p.start == start) {
			return true
		}
	}
	return false
}

// Attach tells of a session through a bridge and gives a fresh ticket. Telling
// the same again changes nothing else. A parent that is not known yet is asked
// for through the same bridge.
//
// PermissionDenied when another living process owns the session: it can be
// taken over only with its ticket (AttachWithTicket) or when that process or
// its bridge is gone.
func (m *Manager) Attach(ctx context.Context, b Bridge, a proto.Attach) (*Session, string, error) {
	return m.AttachWithTicket(ctx, b, a, "")
}

// AttachWithTicket is Attach by a process that may not be the owner, but holds
// the session's ticket.
func (m *Manager) AttachWithTicket(ctx context.Context, b Bridge, a proto.Attach, ticket string) (*Session, string, error) {
	if err := checkID(a.Session); err != nil {
		return nil, "", err
	}
	if a.Parent == a.Session {
		a.Parent = ""
	}
	proven := m.proves(ticket, a.Session)
	if a.Parent != "" {
		m.knowParent(ctx, b, a.Parent, 0)
	}

	s, ticket, err := m.take(b, a, proven)
	if err != nil {
		return nil, "", err
	}
	m.attached(s)
	return s, ticket, nil
}

// take makes the session b's, with what it tells of it. Its ticket is made
// before the session can end, so that the end takes the ticket with it.
func (m *Manager) take(b Bridge, a proto.Attach, proven bool) (*Session, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.claimLocked(b, a.Session, proven)
	if err != nil {
		return nil, "", err
	}
	if a.Parent != "" && m.sessions[a.Parent] == nil {
		m.addLocked(a.Parent, facts{state: Provisional, host: b.Host(), dir: a.Directory, note: "known only as a parent"})
	}
	m.learnLocked(s, b, learnt{parent: a.Parent, dir: a.Directory, agent: a.Agent, title: a.Title, env: a.Env, rules: a.Rules})
	return s, m.Issue(SessionTicket, s.ID, 0), nil
}

func (m *Manager) proves(ticket, id string) bool {
	if ticket == "" {
		return false
	}
	t, err := m.Verify(ticket)
	return err == nil && t.Kind == SessionTicket && t.ID == id
}

// claimLocked finds or makes the session and makes b one of its bridges.
func (m *Manager) claimLocked(b Bridge, id string, proven bool) (*Session, error) {
	p, live := m.bridges[b]
	if !live {
		return nil, fault.New(fault.PermissionDenied, "session %q cannot be attached: the connection has said no hello, or is closed", id)
	}
	s := m.sessions[id]
	if s == nil {
		if err := m.roomLocked(); err != nil {
			return nil, err
		}
		s = m.addLocked(id, facts{state: Provisional, host: b.Host()})
	}
	if !proven {
		if err := m.mayClaimLocked(s, p); err != nil {
			return nil, err
		}
	}
	if s.owner != p {
		s.owner = p
		s.update(func(f *facts) { f.env = nil }) // pinned anew by its new owner
	}
	if !s.hasBridge(b) {
		s.bridges = append(s.bridges, b)
	}
	s.freeSince = time.Time{}
	return s, nil
}

func (m *Manager) mayClaimLocked(s *Session, p process) error {
	for _, o := range s.bridges {
		if q := m.bridges[o]; q != p {
			return foreign(s.ID, q.pid)
		}
	}
	if s.owner.pid != 0 && s.owner != p && m.alive(s.owner) {
		return foreign(s.ID, s.owner.pid)
	}
	return nil
}

func foreign(id string, pid int) error {
	return fault.New(fault.PermissionDenied, "session %q belongs to the running process %d", id, pid).
		WithHint("end that process first, or attach with the session's ticket")
}

// learnt is what a host tells of a session; empty fields tell nothing.
type learnt struct {
	parent, dir, agent, title string
	env                       map[string]string
	rules                     *proto.RuleList
}

// learnLocked takes over what the host tells, and makes the session attached.
func (m *Manager) learnLocked(s *Session, b Bridge, l learnt) {
	before := s.facts.Load()
	if m.belowLocked(l.parent, s.ID) {
		m.log.Warn("a session cannot be below its own child; its parent is ignored", "session", s.ID, "parent", l.parent)
		l.parent = ""
	}
	if l.env == nil {
		if e, ok := b.(interface{ Env() map[string]string }); ok {
			l.env = e.Env() // the host's own, from its hello
		}
	}
	file := ""
	if c, ok := b.(interface{ Config() string }); ok {
		file = c.Config()
	}
	s.update(func(f *facts) {
		f.state, f.host, f.config, f.note = Attached, b.Host(), file, ""
		f.parent = or(l.parent, f.parent) // a parent never goes away
		f.dir = or(l.dir, f.dir)
		f.agent = or(l.agent, f.agent)
		f.title = or(l.title, f.title)
		if f.env == nil && l.env != nil {
			f.env = config.Env(l.env)
		}
		if before.state != Provisional && before.parent != f.parent {
			f.note = "its parent was learnt late; leases made before keep their key"
		}
	})
	if l.rules != nil {
		s.rules.Store(l.rules)
	}
	s.lastUsed = m.now()
	if s.Parent() != before.parent {
		m.rerootLocked()
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// belowLocked reports whether id is top itself or somewhere below it.
func (m *Manager) belowLocked(id, top string) bool {
	for depth := 0; depth < maxDepth && id != ""; depth++ {
		if id == top {
			return true
		}
		at := m.sessions[id]
		if at == nil {
			return false
		}
		id = at.Parent()
	}
	return false
}

// rerootLocked works out every session's root anew, for a parent that has been
// learnt: the top of the tree, where a parent that is not here any more counts
// as the top.
func (m *Manager) rerootLocked() {
	for _, s := range m.sessions {
		root := s.ID
		at := s
		for depth := 0; depth < maxDepth && at != nil && at.Parent() != ""; depth++ {
			root = at.Parent()
			at = m.sessions[root]
		}
		if s.Root() != root {
			s.update(func(f *facts) { f.root = root })
		}
	}
}

// Detach ends a bridge's claim on a session. Deleted ends it, and its
// children, at once; otherwise it keeps its grace.
func (m *Manager) Detach(b Bridge, d proto.Detach) error {
	m.mu.Lock()
	s := m.sessions[d.Session]
	if s == nil {
		m.mu.Unlock()
		return nil // idempotent: it has ended already
	}
	if !s.hasBridge(b) {
		m.mu.Unlock()
		return fault.New(fault.PermissionDenied, "session %q was not attached by this connection", d.Session)
	}
	if !d.Deleted {
		m.letGoLocked(s, b, "its host has let it go")
		m.mu.Unlock()
		return nil
	}
	m.mu.Unlock()
	return m.End(d.Session, "its host deleted it")
}
