package api

import (
	"slices"
	"sync"
	"time"

	"tenon/proto"
)

// DefaultBacklog is how many events a subscriber may be behind.
const DefaultBacklog = 256

// Hub passes events on to whoever listens. A listener that is too slow loses
// events, never the publisher time; the gap shows in Seq.
type Hub struct {
	backlog int
	done    chan struct{} // closed by Close

	mu   sync.Mutex
	seq  int64         // guarded by mu
	subs []*Subscriber // guarded by mu
}

// NewHub makes a hub; backlog 0 means DefaultBacklog.
func NewHub(backlog int) *Hub {
	if backlog <= 0 {
		backlog = DefaultBacklog
	}
	return &Hub{backlog: backlog, done: make(chan struct{})}
}

// Subscriber receives events on C until Close.
type Subscriber struct {
	C     <-chan proto.Event
	c     chan proto.Event
	hub   *Hub
	types []string
}

// Subscribe listens to events of the given types; none means all.
func (h *Hub) Subscribe(types ...string) *Subscriber {
	c := make(chan proto.Event, h.backlog)
	s := &Subscriber{C: c, c: c, hub: h, types: types}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = append(h.subs, s)
	return s
}

// Close ends the subscription; C is closed.
func (s *Subscriber) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if i := slices.Index(s.hub.subs, s); i >= 0 {
		s.hub.subs = slices.Delete(s.hub.subs, i, i+1)
		close(s.c)
	}
}

// Publish sends an event of a type (session, lease, instance, run, approval,
// config, daemon); data that is not JSON is dropped with its event. It never
// blocks and costs nothing while nobody listens.
func (h *Hub) Publish(kind string, data any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	if len(h.subs) == 0 {
		return
	}
	raw, err := proto.Marshal(data)
	if err != nil {
		return
	}
	e := proto.Event{Seq: h.seq, Type: kind, Time: time.Now().UTC().Format(time.RFC3339Nano), Data: raw}
	for _, s := range h.subs {
		if len(s.types) > 0 && !slices.Contains(s.types, kind) {
			continue
		}
		select {
		case s.c <- e:
		default:
		}
	}
}

// Listening reports whether anybody listens to that type.
func (h *Hub) Listening(kind string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.subs, func(s *Subscriber) bool {
		return len(s.types) == 0 || slices.Contains(s.types, kind)
	})
}

// Close tells every listener that the daemon ends; call it once.
func (h *Hub) Close() { close(h.done) }

// Done is closed by Close.
func (h *Hub) Done() <-chan struct{} { return h.done }
