// Package lease ties instances to scope keys: bindings, the uses of one call,
// the fair queue and the choice of a victim. It starts no process itself and
// knows sessions only by their id.
package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
)

// Holder says for whom a lease is taken.
type Holder struct {
	Session string // leaf session
	Root    string // its root
	Run     string // run, or empty for a lone call
	Dir     string // the session's directory; becomes a root of the server
}

// Request asks for one use of an instance.
type Request struct {
	Def    *config.Definition
	Scope  config.Scope
	Key    string // from ScopeKey
	Holder Holder
	// Looks says that nothing is called: what the session has lost is left to be
	// told with its next call.
	Looks bool
	// Timeout is how long the call is expected to last at most. A use whose
	// Done never comes is taken back after the longer of this and the server's
	// CallWall, plus a minute.
	Timeout time.Duration
}

// Options configure a Manager.
type Options struct {
	Pool *pool.Pool
	Log  *slog.Logger     // nil: discarded
	Now  func() time.Time // nil: time.Now; for idle limits, not for waits
}

const (
	// defaultQueueTimeout is used where a definition gives none.
	defaultQueueTimeout = 30 * time.Second
	// useSlack is added to a use's expected end before it is taken back.
	useSlack = time.Minute
	// defaultUse is how long a use may last where nothing bounds its call.
	defaultUse = 24 * time.Hour
	// rememberLost is how long a key without an instance is remembered, so
	// that its next use can be told of the lost state.
	rememberLost = 24 * time.Hour
)

// Manager holds all bindings. It is safe for concurrent use.
//
// Lock order: binding.rootsMu, then Manager.mu, then the pool's locks.
type Manager struct {
	pool *pool.Pool
	log  *slog.Logger
	now  func() time.Time
	wake chan struct{} // a waiter came: sweep sooner; capacity 1
	stop context.CancelFunc
	done sync.WaitGroup // the two goroutines of New

	mu       sync.Mutex
	bindings map[bindingKey]*binding // guarded by mu
	queues   map[string][]*waiter    // guarded by mu; by template, first come first
	runs     map[string]*run         // guarded by mu; runs that are alive
	lastID   uint64                  // guarded by mu; ids of bindings and waiters
	closed   bool                    // guarded by mu
}

// New makes a manager over a pool and starts its sweeper; pair with Close.
func New(o Options) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Manager{
		pool:     o.Pool,
		log:      o.Log,
		now:      o.Now,
		wake:     make(chan struct{}, 1),
		stop:     stop,
		bindings: map[bindingKey]*binding{},
		queues:   map[string][]*waiter{},
		runs:     map[string]*run{},
	}
	m.done.Add(2)
	go m.follow(ctx, o.Pool.Events())
	go m.sweeper(ctx)
	return m
}

// Close stops the sweeper and refuses all waiters. The pool is closed apart.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	for _, w := range m.waitersLocked() {
		m.settleLocked(w, stopping(w.req.Def.Server.Name))
	}
	m.mu.Unlock()
	m.stop()
	m.done.Wait()
}

func stopping(server string) error {
	return fault.New(fault.ServerUnavailable, "server %q cannot be leased: the daemon is stopping", server).At(server, "")
}

// follow gives freed slots to waiters.
func (m *Manager) follow(ctx context.Context, events <-chan pool.Event) {
	defer m.done.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case ev, open := <-events:
			if !open {
				return
			}
			if ev.Kind != pool.Freed {
				continue
			}
			m.mu.Lock()
			m.pumpLocked(ev.Template)
			m.mu.Unlock()
		}
	}
}

func (m *Manager) nextIDLocked(prefix string) string {
	m.lastID++
	return fmt.Sprintf("%s%d", prefix, m.lastID)
}
