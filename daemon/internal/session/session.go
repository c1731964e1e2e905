// Package session owns who is calling: sessions, their tree, their tickets and
// the bridges through which hosts tell about them.
package session

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/config"
	"tenon/proto"
)

// Bridge is one connected plugin; package bridge implements it. PID is the
// peer's, as the kernel gives it, never what the plugin says.
type Bridge interface {
	ID() string
	PID() int
	Host() string // opencode-v1, opencode-v2
	Interactive() bool
	Directory() string
	// Ask blocks until the host answered; the end of ctx withdraws the question.
	Ask(ctx context.Context, a proto.Ask) (proto.AskReply, error)
	// Question puts a server's question to the host and blocks until it is
	// answered; the end of ctx withdraws it. An answer that is Unavailable says
	// that nobody could be asked there.
	Question(ctx context.Context, q proto.Question) (proto.Answer, error)
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
	Ephemeral   State = "ephemeral"   // a lone command, or one MCP connection
	Directory   State = "directory"   // the terminals of one directory
	Ending      State = "ending"
)

// facts is what is known of a session; replaced whole, never changed.
type facts struct {
	state  State
	parent string
	root   string
	dir    string
	agent  string
	title  string
	host   string
	note   string
	env    config.Env // pinned: stays until another process owns the session
	config string     // of the host that attached it last
}

// Session is one agent session, named session, terminal or lone command. Its
// methods are safe for concurrent use and never wait.
type Session struct {
	ID string

	m     *Manager
	since time.Time
	facts atomic.Pointer[facts]
	rules atomic.Pointer[proto.RuleList]
	ended chan struct{}

	// The rest is guarded by Manager.mu.
	bridges   []Bridge // that attached it, newest last
	owner     process  // of the newest attach; stays when the bridge is lost
	refs      int
	everRef   bool
	lastUsed  time.Time
	freeSince time.Time  // since when nothing refers to it; zero: referred to
	resolving *resolving // the one question to the host that all wait for
}

// process identifies a process; start guards against a reused pid.
type process struct {
	pid   int
	start string
}

// Root is the id of the top of the session's tree; its own when it has no
// parent. A parent learnt late changes it.
func (s *Session) Root() string { return s.facts.Load().root }

// Parent is the parent's id, or empty.
func (s *Session) Parent() string { return s.facts.Load().parent }

// Dir is the session's directory, or empty.
func (s *Session) Dir() string { return s.facts.Load().dir }

// Agent is the host's agent of the session, or empty.
func (s *Session) Agent() string { return s.facts.Load().agent }

// Host is opencode-v1, opencode-v2, cli, mcp, …, or empty when unknown.
func (s *Session) Host() string { return s.facts.Load().host }

// State is how much is known of it.
func (s *Session) State() State { return s.facts.Load().state }

// Env is the environment pinned at attach, nil when none was sent. It must not
// be changed.
func (s *Session) Env() config.Env { return s.facts.Load().env }

// Config is the configuration file that the session's host named in its hello,
// or empty: what is in effect for the session, whatever its agent asks for.
func (s *Session) Config() string { return s.facts.Load().config }

// Rules is the host's rule list, nil when the host has sent none. It must not
// be changed. When the bridge is lost the list is no longer Confirmed.
func (s *Session) Rules() *proto.RuleList { return s.rules.Load() }

// Ended is closed when the session has ended.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Bridges are the live bridges that attached the session, newest last.
func (s *Session) Bridges() []Bridge {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return slices.Clone(s.bridges)
}

// Info is the row that `tenon sessions` shows; Runs and Leases are counted by
// those who own them.
func (s *Session) Info() proto.Session {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.m.rowLocked(s, s.m.childrenLocked())
}

// update replaces the facts by a changed copy. Called with Manager.mu held,
// which makes writers one at a time.
func (s *Session) update(change func(*facts)) {
	next := *s.facts.Load()
	change(&next)
	s.facts.Store(&next)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
