package lease_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/pool/pooltest"
)

func TestAFullPoolServesWaitersInOrderAndTheLastNamesTheHolders(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", slots(2))
	a, b := w.take(request(d, "a", "")), w.take(request(d, "b", ""))
	c := w.queue(request(d, "c", ""))
	dd := w.queue(request(d, "d", ""))
	if !c.still() || !dd.still() {
		t.Fatal("nobody may be served while both are in use")
	}
	b.Done()
	w.m.EndSession("b", "closed")
	<-c.done
	if c.err != nil {
		t.Fatal(c.err)
	}
	if !dd.still() {
		t.Fatal("d was served before a slot was free")
	}
	short := pooltest.Definition("browser", slots(2), func(d *config.Definition) { d.Server.QueueTimeout = 20 * time.Millisecond })
	_, _, err := w.m.Take(within(t), request(short, "e", ""))
	if fault.KindOf(err) != fault.PoolExhausted {
		t.Fatalf("got %v", err)
	}
	var data struct{ Holders []lease.Held }
	if err := json.Unmarshal(fault.From(err).Data, &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Holders) != 2 || data.Holders[0].Session != "a" || data.Holders[1].Session != "c" {
		t.Errorf("holders %+v", data.Holders)
	}
	if msg := err.Error(); !strings.Contains(msg, "a (since ") || !strings.Contains(msg, "browser") {
		t.Errorf("message %q", msg)
	}
	a.Done()
	w.m.EndSession("a", "closed")
	<-dd.done
	if dd.err != nil {
		t.Fatal(dd.err)
	}
	c.use.Done()
	dd.use.Done()
	if p := w.farm.Peak(d.Template); p > 2 {
		t.Errorf("%d instances of 2", p)
	}
}

func TestAnIdleBindingIsEvictedOnlyAfterItsTimeLeastRecentlyUsedFirst(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", slots(2))
	w.once(request(d, "a", ""))
	w.clock.pass(time.Second)
	w.once(request(d, "b", ""))
	c := w.queue(request(d, "c", ""))
	w.m.Sweep()
	if !c.still() {
		t.Fatal("nothing is old enough to be evicted")
	}
	w.clock.pass(d.Server.EvictAfter)
	w.m.Sweep()
	<-c.done
	if c.err != nil {
		t.Fatal(c.err)
	}
	c.use.Done()
	if _, ok := w.lease("a"); ok {
		t.Error("a was used least recently and must be the victim")
	}
	if _, ok := w.lease("b"); !ok {
		t.Error("b was evicted although one slot was enough")
	}
}

func TestABindingInUseOrOfALiveRunIsNeverEvicted(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", slots(2))
	w.m.RunStarted("run-b")
	inUse := w.take(request(d, "a", ""))
	w.once(request(d, "b", "run-b"))
	c := w.queue(request(d, "c", ""))
	w.clock.pass(time.Hour)
	w.m.Sweep()
	if !c.still() {
		t.Fatal("a busy binding was evicted")
	}
	w.m.RunEnded("run-b")
	<-c.done
	if c.err != nil {
		t.Fatal(c.err)
	}
	c.use.Done()
	inUse.Done()
}

func TestSparesAreTheFirstVictims(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	warm := pooltest.Definition("browser", slots(2), func(d *config.Definition) { d.Server.Warm = 1 })
	a := w.once(request(warm, "a", ""))
	pooltest.Eventually(t, "a spare", func() bool { return len(w.pool.Instances()) == 2 })
	w.clock.pass(5 * time.Minute) // a is evictable as well
	other := pooltest.Definition("browser", slots(2), func(d *config.Definition) { d.ID = "def-other" })
	w.once(request(other, "b", ""))
	if l, ok := w.lease("a"); !ok || l.Instance != a {
		t.Error("a lease was ended though there was a spare")
	}
}

func TestConcurrencyGivesTurnsInOrder(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", func(d *config.Definition) { d.Server.Concurrency = 1 })
	u := w.take(request(d, "a", ""))
	var queue []*taking
	for range 4 {
		queue = append(queue, w.queue(request(d, "a", "")))
	}
	for n, k := range queue {
		for _, later := range queue[n:] {
			if !later.still() {
				t.Fatal("two turns at once")
			}
		}
		u.Done()
		<-k.done
		if k.err != nil {
			t.Fatal(k.err)
		}
		u = k.use
	}
	u.Done()
	if w.farm.Dials() != 1 {
		t.Errorf("%d instances for one session", w.farm.Dials())
	}
}

func TestATurnThatComesWithTheEndOfItsWaiterIsPassedOn(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", func(d *config.Definition) { d.Server.Concurrency = 1 })
	for range 200 {
		u := w.take(request(d, "a", ""))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan *lease.Use, 1)
		go func() {
			_, got, _ := w.m.Take(ctx, request(d, "a", ""))
			done <- got
		}()
		pooltest.Eventually(t, "queued", func() bool { return w.waiting() == 1 })
		go cancel()
		u.Done()
		if got := <-done; got != nil {
			got.Done()
		}
	}
	w.once(request(d, "a", ""))
}

func TestTwoRunsThatWantEachOthersServersAreNotDeadlocked(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	x, y := pooltest.Definition("x", slots(1)), pooltest.Definition("y", slots(1))
	w.m.RunStarted("one")
	w.m.RunStarted("two")
	w.once(request(x, "a", "one"))
	w.once(request(y, "b", "two"))
	first := w.queue(request(y, "a", "one"))
	last := w.begin(request(x, "b", "two"))
	<-last.done
	if fault.KindOf(last.err) != fault.PoolExhausted || !strings.Contains(last.err.Error(), "hold and want") {
		t.Fatalf("got %v", last.err)
	}
	if !first.still() {
		t.Fatal("the older waiter was refused")
	}
	w.m.RunEnded("two")
	w.m.EndSession("b", "closed")
	<-first.done
	if first.err != nil {
		t.Fatal(first.err)
	}
	first.use.Done()
}

func TestWaitingForARunThatGoesOnIsNoDeadlock(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	x := pooltest.Definition("x", slots(1))
	w.m.RunStarted("one")
	w.m.RunStarted("two")
	w.once(request(x, "a", "one"))
	waiter := w.queue(request(x, "b", "two"))
	w.m.Sweep()
	if !waiter.still() {
		t.Fatalf("refused: %v", waiter.err)
	}
	w.m.RunEnded("one")
	w.clock.pass(time.Hour)
	w.m.Sweep()
	<-waiter.done
	if waiter.err != nil {
		t.Fatal(waiter.err)
	}
	waiter.use.Done()
}

func TestTheEndOfASessionRefusesItsWaiters(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", slots(1))
	u := w.take(request(d, "a", ""))
	k := w.queue(request(d, "b", ""))
	w.m.EndSession("b", "window closed")
	<-k.done
	if fault.KindOf(k.err) != fault.Cancelled || !strings.Contains(k.err.Error(), "window closed") {
		t.Fatalf("got %v", k.err)
	}
	u.Done()
}

func TestReleaseFreesALeaseAndRefusesAWaiter(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", slots(1))
	u := w.take(request(d, "a", ""))
	b := w.queue(request(d, "b", ""))
	c := w.queue(request(d, "c", ""))
	var held, waiter string
	for _, l := range w.m.List() {
		switch l.Session {
		case "a":
			held = l.ID
		case "c":
			waiter = l.ID
			if l.Reason == "" {
				t.Error("a waiter without a reason")
			}
		}
	}
	if err := w.m.Release(waiter, "not now"); err != nil {
		t.Fatal(err)
	}
	<-c.done
	if fault.KindOf(c.err) != fault.Cancelled {
		t.Fatalf("got %v", c.err)
	}
	if session, server, ok := w.m.Owner(held); session != "a" || server != "browser" || !ok {
		t.Errorf("owner %s, %s, %v", session, server, ok)
	}
	if err := w.m.Release(held, "released by a user"); err != nil {
		t.Fatal(err)
	}
	<-b.done
	if b.err != nil {
		t.Fatal(b.err)
	}
	b.use.Done()
	u.Done()
	w.once(request(pooltest.Definition("search", scope(config.Shared)), "a", ""))
	for _, l := range w.m.List() {
		if l.Server != "search" {
			continue
		}
		if session, _, ok := w.m.Owner(l.ID); session != "" || !ok {
			t.Errorf("a shared lease belongs to nobody, not to %q", session)
		}
	}
	if err := w.m.Release("l999", ""); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("got %v", err)
	}
}

func TestCloseRefusesWaiters(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", slots(1))
	u := w.take(request(d, "a", ""))
	k := w.queue(request(d, "b", ""))
	w.m.Close()
	<-k.done
	if fault.KindOf(k.err) != fault.ServerUnavailable {
		t.Fatalf("got %v", k.err)
	}
	u.Done()
	if _, _, err := w.m.Take(within(t), request(d, "c", "")); fault.KindOf(err) != fault.ServerUnavailable {
		t.Fatalf("got %v", err)
	}
}
