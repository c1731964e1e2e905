package run

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tenon/proto"
)

// Bounds of what is kept for readers that come late or are slow.
const (
	keptFrames = 4096
	keptBytes  = 8 << 20
)

// stream is the ordered events of one run, kept for replay within bounds.
type stream struct {
	run  string
	live func(proto.Frame) // told in order; must not block; may be nil

	mu      sync.Mutex
	first   int64 // Seq of events[0]
	events  []event
	bytes   int
	ended   bool
	readers map[*reader]struct{}
}

// reader waits for events.
type reader struct {
	wake   chan struct{} // one place: there is something
	urgent chan struct{} // one place: and it is more than progress
}

func (r *reader) told(urgent bool) {
	select {
	case r.wake <- struct{}{}:
	default:
	}
	if !urgent {
		return
	}
	select {
	case r.urgent <- struct{}{}:
	default:
	}
}

// gatherFor is how long events that only tell of progress may wait for others to
// be read with: a program makes thousands of calls a second, and each would wake
// its reader.
const gatherFor = 25 * time.Millisecond

// progress reports whether an event only tells that a run goes on.
func (e event) progress() bool { return e.kind == "call" || e.kind == "progress" || e.kind == "start" }

// event is a frame that is made into JSON only when somebody reads it.
type event struct {
	kind string
	data any
	size int
}

func (e event) frame(run string, seq int64) proto.Frame {
	f := proto.Frame{Seq: seq, Type: e.kind, Run: run}
	switch data := e.data.(type) {
	case nil:
	case json.RawMessage:
		f.Data = data
	default:
		text, err := proto.Marshal(data)
		if err != nil { // our own types always marshal unless they hold foreign JSON
			text = []byte(`null`)
		}
		f.Data = text
	}
	return f
}

// add appends an event; size is about how many bytes it holds. After the end
// frame nothing is added any more.
func (s *stream) add(kind string, data any, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = kind == "end"
	e := event{kind, data, size + 64}
	seq := s.first + int64(len(s.events))
	s.events = append(s.events, e)
	s.bytes += e.size
	for len(s.events) > keptFrames || s.bytes > keptBytes && len(s.events) > 1 {
		s.bytes -= s.events[0].size
		s.events[0] = event{}
		s.events = s.events[1:]
		s.first++
	}
	if s.live != nil {
		s.live(e.frame(s.run, seq))
	}
	for r := range s.readers {
		r.told(!e.progress())
	}
}

// batch is the events from seq on that are still there.
func (s *stream) batch(seq int64) (from int64, events []event, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = max(seq, s.first)
	return from, append([]event(nil), s.events[from-s.first:]...), s.ended
}

// ending is the data of an end frame for a reader that missed something.
type ending struct {
	Dropped int64 `json:"dropped"`
}

// read sends all frames from the first on, until the end frame or the end of
// ctx. A reader too slow for what is kept misses frames; the Seq of later ones
// shows the gap, and its end frame counts them.
func (s *stream) read(ctx context.Context) <-chan proto.Frame {
	out := make(chan proto.Frame)
	r := &reader{make(chan struct{}, 1), make(chan struct{}, 1)}
	s.mu.Lock()
	if s.readers == nil {
		s.readers = map[*reader]struct{}{}
	}
	s.readers[r] = struct{}{}
	for _, e := range s.events {
		r.told(!e.progress())
	}
	s.mu.Unlock()
	go func() {
		defer close(out)
		defer func() {
			s.mu.Lock()
			delete(s.readers, r)
			s.mu.Unlock()
		}()
		var next, dropped int64
		for {
			if !r.wait(ctx) {
				return
			}
			from, events, ended := s.batch(next)
			dropped += from - next
			for i, e := range events {
				f := e.frame(s.run, from+int64(i))
				if e.kind == "end" && dropped > 0 {
					f.Data, _ = json.Marshal(ending{dropped}) // a number always marshals
				}
				select {
				case out <- f:
				case <-ctx.Done():
					return
				}
			}
			next = from + int64(len(events))
			if ended {
				return
			}
		}
	}()
	return out
}

// wait waits for events, and where they only tell of progress for more of them;
// false: ctx has ended.
func (r *reader) wait(ctx context.Context) bool {
	select {
	case <-r.wake:
	case <-ctx.Done():
		return false
	}
	select {
	case <-r.urgent:
		return true
	default:
	}
	gather := time.NewTimer(gatherFor)
	defer gather.Stop()
	select {
	case <-r.urgent:
	case <-gather.C:
	case <-ctx.Done():
		return false
	}
	return true
}
