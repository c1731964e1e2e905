package api

import (
	"context"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
)

// Gate counts the work that is being done and keeps new work out once the
// daemon drains. Closing and entering exclude each other, so nothing slips in
// between the look at an idle daemon and its end.
type Gate struct {
	mu     sync.Mutex
	closed bool          // guarded by mu
	inside int           // guarded by mu
	left   time.Time     // guarded by mu; when somebody was inside last
	empty  chan struct{} // guarded by mu; closed when closed and nobody is inside
}

// NewGate makes an open gate.
func NewGate() *Gate { return &Gate{empty: make(chan struct{}), left: time.Now()} }

// Enter announces work; the caller calls leave when it is done. It fails with
// DaemonUnavailable once the gate is closed.
func (g *Gate) Enter() (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fault.New(fault.DaemonUnavailable, "the daemon is ending and takes no new work").
			WithHint("try again: the next command starts a new daemon")
	}
	g.inside++
	return sync.OnceFunc(g.leave), nil
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.left = time.Now()
	g.settle()
}

// settle tells waiters that it is over; g.mu is held.
func (g *Gate) settle() {
	if !g.closed || g.inside > 0 {
		return
	}
	select {
	case <-g.empty:
	default:
		close(g.empty)
	}
}

// Close keeps new work out; what is inside goes on.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.settle()
}

// TryClose closes the gate if nobody is inside and still agrees, which is told
// for how long nobody has been inside. It is asked under the gate's lock and
// must not use the gate. TryClose reports whether the gate is closed now.
func (g *Gate) TryClose(still func(quiet time.Duration) bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return true
	}
	if g.inside > 0 || !still(time.Since(g.left)) {
		return false
	}
	g.closed = true
	g.settle()
	return true
}

// Closed reports whether the daemon drains.
func (g *Gate) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Inside is the number of requests being worked on.
func (g *Gate) Inside() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}

// Wait returns when the gate is closed and everybody has left, or with ctx.
func (g *Gate) Wait(ctx context.Context) error {
	select {
	case <-g.empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
