package embedded

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// goroutine is the number that the runtime gives the caller's.
func goroutine() string {
	var b [64]byte
	return string(bytes.Fields(b[:runtime.Stack(b[:], false)])[1])
}

// What is counted is the hand-overs, which cost the time: between a program and
// its host there is none while it makes one call after the other.
func TestCallsOneAfterTheOtherChangeNoGoroutine(t *testing.T) {
	var by []string
	h := &host{call: func(context.Context, string, string, []byte, engine.CallOptions) (engine.CallValue, error) {
		by = append(by, goroutine())
		return engine.CallValue{Value: []byte("1")}, nil
	}}
	out := shared().Run(t.Context(), engine.Program{Source: "for (let i = 0; i < 20; i++) await fs.x()", Namespaces: fakes}, h)
	if out.Err != nil || len(by) != 20 {
		t.Fatal(out.Err, by)
	}
	for _, one := range by {
		if one != by[0] {
			t.Fatalf("calls were made by the goroutines %v", by)
		}
	}
}

// A call that nobody awaits yet goes out while the program computes, whether
// another follows or not.
func TestCallsBeginWhileTheProgramComputes(t *testing.T) {
	for _, calls := range []string{"fs.x()", "fs.x(); fs.x()"} {
		begun := make(chan struct{}, 2)
		h := &host{call: func(ctx context.Context, _, _ string, _ []byte, _ engine.CallOptions) (engine.CallValue, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return engine.CallValue{}, ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan *engine.Outcome, 1)
		go func() {
			ended <- shared().Run(ctx, engine.Program{Source: calls + "; for (;;);", Namespaces: fakes}, h)
		}()
		select {
		case <-begun:
		case <-time.After(20 * time.Second):
			t.Errorf("%s: not begun while the program computes", calls)
		}
		cancel()
		if out := <-ended; out.Err == nil || out.Err.Kind != fault.Cancelled {
			t.Errorf("%+v", out.Err)
		}
	}
}

// A timer goes off while a call is waited for, and a call that the program makes
// and gives up is made all the same.
func TestALoneCallHoldsUpNothing(t *testing.T) {
	made := make(chan struct{}, 1)
	h := &host{call: func(ctx context.Context, _, _ string, _ []byte, _ engine.CallOptions) (engine.CallValue, error) {
		made <- struct{}{}
		<-ctx.Done()
		return engine.CallValue{}, ctx.Err()
	}}
	out := shared().Run(t.Context(), engine.Program{
		Source: "await Promise.race([fs.x(), sleep(1)]); throw new Error('late')", Namespaces: fakes,
	}, h)
	if out.Err == nil || out.Err.Kind != fault.ScriptError {
		t.Errorf("%+v", out.Err)
	}
	<-made
	out = shared().Run(t.Context(), engine.Program{Source: "fs.x(); throw new Error('at once')", Namespaces: fakes}, h)
	if out.Err == nil || out.Err.Kind != fault.ScriptError {
		t.Errorf("%+v", out.Err)
	}
	<-made
}
