package pool_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/pool/pooltest"
	"tenon/daemon/internal/upstream"
)

func TestAServerThatIsSlowAgainAndAgainIsInNoCrashLoop(t *testing.T) {
	f := &pooltest.Farm{Start: func(ctx context.Context, d *config.Definition) error {
		over := time.NewTimer(d.Server.StartTimeout)
		defer over.Stop()
		select {
		case <-over.C: // it keeps the limit itself, as upstream does
			return fault.New(fault.ServerUnavailable, "still listing its tools")
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	p := newPool(t, f, pool.Options{})
	d := pooltest.Definition("s", func(d *config.Definition) { d.Server.StartTimeout = 20 * time.Millisecond })
	for range 7 {
		i, err := p.TryStart(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Ready(within(t)); fault.KindOf(err) != fault.ServerUnavailable {
			t.Fatalf("got %v", err)
		}
		<-i.Done()
	}
}

func TestFiveCrashesInARowAreACrashLoopThatRestartClears(t *testing.T) {
	f := &pooltest.Farm{}
	p := newPool(t, f, pool.Options{Now: fastClock()})
	events := p.Events()
	d := pooltest.Definition("s")
	for n := range 5 {
		mustStart(t, p, d)
		conns := f.Conns()
		conns[n].Kill("exit status 3")
		waitFor(t, events, pool.Crashed)
		pooltest.Eventually(t, "freed", func() bool { taken, _ := p.Counts(d.Template); return taken == 0 })
	}
	_, err := p.TryStart(d)
	if fault.KindOf(err) != fault.ServerUnavailable || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v", err)
	}
	if s := p.Status("s"); s.State != "crash-loop" || s.Restarts != 4 {
		t.Fatalf("status %+v", s)
	}
	p.Restart("s")
	mustStart(t, p, d)
	if s := p.Status("s"); s.State != "ready" {
		t.Fatalf("status %+v", s)
	}
}

func TestAnAnsweredCallEndsTheRowOfCrashes(t *testing.T) {
	f := &pooltest.Farm{}
	p := newPool(t, f, pool.Options{Now: fastClock()})
	d := pooltest.Definition("s")
	for n := range 7 {
		i := mustStart(t, p, d)
		if err := call(t, i); err != nil {
			t.Fatal(err)
		}
		f.Conns()[n].Kill("exit status 3")
		<-i.Done()
	}
	mustStart(t, p, d)
}

func TestARemoteServerThatIsDownIsTriedAgainForEver(t *testing.T) {
	down := true
	f := &pooltest.Farm{Start: func(context.Context, *config.Definition) error {
		if down {
			return fault.New(fault.ServerUnavailable, "connection refused")
		}
		return nil
	}}
	p := newPool(t, f, pool.Options{Now: fastClock()})
	d := pooltest.Definition("s", func(d *config.Definition) { d.Server.Kind = "http" })
	for range 8 {
		i, err := p.TryStart(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Ready(within(t)); err == nil {
			t.Fatal("it started")
		}
		<-i.Done()
	}
	down = false
	mustStart(t, p, d)
}

func TestAfterABrokenCallTheInstanceIsNotUsedUnchecked(t *testing.T) {
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnCall = func(context.Context, upstream.Call) (json.RawMessage, error) {
			return nil, fault.New(fault.ServerUnavailable, "broken pipe")
		}
		c.OnPing = func(context.Context) error {
			c.Kill("exit status 3") // what broke the pipe shows itself only now
			return fault.New(fault.ServerUnavailable, "broken pipe")
		}
	}}
	p := newPool(t, f, pool.Options{})
	i := mustStart(t, p, pooltest.Definition("s"))
	if err := call(t, i); fault.KindOf(err) != fault.ServerUnavailable {
		t.Fatal(err)
	}
	if usable, err := i.Check(within(t)); usable || err != nil {
		t.Fatalf("%v, %v", usable, err)
	}
	if s := p.Status("s"); !strings.Contains(s.Detail, "exit status 3") {
		t.Errorf("the crash is not counted when the check ends: %+v", s)
	}
}

func TestInstancesKilledTogetherAreOneCrash(t *testing.T) {
	f := &pooltest.Farm{}
	p := newPool(t, f, pool.Options{Now: fastClock()})
	d := pooltest.Definition("s")
	var all []*pool.Instance
	for range 8 {
		all = append(all, mustStart(t, p, d))
	}
	for _, c := range f.Conns() {
		c.Kill("killed")
	}
	for _, i := range all {
		<-i.Done()
	}
	mustStart(t, p, d)
}

func TestARestartAfterACrashIsHeldBackVisibly(t *testing.T) {
	f := &pooltest.Farm{Start: func(context.Context, *config.Definition) error {
		return fault.New(fault.ServerUnavailable, "exit status 1")
	}}
	now := time.Now() // stands still: the whole back-off is waited out
	p := newPool(t, f, pool.Options{Now: func() time.Time { return now }})
	d := pooltest.Definition("s")
	for n := range 2 {
		i, err := p.TryStart(d)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := i.Ready(within(t)); err == nil {
			t.Fatal("it started")
		}
		<-i.Done()
		if n == 1 && time.Since(began) < 100*time.Millisecond {
			t.Errorf("the second start was not held back: %s", time.Since(began))
		}
	}
	if s := p.Status("s"); s.State != "failed" || !strings.Contains(s.Detail, "exit status 1") || s.Restarts != 1 {
		t.Errorf("status %+v", s)
	}
}

func TestADoubtfulInstanceIsPingedOnceAndReplacedWhenDeaf(t *testing.T) {
	var mu sync.Mutex
	pings := 0
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnCall = func(context.Context, upstream.Call) (json.RawMessage, error) {
			return nil, fault.New(fault.TimeoutExceeded, "no answer")
		}
		c.OnPing = func(ctx context.Context) error {
			mu.Lock()
			pings++
			mu.Unlock()
			<-ctx.Done()
			return ctx.Err()
		}
	}}
	p := newPool(t, f, pool.Options{})
	i := mustStart(t, p, pooltest.Definition("s"))
	if err := call(t, i); fault.KindOf(err) != fault.TimeoutExceeded {
		t.Fatal(err)
	}
	if !i.Doubtful() || i.State() != "doubtful" {
		t.Fatalf("state %s", i.State())
	}
	var wg sync.WaitGroup
	for range 5 {
		ctx := within(t)
		wg.Go(func() {
			if usable, err := i.Check(ctx); usable || err != nil {
				t.Errorf("check: %v, %v", usable, err)
			}
		})
	}
	wg.Wait()
	<-i.Done()
	mu.Lock()
	defer mu.Unlock()
	if pings != 1 {
		t.Errorf("%d pings", pings)
	}
}

func TestAnInstanceThatAnswersAPingIsKept(t *testing.T) {
	slow := true
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnCall = func(context.Context, upstream.Call) (json.RawMessage, error) {
			if slow {
				return nil, fault.New(fault.TimeoutExceeded, "no answer")
			}
			return json.RawMessage(`{}`), nil
		}
	}}
	p := newPool(t, f, pool.Options{})
	i := mustStart(t, p, pooltest.Definition("s"))
	_ = call(t, i)
	if usable, err := i.Check(within(t)); !usable || err != nil || i.Doubtful() {
		t.Fatalf("check: %v, %v", usable, err)
	}
	slow = false
	if err := call(t, i); err != nil {
		t.Fatal(err)
	}
}
