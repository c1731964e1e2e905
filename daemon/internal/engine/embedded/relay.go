package embedded

import (
	"context"
	"errors"
	"sync"
	"time"

	"tenon/daemon/internal/engine/guest"
)

// relay lets the goroutine of a run's loop make the program's calls itself while
// there is one at a time, which is what most programs do: no goroutine is woken on
// the way to the server or back, and waking one costs as much as the pipe.
//
// A call that does not listen to its context must not hold up the end of a run. So
// from the first such call on the loop has a goroutine of its own, which is left
// behind where it does not come back from a call; execute waits beside it.
type relay struct {
	mu      sync.Mutex
	calling bool // the loop is in a call, and touches nothing of the run
	left    bool // nobody waits for the loop any more: it touches nothing of the run again
}

// errLeft ends a loop that was left behind.
var errLeft = errors.New("the run has ended meanwhile")

// enter begins a call.
func (l *relay) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calling = true
}

// back ends it; false: the run has ended meanwhile.
func (l *relay) back() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calling = false
	return !l.left
}

// leave ends the waiting for a loop that is in a call. False: it computes, and
// ends by itself.
func (l *relay) leave() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = l.calling
	return l.left
}

// handOver goes on with the loop in a goroutine of its own and returns how it
// ended.
func (r *run) handOver() error {
	r.relay = &relay{}
	ended := make(chan error, 1)
	go func() { ended <- r.loop() }()
	select {
	case err := <-ended:
		return err
	case <-r.ctx.Done():
	}
	late := time.NewTimer(guest.SettleTime)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
	}
	if r.relay.leave() {
		return context.Cause(r.ctx)
	}
	return <-ended
}

// callAlone makes the call that the program waits for and hands it the answer.
func (r *run) callAlone() error {
	relay, ctx := r.relay, r.ctx
	id, do := r.calls.Lone()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	relay.enter()
	value, err := do(ctx)
	if !relay.back() {
		return errLeft
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	answer := guest.Answer{ID: id, Value: value, Err: err}
	return r.inside(func() error { return r.deliver(answer, true) })
}
