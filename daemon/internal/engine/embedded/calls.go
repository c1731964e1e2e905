package embedded

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tenon/daemon/internal/engine"
)

// calls are a run's host calls: those in flight, and those that wait for one of
// the places, first come first served.
type calls struct {
	open     map[int64]openCall // every call without an answer
	queue    []queuedCall
	queued   int64 // bytes of the queue
	inFlight int   // calls that hold a place
	floating bool  // the program has ended
	late     []string
	wg       sync.WaitGroup  // calls being made
	idle     chan queuedCall // to a goroutine that has made a call before
}

type openCall struct {
	name  string
	place bool // counts against the concurrency
}

type callFunc func(ctx context.Context) (engine.CallValue, error)

type queuedCall struct {
	id   int64
	do   callFunc
	size int64
}

func (c *calls) waiting() int { return len(c.open) }

// names are those of the open calls, oldest first.
func (c *calls) names() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		out = append(out, c.open[id].name)
	}
	return out
}

// float says that the program has ended: what is open now or comes later is not
// awaited by it.
func (c *calls) float() {
	c.floating = true
	c.late = c.names()
}

// queueOverhead is what a queued call takes beside its arguments.
const queueOverhead = 256

// add makes a call of size bytes, or lets it wait for a place where it needs one.
func (r *run) add(id int64, name string, place bool, size int, do callFunc) {
	c := &r.calls
	if c.open == nil {
		c.open = map[int64]openCall{}
	}
	c.open[id] = openCall{name, place}
	if c.floating {
		c.late = append(c.late, name)
	}
	if place && c.inFlight >= r.program.Limits.Concurrency {
		// The queue is outside the realm's memory, so it is bounded like it.
		q := queuedCall{id, do, int64(size) + queueOverhead}
		if c.queued += q.size; c.queued > r.program.Limits.Memory {
			panic(errMemory)
		}
		c.queue = append(c.queue, q)
		return
	}
	if place {
		c.inFlight++
	}
	r.fly(id, do)
}

// fly makes one call in a goroutine that makes no other meanwhile: one that is
// idle, since its stack has grown to what a call needs, else a new one. The
// answer goes nowhere once the run has ended.
func (r *run) fly(id int64, do callFunc) {
	c := &r.calls
	if c.idle == nil {
		c.idle = make(chan queuedCall)
	}
	c.wg.Add(1) // Done at the end of the call
	next := queuedCall{id: id, do: do}
	select {
	case c.idle <- next:
	default:
		go r.makeCalls(next)
	}
}

// makeCalls makes one call after the other, until the run ends.
func (r *run) makeCalls(next queuedCall) {
	for {
		r.makeCall(next)
		select {
		case next = <-r.calls.idle:
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *run) makeCall(next queuedCall) {
	defer r.calls.wg.Done()
	v, err := next.do(r.ctx)
	select {
	case r.events <- event{next.id, v, err}:
	case <-r.ctx.Done():
	}
}

// answered takes a call off the books and gives its place to the next.
func (r *run) answered(id int64) {
	c := &r.calls
	call := c.open[id]
	delete(c.open, id)
	if !call.place {
		return
	}
	if len(c.queue) == 0 {
		c.inFlight--
		return
	}
	next := c.queue[0]
	c.queue[0] = queuedCall{}
	c.queue = c.queue[1:]
	c.queued -= next.size
	r.fly(next.id, next.do)
}

// drain waits a moment for calls that were cancelled with the run, so that what
// they cost is known when it ends. One that does not listen is left alone: its
// answer goes nowhere.
func (r *run) drain() {
	if len(r.calls.open) == 0 {
		return
	}
	gone := make(chan struct{})
	go func() {
		r.calls.wg.Wait()
		close(gone)
	}()
	t := time.NewTimer(settleTime)
	defer t.Stop()
	select {
	case <-gone:
	case <-t.C:
	}
}
