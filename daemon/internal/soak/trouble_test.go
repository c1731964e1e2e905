package soak

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"tenon/daemon/internal/rig"
)

// killer kills the daemon some times in the first half of the soak; whoever
// needs it next starts it again. The second half is left to one daemon, so that
// what grows in it can be seen.
func (w *world) killer(ctx context.Context, length time.Duration) {
	const times = 4
	for range times {
		select {
		case <-ctx.Done():
			return
		case <-time.After(length / (2 * times)):
		}
		pid, err := w.s.DaemonPID()
		if err != nil {
			continue // being started
		}
		w.kills.during(func() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				w.wrong("kill the daemon: %v", err)
				return
			}
			for syscall.Kill(pid, 0) == nil {
				rig.Pause()
			}
		})
		w.book.count("daemon killed")
	}
}

// hostKiller lets a host crash now and then, and starts another in its place.
func (w *world) hostKiller(ctx context.Context, length time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(length / 8):
		}
		h := w.hosts[rand.IntN(len(w.hosts))]
		h.deaths.during(func() {
			if err := w.s.KillHost(h.name); err != nil {
				w.wrong("kill %s: %v", h.name, err)
				return
			}
			if err := h.start(w); err != nil {
				w.wrong("start %s again: %v", h.name, err)
			}
		})
		w.book.count("host killed")
	}
}
