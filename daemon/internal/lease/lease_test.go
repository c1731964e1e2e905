package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/pool/pooltest"
	"tenon/daemon/internal/upstream"
)

func TestMain(m *testing.M) {
	fakeserver.MaybeMain()
	goleak.VerifyTestMain(m)
}

func TestSessionScopeGivesEachSessionItsOwnAndSharedGivesOne(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	private := pooltest.Definition("browser")
	shared := pooltest.Definition("search", scope(config.Shared))
	var mu sync.Mutex
	got := map[string]map[string]bool{}
	var wg sync.WaitGroup
	for _, session := range []string{"a", "b", "c"} {
		for range 20 {
			wg.Go(func() {
				for _, d := range []*config.Definition{private, shared} {
					_, u, err := w.m.Take(within(t), request(d, session, ""))
					if err != nil {
						t.Error(err)
						return
					}
					key := d.Server.Name + session
					if d == shared {
						key = d.Server.Name
					}
					mu.Lock()
					if got[key] == nil {
						got[key] = map[string]bool{}
					}
					got[key][u.Instance().ID()] = true
					mu.Unlock()
					u.Done()
				}
			})
		}
	}
	wg.Wait()
	for key, ids := range got {
		if len(ids) != 1 {
			t.Errorf("%s was served by %d instances", key, len(ids))
		}
	}
	if n := w.farm.Dials(); n != 4 {
		t.Errorf("%d starts, want 3 + 1", n)
	}
}

func TestASubAgentUsesItsRootsInstance(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser")
	parent := w.once(request(d, "root", ""))
	child := request(d, "root", "")
	child.Holder.Session = "child"
	if got := w.once(child); got != parent {
		t.Errorf("the child got %s, its root has %s", got, parent)
	}
	w.m.EndSession("child", "detached")
	if l, ok := w.lease("root"); !ok || l.Instance != parent {
		t.Errorf("the end of the child took the root's lease")
	}
	w.m.EndSession("root", "detached")
	pooltest.Eventually(t, "the instance is gone", func() bool { return len(w.pool.Instances()) == 0 })
}

func TestIdleInstancesEndAndTheNextUseIsToldOnce(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser")
	first := w.once(request(d, "a", ""))
	w.clock.pass(d.Server.IdleTimeout)
	w.m.Sweep()
	pooltest.Eventually(t, "no instance", func() bool { return len(w.pool.Instances()) == 0 })
	u := w.take(request(d, "a", ""))
	if !u.Replaced || u.Instance().ID() == first {
		t.Errorf("replaced %v, instance %s", u.Replaced, u.Instance().ID())
	}
	u.Done()
	u = w.take(request(d, "a", ""))
	if u.Replaced {
		t.Error("told twice")
	}
	u.Done()
	w.clock.pass(d.Server.IdleTimeout)
	w.m.Sweep()
	pooltest.Eventually(t, "no instance again", func() bool { return len(w.pool.Instances()) == 0 })
	look := request(d, "a", "")
	look.Looks = true
	if u = w.take(look); u.Replaced {
		t.Error("a look was told what belongs to a call")
	}
	u.Done()
	if u = w.take(request(d, "a", "")); !u.Replaced {
		t.Error("after a look the next call was not told")
	}
	u.Done()
	other := w.take(request(d, "b", ""))
	if other.Replaced {
		t.Error("b had no state to lose")
	}
	other.Done()
}

func TestOnlyStatelessSharedServersAreReplacedWithoutAWord(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		w := newWorld(t, &pooltest.Farm{})
		d := pooltest.Definition("search", scope(config.Shared), func(d *config.Definition) { d.Server.Stateless = stateless })
		w.m.RunStarted("r")
		w.once(request(d, "a", "r"))
		w.farm.Conns()[0].Kill("exit status 3")
		pooltest.Eventually(t, "no instance", func() bool { return len(w.pool.Instances()) == 0 })
		_, u, err := w.m.Take(within(t), request(d, "a", "r"))
		if stateless {
			if err != nil || u.Replaced {
				t.Fatalf("%v, replaced %v", err, u.Replaced)
			}
			u.Done()
			continue
		}
		if fault.KindOf(err) != fault.ServerUnavailable || !strings.Contains(string(fault.From(err).Data), "state-lost") {
			t.Fatalf("within the run: %v", err)
		}
		w.m.RunEnded("r")
		u = w.take(request(d, "a", "next"))
		if !u.Replaced {
			t.Error("the next run was not told")
		}
		u.Done()
	}
}

func TestAFailedStartIsTheCallersErrorAndTheNextTriesAgain(t *testing.T) {
	fail := errors.New("no such program")
	f := &pooltest.Farm{Start: func(context.Context, *config.Definition) error { return fail }}
	w := newWorld(t, f)
	d := pooltest.Definition("browser", slots(1))
	_, _, err := w.m.Take(within(t), request(d, "a", ""))
	if fault.KindOf(err) != fault.ServerUnavailable || !errors.Is(err, fail) {
		t.Fatalf("got %v", err)
	}
	fail = nil
	w.clock.pass(time.Minute)
	u := w.take(request(d, "a", ""))
	if u.Replaced {
		t.Error("an instance that never served had no state")
	}
	u.Done()
}

func TestAUseWithoutDoneIsTakenBack(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", func(d *config.Definition) { d.Server.Concurrency = 1; d.Server.CallWall = time.Minute })
	r := request(d, "a", "")
	r.Timeout = 10 * time.Minute
	ctx, u, err := w.m.Take(within(t), r)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.pass(10 * time.Minute)
	w.m.Sweep()
	if ctx.Err() != nil {
		t.Fatal("taken back too early")
	}
	w.clock.pass(2 * time.Minute)
	w.m.Sweep()
	if fault.KindOf(context.Cause(ctx)) != fault.TimeoutExceeded {
		t.Fatalf("cause %v", context.Cause(ctx))
	}
	w.once(r) // the turn is free
	u.Done()  // late, harmless
	w.once(r)
}

func TestADeafInstanceIsReplacedBeforeTheNextUse(t *testing.T) {
	f := &pooltest.Farm{}
	f.Setup = func(c *pooltest.Conn) {
		if f.Dials() > 1 {
			return
		}
		c.OnCall = func(context.Context, upstream.Call) (json.RawMessage, error) {
			return nil, fault.New(fault.TimeoutExceeded, "no answer")
		}
		c.OnPing = func(context.Context) error { return errors.New("deaf") }
	}
	w := newWorld(t, f)
	d := pooltest.Definition("browser", slots(1))
	u := w.take(request(d, "a", ""))
	_, err := u.Instance().Conn().Call(within(t), upstream.Call{})
	if fault.KindOf(err) != fault.TimeoutExceeded {
		t.Fatal(err)
	}
	u.Done()
	next := w.take(request(d, "a", ""))
	defer next.Done()
	if !next.Replaced {
		t.Error("not told that state was lost")
	}
	if _, err := next.Instance().Conn().Call(within(t), upstream.Call{}); err != nil {
		t.Fatal(err)
	}
}

func TestRootsAreTheDirectoriesOfTheHolders(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("search", scope(config.Shared))
	w.once(request(d, "a", ""))
	w.once(request(d, "b", ""))
	c := w.farm.Conns()[0]
	if got := strings.Join(c.First, " "); got != "/srv/a" { // a server may ask during its handshake
		t.Errorf("roots at the start %q", got)
	}
	if got := strings.Join(c.Roots(), " "); got != "/srv/a /srv/b" {
		t.Errorf("roots %q", got)
	}
	w.m.EndSession("a", "closed")
	if got := strings.Join(c.Roots(), " "); got != "/srv/b" {
		t.Errorf("roots %q after a left", got)
	}
}

// Scripts of a terminal come one after the other, each a session of its own in
// the same directory: a server that is told of each asks for its roots twice a
// script.
func TestAServerThatNobodyUsesIsNotToldSo(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("search", scope(config.Shared))
	w.once(request(d, "a", ""))
	c := w.farm.Conns()[0]
	before := c.Told()
	for range 3 {
		w.m.EndSession("a", "closed")
		w.once(request(d, "a", ""))
	}
	if n := c.Told() - before; n != 0 {
		t.Errorf("told %d times of the directory that it knew", n)
	}
	w.m.EndSession("a", "closed")
	w.once(request(d, "b", ""))
	if got := strings.Join(c.Roots(), " "); got != "/srv/b" {
		t.Errorf("roots %q once b uses it", got)
	}
}

func TestAChangedConfigurationEndsTheSessionsIdleOldInstance(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	w.once(request(pooltest.Definition("browser"), "a", ""))
	changed := pooltest.Definition("browser", func(d *config.Definition) { d.ID, d.Template = "def-2", "tpl-2" })
	w.once(request(changed, "a", ""))
	pooltest.Eventually(t, "one instance", func() bool { return len(w.pool.Instances()) == 1 })
}

func BenchmarkTakeOfAnIdleBinding(b *testing.B) {
	w := newWorld(b, &pooltest.Farm{})
	d := pooltest.Definition("browser")
	w.m.RunStarted("run")
	r := request(d, "a", "run")
	ctx := within(b)
	w.once(r)
	b.ReportAllocs()
	for b.Loop() {
		_, u, err := w.m.Take(ctx, r)
		if err != nil {
			b.Fatal(err)
		}
		u.Done()
	}
}

func ExampleScopeKey() {
	key, dir, err := lease.ScopeKey(config.Session, "ses_1", "/home/me/project")
	fmt.Println(key, dir, err)
	// Output: session:ses_1 /home/me/project <nil>
}
