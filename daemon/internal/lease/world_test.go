package lease_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/pool/pooltest"
	"tenon/proto"
)

// clock is moved by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type world struct {
	t     testing.TB
	farm  *pooltest.Farm
	pool  *pool.Pool
	m     *lease.Manager
	clock *clock
}

func newWorld(t testing.TB, f *pooltest.Farm) *world {
	t.Helper()
	w := &world{t: t, farm: f, clock: &clock{now: time.Now()}}
	w.pool = pool.New(pool.Options{Dial: f.Dial, Now: w.clock.Now})
	w.m = lease.New(lease.Options{Pool: w.pool, Now: w.clock.Now})
	t.Cleanup(func() {
		w.m.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := w.pool.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

// request is for the root session `session` and a definition of scope session.
func request(d *config.Definition, session, run string) lease.Request {
	key, _, err := lease.ScopeKey(d.Server.Scope, session, "")
	if err != nil {
		panic(err)
	}
	return lease.Request{Def: d, Scope: d.Server.Scope, Key: key,
		Holder: lease.Holder{Session: session, Root: session, Run: run, Dir: "/srv/" + session}}
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (w *world) take(r lease.Request) *lease.Use {
	w.t.Helper()
	_, u, err := w.m.Take(within(w.t), r)
	if err != nil {
		w.t.Fatalf("take for %s: %v", r.Holder.Session, err)
	}
	return u
}

// once takes and gives back, and tells on which instance.
func (w *world) once(r lease.Request) string {
	w.t.Helper()
	u := w.take(r)
	defer u.Done()
	return u.Instance().ID()
}

// taking is a Take going on in the background.
type taking struct {
	done chan struct{}
	use  *lease.Use
	err  error
}

func (w *world) begin(r lease.Request) *taking {
	w.t.Helper()
	k := &taking{done: make(chan struct{})}
	ctx := within(w.t)
	go func() {
		defer close(k.done)
		_, k.use, k.err = w.m.Take(ctx, r)
	}()
	return k
}

// queue is begin, and waits until it stands in the queue.
func (w *world) queue(r lease.Request) *taking {
	w.t.Helper()
	before := w.waiting()
	k := w.begin(r)
	pooltest.Eventually(w.t, "a waiter for "+r.Holder.Session, func() bool { return w.waiting() == before+1 })
	return k
}

func (w *world) waiting() (n int) {
	for _, l := range w.m.List() {
		if l.State == "waiting" {
			n++
		}
	}
	return n
}

func (w *world) lease(session string) (proto.Lease, bool) {
	for _, l := range w.m.List() {
		if l.Session == session && l.State != "waiting" {
			return l, true
		}
	}
	return proto.Lease{}, false
}

func (k *taking) still() bool {
	select {
	case <-k.done:
		return false
	default:
		return true
	}
}

func slots(n int) func(*config.Definition) {
	return func(d *config.Definition) { d.Server.MaxInstances = n }
}

func scope(s config.Scope) func(*config.Definition) {
	return func(d *config.Definition) { d.Server.Scope = s }
}
