// Package lease ties instances to scope keys: bindings, the uses of one call,
// the fair queue and the choice of a victim. It starts no process itself and
// knows sessions only by their id.
package lease

import (
	"context"
	"log/slog"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/pool"
	"tenon/proto"
)

// Holder says for whom a lease is taken.
type Holder struct {
	Session string // leaf session
	Root    string // its root; bindings of scope session belong to it
	Run     string // run, or empty for a lone call
	Dir     string // working directory, for messages and roots
}

// Request asks for one use of an instance.
type Request struct {
	Def    *config.Definition
	Scope  config.Scope
	Key    string // from ScopeKey
	Holder Holder
	// Timeout is how long the call is expected to last at most. A use whose
	// Done never comes is taken back after the longer of this and the server's
	// CallWall, plus a minute.
	Timeout time.Duration
}

// Options configure a Manager.
type Options struct {
	Pool *pool.Pool
	Log  *slog.Logger     // nil: discarded
	Now  func() time.Time // nil: time.Now
}

// Manager holds all bindings. It is safe for concurrent use.
type Manager struct{}

// New makes a manager over a pool and starts its sweeper.
func New(o Options) *Manager { return &Manager{} }

// Take waits fairly for an instance and returns a use of it. The context it
// returns ends when the use is taken back. Call Use.Done when the call is over.
func (m *Manager) Take(ctx context.Context, r Request) (context.Context, *Use, error) {
	return ctx, &Use{}, nil
}

// Use is one call in flight on an instance.
type Use struct {
	inst *pool.Instance
	// Replaced says that the caller's session had used another instance under
	// this key before, whose state is lost.
	Replaced bool
	// Queued is how long Take waited.
	Queued time.Duration
}

// Instance is what the call goes to.
func (u *Use) Instance() *pool.Instance { return u.inst }

// Generation is the instance's.
func (u *Use) Generation() uint64 { return 0 }

// Done ends the use. Calling it twice is harmless.
func (u *Use) Done() {}

// ScopeKey makes the key of a scope for a session's root and a working
// directory, and the directory that belongs to the key (empty for shared).
func ScopeKey(scope config.Scope, root, cwd string) (key, dir string, err error) {
	return string(scope), cwd, nil
}

// Release ends the binding with that id and its instance.
func (m *Manager) Release(id, reason string) error { return nil }

// EndSession ends every binding of a session (leaf or root) and refuses its waiters.
func (m *Manager) EndSession(session, reason string) {}

// RunStarted announces a run, RunEnded its end. In between, the run's bindings
// are not idle and their generations are pinned.
func (m *Manager) RunStarted(run string) {}

// RunEnded is the end that pairs with RunStarted.
func (m *Manager) RunEnded(run string) {}

// List shows bindings and waiters.
func (m *Manager) List() []proto.Lease { return nil }

// Bound is the instance bound to a key now, or nil; for showing overlays.
func (m *Manager) Bound(definition, key string) *pool.Instance { return nil }

// Close stops the sweeper and refuses all waiters. The pool is closed apart.
func (m *Manager) Close() {}
