package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Stop ends the whole tree: stdin is closed, then TERM, then KILL, each
// followed by a wait that ends as soon as every process is gone. The end of
// ctx skips the polite waits, never the KILL. It returns nil when nothing of
// the tree is left, else an error naming the processes; a later Stop tries
// again. Concurrent calls wait for each other.
func (p *Proc) Stop(ctx context.Context, steps Steps) error {
	p.stop.Lock()
	defer p.stop.Unlock()
	if p.stopped {
		return nil
	}
	steps = steps.withDefaults()
	p.stdin.Do(func() {
		if p.Stdin != nil {
			_ = p.Stdin.Close()
		}
	})
	left := p.tree.await(ctx, steps.Stdin, p.done)
	if len(left) > 0 {
		p.tree.signal(left, syscall.SIGTERM)
		// A stopped process sees TERM only once it continues.
		p.tree.signal(left, syscall.SIGCONT)
		left = p.tree.await(ctx, steps.Term, p.done)
	}
	if len(left) > 0 {
		left = p.tree.kill(steps.Kill, p.done)
	}
	if len(left) > 0 {
		return fmt.Errorf("%s: %d processes survived SIGKILL, among them pid %d", p.label, len(left), left[0].pid)
	}
	p.stopped = true
	return p.record.append(entry{Op: "ended", Token: p.tree.token})
}

// kill sends KILL until nothing is left or the wait is over. It repeats
// because a process may fork between the look and the signal.
func (t tree) kill(wait time.Duration, leader <-chan struct{}) []member {
	deadline := time.Now().Add(wait)
	left := t.members()
	for {
		t.signal(left, syscall.SIGKILL)
		left = t.await(context.Background(), min(100*time.Millisecond, wait), leader)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// await polls, in growing steps, until the tree is gone and its leader reaped,
// the wait is over or ctx ends. It returns who is left. A nil leader channel
// means that somebody else reaps.
func (t tree) await(ctx context.Context, wait time.Duration, leader <-chan struct{}) []member {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	pause := time.Millisecond
	for {
		// The look at all processes costs milliseconds; the leader tells first.
		if reaped(leader) && len(t.members()) == 0 {
			return nil
		}
		tick := time.NewTimer(pause)
		select {
		case <-tick.C:
			pause = min(pause*3/2+time.Millisecond, 50*time.Millisecond)
			continue
		case <-deadline.C:
		case <-ctx.Done():
		}
		tick.Stop()
		return t.members()
	}
}

// reaped reports whether the leader is gone; with nil, somebody else reaps it.
func reaped(leader <-chan struct{}) bool {
	if leader == nil {
		return true
	}
	select {
	case <-leader:
		return true
	default:
		return false
	}
}

// signal sends to the group at once, if one of the members proves that it is
// still ours, and to each marked process outside of it.
func (t tree) signal(to []member, sig syscall.Signal) {
	for _, m := range to {
		if m.group {
			_ = syscall.Kill(-t.pgid, sig) // fails only when the group is gone
			break
		}
	}
	for _, m := range to {
		if !m.group {
			signalOne(m, sig)
		}
	}
}

// signalOne signals a process only if it is still the one that was seen: the
// handle is taken first (a pidfd on Linux), then the start time is compared.
func signalOne(m member, sig syscall.Signal) {
	proc, err := os.FindProcess(m.pid)
	if err != nil {
		return
	}
	defer func() { _ = proc.Release() }()
	if start, err := StartTime(m.pid); err != nil || start != m.start {
		return
	}
	if err := proc.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return // not permitted any more: it has changed its user
	}
}
