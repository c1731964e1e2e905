// Package session owns who is calling: sessions, their tree, their tickets and
// the bridges through which hosts tell about them.
package session

import (
	"context"
	"log/slog"
	"time"

	"tenon/daemon/internal/config"
	"tenon/proto"
)

// Bridge is one connected plugin; package bridge implements it.
type Bridge interface {
	ID() string
	PID() int
	Host() string // opencode-v1, opencode-v2
	Interactive() bool
	Directory() string
	// Ask blocks until the host answered; the end of ctx withdraws the question.
	Ask(ctx context.Context, a proto.Ask) (proto.AskReply, error)
	Resolve(ctx context.Context, id string) (proto.Resolved, error)
	Notice(ctx context.Context, n proto.Notice) error
	// Event passes a frame of a run on; it must not block.
	Event(f proto.Frame)
}

// State is how much is known of a session.
type State string

// The states of a session.
const (
	Provisional State = "provisional" // seen, not yet told of by its host
	Attached    State = "attached"    // its host told who it is
	Named       State = "named"       // --session NAME of a user
	Ephemeral   State = "ephemeral"   // a lone command
	Directory   State = "directory"   // the terminals of one directory
	Ending      State = "ending"
)

// Options configure a Manager.
type Options struct {
	RuntimeDir string           // holds the tickets' key, mode 0600
	Idle       time.Duration    // idle limit of named and directory sessions; 0: 30 min
	Grace      time.Duration    // how long a session outlives its last reference; 0: 60 s
	TicketTTL  time.Duration    // 0: 24 h
	Log        *slog.Logger     // nil: discarded
	Now        func() time.Time // nil: time.Now
}

// Manager holds all sessions. It is safe for concurrent use.
type Manager struct{}

// New opens the manager, making the tickets' key when there is none.
func New(o Options) (*Manager, error) { return &Manager{}, nil }

// Session is one agent session, named session, terminal or lone command. Its
// methods are safe for concurrent use.
type Session struct {
	ID string
}

// Root is the id of the top of the session's tree; its own when it has no parent.
func (s *Session) Root() string { return s.ID }

// Parent is the parent's id, or empty.
func (s *Session) Parent() string { return "" }

// Dir is the session's directory, or empty.
func (s *Session) Dir() string { return "" }

// Agent is the host's agent of the session, or empty.
func (s *Session) Agent() string { return "" }

// Host is opencode-v1, opencode-v2, cli, mcp, ….
func (s *Session) Host() string { return "" }

// State is how much is known of it.
func (s *Session) State() State { return Provisional }

// Env is the environment pinned at attach; nil when none was sent.
func (s *Session) Env() config.Env { return nil }

// Rules is the host's rule list, nil when the host has sent none. The list
// must not be changed.
func (s *Session) Rules() *proto.RuleList { return nil }

// Bridges are the live bridges that attached the session, newest last.
func (s *Session) Bridges() []Bridge { return nil }

// Ended is closed when the session has ended.
func (s *Session) Ended() <-chan struct{} { return nil }

// Info is the row that `tenon sessions` shows.
func (s *Session) Info() proto.Session { return proto.Session{} }

// AddBridge registers a connected plugin and gives it its host ticket.
func (m *Manager) AddBridge(b Bridge) (hostTicket string, err error) { return "", nil }

// RemoveBridge forgets a lost or closed bridge; its sessions keep their grace.
func (m *Manager) RemoveBridge(b Bridge, reason string) {}

// Bridges lists the live bridges.
func (m *Manager) Bridges() []Bridge { return nil }

// Holds reports whether that process holds a bridge.
func (m *Manager) Holds(pid int, start string) bool { return false }

// Attach tells of a session through a bridge; idempotent.
func (m *Manager) Attach(ctx context.Context, b Bridge, a proto.Attach) (*Session, string, error) {
	return nil, "", nil
}

// Detach ends a bridge's claim on a session.
func (m *Manager) Detach(b Bridge, d proto.Detach) error { return nil }

// SetRules replaces the rules of an attached session.
func (m *Manager) SetRules(b Bridge, id string, rules proto.RuleList) error { return nil }

// Named finds or makes the session a user named with --session.
func (m *Manager) Named(id, dir string, env config.Env) (*Session, error) { return nil, nil }

// Ephemeral makes a session for one command or connection; host is cli, mcp, ….
// It ends with the last reference.
func (m *Manager) Ephemeral(host, dir string, env config.Env) *Session { return nil }

// Directory finds or makes the session "dir:<hash>" of a directory's terminals.
func (m *Manager) Directory(dir string, env config.Env) (*Session, string, error) {
	return nil, "", nil
}

// Provisional finds or makes a session seen by id only, before its host told of it.
func (m *Manager) Provisional(id, host, dir string) *Session { return nil }

// Ensure resolves a provisional session through its host's bridge, at most
// ResolveTimeout, and fails closed.
func (m *Manager) Ensure(ctx context.Context, s *Session) error { return nil }

// Get finds a live session.
func (m *Manager) Get(id string) (*Session, bool) { return nil, false }

// List shows all live sessions, oldest first.
func (m *Manager) List() []proto.Session { return nil }

// End ends a session and its children at once.
func (m *Manager) End(id, reason string) error { return nil }

// Ref keeps a session alive until release is called; calling it twice is harmless.
func (m *Manager) Ref(id string) (release func()) { return func() {} }

// OnEnd registers a callback for every session that ends, child or root.
// It is called outside of all locks, in a goroutine of the manager.
func (m *Manager) OnEnd(f func(id, reason string)) {}

// Close stops the sweeper; sessions are not ended.
func (m *Manager) Close() {}
