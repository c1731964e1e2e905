package run

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/proto"
)

// A run that is waited for is executed by who waits: no goroutine is woken for it.
func TestLazyRunsAreExecutedByWhoWaits(t *testing.T) {
	r := newRig(t)
	var ran atomic.Int32
	var stack string
	r.run = func(context.Context, engine.Program, engine.Host) *engine.Outcome {
		ran.Add(1)
		b := make([]byte, 64<<10)
		stack = string(b[:runtime.Stack(b, false)])
		return &engine.Outcome{Value: []byte("1")}
	}
	spec := r.spec(proto.ExecRequest{})
	spec.Lazy = true
	one, err := r.m.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if res := one.Wait(); !res.OK || !strings.Contains(stack, "TestLazyRunsAreExecutedByWhoWaits") {
		t.Errorf("%+v on\n%s", res, stack)
	}
	if one.Wait(); ran.Load() != 1 {
		t.Errorf("executed %d times", ran.Load())
	}
	// Frames alone begin it too.
	if one, err = r.m.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if all := frames(t, one); all[len(all)-1].Type != "end" || ran.Load() != 2 {
		t.Errorf("%d times: %+v", ran.Load(), all)
	}
}

// A reader is woken for a thousand calls a few times, not a thousand.
func TestReadersAreNotWokenForEachCall(t *testing.T) {
	s := &stream{run: "run_1", readers: map[*reader]struct{}{}}
	r := &reader{make(chan struct{}, 1), make(chan struct{}, 1)}
	s.readers[r] = struct{}{}
	woken := make(chan int, 1)
	go func() {
		n := 0
		for from := int64(0); ; n++ {
			r.wait(t.Context())
			_, events, ended := s.batch(from)
			if from += int64(len(events)); ended {
				woken <- n
				return
			}
		}
	}()
	for range 1000 {
		s.add("call", nil, 0)
	}
	s.add("end", nil, 0)
	// At most one round for each gatherFor that the loop above took, and it takes
	// none of them unless the machine is stuck.
	if n := <-woken; n > 100 {
		t.Errorf("woken %d times", n)
	}
}
