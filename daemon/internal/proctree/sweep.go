package proctree

import (
	"context"
	"log/slog"
	"sync"
	"syscall"
	"time"
)

// Waits of a sweep: the owner is dead, so nobody needs politeness for long.
const (
	sweepTerm = 500 * time.Millisecond
	sweepKill = 2 * time.Second
)

// Sweep ends the groups that a predecessor left alive and returns how many
// there were. Call it before the first Start.
//
// A group is touched only when it is certainly the recorded one: its leader
// lives with the recorded start time, or (Linux) a process carries the group's
// marker. While a group has members, the system gives its id to no new
// process. A stranger that has reused the pid has another start time and no
// marker, and is left alone. After a reboot nothing is touched.
func (r *Record) Sweep(ctx context.Context, log *slog.Logger) (ended int, err error) {
	r.mu.Lock()
	left := make([]entry, 0, len(r.left))
	for _, e := range r.left {
		left = append(left, e)
	}
	r.mu.Unlock()
	boot := bootID()
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, e := range left {
		work.Go(func() {
			n, gone := sweepGroup(ctx, e, boot)
			mu.Lock()
			defer mu.Unlock()
			if n > 0 {
				ended++
				log.Warn("ended processes of a daemon that died", "what", e.Label, "pid", e.PID, "processes", n)
			}
			if !gone {
				log.Error("processes of a daemon that died survive", "what", e.Label, "pid", e.PID)
				return
			}
			r.mu.Lock()
			delete(r.left, e.Token)
			r.mu.Unlock()
		})
	}
	work.Wait()
	return ended, r.rewrite()
}

// sweepGroup ends one group; n is how many processes it had.
func sweepGroup(ctx context.Context, e entry, boot string) (n int, gone bool) {
	if e.Boot != boot {
		return 0, true
	}
	t := tree{pgid: e.PID, start: e.Start, token: e.Token}
	found := t.members()
	if len(found) == 0 {
		return 0, true
	}
	t.signal(found, syscall.SIGTERM)
	t.signal(found, syscall.SIGCONT)
	if len(t.await(ctx, sweepTerm, nil)) == 0 {
		return len(found), true
	}
	return len(found), len(t.kill(sweepKill, nil)) == 0
}
