// Package peer turns a connection into one Caller, once, at the edge: who is
// on the other side, and what may they do. It is the only checker of tickets.
package peer

import (
	"context"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/session"
)

// Class is what kind of caller it is; the daemon decides it, never the caller.
type Class string

// The classes of callers.
const (
	// User is the owner of the machine: no ticket and no agent above, or the
	// ticket of a directory's terminals.
	User Class = "user"
	// Agent is proven by a session's ticket.
	Agent Class = "session"
	// Stranger is inside an agent's shell without its ticket, or has a ticket
	// that is not valid. Only explicit allow rules let it call.
	Stranger Class = "stranger"
)

// Caller is the other side of one request.
type Caller struct {
	Class       Class
	PID, UID    int              // as the kernel says; PID 0: unknown (TCP)
	Session     *session.Session // nil: none; a lone call makes an ephemeral one
	Ticket      *session.Ticket  // the valid ticket it showed, or nil
	Dir, Config string           // from headers or query
	Env         config.Env       // from the header; nil when there is none
	Surface     string           // cli, http, mcp, bridge; the edge sets it
	Interactive bool             // somebody can be asked on its terminal; the edge sets it
	Why         string           // why it is a stranger
	Host        bool             // it is a process that holds a bridge, or shows a host's ticket
}

// Processes answers about running processes; package proctree provides it.
type Processes interface {
	// StartTime is opaque; together with the pid it identifies a process.
	StartTime(pid int) (string, error)
	Parent(pid int) (int, error)
	// Environ is the environment a process was started with. An error where
	// the system does not tell.
	Environ(pid int) (map[string]string, error)
}

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
