package fakeserver

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// stream is an event stream that outlives its HTTP responses: messages are
// kept, so that a dropped response can be resumed.
type stream struct {
	number string

	mu     sync.Mutex
	events []event
	answer []byte // prefix of the message that ends the stream; nil: none does
	ended  bool
	grown  chan struct{} // closed and replaced when something was added
}

type event struct {
	name string
	data []byte
}

func newStream(number string) *stream { return &stream{number: number, grown: make(chan struct{})} }

// answers says that the stream ends with the answer to request id.
func (st *stream) answers(id string) {
	st.mu.Lock()
	st.answer = []byte(`{"jsonrpc":"2.0","id":` + id + `,"`)
	st.mu.Unlock()
}

func (st *stream) message(b []byte) { st.event("message", b) }

// raw is noise: an event whose data is not a message.
func (st *stream) raw(b []byte) { st.event("message", bytes.TrimRight(b, "\n")) }

func (st *stream) event(name string, data []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return
	}
	st.events = append(st.events, event{name, data})
	// Our own requests have a method where an answer has a result.
	if st.answer != nil && bytes.HasPrefix(data, st.answer) && !bytes.HasPrefix(data[len(st.answer):], []byte("method")) {
		st.ended = true
	}
	st.wake()
}

func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	st.wake()
}

func (st *stream) wake() {
	close(st.grown)
	st.grown = make(chan struct{})
}

// after returns the events from number from on, whether that is all there will
// ever be, and what to wait for otherwise.
func (st *stream) after(from int) ([]event, bool, <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	from = min(from, len(st.events))
	return st.events[from:], st.ended, st.grown
}

// serve writes the stream as server-sent events from number from on. With
// drop the response is cut after that many bytes, which a comment fills at
// once, so that the break comes while the tool works.
func (st *stream) serve(rw http.ResponseWriter, r *http.Request, from int, ids bool, drop int) {
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-cache")
	rw.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(rw)
	if ids && from == 0 {
		// An empty event gives the client an id to resume from.
		_, _ = rw.Write([]byte("id: " + st.number + "-0\ndata:\n\n"))
	}
	if drop > 0 && st.answer != nil {
		_, _ = rw.Write([]byte(":" + strings.Repeat(" ", max(0, drop-2)) + "\n"))
		_ = flush.Flush()
		panic(http.ErrAbortHandler) // closes the connection without a proper end
	}
	_ = flush.Flush()
	written := 0
	for {
		events, ended, grown := st.after(from)
		for _, e := range events {
			from++
			var b []byte
			if ids {
				b = append(b, "id: "+st.number+"-"+strconv.Itoa(from)+"\n"...)
			}
			b = append(b, "event: "+e.name+"\ndata: "...)
			b = append(append(b, e.data...), '\n', '\n')
			if drop > 0 && written+len(b) > drop {
				_, _ = rw.Write(b[:drop-written])
				_ = flush.Flush()
				panic(http.ErrAbortHandler)
			}
			written += len(b)
			if _, err := rw.Write(b); err != nil {
				return
			}
		}
		_ = flush.Flush()
		if ended {
			return
		}
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

// serveJSON waits for the end and writes only the answer.
func (st *stream) serveJSON(rw http.ResponseWriter, r *http.Request) {
	for {
		events, ended, grown := st.after(0)
		if ended {
			rw.Header().Set("Content-Type", "application/json")
			if len(events) > 0 {
				_, _ = rw.Write(events[len(events)-1].data)
			}
			return
		}
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

// splitEvent takes an event id apart: the stream's number and how many events
// the client has.
func splitEvent(id string) (string, int) {
	number, count, _ := strings.Cut(id, "-")
	n, _ := strconv.Atoi(count)
	return number, n
}
