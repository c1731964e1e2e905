package run

import (
	"context"
	"sync"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// stopwatch counts the time during which at least one thing goes on.
type stopwatch struct {
	n     int
	since time.Time
	total time.Duration
}

func (w *stopwatch) enter(now time.Time) {
	if w.n++; w.n == 1 {
		w.since = now
	}
}

func (w *stopwatch) leave(now time.Time) {
	if w.n--; w.n == 0 {
		w.total += now.Sub(w.since)
	}
}

func (w *stopwatch) read(now time.Time) time.Duration {
	if w.n > 0 {
		return w.total + now.Sub(w.since)
	}
	return w.total
}

// clocks are the clocks of one run. Computing, tools, queues and humans are
// timed apart and may overlap; the limit counts everything but human time.
type clocks struct {
	tokens chan struct{} // of the daemon: one for each run that may compute
	began  time.Time

	mu      sync.Mutex
	compute stopwatch
	tools   stopwatch
	human   stopwatch
	queue   stopwatch
	answers int  // of the humans, how many are asked what a server wants to know
	holding bool // a compute token
	left    time.Duration
	armed   time.Time
	timer   *time.Timer // nil: no limit
	over    bool
}

// newClocks starts the clocks; expire is called once when limit has passed, 0
// meaning never.
func newClocks(tokens chan struct{}, limit time.Duration, expire func()) *clocks {
	now := time.Now()
	c := &clocks{tokens: tokens, began: now, left: limit, armed: now}
	if limit > 0 {
		c.timer = time.AfterFunc(limit, expire)
	}
	return c
}

// Resume waits for a compute token: at most GOMAXPROCS programs compute at a
// time, however many runs there are.
func (c *clocks) Resume(ctx context.Context) error {
	if err := c.takeToken(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.holding { // the run is over, or the engine resumed twice
		<-c.tokens
		return nil
	}
	c.holding = true
	c.compute.enter(time.Now())
	return nil
}

func (c *clocks) takeToken(ctx context.Context) error {
	select {
	case c.tokens <- struct{}{}:
	default:
		c.note(call.WaitQueue, true)
		defer c.note(call.WaitQueue, false)
		select {
		case c.tokens <- struct{}{}:
		case <-ctx.Done():
			return fault.From(context.Cause(ctx))
		}
	}
	return nil
}

// Park gives the token back.
func (c *clocks) Park() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.park()
}

func (c *clocks) park() {
	if c.holding {
		c.holding = false
		c.compute.leave(time.Now())
		<-c.tokens
	}
}

// computed says how much processor time the program took, as the engine measured
// it: a process of its own computes without holding a token.
func (c *clocks) computed(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compute.total = max(c.compute.total, d)
}

// note starts or stops one of the clocks. The limit stands still while a human
// is being asked.
func (c *clocks) note(kind string, begin bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	w := c.watch(kind)
	n := -1
	if begin {
		n = 1
		w.enter(now)
	} else {
		w.leave(now)
	}
	if kind == call.WaitAnswer {
		c.answers += n
	}
	if w != &c.human || c.timer == nil || c.over {
		return
	}
	switch {
	case begin && w.n == 1:
		if c.timer.Stop() {
			c.left -= now.Sub(c.armed)
		} else {
			c.left = 0 // it has fired already
		}
	case !begin && w.n == 0 && c.left > 0:
		c.armed = now
		c.timer.Reset(c.left)
	}
}

func (c *clocks) watch(kind string) *stopwatch {
	switch kind {
	case call.WaitHuman, call.WaitAnswer:
		return &c.human
	case call.WaitQueue:
		return &c.queue
	default:
		return &c.tools
	}
}

// waiting says what the run waits for now, for lists; empty: it computes.
func (c *clocks) waiting() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return ""
	case c.answers > 0:
		return "answer"
	case c.human.n > 0:
		return "approval"
	case c.queue.n > 0:
		return "queue"
	case c.tools.n > 0:
		return "tool"
	}
	return ""
}

// stop ends the clocks, whatever still holds a token.
func (c *clocks) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.park()
	c.over = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *clocks) timing() proto.Timing {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return proto.Timing{
		Compute: ms(c.compute.read(now)), Tools: ms(c.tools.read(now)), Human: ms(c.human.read(now)),
		Queue: ms(c.queue.read(now)), Total: ms(now.Sub(c.began)),
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// computing is how long the run's programs have computed so far.
func (c *clocks) computing() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compute.read(time.Now())
}

// partClock is the clock of a program within the run. It holds a token of its
// own, since the program that runs it may compute meanwhile; what it measures is
// the run's.
type partClock struct {
	c       *clocks
	holding bool // guarded by c.mu, as what follows
	since   time.Time
	spent   time.Duration
}

func (c *clocks) part() *partClock { return &partClock{c: c} }

// Resume waits for a compute token.
func (p *partClock) Resume(ctx context.Context) error {
	if err := p.c.takeToken(ctx); err != nil {
		return err
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if p.holding {
		<-p.c.tokens
		return nil
	}
	p.holding, p.since = true, time.Now()
	p.c.compute.enter(p.since)
	return nil
}

// Park gives the token back.
func (p *partClock) Park() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if !p.holding {
		return
	}
	p.holding = false
	now := time.Now()
	p.spent += now.Sub(p.since)
	p.c.compute.leave(now)
	<-p.c.tokens
}

// end gives back what is held, and adds what the program computed beyond the
// time in which it held a token; see computed.
func (p *partClock) end(cpu time.Duration) {
	p.Park()
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.compute.total += max(0, cpu-p.spent)
}
