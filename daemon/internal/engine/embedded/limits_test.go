package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// The inputs of the report on engines that block their thread, with a time limit
// of 1 s; meanwhile another run makes calls in the same engine.
func TestHostileInputsEndAndDisturbNobody(t *testing.T) {
	if err := shared().Warm(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source string
		kinds  []fault.Kind
	}{
		{"while (true) {}", []fault.Kind{fault.TimeoutExceeded}},
		{"/^(a|aa)+$/.test('a'.repeat(60) + 'b')", []fault.Kind{fault.TimeoutExceeded}},
		{"JSON.parse('[\"' + '['.repeat(5e4) + '\"]'); JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))", []fault.Kind{fault.ScriptError, fault.MemoryLimitExceeded}},
		{"'x'.repeat(2 ** 30)", []fault.Kind{fault.ScriptError, fault.MemoryLimitExceeded}},
		{"[3, 1, 2, 5, 4, 9, 8, 7].sort(() => { for (;;) Math.random() })", []fault.Kind{fault.TimeoutExceeded}},
	} {
		limit := time.Second
		if c.kinds[0] != fault.TimeoutExceeded {
			limit = 20 * time.Second // it ends by itself, and must not be stopped before on a busy machine
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		done := make(chan *engine.Outcome, 1)
		start := time.Now()
		go func() {
			out, _ := executeCtx(t, ctx, c.source)
			done <- out
		}()
		other, _ := execute(t, "let n = 0; for (let i = 0; i < 20; i++) n += (await gh.get({ i })).i; n")
		beside := time.Since(start)
		out := <-done
		took := time.Since(start)
		cancel()
		if out.Err == nil || !contains(c.kinds, out.Err.Kind) {
			t.Errorf("%.50q ended with %+v, want one of %v", c.source, out.Err, c.kinds)
		}
		if took > limit+time.Second {
			t.Errorf("%.50q took %v", c.source, took)
		}
		if string(other.Value) != "190" || beside > 900*time.Millisecond {
			t.Errorf("beside %.50q another run gave %s %v after %v", c.source, other.Value, other.Err, beside)
		}
	}
}

func contains(kinds []fault.Kind, k fault.Kind) bool {
	for _, x := range kinds {
		if x == k {
			return true
		}
	}
	return false
}

// Sources that the compiler itself cannot survive or finish; another source is
// compiled meanwhile. The compiler's limit is 2 s of processor time, and ten times
// that by the clock: how long it takes is up to what else the machine does.
func TestHostileSourcesEndAndDisturbNobody(t *testing.T) {
	for _, source := range []string{
		strings.Repeat("(", 2e5) + "1" + strings.Repeat(")", 2e5),
		strings.Repeat("{", 2e4) + strings.Repeat("}", 2e4),
		strings.Repeat("!", 5e5) + "1",
		strings.Repeat("a=>", 5e3) + "1",
		strings.Repeat("if(0){}else ", 5e4) + "1",
		strings.Repeat("a<", 2e4) + "1",
		strings.Repeat("`${", 1e5),
		strings.Repeat(" ", 2<<20),
	} {
		start := time.Now()
		done := make(chan *engine.Outcome, 1)
		go func() {
			out, _ := execute(t, source)
			done <- out
		}()
		other, _ := execute(t, fmt.Sprintf("const fresh: number = %d; 1", time.Now().UnixNano()))
		if beside := time.Since(start); string(other.Value) != "1" || beside > 1500*time.Millisecond {
			t.Errorf("beside %.10q: %v after %v", source, other.Err, beside)
		}
		out := <-done
		if out.Err == nil || out.Err.Kind != fault.ParseError && out.Err.Kind != fault.ScriptError || time.Since(start) > 22*time.Second {
			t.Errorf("%.10q x%d: %+v after %v", source, len(source), out.Err, time.Since(start))
		}
	}
}

func TestCancelledAndTimedOutAreToldApart(t *testing.T) {
	mine := fault.New(fault.PermissionDenied, "stopped by a rule")
	for _, source := range []string{"for (;;) {}", "await gh.hang({})", "await sleep(1e6)"} {
		for _, c := range []struct {
			cause error
			kind  fault.Kind
		}{
			{context.Canceled, fault.Cancelled},
			{errors.New("the caller hung up"), fault.Cancelled},
			{context.DeadlineExceeded, fault.TimeoutExceeded},
			{mine, fault.PermissionDenied},
		} {
			ctx, cancel := context.WithCancelCause(context.Background())
			stop := time.AfterFunc(30*time.Millisecond, func() { cancel(c.cause) })
			out, _ := executeCtx(t, ctx, source)
			stop.Stop()
			if out.Err == nil || out.Err.Kind != c.kind {
				t.Errorf("%s with %v: %+v, want %s", source, c.cause, out.Err, c.kind)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if out, _ := executeCtx(t, ctx, "a source that was not seen before"); out.Err == nil || out.Err.Kind != fault.Cancelled {
		t.Errorf("before the start: %+v", out.Err)
	}
}

func TestAStoppedLoopIsNamedByItsPlace(t *testing.T) {
	out, _ := execute(t, "type A = 1\nfunction spin() {\n  for (;;) {}\n}\nspin()", func(p *engine.Program) { p.Limits.CPU = 30 * time.Millisecond })
	if out.Err == nil || out.Err.Position == nil || out.Err.Position.Line != 3 && out.Err.Position.Line != 2 {
		t.Errorf("%+v\n%s", out.Err, out.Stack)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	out, _ = executeCtx(t, ctx, "while (true) {}") // at the top level, by the run's own clock
	if out.Err == nil || out.Err.Position == nil || out.Err.Position.Line != 1 {
		t.Errorf("%+v\n%s", out.Err, out.Stack)
	}
}

func TestMemoryLimitIsTheRunsOwn(t *testing.T) {
	const source = "const a = []; for (let i = 0; i < 20; i++) a.push(new Uint8Array(1 << 20)); a.length"
	out, _ := execute(t, source)
	if string(out.Value) != "20" {
		t.Errorf("64 MiB: %v", out.Err)
	}
	out, _ = execute(t, source, func(p *engine.Program) { p.Limits.Memory = 8 << 20 })
	if out.Err == nil || out.Err.Kind != fault.MemoryLimitExceeded || !strings.Contains(out.Err.Message, "8 MiB") {
		t.Errorf("8 MiB: %+v", out.Err)
	}
	out, _ = execute(t, "const a = []; for (let i = 0; i < 100; i++) a.push(new Uint8Array(1 << 20)); a.length", func(p *engine.Program) { p.Limits.Memory = 256 << 20 })
	if string(out.Value) != "100" || out.Memory < 100<<20 {
		t.Errorf("256 MiB: %v, %d", out.Err, out.Memory)
	}
	out, _ = execute(t, "new Array(1e6).fill(0).map((_, i) => gh.hang({ text: 'x'.repeat(50) })); await sleep(1)", func(p *engine.Program) { p.Limits.Memory = 16 << 20 })
	if out.Err == nil || out.Err.Kind != fault.MemoryLimitExceeded {
		t.Errorf("queued calls: %+v", out.Err)
	}
}

func TestCallsInFlightAreBoundedAndInOrder(t *testing.T) {
	var now, most atomic.Int32
	var mu sync.Mutex
	var order []string
	h := &host{call: func(_ context.Context, _, _ string, args []byte, _ engine.CallOptions) (engine.CallValue, error) {
		most.Store(max(most.Load(), now.Add(1)))
		mu.Lock()
		order = append(order, string(args))
		mu.Unlock()
		time.Sleep(time.Millisecond) // a call takes time
		now.Add(-1)
		return engine.CallValue{Value: args}, nil
	}}
	out := shared().Run(t.Context(), engine.Program{
		Source:     "const r = await Promise.all(Array.from({ length: 60 }, (_, i) => fs.x({ i }))); r.every((x, i) => x.i === i)",
		Namespaces: fakes, Limits: engine.Limits{Concurrency: 4},
	}, h)
	if string(out.Value) != "true" || most.Load() > 4 || most.Load() < 2 {
		t.Errorf("%s %v, %d at a time", out.Value, out.Err, most.Load())
	}
	for i, args := range order { // four are in flight, so a call starts at most three places early
		if n := index(args); n < i-3 || n > i+3 {
			t.Errorf("call %d started as number %d", n, i)
		}
	}
}

func index(args string) (n int) {
	for _, c := range args {
		if c >= '0' && c <= '9' {
			n = n*10 + int(c-'0')
		}
	}
	return n
}

func TestTimersAreBounded(t *testing.T) {
	out, _ := execute(t, "for (;;) setTimeout(() => {}, 1000)", func(p *engine.Program) { p.Limits.Timers = 100 })
	if out.Err == nil || out.Err.Kind != fault.ScriptError || !strings.Contains(out.Err.Message, "more than 100 timers") {
		t.Errorf("%+v", out.Err)
	}
}

// token is a clock that proves that compute is claimed only while JavaScript runs.
type token struct {
	held   atomic.Bool
	claims atomic.Int32
	refuse error
}

func (c *token) Resume(context.Context) error {
	if c.refuse != nil {
		return c.refuse
	}
	if !c.held.CompareAndSwap(false, true) {
		return errors.New("resumed twice")
	}
	c.claims.Add(1)
	return nil
}

func (c *token) Park() { c.held.Store(false) }

func TestTheComputeTokenIsHeldOnlyWhileComputing(t *testing.T) {
	clock := &token{}
	h := &host{call: func(_ context.Context, _, _ string, args []byte, _ engine.CallOptions) (engine.CallValue, error) {
		deadline := time.Now().Add(5 * time.Second)
		for clock.held.Load() && time.Now().Before(deadline) {
			time.Sleep(100 * time.Microsecond) // polled
		}
		if clock.held.Load() {
			return engine.CallValue{}, errors.New("the token is held while a call is made")
		}
		return engine.CallValue{Value: args}, nil
	}}
	out := shared().Run(t.Context(), engine.Program{Source: "await fs.a({}); await sleep(5); await fs.b({}); 1", Namespaces: fakes, Clock: clock}, h)
	if string(out.Value) != "1" || clock.held.Load() || clock.claims.Load() < 4 {
		t.Errorf("%s %v, held %v, %d claims", out.Value, out.Err, clock.held.Load(), clock.claims.Load())
	}
	clock.refuse = fault.New(fault.Cancelled, "no compute for you")
	out = shared().Run(t.Context(), engine.Program{Source: "1", Clock: clock}, &host{})
	if out.Err == nil || out.Err.Message != "no compute for you" {
		t.Errorf("%+v", out.Err)
	}
}

func TestManyRunsAtATime(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			for range 5 {
				out, _ := execute(t, "const xs = await Promise.all([1, 2, 3].map(i => gh.get({ i }))); xs.reduce((a, x) => a + x.i, 0)")
				if string(out.Value) != "6" {
					t.Errorf("run %d: %s %v", i, out.Value, out.Err)
				}
			}
		})
	}
	wg.Wait()
}
