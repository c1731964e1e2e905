package session

// OwnedBy reports whether a process, told by its start time, attached the
// session last, by a bridge that may be lost.
func (s *Session) OwnedBy(pid int, start string) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.owner.pid != 0 && s.owner == process{pid, start}
}

// Move tells where the client of a connection works now, and what it is called;
// empty ones tell nothing. Only an ephemeral session is moved: others are told
// of by their hosts. Bindings made before keep their key.
func (m *Manager) Move(id, dir, title string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil || s.State() != Ephemeral {
		return
	}
	s.update(func(f *facts) { f.dir, f.title = or(dir, f.dir), or(title, f.title) })
}
