package pool

import (
	"context"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// Instance is one running (or starting) server process or remote connection.
type Instance struct{ def *config.Definition }

// ID names the instance within this daemon's life, for example "i12".
func (i *Instance) ID() string { return "" }

// Generation is unique and grows with every start; a changed generation means
// that the state of the former instance is lost.
func (i *Instance) Generation() uint64 { return 0 }

// Definition is what was started.
func (i *Instance) Definition() *config.Definition { return i.def }

// Ready waits until the instance can serve. Many may wait for one start, and
// one that leaves (ctx) does not disturb the start.
func (i *Instance) Ready(ctx context.Context) error { return nil }

// Conn is the connection, nil before Ready. Calls through it are counted, and
// their outcome feeds crash-loop and doubt accounting.
func (i *Instance) Conn() upstream.Conn { return nil }

// Tools is the newest list of tools, and a number that changes with the list.
// err says why the newest attempt to read it failed, the list then being the
// one before.
func (i *Instance) Tools() (tools []upstream.Tool, revision uint64, err error) { return nil, 0, nil }

// FreshTools is Tools after any announced change has been read.
func (i *Instance) FreshTools(ctx context.Context) (tools []upstream.Tool, revision uint64, err error) {
	return nil, 0, nil
}

// State is starting, ready, busy, doubtful, draining or dying.
func (i *Instance) State() string { return "" }

// InFlight is the number of calls being made now.
func (i *Instance) InFlight() int { return 0 }

// Calls is the number of calls ever made.
func (i *Instance) Calls() int64 { return 0 }

// Done is closed when the instance is gone and its slot is free.
func (i *Instance) Done() <-chan struct{} { return nil }

// Info is the row that `tenon ls` shows.
func (i *Instance) Info() proto.Instance { return proto.Instance{} }

// Records are bounded samples of what the server printed.
func (i *Instance) Records() Records { return Records{} }

// Records is what `tenon doctor` shows of an instance.
type Records struct {
	Stderr []string // the last lines
	Noise  []string // first samples of lines on stdout that are not MCP
	Logs   []string // the last log messages over MCP
}
