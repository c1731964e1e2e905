package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/pool/pooltest"
	"tenon/daemon/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPool(t *testing.T, f *pooltest.Farm, o pool.Options) *pool.Pool {
	t.Helper()
	o.Dial = f.Dial
	p := pool.New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustStart(t *testing.T, p *pool.Pool, d *config.Definition) *pool.Instance {
	t.Helper()
	i, err := p.TryStart(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	return i
}

func call(t *testing.T, i *pool.Instance) error {
	t.Helper()
	_, err := i.Conn().Call(within(t), upstream.Call{Tool: "echo"})
	return err
}

func max1(d *config.Definition) { d.Server.MaxInstances = 1 }

func TestASlotIsFreeOnlyWhenTheProcessIsGone(t *testing.T) {
	hold := make(chan struct{})
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) { c.HoldClose = hold }}
	p := newPool(t, f, pool.Options{})
	d := pooltest.Definition("s", max1)
	i := mustStart(t, p, d)
	p.End(i, "test")
	pooltest.Eventually(t, "dying", func() bool { return i.State() == "dying" })
	if _, err := p.TryStart(d); !errors.Is(err, pool.ErrFull) {
		t.Fatalf("a dying instance holds its slot, got %v", err)
	}
	if taken, ending := p.Counts(d.Template); taken != 1 || ending != 1 {
		t.Fatalf("counts = %d, %d", taken, ending)
	}
	close(hold)
	<-i.Done()
	mustStart(t, p, d)
}

func TestConcurrentFirstUsesShareAStartAndALeaverDoesNotDisturbIt(t *testing.T) {
	gate := make(chan struct{})
	f := &pooltest.Farm{Start: func(ctx context.Context, _ *config.Definition) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	p := newPool(t, f, pool.Options{})
	i, err := p.TryStart(pooltest.Definition("s"))
	if err != nil {
		t.Fatal(err)
	}
	leaver, leave := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for n := range errs {
		ctx := within(t)
		if n == 0 {
			ctx = leaver
		}
		wg.Go(func() { errs[n] = i.Ready(ctx) })
	}
	leave()
	pooltest.Eventually(t, "the start began", func() bool { return f.Dials() == 1 })
	close(gate)
	wg.Wait()
	if fault.KindOf(errs[0]) != fault.Cancelled && errs[0] != nil {
		t.Errorf("the one that left: %v", errs[0])
	}
	for _, err := range errs[1:] {
		if err != nil {
			t.Errorf("a waiter: %v", err)
		}
	}
	if f.Dials() != 1 {
		t.Errorf("%d starts for one instance", f.Dials())
	}
}

func TestAStartLeftByAllBecomesIdle(t *testing.T) {
	gate := make(chan struct{})
	f := &pooltest.Farm{Start: func(context.Context, *config.Definition) error { <-gate; return nil }}
	p := newPool(t, f, pool.Options{})
	i, err := p.TryStart(pooltest.Definition("s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := i.Ready(ctx); fault.KindOf(err) != fault.Cancelled {
		t.Fatalf("got %v", err)
	}
	close(gate)
	pooltest.Eventually(t, "ready", func() bool { return i.State() == "ready" })
}

func TestStartsAreBoundedAndGoInOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	running, most := 0, 0
	step := make(chan struct{})
	f := &pooltest.Farm{Start: func(_ context.Context, d *config.Definition) error {
		mu.Lock()
		running++
		most = max(most, running)
		order = append(order, d.ID)
		mu.Unlock()
		<-step
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}}
	p := newPool(t, f, pool.Options{MaxStarting: 1})
	var all []*pool.Instance
	for _, name := range []string{"a", "b", "c", "d"} {
		i, err := p.TryStart(pooltest.Definition(name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, i)
		want := len(all)
		if want == 1 {
			pooltest.Eventually(t, "first start", func() bool { return f.Dials() == 1 })
			continue
		}
		pooltest.Eventually(t, "queued", func() bool { return pool.Waiting(p) == want-1 })
	}
	for range all {
		step <- struct{}{}
	}
	for _, i := range all {
		if err := i.Ready(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(order, " "); got != "def-a def-b def-c def-d" || most != 1 {
		t.Fatalf("order %s, %d at once", got, most)
	}
}

func TestATooSlowStartFailsAndALaterOneWorks(t *testing.T) {
	slow := true
	f := &pooltest.Farm{Start: func(ctx context.Context, _ *config.Definition) error {
		if slow {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	p := newPool(t, f, pool.Options{})
	d := pooltest.Definition("s", func(d *config.Definition) { d.Server.StartTimeout = 30 * time.Millisecond })
	i, err := p.TryStart(d)
	if err != nil {
		t.Fatal(err)
	}
	err = i.Ready(within(t))
	if fault.KindOf(err) != fault.ServerUnavailable || !strings.Contains(err.Error(), "30ms") {
		t.Fatalf("got %v", err)
	}
	<-i.Done()
	slow = false
	d.Server.StartTimeout = 10 * time.Second
	mustStart(t, p, d)
	if s := p.Status("s"); s.State != "ready" || s.Restarts != 0 {
		t.Errorf("a slow start is no crash: %+v", s)
	}
}

func TestEndingAStartEndsItsWaiters(t *testing.T) {
	f := &pooltest.Farm{Start: func(ctx context.Context, _ *config.Definition) error { <-ctx.Done(); return ctx.Err() }}
	p := newPool(t, f, pool.Options{})
	i, err := p.TryStart(pooltest.Definition("s"))
	if err != nil {
		t.Fatal(err)
	}
	p.End(i, "no longer wanted")
	err = i.Ready(within(t))
	if fault.KindOf(err) != fault.ServerUnavailable || !strings.Contains(err.Error(), "no longer wanted") {
		t.Fatalf("got %v", err)
	}
	if s := p.Status("s"); s.State != "idle" {
		t.Errorf("ending is no crash: %+v", s)
	}
}

func TestACallBrokenByTheEndOfItsInstanceNamesTheReason(t *testing.T) {
	calling := make(chan struct{}, 1)
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnCall = func(context.Context, upstream.Call) (json.RawMessage, error) {
			calling <- struct{}{}
			<-c.Done()
			e := fault.New(fault.ServerUnavailable, "connection to server s was closed")
			e.Data = []byte(`{"fate":"unknown"}`)
			return nil, e
		}
	}}
	p := newPool(t, f, pool.Options{})
	for reason, end := range map[string]func(*pool.Instance){
		"released by the user": func(i *pool.Instance) { p.End(i, "released by the user") },
		"restarted by a user":  func(*pool.Instance) { p.Restart("s") },
	} {
		i := mustStart(t, p, pooltest.Definition("s"))
		failed := make(chan error, 1)
		go func() { failed <- call(t, i) }()
		<-calling
		end(i)
		err := fault.From(<-failed)
		if err == nil || err.Kind != fault.ServerUnavailable || !strings.Contains(err.Message, reason) || string(err.Data) != `{"fate":"unknown"}` {
			t.Errorf("%s: %+v", reason, err)
		}
	}
}

func TestCloseEndsAllAtOnceAndRefusesMore(t *testing.T) {
	hold := make(chan struct{})
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) { c.HoldClose = hold }}
	p := pool.New(pool.Options{Dial: f.Dial})
	var all []*pool.Instance
	for range 5 {
		all = append(all, mustStart(t, p, pooltest.Definition("s")))
	}
	done := make(chan error)
	go func() { done <- p.Close(within(t)) }()
	for _, c := range f.Conns() {
		<-c.Done() // every one is being closed before any is gone
	}
	close(hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		<-i.Done()
	}
	if _, err := p.TryStart(pooltest.Definition("s")); fault.KindOf(err) != fault.ServerUnavailable {
		t.Fatalf("got %v", err)
	}
}

func TestEventsNeverBlockThePool(t *testing.T) {
	f := &pooltest.Farm{}
	p := newPool(t, f, pool.Options{})
	p.Events() // nobody reads it
	events := p.Events()
	d := pooltest.Definition("s")
	for range 50 {
		i := mustStart(t, p, d)
		p.End(i, "test")
		<-i.Done()
	}
	waitFor(t, events, pool.Freed)
}

func waitFor(t *testing.T, events <-chan pool.Event, kind pool.EventKind) pool.Event {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case ev := <-events:
			if ev.Kind == kind {
				return ev
			}
		case <-deadline:
			t.Fatalf("no %s event", kind)
		}
	}
}

// fastClock passes a minute with each look: back-offs are over at once.
func fastClock() func() time.Time {
	var mu sync.Mutex
	now := time.Now()
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Minute)
		return now
	}
}

// Whoever takes one for dead between its start and its service starts a second,
// and nobody ends the first.
func TestAnInstanceThatBecomesReadyIsAliveAllTheTime(t *testing.T) {
	p := newPool(t, &pooltest.Farm{}, pool.Options{})
	d := pooltest.Definition("browser")
	for range 400 {
		i, err := p.TryStart(d)
		if err != nil {
			t.Fatal(err)
		}
		for i.State() == "starting" {
			if !i.Alive() {
				t.Fatal("an instance that nobody has ended is not alive")
			}
		}
		p.End(i, "enough")
		<-i.Done()
	}
}
