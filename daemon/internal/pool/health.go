package pool

import (
	"fmt"
	"sort"
	"time"

	"tenon/daemon/internal/fault"
)

const (
	// crashLoop is how many crashes in a row stop further starts.
	crashLoop = 5
	// Back-off after the n-th crash in a row: firstBackoff * 4^(n-1), at most maxBackoff.
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// health is the crash accounting of a template; guarded by Pool.mu.
//
// Crashes are "in a row" when each hit an instance that was started after the
// one before: eight instances killed together are one crash, not eight.
type health struct {
	crashes  int
	lastGen  uint64 // newest generation at the last counted crash
	next     time.Time
	loop     bool
	restarts int
	reason   string // of the last crash or failed start
}

// crashed counts the crash (or failed start) of generation gen. Only processes
// of ours come into a crash loop: a remote server that is down is tried again
// for as long as it is asked for.
func (h *health) crashed(gen, newest uint64, remote bool, reason string, now time.Time) {
	h.reason = reason
	if gen <= h.lastGen {
		return
	}
	h.lastGen = newest
	h.crashes++
	wait := maxBackoff
	if h.crashes <= 3 { // 0.1 s, 0.4 s, 1.6 s
		wait = firstBackoff << (2 * (h.crashes - 1))
	}
	h.next = now.Add(wait)
	h.loop = !remote && h.crashes >= crashLoop
}

// answered notes that a call was answered: what crashed before is history.
func (h *health) answered() {
	h.crashes = 0
	h.next = time.Time{}
	h.loop = false
	h.reason = ""
}

// clear is answered on a user's word.
func (h *health) clear() { h.answered() }

func (h *health) loopError(server string) error {
	return fault.New(fault.ServerUnavailable, "server %q crashed %d times in a row and is not started again: %s", server, h.crashes, h.reason).
		At(server, "").
		WithHint("see what it prints: tenon ls %s; after mending it, allow it again: tenon restart %s", server, server)
}

// Status is the state of the servers of one name.
type Status struct {
	State    string // idle, starting, ready, failed, crash-loop
	Detail   string // why it failed, or what it waits for
	Restarts int    // starts after a crash
	Max      int    // slots; 0 when it was never used
}

// Status says how the server of that name fares; where several configurations
// share the name, the one used last counts.
func (p *Pool) Status(name string) Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	var t *template
	for _, c := range p.templates {
		if c.server == name && (t == nil || c.used.After(t.used)) {
			t = c
		}
	}
	if t == nil {
		return Status{State: "idle"}
	}
	return t.status(p.now())
}

// StatusOf is Status for one template.
func (p *Pool) StatusOf(template string) Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.templates[template]
	if t == nil {
		return Status{State: "idle"}
	}
	return t.status(p.now())
}

func (t *template) status(now time.Time) Status {
	s := Status{State: "idle", Restarts: t.health.restarts, Max: t.max}
	starting := false
	for i := range t.slots {
		switch i.phase.Load() {
		case phaseServing:
			s.State = "ready"
		case phaseStarting:
			starting = true
		}
	}
	switch {
	case t.health.loop:
		s.State = "crash-loop"
		s.Detail = fmt.Sprintf("%d crashes in a row: %s", t.health.crashes, t.health.reason)
	case s.State == "ready":
	case starting:
		s.State = "starting"
		if wait := t.health.next.Sub(now); wait > 0 {
			s.Detail = fmt.Sprintf("starts again in %s after: %s", wait.Round(time.Millisecond), t.health.reason)
		}
	case t.health.crashes > 0:
		s.State = "failed"
		s.Detail = t.health.reason
	}
	return s
}

// Trouble is what went wrong with the servers of one name, over all their
// configurations.
type Trouble struct {
	Server   string
	Restarts int // starts after a crash
	Loops    int // configurations that crashed too often to be started again
}

// Troubles lists the servers that were used, by name.
func (p *Pool) Troubles() []Trouble {
	p.mu.Lock()
	defer p.mu.Unlock()
	by := map[string]*Trouble{}
	for _, t := range p.templates {
		one := by[t.server]
		if one == nil {
			one = &Trouble{Server: t.server}
			by[t.server] = one
		}
		one.Restarts += t.health.restarts
		if t.health.loop {
			one.Loops++
		}
	}
	out := make([]Trouble, 0, len(by))
	for _, one := range by {
		out = append(out, *one)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Server < out[j].Server })
	return out
}
