package upstream

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
)

//
func TestStoppedServerFreesCallersAndCloses(t *testing.T) {
	c := dial(t, stdioSpec(t))
	fakeserver.Suspend(t, c.Info().PID)
	// More than a pipe holds: neither caller nor Close may hang on it.
	big := args(`{"text":"%s"}`, strings.Repeat("x", 1<<20))
	for range 3 {
		_, err := c.Call(context.Background(), Call{Tool: "echo", Arguments: big, Timeout: 100 * time.Millisecond})
		wantKind(t, err, fault.TimeoutExceeded)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := c.Ping(ctx); err == nil {
		t.Error("a stopped server answered a ping")
	}
	began := time.Now()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("close took %v", took)
	}
}

func TestQueuedRequestsArriveOnceTheServerReads(t *testing.T) {
	c := dial(t, stdioSpec(t))
	pid := c.Info().PID
	fakeserver.Suspend(t, pid)
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			want := itoa(i) + strings.Repeat("x", 50<<10)
			got, err := try(c, Call{Tool: "echo", Arguments: args(`{"text":"%s"}`, want)})
			if err != nil || got != want {
				t.Errorf("call %d: %.10q, %v", i, got, err)
			}
		})
	}
	eventually(t, "requests wait", func() bool {
		o := c.wire.(*stdio).out
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.queue) > 5
	})
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	work.Wait()
}

//
func TestCloseEndsStubbornTrees(t *testing.T) {
	s := stdioSpec(t)
	s.Command = fakeserver.ShellCommand(t, "--ignore", "eof,term", "--child", "2")
	c := dial(t, s)
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), Call{Tool: "sleep", Arguments: args(`{"ms":60000}`)})
		done <- err
	}()
	eventually(t, "the call is in flight", func() bool { id, _ := c.single(); return id != 0 })
	began := time.Now()
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("took %v", took)
	}
	wantKind(t, <-done, fault.ServerUnavailable, "closed")
	if err := c.Close(context.Background()); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestServerThatClosesItsOutputIsGone(t *testing.T) {
	s := stdioSpec(t)
	s.Command = []string{"/bin/sh", "-c", `read x; exec >&-; sleep 1000`}
	_, err := Connect(context.Background(), record(t), s)
	wantKind(t, err, fault.ServerUnavailable, "closed its output")
	s.Command = []string{"/bin/sh", "-c", `echo boom >&2`}
	_, err = Connect(context.Background(), record(t), s)
	wantKind(t, err, fault.ServerUnavailable, "exit status 0", "boom")
	// Its input is closed before it has ended: the write fails first.
	s.Command = []string{"/bin/sh", "-c", `exec <&-; sleep 0.2; echo boom >&2; exit 3`}
	_, err = Connect(context.Background(), record(t), s)
	wantKind(t, err, fault.ServerUnavailable, "exit status 3", "boom")
}
