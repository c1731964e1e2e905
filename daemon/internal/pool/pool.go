// Package pool owns the instances of servers: it starts them, keeps spares
// warm, notices when they die and frees a slot only when the process is gone.
// It knows nothing of sessions.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/upstream"
)

// ErrFull is returned by TryStart when every slot of the template is taken.
var ErrFull = errors.New("every instance slot is taken")

// Dial connects to a server described by d. The pool closes what it returns.
type Dial func(ctx context.Context, d *config.Definition, o upstream.Observer) (upstream.Conn, error)

// Options configure a Pool. Only Dial is required.
type Options struct {
	Dial        Dial
	MaxStarting int              // starts at once over all servers; 0: DefaultMaxStarting
	Log         *slog.Logger     // nil: discarded
	Now         func() time.Time // nil: time.Now
}

// DefaultMaxStarting bounds concurrent starts (TEN-10).
const DefaultMaxStarting = 4

// Pool is the set of all instances. It is safe for concurrent use.
type Pool struct{}

// New makes an empty pool.
func New(o Options) *Pool { return &Pool{} }

// TryStart hands out an instance for d without waiting: a warm spare, or a new
// one that is starting (wait with Instance.Ready). ErrFull when every slot of
// the template is taken; a *fault.Error (ServerUnavailable) in a crash loop.
func (p *Pool) TryStart(d *config.Definition) (*Instance, error) { return nil, ErrFull }

// End ends an instance; it returns at once. Ending twice is harmless.
func (p *Pool) End(i *Instance, reason string) {}

// Restart ends every instance of the servers with that name and clears their
// crash-loop state. It returns how many instances it ended.
func (p *Pool) Restart(name string) int { return 0 }

// Events subscribes to what happens to instances. Each call is a subscription
// of its own that lives until Close.
func (p *Pool) Events() <-chan Event { return nil }

// Close ends every instance in parallel, waiting until ctx ends.
func (p *Pool) Close(ctx context.Context) error { return nil }

// EndSpare ends one spare of the template to make room, and says if it did.
func (p *Pool) EndSpare(template string) bool { return false }

// Instances lists the instances that hold a slot, oldest first.
func (p *Pool) Instances() []*Instance { return nil }

// Status says how the servers with this definition or name fare.
func (p *Pool) Status(name string) Status { return Status{} }

// Status is the state of one server name over all its templates.
type Status struct {
	State    string // idle, starting, ready, failed, crash-loop
	Detail   string // why it failed, how long it waits
	Restarts int    // instances started after a crash
	Max      int    // slots, of the template used last
}

// Event is one change of an instance.
type Event struct {
	Kind       EventKind
	Instance   *Instance
	Server     string // the server's name
	Template   string
	Definition string // definition id
	Reason     string
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	Started      EventKind = "started"       // a start began
	Ready        EventKind = "ready"         // it can serve
	StartFailed  EventKind = "start-failed"  // it never got ready
	ToolsChanged EventKind = "tools-changed" // its list of tools was replaced
	ToolsFailed  EventKind = "tools-failed"  // a re-list failed; the old list stays
	Crashed      EventKind = "crashed"       // it went away by itself
	Freed        EventKind = "freed"         // its slot is free
)
