package peer

import (
	"context"
	"net/http"

	"tenon/daemon/internal/session"
)

// shellMarks are the variables that an agent's shell is given: what was started
// in one speaks by its ticket or not at all.
var shellMarks = []string{"TENON_TICKET", "TENON_SESSION_ID"}

// Claim decides whether an MCP peer may act in the session that one of its
// requests names in _meta["ai.opencode/sessionID"], and gives the caller that
// then acts. It may when a bridge has attached that session, or its host knows
// it when asked, and the peer is that host's process, its child, or shows its
// host ticket. What an agent's shell started never may by being a child. req is
// the request that the peer's connection began with; c is whom FromHTTP told.
// False: the id means something to that connection only.
func (r *Resolver) Claim(ctx context.Context, req *http.Request, c *Caller, id string) (*Caller, bool) {
	state, _ := req.Context().Value(connKey{}).(*conn)
	if state == nil || id == "" {
		return nil, false
	}
	kin := r.kin(c, state)
	s, known := r.o.Sessions.Get(id)
	if !known || s.State() == session.Provisional {
		if s = r.introduce(ctx, kin, id); s == nil {
			return nil, false
		}
	}
	if !kin.owns(s) {
		return nil, false
	}
	claimed := *c
	claimed.Class, claimed.Session, claimed.Why, claimed.Host = Agent, s, "", true
	claimed.Config = "" // the one that its host named is in effect
	if dir := s.Dir(); dir != "" {
		claimed.Dir = dir
	}
	return &claimed, true
}

// introduce makes a session that is not known yet, if a host of the peer's kin
// knows it.
func (r *Resolver) introduce(ctx context.Context, kin kin, id string) *session.Session {
	for _, b := range r.o.Sessions.Bridges() {
		if !kin.holds(b) {
			continue
		}
		s, err := r.o.Sessions.Provisional(id, b.Host(), "")
		if err != nil || r.o.Sessions.Ensure(ctx, s) != nil {
			return nil
		}
		return s
	}
	return nil
}

// process is a process that may hold a bridge.
type process struct {
	pid   int
	start string
}

// kin are the hosts that a peer belongs to.
type kin struct {
	ticket string // id of the bridge whose host ticket it showed
	own    []process
}

func (k kin) holds(b session.Bridge) bool {
	if k.ticket != "" && b.ID() == k.ticket {
		return true
	}
	for _, p := range k.own {
		if p.pid == b.PID() {
			return true
		}
	}
	return false
}

// owns reports whether one of these hosts has attached s. One whose bridge is
// being renewed still owns its sessions.
func (k kin) owns(s *session.Session) bool {
	for _, b := range s.Bridges() {
		if k.holds(b) {
			return true
		}
	}
	for _, p := range k.own {
		if s.OwnedBy(p.pid, p.start) {
			return true
		}
	}
	return false
}

// kin finds out whose peer it is: the process itself and, unless an agent's
// shell started it, its parent.
func (r *Resolver) kin(c *Caller, state *conn) kin {
	var k kin
	if c.Ticket != nil && c.Ticket.Kind == session.HostTicket {
		k.ticket = c.Ticket.ID
	}
	if state.err != nil {
		return k
	}
	state.mu.Lock()
	there := r.stillThere(state)
	start := state.start
	state.mu.Unlock()
	if !there {
		return k
	}
	k.own = append(k.own, process{state.creds.PID, start})
	env, err := r.o.Processes.Environ(state.creds.PID)
	if err != nil { // where the system does not tell, only a host ticket proves it
		return k
	}
	for _, mark := range shellMarks {
		if env[mark] != "" {
			return k
		}
	}
	parent, err := r.o.Processes.Parent(state.creds.PID)
	if err != nil || parent <= 1 {
		return k
	}
	if start, err := r.o.Processes.StartTime(parent); err == nil {
		k.own = append(k.own, process{parent, start})
	}
	return k
}
