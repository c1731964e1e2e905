package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool/pooltest"
	"tenon/daemon/internal/upstream"
)

// TestAnythingAtOnceKeepsTheInvariants lets sessions take and give back, end
// and be evicted, while instances crash, and looks at what must always hold:
// never more instances than slots, no instance with two sessions, nobody
// left waiting, and in the end nothing left running.
func TestAnythingAtOnceKeepsTheInvariants(t *testing.T) {
	const maxInstances, sessions = 3, 8
	steps := 80
	if testing.Short() {
		steps = 30
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, &pooltest.Farm{})
			d := pooltest.Definition("browser", slots(maxInstances), func(d *config.Definition) {
				d.Server.EvictAfter = 0
				d.Server.Concurrency = 2
				d.Server.Warm = 1
			})
			var mu sync.Mutex
			holders := map[string]map[string]int{} // instance → session → uses
			var served atomic.Int64

			var wg sync.WaitGroup
			for s := range sessions {
				session := fmt.Sprintf("s%d", s)
				rnd := rand.New(rand.NewPCG(seed, uint64(s)))
				wg.Go(func() {
					for n := range steps {
						run := ""
						if rnd.IntN(3) == 0 {
							run = fmt.Sprintf("%s-run%d", session, n)
							w.m.RunStarted(run)
						}
						ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(200)+1)*time.Millisecond)
						_, u, err := w.m.Take(ctx, request(d, session, run))
						switch fault.KindOf(err) {
						case "":
							id := u.Instance().ID()
							mu.Lock()
							if holders[id] == nil {
								holders[id] = map[string]int{}
							}
							holders[id][session]++
							if len(holders[id]) > 1 || holders[id][session] > 2 {
								t.Errorf("instance %s is held by %v", id, holders[id])
							}
							mu.Unlock()
							served.Add(1)
							_, _ = u.Instance().Conn().Call(ctx, upstream.Call{Tool: "echo"}) // may have crashed: that is the test
							mu.Lock()
							holders[id][session]--
							if holders[id][session] == 0 {
								delete(holders[id], session)
							}
							mu.Unlock()
							u.Done()
						case fault.TimeoutExceeded, fault.Cancelled, fault.ServerUnavailable, fault.PoolExhausted:
						default:
							t.Errorf("take: %v", err)
						}
						cancel()
						if run != "" {
							w.m.RunEnded(run)
						}
						switch rnd.IntN(20) {
						case 0:
							w.m.EndSession(session, "test")
						case 1:
							if conns := w.farm.Conns(); len(conns) > 0 {
								conns[len(conns)-1].Kill("test")
							}
							w.clock.pass(time.Minute)
						case 2:
							w.m.Sweep()
						case 3:
							w.pool.Restart("browser")
						}
					}
				})
			}
			wg.Wait()

			if peak := w.farm.Peak(d.Template); peak > maxInstances {
				t.Errorf("%d instances in %d slots", peak, maxInstances)
			}
			if served.Load() == 0 {
				t.Error("nobody was ever served")
			}
			if n := w.waiting(); n != 0 {
				t.Errorf("%d waiters are left over", n)
			}
			for s := range sessions {
				w.m.EndSession(fmt.Sprintf("s%d", s), "test")
			}
			w.clock.pass(time.Hour)
			w.m.Sweep()
			pooltest.Eventually(t, "everything ends", func() bool { return len(w.pool.Instances()) == 0 })
			if left := w.m.List(); len(left) != 0 {
				t.Errorf("left over: %+v", left)
			}
		})
	}
}

// TestWaitersForASlotAreServedInTheOrderTheyCame frees one slot at a time.
func TestWaitersForASlotAreServedInTheOrderTheyCame(t *testing.T) {
	w := newWorld(t, &pooltest.Farm{})
	d := pooltest.Definition("browser", slots(1))
	u := w.take(request(d, "s0", ""))
	var queue []*taking
	for n := range 10 {
		queue = append(queue, w.queue(request(d, fmt.Sprintf("s%d", n+1), "")))
	}
	for n, k := range queue {
		u.Done()
		w.m.EndSession(fmt.Sprintf("s%d", n), "test")
		<-k.done
		if k.err != nil {
			t.Fatal(k.err)
		}
		for _, later := range queue[n+1:] {
			if !later.still() {
				t.Fatalf("a later waiter was served together with number %d", n)
			}
		}
		u = k.use
	}
	u.Done()
}
