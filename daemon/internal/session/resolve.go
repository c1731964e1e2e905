package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// resolving is one question to the hosts that many callers wait for.
type resolving struct {
	over chan struct{}
	err  error // set before over closes
}

// Ensure makes sure that a session may be used: a provisional one is resolved
// by asking the live bridges of its host (of every host, when that is not
// known). With no such bridge it is its own root. It fails closed, naming the
// host, when no bridge knows the session within ResolveTimeout.
func (m *Manager) Ensure(ctx context.Context, s *Session) error {
	if s.State() != Provisional {
		return nil
	}
	m.mu.Lock()
	select {
	case <-s.ended:
		m.mu.Unlock()
		return unknown(s.ID)
	default:
	}
	if s.State() != Provisional {
		m.mu.Unlock()
		return nil
	}
	ask := m.askableLocked(s)
	if len(ask) == 0 {
		m.mu.Unlock()
		return nil
	}
	r := s.resolving
	if r == nil {
		r = &resolving{over: make(chan struct{})}
		s.resolving = r
		go m.resolve(s, ask, r)
	}
	m.mu.Unlock()
	select {
	case <-r.over:
		return r.err
	case <-ctx.Done():
		return fault.From(context.Cause(ctx))
	}
}

// askableLocked are the live bridges that may know the session.
func (m *Manager) askableLocked(s *Session) []Bridge {
	var out []Bridge
	host := s.Host()
	for _, b := range m.bridgesLocked() {
		if host == "" || b.Host() == host {
			out = append(out, b)
		}
	}
	return out
}

// resolve asks all of them at once; the first that knows it is believed.
func (m *Manager) resolve(s *Session, ask []Bridge, r *resolving) {
	ctx, cancel := context.WithTimeout(context.Background(), ResolveTimeout)
	defer cancel()
	type answer struct {
		b   Bridge
		r   proto.Resolved
		err error
	}
	answers := make(chan answer, len(ask))
	for _, b := range ask {
		go func() {
			res, err := b.Resolve(ctx, s.ID)
			answers <- answer{b, res, err}
		}()
	}
	var said []string
	var err error
	known := false
	for range ask {
		a := <-answers
		if a.err == nil && a.r.Known {
			err = m.resolved(ctx, s, a.b, a.r)
			known = true
			break
		}
		said = append(said, refusal(a.b, a.err))
	}
	if !known {
		err = fault.New(fault.PermissionDenied, "session %q could not be confirmed: %s", s.ID, strings.Join(said, "; ")).
			WithHint("the session's host must be running and know it; without a host, use --session NAME")
	}
	m.mu.Lock()
	s.resolving = nil
	m.mu.Unlock()
	if known && err == nil {
		m.attached(s)
	}
	r.err = err
	close(r.over)
}

func refusal(b Bridge, err error) string {
	if err != nil {
		return fmt.Sprintf("%s (process %d) did not answer within %s", b.Host(), b.PID(), ResolveTimeout)
	}
	return fmt.Sprintf("%s (process %d) does not know it", b.Host(), b.PID())
}

// resolved takes over a host's answer.
func (m *Manager) resolved(ctx context.Context, s *Session, b Bridge, a proto.Resolved) error {
	if a.Parent == s.ID {
		a.Parent = ""
	}
	parent := a.Parent
	if parent == "" && a.Root != "" && a.Root != s.ID {
		parent = a.Root
	}
	if parent != "" {
		m.knowParent(ctx, b, parent, 0)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.State() != Provisional {
		return nil // attached meanwhile
	}
	if m.sessions[s.ID] != s {
		return unknown(s.ID)
	}
	if _, err := m.claimLocked(b, s.ID, false); err != nil {
		return err
	}
	m.learnLocked(s, b, learnt{parent: parent, dir: a.Directory, agent: a.Agent, rules: a.Rules})
	return nil
}

// knowParent makes sure that a parent, and its parents, are known, asking the
// bridge for those that are not. What stays unknown counts as the root.
func (m *Manager) knowParent(ctx context.Context, b Bridge, id string, depth int) {
	m.mu.Lock()
	s := m.sessions[id]
	known := s != nil && s.State() != Provisional
	m.mu.Unlock()
	if known || depth >= maxDepth || checkID(id) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ResolveTimeout)
	defer cancel()
	a, err := b.Resolve(ctx, id)
	if err != nil || !a.Known || a.Parent == id {
		return
	}
	if a.Parent != "" {
		m.knowParent(ctx, b, a.Parent, depth+1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.claimLocked(b, id, false)
	if err != nil {
		return
	}
	m.learnLocked(p, b, learnt{parent: a.Parent, dir: a.Directory, agent: a.Agent, rules: a.Rules})
}

// Notify shows a message through the bridges of its session, or through all
// when it names none. It waits at most a second and reports nothing: a notice
// is a courtesy.
func (m *Manager) Notify(ctx context.Context, n proto.Notice) {
	m.mu.Lock()
	to := m.bridgesLocked()
	if s := m.sessions[n.Session]; s != nil && len(s.bridges) > 0 {
		to = append([]Bridge(nil), s.bridges...)
	}
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	told := make(chan struct{}, len(to))
	for _, b := range to {
		go func() {
			if err := b.Notice(ctx, n); err != nil {
				m.log.Debug("notice not shown", "bridge", b.ID(), "error", err)
			}
			told <- struct{}{}
		}()
	}
	for range to {
		<-told
	}
}
