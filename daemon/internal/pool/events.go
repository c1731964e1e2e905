package pool

import "sync"

// Event is one change of an instance.
type Event struct {
	Kind       EventKind
	Instance   *Instance
	Server     string // the server's name
	Template   string
	Definition string // definition id
	Reason     string
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	Started      EventKind = "started"       // a start began
	Ready        EventKind = "ready"         // it can serve
	StartFailed  EventKind = "start-failed"  // it never got ready
	ToolsChanged EventKind = "tools-changed" // its list of tools was replaced
	ToolsFailed  EventKind = "tools-failed"  // a re-list failed; the old list stays
	Crashed      EventKind = "crashed"       // it went away by itself
	Freed        EventKind = "freed"         // its slot is free
)

// maxPending bounds a subscription nobody reads; the oldest events go first.
// Whoever depends on events must also look for itself now and then.
const maxPending = 4096

// Events subscribes to what happens to instances. Each call is a subscription
// of its own that lives until Close. The pool never waits for a reader: events
// of one kind about one instance that were not read yet are merged, the newest
// staying.
func (p *Pool) Events() <-chan Event { return p.events.subscribe() }

func (p *Pool) emit(k EventKind, i *Instance, reason string) {
	p.events.send(Event{
		Kind:       k,
		Instance:   i,
		Server:     i.def.Server.Name,
		Template:   i.tmpl.key,
		Definition: i.def.ID,
		Reason:     reason,
	})
}

// events is the set of subscriptions.
type events struct {
	mu     sync.Mutex
	subs   []*subscription // guarded by mu
	closed bool            // guarded by mu
}

func (e *events) subscribe() <-chan Event {
	s := &subscription{out: make(chan Event), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		close(s.out)
		return s.out
	}
	e.subs = append(e.subs, s)
	go s.deliver()
	return s.out
}

func (e *events) send(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.subs {
		s.push(ev)
	}
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	for _, s := range e.subs {
		close(s.stop)
	}
	e.subs = nil
}

// subscription is one reader's queue.
type subscription struct {
	out  chan Event
	wake chan struct{}
	stop chan struct{}

	mu      sync.Mutex
	pending []Event // guarded by mu
}

func (s *subscription) push(ev Event) {
	s.mu.Lock()
	for n := range s.pending {
		if merges(s.pending[n], ev) {
			s.pending = append(s.pending[:n], s.pending[n+1:]...)
			break
		}
	}
	if len(s.pending) >= maxPending {
		s.pending = s.pending[1:]
	}
	s.pending = append(s.pending, ev)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is already on its way
	}
}

func merges(a, b Event) bool { return a.Kind == b.Kind && a.Instance == b.Instance }

// deliver passes events on in order until close.
func (s *subscription) deliver() {
	defer close(s.out)
	for {
		s.mu.Lock()
		var next Event
		some := len(s.pending) > 0
		if some {
			next = s.pending[0]
			s.pending = s.pending[1:]
		}
		s.mu.Unlock()
		if !some {
			select {
			case <-s.wake:
			case <-s.stop:
				return
			}
			continue
		}
		select {
		case s.out <- next:
		case <-s.stop:
			return
		}
	}
}
