package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Options configure a Manager.
type Options struct {
	RuntimeDir string           // holds the tickets' key, mode 0600
	Idle       time.Duration    // idle limit of named and directory sessions; 0: DefaultIdle
	Grace      time.Duration    // how long a session outlives its last reference; 0: DefaultGrace
	TicketTTL  time.Duration    // 0: DefaultTicketTTL
	Log        *slog.Logger     // nil: discarded
	Now        func() time.Time // nil: time.Now; for limits, not for waits
	// StartTime gives an opaque start time of a process, or an error when
	// there is none; proctree.StartTime. Nil: processes are told apart by pid.
	StartTime func(pid int) (string, error)
}

// Defaults and limits.
const (
	DefaultIdle      = 30 * time.Minute
	DefaultGrace     = 60 * time.Second
	DefaultTicketTTL = 24 * time.Hour
	// ResolveTimeout bounds the question to a host who a session is.
	ResolveTimeout = time.Second
	// maxSessions bounds how many sessions may exist at once; from crowded on,
	// the idlest attached ones are ended.
	maxSessions = 4096
	crowded     = 3072
	// maxID bounds a session's id, in bytes.
	maxID = 256
	// maxDepth bounds the walk up a tree of sessions.
	maxDepth = 64
)

// Manager holds all sessions. It is safe for concurrent use. Bridges and
// callbacks are never called under its lock.
type Manager struct {
	opts    Options
	log     *slog.Logger
	now     func() time.Time
	tickets *tickets
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	ttl     atomic.Int64 // of tickets, as a time.Duration

	mu       sync.Mutex
	sessions map[string]*Session       // guarded by mu
	bridges  map[Bridge]process        // guarded by mu; live ones
	onEnd    []func(id, reason string) // guarded by mu
	holds    func(id string) bool      // set before any session is made; nil: nobody tells
	onAttach []func(*Session)          // guarded by mu
	lastID   uint64                    // guarded by mu; ephemeral ids
}

// New opens the manager, making the tickets' key when there is none, and
// starts its sweeper; pair with Close.
func New(o Options) (*Manager, error) {
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.TicketTTL <= 0 {
		o.TicketTTL = DefaultTicketTTL
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t, err := openTickets(o.RuntimeDir, o.Now)
	if err != nil {
		return nil, err
	}
	m := &Manager{
		opts:     o,
		log:      o.Log,
		now:      o.Now,
		tickets:  t,
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		sessions: map[string]*Session{},
		bridges:  map[Bridge]process{},
	}
	m.ttl.Store(int64(o.TicketTTL))
	go m.sweeper(min(time.Second, max(10*time.Millisecond, min(o.Grace, o.Idle)/4)))
	return m, nil
}

// Close stops the sweeper. Sessions are not ended: a restarted daemon finds
// them again by their tickets.
func (m *Manager) Close() {
	m.once.Do(func() { close(m.stop) })
	<-m.done
}

// OnEnd registers a callback for every session that ends, children before
// their parents. Whoever ended it calls it, outside of all locks.
func (m *Manager) OnEnd(f func(id, reason string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onEnd = append(m.onEnd, f)
}

// HoldsBy gives what says whether a session holds an instance: the end of a lone
// command's session that holds none is told at debug level only. It is called once,
// before any session is made.
func (m *Manager) HoldsBy(f func(id string) bool) { m.holds = f }

// OnAttach registers a callback for every session of which a host told: at each
// attach and when a host was asked. It is called outside of all locks, by the
// one who told, and must not block.
func (m *Manager) OnAttach(f func(*Session)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onAttach = append(m.onAttach, f)
}

// attached tells that a host told of s. It is called without the lock.
func (m *Manager) attached(s *Session) {
	m.mu.Lock()
	tell := m.onAttach
	m.mu.Unlock()
	for _, f := range tell {
		f(s)
	}
}

// Get finds a live session.
func (m *Manager) Get(id string) (*Session, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[id]
	return s, ok
}

// addLocked makes a session; f.root is filled in when empty.
func (m *Manager) addLocked(id string, f facts) *Session {
	now := m.now()
	if f.root == "" {
		f.root = id
	}
	s := &Session{ID: id, m: m, since: now, lastUsed: now, freeSince: now, ended: make(chan struct{})}
	s.facts.Store(&f)
	m.sessions[id] = s
	return s
}

// Named finds or makes the session that a user named with --session. An id
// that a bridge has attached is joined; a new one lives until it is idle.
func (m *Manager) Named(id, dir string, env config.Env) (*Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		s.lastUsed = m.now()
		return s, nil
	}
	if strings.HasPrefix(id, directoryPrefix) {
		return nil, fault.New(fault.UsageError, "session %q is no name to choose: %s… are the terminals of a directory", id, directoryPrefix)
	}
	if err := m.roomLocked(); err != nil {
		return nil, err
	}
	return m.addLocked(id, facts{state: Named, host: "cli", dir: dir, env: env}), nil
}

// Ephemeral makes a session for one command or connection; host is cli, mcp, ….
// Take a reference with Ref: it ends when the last one is released, an MCP
// connection's after the grace. Without any reference it ends after the grace.
func (m *Manager) Ephemeral(host, dir string, env config.Env) *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastID++
	id := fmt.Sprintf("%s-%s-%d", host, m.tickets.boot, m.lastID)
	return m.addLocked(id, facts{state: Ephemeral, host: host, dir: dir, env: env})
}

const directoryPrefix = "dir:"

// DirectoryID is the id of the session of a directory's terminals.
func DirectoryID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return directoryPrefix + hex.EncodeToString(sum[:6])
}

// Directory finds or makes the session of a directory's terminals, with its
// ticket. Links in dir are resolved.
func (m *Manager) Directory(dir string, env config.Env) (*Session, string, error) {
	if dir == "" {
		return nil, "", fault.New(fault.UsageError, "a terminal without a directory has no session")
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved // one that is not there stays as it is written
	}
	id := DirectoryID(dir)
	s, err := m.directory(id, dir, env)
	if err != nil {
		return nil, "", err
	}
	return s, m.Issue(DirectoryTicket, id, 0), nil
}

func (m *Manager) directory(id, dir string, env config.Env) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		s.lastUsed = m.now()
		return s, nil
	}
	if err := m.roomLocked(); err != nil {
		return nil, err
	}
	return m.addLocked(id, facts{
		state: Directory, host: "terminal", dir: dir, env: env,
		note: "no agent session: shared by the terminals of this directory",
	}), nil
}

// Provisional finds or makes a session that is known by its id only. Call
// Ensure before its first scope key is made.
func (m *Manager) Provisional(id, host, dir string) (*Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		return s, nil
	}
	if err := m.roomLocked(); err != nil {
		return nil, err
	}
	return m.addLocked(id, facts{state: Provisional, host: host, dir: dir, note: "its host has not told of it yet"}), nil
}

// FromTicket finds the session a verified ticket speaks for, or makes it anew
// after a restart of the daemon; dir and env are the caller's. A host ticket
// speaks for no session: nil.
func (m *Manager) FromTicket(t Ticket, dir string, env config.Env) (*Session, error) {
	switch t.Kind {
	case DirectoryTicket:
		return m.directory(t.ID, dir, env)
	case SessionTicket, RunTicket:
		return m.Provisional(t.ID, "", dir)
	default:
		return nil, nil
	}
}

func (m *Manager) roomLocked() error {
	if len(m.sessions) < maxSessions {
		return nil
	}
	return fault.New(fault.ServerUnavailable, "there are %d sessions already, no more can be made", maxSessions).
		WithHint("tenon sessions lists them; DELETE /v1/sessions/ID ends one")
}

// checkID refuses ids that cannot be shown or stored safely.
func checkID(id string) error {
	if id == "" {
		return fault.New(fault.UsageError, "a session needs an id")
	}
	if len(id) > maxID {
		return fault.New(fault.UsageError, "a session id has at most %d bytes, this one has %d", maxID, len(id))
	}
	for _, r := range id {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return fault.New(fault.UsageError, "a session id has no control characters: %q", id)
		}
	}
	return nil
}

// Ref keeps a session alive until release is called; calling release twice is
// harmless. A run and a connection each hold one. An unknown id gives a
// release that does nothing.
func (m *Manager) Ref(id string) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		return func() {}
	}
	s.refs++
	s.everRef = true
	s.lastUsed = m.now()
	s.freeSince = time.Time{}
	var once sync.Once
	return func() { once.Do(func() { m.unref(s) }) }
}

func (m *Manager) unref(s *Session) {
	m.mu.Lock()
	s.refs--
	s.lastUsed = m.now()
	if s.refs == 0 && len(s.bridges) == 0 {
		s.freeSince = s.lastUsed
	}
	now := s.refs == 0 && s.State() == Ephemeral && s.Host() != "mcp"
	m.mu.Unlock()
	if now {
		m.end(s, "its command has ended", func() bool { return s.refs == 0 })
	}
}

// Referenced is how many sessions a bridge, a connection or a run refers to:
// while there is one, the daemon is not idle.
func (m *Manager) Referenced() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, s := range m.sessions {
		if s.refs > 0 || len(s.bridges) > 0 {
			n++
		}
	}
	return n
}

// SetLimits applies a changed configuration; 0 means the default. The time to
// live holds for tickets made from now on.
func (m *Manager) SetLimits(idle, grace, ticketTTL time.Duration) {
	if idle <= 0 {
		idle = DefaultIdle
	}
	if grace <= 0 {
		grace = DefaultGrace
	}
	if ticketTTL <= 0 {
		ticketTTL = DefaultTicketTTL
	}
	m.ttl.Store(int64(ticketTTL))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opts.Idle, m.opts.Grace = idle, grace
}

// SetRules replaces the rules of an attached session (rules/changed). Only a
// bridge that attached the session may.
func (m *Manager) SetRules(b Bridge, id string, rules proto.RuleList) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		return unknown(id)
	}
	if !s.hasBridge(b) {
		return fault.New(fault.PermissionDenied, "session %q was not attached by this connection", id)
	}
	s.rules.Store(&rules)
	return nil
}

func unknown(id string) error {
	return fault.New(fault.NotFound, "there is no session %q", id).WithHint("tenon sessions lists them")
}
