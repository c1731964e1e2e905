package pool

import (
	"context"
	"sync"
)

// gate bounds how many starts run at once; who waits longest goes next.
type gate struct {
	mu      sync.Mutex
	free    int             // guarded by mu
	waiting []chan struct{} // guarded by mu; closed when the turn is given
}

func newGate(n int) *gate { return &gate{free: n} }

// enter waits for a turn. Pair every nil result with leave.
func (g *gate) enter(ctx context.Context) error {
	g.mu.Lock()
	if g.free > 0 && len(g.waiting) == 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	for n, w := range g.waiting {
		if w == turn {
			g.waiting = append(g.waiting[:n], g.waiting[n+1:]...)
			g.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	g.mu.Unlock()
	g.leave() // the turn came together with the end of ctx: pass it on
	return context.Cause(ctx)
}

// leave ends the turn that enter gave and wakes the next.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	close(g.waiting[0])
	g.waiting = g.waiting[1:]
}
