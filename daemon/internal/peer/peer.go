// Package peer turns a connection into one Caller, once, at the edge: who is
// on the other side, and what may they do. It is the only checker of tickets.
package peer

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/session"
)

// Class is what kind of caller it is; the daemon decides it, never the caller.
type Class string

// The classes of callers.
const (
	User     Class = "user"     // the owner of the machine at a terminal
	Agent    Class = "session"  // proven by a ticket
	Stranger Class = "stranger" // inside an agent's shell without its ticket
)

// Caller is the other side of one request.
type Caller struct {
	Class       Class
	PID, UID    int
	Session     *session.Session // nil: none named; a lone call makes an ephemeral one
	Dir, Config string
	Env         config.Env
	Surface     string // cli, http, mcp, bridge
	Interactive bool
}

// Processes answers about running processes; package proctree provides it.
type Processes interface {
	StartTime(pid int) (string, error)
	Parent(pid int) (int, error)
	Environ(pid int) (map[string]string, error)
}

// Options configure a Resolver.
type Options struct {
	Sessions    *session.Manager
	Processes   Processes
	HoldsBridge func(pid int, start string) bool // usually Sessions.Holds
	UID         int                              // the daemon's own; only it (and nobody else) is served
	Log         *slog.Logger                     // nil: discarded
}

// Resolver makes callers.
type Resolver struct{}

// New makes a resolver.
func New(o Options) *Resolver { return &Resolver{} }

// ConnContext is for http.Server.ConnContext: it reads the peer's credentials
// once per connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context { return ctx }

// FromHTTP decides who sent a request.
func (r *Resolver) FromHTTP(req *http.Request) (*Caller, error) { return &Caller{}, nil }

// Action is something not every caller may do.
type Action string

// The actions that are checked.
const (
	Approve Action = "approve" // approve and deny asks
	Trust   Action = "trust"
	Auth    Action = "auth"
	Install Action = "install"
	Presets Action = "presets"
	Stop    Action = "stop"    // stop or restart the daemon
	Restart Action = "restart" // restart a server
	Hello   Action = "hello"   // open a bridge
	Release Action = "release" // end a lease
	EndRun  Action = "cancel"  // cancel a run
	EndSess Action = "end"     // end a session
)

// May reports nil or PermissionDenied.
func (c *Caller) May(a Action) error { return nil }

// MayTouch is May for something that belongs to a session: its own is allowed.
func (c *Caller) MayTouch(a Action, sessionID string) error { return nil }

type callerKey struct{}

// WithCaller puts the caller into a context.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// FromContext finds the caller of a request; nil when there is none.
func FromContext(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}
