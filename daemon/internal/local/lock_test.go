package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

func TestTheLockHasOneHolderAndNamesIt(t *testing.T) {
	p := places(t)
	lock, err := p.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WriteInfo(Info{PID: os.Getpid(), Build: Build()}); err != nil {
		t.Fatal(err)
	}
	_, err = p.TryLock()
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), "pid") {
		t.Errorf("got %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := p.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Release()
}

func TestWaitingForTheLockEndsWithTheContext(t *testing.T) {
	p := places(t)
	lock, err := p.TakeLock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	want := fault.New(fault.DaemonUnavailable, "enough")
	cancel(want)
	if _, err := p.TakeLock(ctx); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	// The abandoned waiter gives the lock back when it gets it.
	_ = lock.Release()
	next, err := p.TakeLock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_ = next.Release()
}

func TestAWaiterGetsTheLockThatIsRemoved(t *testing.T) {
	p := places(t)
	lock, err := p.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *Lock)
	go func() {
		l, _ := p.TakeLock(context.Background())
		got <- l
	}()
	if err := lock.Remove(); err != nil {
		t.Fatal(err)
	}
	next := <-got
	defer func() { _ = next.Release() }()
	// It must be the lock that newcomers see, not that of the removed file.
	if _, err := p.TryLock(); err == nil {
		t.Error("two holders")
	}
	if _, err := os.Stat(filepath.Join(p.Runtime, lockName)); err != nil {
		t.Error(err)
	}
}

func TestAChildKeepsTheStartLockWhenItsStarterIsGone(t *testing.T) {
	p := places(t)
	lock, err := p.TakeStart(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{lock.File()}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	_ = lock.Release() // as the kernel does for a killed starter
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.TakeStart(ctx); err == nil {
		t.Error("the lock was free while the child held it")
	}
	_ = stdin.Close()
	_ = child.Wait()
	next, err := p.TakeStart(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_ = next.Release()
}
