package script

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

func compiler(t *testing.T, o Options) (*Compiler, *atomic.Int32) {
	t.Helper()
	var started atomic.Int32
	o.Command = command(t)
	o.Start = func(command []string) (HelperProc, error) {
		started.Add(1)
		return StartChild(command)
	}
	c := NewCompiler(o)
	t.Cleanup(func() { c.Close() })
	return c, &started
}

func TestARepeatedSourceNeedsNoHelper(t *testing.T) {
	c, started := compiler(t, Options{})
	a, err := c.Compile(t.Context(), Source{Text: "1 + 1"}, QuickJS)
	if err != nil {
		t.Fatal(err)
	}
	c.endIdle()
	b, err := c.Compile(t.Context(), Source{Text: "1 + 1"}, QuickJS)
	if err != nil || a != b || started.Load() != 1 {
		t.Errorf("%v, the same program: %v, %d helpers", err, a == b, started.Load())
	}
}

func TestADeadHelperIsReplaced(t *testing.T) {
	c, started := compiler(t, Options{})
	if _, err := c.Compile(t.Context(), Source{Text: "1"}, QuickJS); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	h := c.idle
	c.mu.Unlock()
	h.Kill()
	if _, err := c.Compile(t.Context(), Source{Text: "2"}, QuickJS); err != nil || started.Load() != 2 {
		t.Errorf("%v, %d helpers", err, started.Load())
	}
}

func TestACostlySourceIsStoppedAndHoldsUpNobody(t *testing.T) {
	c, _ := compiler(t, Options{Timeout: 3 * time.Second})
	for _, source := range []string{strings.Repeat("(", 2e5), strings.Repeat("a=>", 5e3) + "1", strings.Repeat("{", 2e4) + strings.Repeat("}", 2e4)} {
		start := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := c.Compile(t.Context(), Source{Text: source}, QuickJS)
			done <- err
		}()
		if _, err := c.Compile(t.Context(), Source{Text: "const a: number = 1 //" + source[:5]}, QuickJS); err != nil {
			t.Error(err)
		}
		if err := <-done; fault.KindOf(err) != fault.ParseError || time.Since(start) > 11*c.o.Timeout {
			t.Errorf("%.5q: %v after %v", source, err, time.Since(start))
		}
	}
}

func TestTheCallersEndIsItsOwn(t *testing.T) {
	c, _ := compiler(t, Options{Timeout: 10 * time.Second})
	mine := errors.New("mine")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(mine) })
	if _, err := c.Compile(ctx, Source{Text: strings.Repeat("a=>", 5e3) + "1"}, QuickJS); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
}

func TestALongSourceIsRefused(t *testing.T) {
	c, started := compiler(t, Options{MaxSource: 10})
	if _, err := c.Compile(t.Context(), Source{Text: "12345678901"}, QuickJS); fault.KindOf(err) != fault.ParseError || started.Load() != 0 {
		t.Errorf("%v", err)
	}
}

func TestAnIdleHelperIsEnded(t *testing.T) {
	c, _ := compiler(t, Options{Idle: 10 * time.Millisecond})
	if err := c.Warm(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		c.mu.Lock()
		gone := c.idle == nil
		c.mu.Unlock()
		if gone {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the helper is still there")
		}
		time.Sleep(time.Millisecond) // polled
	}
}

func TestNoHelperIsEngineUnavailable(t *testing.T) {
	c := NewCompiler(Options{})
	if _, err := c.Compile(t.Context(), Source{Text: "1"}, QuickJS); fault.KindOf(err) != fault.EngineUnavailable {
		t.Errorf("%v", err)
	}
	c = NewCompiler(Options{Command: []string{"/nonexistent/helper"}})
	if _, err := c.Compile(t.Context(), Source{Text: "1"}, QuickJS); fault.KindOf(err) != fault.EngineUnavailable {
		t.Errorf("%v", err)
	}
}

func TestABusyMachineMakesNoProgramCostly(t *testing.T) {
	c, _ := compiler(t, Options{Timeout: 200 * time.Millisecond})
	if err := c.Warm(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	slow := *c.idle
	stdin := slow.Stdin
	slow.Stdin = writerFunc(func(p []byte) (int, error) { // as one that waits for a processor
		<-time.After(2 * c.o.Timeout)
		return stdin.Write(p)
	})
	c.idle = &slow
	c.mu.Unlock()
	if _, err := c.Compile(t.Context(), Source{Text: "1"}, QuickJS); err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
