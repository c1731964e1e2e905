package pool

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// The phases of an instance, in order; written under Pool.mu, read anywhere.
const (
	phaseStarting int32 = iota
	phaseServing
	phaseEnding
	phaseGone
)

// Instance is one running (or starting) server process or remote connection.
// Its methods are safe for concurrent use.
type Instance struct {
	pool      *Pool
	tmpl      *template
	def       *config.Definition
	id        string
	gen       uint64
	since     time.Time
	notBefore time.Time // back-off: the start waits until then
	roots     []string  // told to the server from the start
	rec       recorder

	life    context.Context // ends when the instance is to end
	stop    context.CancelCauseFunc
	started chan struct{} // closed when the start is over, either way
	failed  error         // why it failed; set before started closes
	slow    bool          // the start took its whole limit; of run's goroutine
	gone    chan struct{} // closed when the slot is free

	spare     bool   // guarded by Pool.mu
	endReason string // guarded by Pool.mu; set once

	ended    atomic.Pointer[fault.Error] // what End says; nil: it runs, or broke by itself
	phase    atomic.Int32
	conn     atomic.Pointer[counted]
	inFlight atomic.Int64
	calls    atomic.Int64
	timeouts atomic.Int64 // calls that timed out since one was answered
	check    check
	lists    lists
}

func newInstance(p *Pool, t *template, d *config.Definition, gen uint64, spare bool) *Instance {
	i := &Instance{
		pool:    p,
		tmpl:    t,
		def:     d,
		id:      fmt.Sprintf("i%d", gen),
		gen:     gen,
		since:   p.now(),
		spare:   spare,
		started: make(chan struct{}),
		gone:    make(chan struct{}),
	}
	i.life, i.stop = context.WithCancelCause(context.Background())
	i.lists.init()
	i.rec.changed = i.lists.announce
	i.rec.noticed = func(n upstream.Notice) { p.notices.send(News{Instance: i, Notice: n}) }
	return i
}

// ID names the instance within this daemon's life, for example "i12".
func (i *Instance) ID() string { return i.id }

// Generation is unique and grows with every start; a changed generation means
// that the state of the former instance is lost.
func (i *Instance) Generation() uint64 { return i.gen }

// Definition is what was started.
func (i *Instance) Definition() *config.Definition { return i.def }

// Since is when its start began.
func (i *Instance) Since() time.Time { return i.since }

// Ready waits until the instance can serve. Many may wait for one start, and
// one that leaves (ctx) does not disturb it: left by all, it becomes idle. A
// start that failed gives ServerUnavailable, the end of ctx its cause.
func (i *Instance) Ready(ctx context.Context) error {
	select {
	case <-i.started:
		return i.failed
	default:
	}
	select {
	case <-i.started:
		return i.failed
	case <-ctx.Done():
		return fault.From(context.Cause(ctx))
	}
}

// Usable reports whether the instance is ready, and neither ending nor broken.
func (i *Instance) Usable() bool {
	if i.phase.Load() != phaseServing {
		return false
	}
	c := i.conn.Load()
	return c != nil && !i.brokeBy(c.Conn)
}

// Starting reports whether the start is still going on.
func (i *Instance) Starting() bool { return i.phase.Load() == phaseStarting }

// Alive reports whether the instance is Starting or Usable. Phases only go
// forward, so the earlier one is asked for first: the other way round an
// instance that becomes ready between the two looks would seem to be neither.
func (i *Instance) Alive() bool { return i.Starting() || i.Usable() }

// Conn is the connection, nil before Ready. Calls through it are counted, and
// their outcome feeds crash-loop and doubt accounting.
func (i *Instance) Conn() upstream.Conn {
	if c := i.conn.Load(); c != nil {
		return c
	}
	return nil
}

// State is starting, ready, busy, doubtful, draining (ending with calls in
// flight) or dying.
func (i *Instance) State() string {
	switch phase := i.phase.Load(); {
	case phase == phaseStarting:
		return "starting"
	case phase >= phaseEnding && i.inFlight.Load() > 0:
		return "draining"
	case phase >= phaseEnding || !i.Usable():
		return "dying"
	case i.Doubtful():
		return "doubtful"
	case i.inFlight.Load() > 0:
		return "busy"
	default:
		return "ready"
	}
}

// InFlight is the number of calls being made now.
func (i *Instance) InFlight() int { return int(i.inFlight.Load()) }

// Calls is the number of calls ever made.
func (i *Instance) Calls() int64 { return i.calls.Load() }

// Done is closed when the instance is gone and its slot is free.
func (i *Instance) Done() <-chan struct{} { return i.gone }

// Info is the row that `tenon ls` shows.
func (i *Instance) Info() proto.Instance {
	i.pool.mu.Lock()
	spare := i.spare
	i.pool.mu.Unlock()
	out := proto.Instance{
		ID:       i.id,
		Server:   i.def.Server.Name,
		State:    i.State(),
		Since:    i.since.UTC().Format(time.RFC3339),
		InFlight: i.InFlight(),
		Calls:    i.Calls(),
		Spare:    spare,
		Noise:    i.rec.noise(),
	}
	if c := i.conn.Load(); c != nil {
		info := c.Info()
		out.PID = info.PID
		out.Protocol = info.Protocol
	}
	return out
}

// Records are bounded samples of what the server printed.
func (i *Instance) Records() Records { return i.rec.records() }
